"""Looks: `estimate`, `test` and `report` count how often a contrast was looked at, and say what a YES needs by now."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import Call, caller

STUDY = """\
name: s
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 4}
types: {}
agent: {strategy: "random:0.5"}
vary: {chance: {set: agent.strategy, to: ["random:0.5", "random:0.7"]}}
seeds: 4
"""
ASKED = ("estimate", "s", "cooperation", "--contrast", "chance=random:0.7-random:0.5", "--json")


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    (tmp_path / "s.yaml").write_text(STUDY)
    made = caller(monkeypatch, tmp_path)
    assert made("run", "s.yaml").code == 0
    return made


def told(call: Call, *words: str) -> dict[str, Any]:
    done = call(*words)
    assert done.code == 0, done.err
    document: dict[str, Any] = json.loads(done.out)
    return document


def test_a_further_number_of_seeds_is_a_further_look_whichever_command_looks(call: Call, tmp_path: Path) -> None:
    level = told(call, "estimate", "s", "cooperation", "--json")
    assert "look" not in level and not (tmp_path / "runs/s/verdicts.json").exists(), "a level is no comparison"
    for _ in range(2):  # the same seeds again are the same look
        first = told(call, *ASKED)
        assert first["look"] == 1 and "look" not in first["estimates"][0]["note"]
    assert call("resume", "s", "--seeds", "6").code == 0
    second = told(call, "test", "s", "cooperation", "--factor", "chance", "--json")
    assert second["look"] == 2
    shown = call(*ASKED[:-1])
    assert "look 2: a YES needs p < 0.025, or the bounds" in shown.out + shown.err
    assert told(call, *ASKED)["estimates"][0]["note"].endswith("look 2: a YES needs p < 0.025, or the bounds")
    assert told(call, "test", "s", "score", "--factor", "chance", "--json")["look"] == 1, "another measure"
    assert call("resume", "s", "--seeds", "7").code == 0
    assert call("report", "s").code == 0
    assert json.loads((tmp_path / "runs/s/verdicts.json").read_text())["cooperation, chance"] == [4, 6, 7]
    (table,) = (tmp_path / "runs/s/report").rglob("answers.csv")
    assert "look 3: a YES needs p < 0.013, or the bounds" in table.read_text()


def test_a_run_that_is_not_at_its_end_is_not_looked_at(call: Call, tmp_path: Path) -> None:
    assert call("resume", "s", "--seeds", "6", "--limit", "1").code == 1
    assert told(call, *ASKED)["look"] == 1
    assert not (tmp_path / "runs/s/verdicts.json").exists()


def test_where_nothing_can_be_written_the_answer_says_so(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("ostrom.analysis.looks.write_atomically", refuse)
    assert told(call, *ASKED)["estimates"][0]["note"].endswith("looks not recorded")
    (tmp_path / "runs/s/verdicts.json").write_text('{"cooperation, chance": [2, 3]}')
    assert told(call, *ASKED)["look"] == 3
    (tmp_path / "runs/s/verdicts.json").write_text("[garbled")
    assert told(call, *ASKED)["look"] == 1
