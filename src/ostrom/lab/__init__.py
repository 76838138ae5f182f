"""The Python face of Ostrom: state a study, play it, and ask its run. ``import ostrom`` offers all of it."""

from ostrom.agents.strategy import Strategy
from ostrom.analysis.measure import Measure
from ostrom.games.game import Game
from ostrom.lab.objects import game
from ostrom.lab.playing import play, play_async
from ostrom.lab.runs import Run, open_run
from ostrom.lab.stating import Study, study

__all__ = ["Game", "Measure", "Run", "Strategy", "Study", "game", "open_run", "play", "play_async", "study"]
