"""Rows that a match left when it ended are those that a replay of its answers makes, whatever was played."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.agents.test_predict_first import KNOWN
from tests.cli.in_process import caller
from tests.data.make_runs import HERE, RUNS, STUDIES, Kept, do, placed, those_who_answer

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.rows import Rows
from ostrom.engine.unit_rows import ASKED, CAME, PLAYERS, SAID, UnitRows
from ostrom.ground.errors import RunError, UsageError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

WITHOUT = {"people", "imported", "plain", "looks", "foretold"}
"""People may take back what they did; imported runs are not played; arrays and short scripts need no rows."""


@pytest.fixture(autouse=True)
def _models(_no_keys: None) -> Iterator[None]:
    with those_who_answer():
        yield


def tables(rows: Rows, *, kept: bool) -> list[str]:
    """All rows of matches and decisions in full: 1 is not 1.0, and 0.0 is not -0.0."""
    lines = []
    for table in rows.tables(kept=kept):
        lines += [repr(row) for row in rows.match_rows(table)]
        lines += [repr(row) for row in rows.decision_rows(table)]
    return lines


@pytest.mark.sample(5)
@pytest.mark.parametrize("kept", RUNS, ids=lambda kept: kept.name)
def test_rows_that_were_left_are_those_of_a_replay(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / kept.name
    home.mkdir()
    if (STUDIES / kept.name).is_dir():
        shutil.copytree(STUDIES / kept.name, home, dirs_exist_ok=True)
    placed(home, HERE, str(home))
    call, compared, left = caller(monkeypatch, home), 0, 0
    for commands in (kept.commands, kept.goes_on):
        do(call, commands)
        for journal in sorted(home.rglob("journal.db")):
            try:
                run = open_run(journal.parent)
            except UsageError:  # a derived run that is no study
                continue
            with run:
                assert tables(run.rows, kept=True) == tables(run.rows, kept=False)
                ends = list(run.journal.ends())
                compared += len(ends)
                left += sum(end.rows is not None for end in ends)
    assert compared or kept.name == "stories"
    assert left or kept.name in WITHOUT or not compared


LONG = "I would rather think about it for a while. " * 8
CHANCE = {"types": {"a": "random:0.3", "b": "random:0.7"}, "seating": "ordered"}
VARIED: dict[str, dict[str, Any]] = {
    **{name: {"mechanism": spec} for name, (spec, _) in KNOWN.items()},
    "asked twice": {
        "agent": {"style": "social"},
        "mechanism": {"name": "reputation", "rounds": 3, "window": 2},
    },
    "mixtures": {"agent": {"answer": "mixture"}},
    "explained": {"agent": {"answer": "explained"}, "mechanism": {"name": "repetition", "rounds": 3}},
    "a dialogue": {"agent": {"conversation": "dialogue"}, "mechanism": {"name": "repetition", "rounds": 3}},
    "odds": {**CHANCE, "mechanism": {"name": "repetition", "rounds": 40}},
    "many rounds": {**CHANCE, "mechanism": {"name": "repetition", "rounds": 300}},
    "noise": {**CHANCE, "mechanism": {"name": "repetition", "rounds": 40, "noise": 0.4}},
    "three options": {
        "types": {"a": "random"},
        "game": "travelers_dilemma",
        "mechanism": {"name": "repetition", "rounds": 40},
    },
}


def reply(request: Request) -> str:
    last = request.messages[-1].content.rpartition("\n\n")[2]
    if '"rationale"' in last:
        return orjson.dumps({"action": "A1", "rationale": LONG}).decode()
    if '"message"' in last:
        return '{"message": "Well."}'
    return "[A1]" if "[A1]" in request.messages[-1].content else "No."


@pytest.mark.sample(6)
@pytest.mark.parametrize("changes", VARIED.values(), ids=VARIED.keys())
def test_whatever_is_played_leaves_its_rows(changes: dict[str, Any], tmp_path: Path) -> None:
    register("ready", reply)
    try:
        study = {"name": "x", "game": "prisoners_dilemma", "mechanism": "none", "seeds": 2, **changes}
        if "types" not in study:
            study["agent"] = {"model": "scripted/ready", "style": "direct", **changes.get("agent", {})}
        study["invalid"] = {"retries": 1, "policy": "uniform"}
        play(load_study(study), runs=tmp_path, options=PlayOptions(arrays=False))
    finally:
        unregister("ready")
    with open_run("x", tmp_path) as run:
        assert all(end.rows is not None for end in run.journal.ends() if end.state == "done")
        rows = tables(run.rows, kept=True)
        assert rows and rows == tables(run.rows, kept=False)


@pytest.mark.parametrize("place", range(4))
def test_few_bytes_never_become_many_rows(place: int) -> None:
    """Equal rows take no space while they are kept, so a stranger's journal can claim any number of them."""
    claims: list[list[Any]] = [[1, *[None] * len(names)] for names in (ASKED, CAME, SAID, PLAYERS)]

    def read() -> UnitRows:
        return UnitRows.read(zlib.compress(orjson.dumps([[[0]] * 5, *claims])), "here")

    assert len(read().steps) == len(read().players) == 1
    claims[place][0] = 100_001
    with pytest.raises(RunError, match=r"here: its rows cannot be read \(a table of 100001 rows"):
        read()
