"""Cooperation in every cell, by agent."""

from ostrom.reports.charts.dots import Dots


def cooperation() -> Dots:
    """One row per cell, one dot per agent."""
    return Dots("cooperation", title="Cooperation by cell")


PANEL = cooperation
