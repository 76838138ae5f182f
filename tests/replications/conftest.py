"""The same real runs of scripted players that the tests of reports use."""

from ..reports.conftest import Page, Played, opened, page_of, played, ready, small

__all__ = ["Page", "Played", "opened", "page_of", "played", "ready", "small"]
