"""Motives in the reasoning of players: what a judge may label, and what its labels come to."""

from ostrom.features.judging.judgements import Motive, load_motives

__all__ = ["Motive", "load_motives"]
