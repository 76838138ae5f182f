"""Meta-analysis: runs of one study by several labs, models or dates, pooled into one estimate."""

from ostrom.features.pooling.labs import Lab, LabPool, Moderator, pool_runs

__all__ = ["Lab", "LabPool", "Moderator", "pool_runs"]
