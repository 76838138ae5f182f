"""Packages as somebody else would write them: the files, by path, with their text."""

from pathlib import Path

GAME = '''\
"""A ferry: two captains, one landing place."""

from ostrom.games.bimatrix import symmetric_2x2


def build(toll=1):
    """A dilemma; ``toll`` is what both pay for haste."""
    return symmetric_2x2(
        "ferry", ("wait", "rush"), both=3, alone=0, other=5, neither=toll, cooperative=(0, 0)
    )


GAME = build
'''
STRATEGY = '''\
"""A captain who waits once, then rushes."""

from typing import ClassVar

from ostrom.agents.strategy import C, D, Reciprocator


class WaitsOnce(Reciprocator):
    """Cooperate in the first round alone."""

    title: ClassVar[str] = "Waits once"
    citation: ClassVar[str] = "A made-up sixth paper"
    memory_depth = 1

    def move(self, past):
        """The chance of cooperating after this past."""
        return D if len(past) else C


STRATEGY = WaitsOnce
'''
MECHANISM = '''\
"""The game is played once, at a pier."""

from ostrom.mechanisms.catalog.none import NoMechanism


class Pier(NoMechanism):
    """One play of the game under a name of its own."""

    name = "pier"


MECHANISM = Pier
'''
MEMORY = '''\
"""Everything that happened, from a log book."""

from ostrom.memory.recent import Full


class LogBook(Full):
    """Show every round."""

    name = "log_book"


MEMORY = LogBook
'''
OWN_FOLDERS = {
    "sixth_paper/__init__.py": "",
    "sixth_paper/games/__init__.py": "",
    "sixth_paper/games/ferry.py": GAME,
    "sixth_paper/strategies/__init__.py": "",
    "sixth_paper/strategies/waits_once.py": STRATEGY,
    "sixth_paper/mechanisms/__init__.py": "",
    "sixth_paper/mechanisms/pier.py": MECHANISM,
    "sixth_paper/memories/__init__.py": "",
    "sixth_paper/memories/log_book.py": MEMORY,
    "sixth_paper/prompts/mechanisms/pier.txt": "You meet once, at the pier.\n",
    "sixth_paper/studies/crossing.yaml": (
        "name: crossing\ntitle: A crossing\ngame: ferry\nmechanism: pier\nagent: {memory: log_book}\n"
        'types: {captain: waits_once, mate: "random:0.5"}\nseeds: 2\n'
    ),
}
"""A replication with parts of every kind that a folder can hold, and no entry point but its own."""


def install(folder: Path, name: str, files: dict[str, str], entry_points: str) -> Path:
    """Write a package with its metadata as pip would lay it out; returns the folder for PYTHONPATH."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder
