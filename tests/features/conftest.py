"""Fixtures that tests of features share with those of commands and of analysis."""

from tests.analysis.conftest import play_run, small
from tests.cli.conftest import call, ostrom, ostrom_process, played

__all__ = ["call", "ostrom", "ostrom_process", "play_run", "played", "small"]
