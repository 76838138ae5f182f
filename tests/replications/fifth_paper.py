"""A package as somebody else would write it for a fifth paper: the files, by path, with their text."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

STUDY = """\
name: lending
title: Do lenders reciprocate?
citation: A made-up fifth paper
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 5}
types: {coin: "random:0.5", kind: "random:0.9"}
vary:
  game: [prisoners_dilemma, stag_hunt]
seeds: 4
report:
  reference: fifth
  panels:
    - fifth_matches
    - {chart: dots, measure: last_action, y: [game, agent]}
    - {chart: ring, measure: cooperation}
presets:
  smoke: {seeds: 2}
"""
MEASURE = '''\
"""Last action: whether a player cooperates in the last round."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="last_action",
    title="Cooperation in the last round",
    scale="share",
    definition="Whether a player's last action in a match is cooperative.",
    needs=("decisions.cooperative",),
    source="A made-up fifth paper",
    values=(
        "SELECT match, player, arg_max(cooperative::INTEGER, round) AS value FROM decisions "
        "WHERE kind = 'act' AND cooperative IS NOT NULL GROUP BY match, player"
    ),
)
'''
PANEL = '''\
"""How many matches there are."""

from ostrom.data.rundata import RunData
from ostrom.reports.panel import Drawn, Panel, Table


class Matches(Panel):
    """The number of matches."""

    title = "Matches of the fifth paper"

    def draw(self, data: RunData) -> Drawn:
        """A table with one number."""
        [row] = data.records("SELECT count(DISTINCT match) AS n FROM matches")
        return Drawn(tables=[Table("matches", ["matches"], [[row["n"]]])])


PANEL = Matches
'''
CLAIMS = '''\
"""The figures of the fifth paper and the same ones of a run."""

from ostrom.analysis.estimate import estimate
from ostrom.analysis.references import Own, Published, Reference
from ostrom.analysis.references import number, published_rows


class Fifth(Reference):
    """Cooperation in the last round by game."""

    name = "fifth"
    citation = "A made-up fifth paper"
    columns = ("game", "measure")
    spread = "none printed"

    def published(self):
        """The printed shares."""
        return [
            Published((row["game"], "last_action"), row["model"], number(row["value"]), None, "Table 1", "verified")
            for row in published_rows("fifth")
        ]

    def own(self, data, games):
        """The same shares of a run."""
        return [
            Own((e.key["game"], "last_action"), e.key["agent"], e.value, e.low, e.high, None, e.n)
            for e in estimate(data, "last_action", ["game", "agent"])
        ]


REFERENCE = Fifth
'''
MAPPING = """\
title: Rounds of the fifth paper
citation: A made-up fifth paper
game: prisoners_dilemma
match: {by: [pair]}
actions: {lend: 1, keep: 2}
seats:
  1: {player: first, action: a}
  2: {player: second, action: b}
factors: {treatment: condition}
"""
REFERENCE = "game,model,value\nprisoners_dilemma,Model A,0.5\nstag_hunt,Model A,0.7\nstag_hunt,Model B,0.8\n"
STORIES = """\
name: fifth-stories
title: Stories of a harbour
game: scenario:harbour/first_night
mechanism: none
types: {any: "random:0.5"}
seating: self
vary:
  scenario: {set: game, to: {from: scenarios, family: harbour}}
seeds: 3
"""
EXHIBITS = """\
exhibits:
  - name: Table 1
    title: Cooperation in the last round
    study: lending
    rows: [game, model]
    columns: [measure]
    where: {measure: last_action}
  - name: Figure 1
    title: Cooperation in the last round
    study: lending
    panels: [{chart: bars, measure: last_action, x: game, colour: agent, bands: sd}, fifth_matches]
"""


def story(name: str) -> str:
    """A file of a shipped family, as one of another family that says where it is published."""
    text = files("ostrom.games.scenarios").joinpath("families", "theatre", f"{name}.yaml").read_text("utf-8")
    return text.replace("family: theatre", "family: harbour").replace(
        "\nroles:", "\ncitation: A made-up fifth paper\nroles:"
    )


CHART = '''\
"""A kind of chart of another package: only a table."""

from ostrom.reports.chart import Chart


class Ring(Chart):
    """Estimates by agent, as a table."""

    def by(self, data):
        """One row per agent."""
        return ["agent"]

    def chart(self, data, found):
        """Nothing is drawn."""
        return None
'''
ENTRY_POINTS = """\
[ostrom.replications]
fifth = fifth_paper

[ostrom.charts]
ring = fifth_parts.ring:Ring

[ostrom.measures]
fifth_length = fifth_parts.length:MEASURE

[ostrom.panels]
fifth_words = fifth_parts.words:Words

[ostrom.references]
fifth_again = fifth_paper.claims:REFERENCE
"""
FILES = {
    "fifth_paper/__init__.py": '"""A fifth paper."""\n',
    "fifth_paper/studies/lending.yaml": STUDY,
    "fifth_paper/studies/fifth-stories.yaml": STORIES,
    "fifth_paper/scenarios/harbour/cast.yaml": story("cast"),
    "fifth_paper/scenarios/harbour/first_night.yaml": story("first_night"),
    "fifth_paper/exhibits.yaml": EXHIBITS,
    "fifth_paper/reference.csv": REFERENCE,
    "fifth_paper/claims.py": CLAIMS,
    "fifth_paper/measures/__init__.py": "",
    "fifth_paper/measures/last_action.py": MEASURE,
    "fifth_paper/panels/__init__.py": "",
    "fifth_paper/panels/fifth_matches.py": PANEL,
    "fifth_paper/mappings/fifth-rounds.yaml": MAPPING,
    "fifth_parts/__init__.py": "",
    "fifth_parts/ring.py": CHART,
    "fifth_parts/length.py": MEASURE.replace("last_action", "fifth_length"),
    "fifth_parts/words.py": PANEL.replace("class Matches", "class Words").replace("PANEL = Matches", ""),
}


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
