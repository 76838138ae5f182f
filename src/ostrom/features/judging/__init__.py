"""Motives in the reasoning of players: labels given by a judge model, and statistics of them."""

from ostrom.features.judging.judgements import Motive, load_motives

__all__ = ["Motive", "load_motives"]
