"""The Python interface of Ostrom: state a study, play it, and query its run."""

from ostrom.agents.strategy import Strategy
from ostrom.analysis.measure import Measure
from ostrom.api.objects import game
from ostrom.api.studies import Run, Study, open_run, play, play_async, study
from ostrom.games.game import Game

__all__ = ["Game", "Measure", "Run", "Strategy", "Study", "game", "open_run", "play", "play_async", "study"]
