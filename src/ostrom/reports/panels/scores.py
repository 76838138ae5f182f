"""Scores in every cell, by agent."""

from ostrom.reports.charts.dots import Dots


def scores() -> Dots:
    """One row per cell, one dot per agent; every block has a scale of its own, as games pay differently."""
    return Dots("score", title="Scores", block="game", file="scores")


PANEL = scores
