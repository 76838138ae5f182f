"""Liu et al. (2026), The Memory Curse."""
