"""The Python face of Ostrom: state a study, play it, and ask its run. ``import ostrom`` offers all of it."""

from ostrom.lab.playing import play, play_async
from ostrom.lab.runs import Run, open_run
from ostrom.lab.stating import Study, study

__all__ = ["Run", "Study", "open_run", "play", "play_async", "study"]
