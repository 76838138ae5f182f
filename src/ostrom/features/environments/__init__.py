"""Studies as reinforcement-learning environments: questions go out, answers come in, scores are rewards."""

from ostrom.features.environments.environment import Environment, Episode, EpisodeClosed, OutsideQuestion, environment

__all__ = ["Environment", "Episode", "EpisodeClosed", "OutsideQuestion", "environment"]
