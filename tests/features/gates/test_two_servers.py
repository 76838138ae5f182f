"""A builder decides between two servers by two commands, as docs/gates.md and docs/compare.md say."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import Call, caller

from ostrom.testing.server import LoopbackServer, Respond

STUDY = """\
name: check
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 10}
agent: {style: direct, params: {max_tokens: 10}}
types: {cooperator: cooperator, defector: defector}
seating: versus
seeds: 20
"""
GATES = """\
gates:
  - {name: is kind, measure: cooperation, where: {agent: "{model}"}, at_least: 0.8}
  - name: to all alike
    measure: cooperation
    where: {agent: "{model}"}
    contrast: opponents=cooperator-defector
    within: 0.3
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    (tmp_path / "check.yaml").write_text(STUDY)
    (tmp_path / "gates.yaml").write_text(GATES)
    return caller(monkeypatch, tmp_path)


def cooperating(rate: float) -> Respond:
    """A server that cooperates with this chance, whatever it is asked."""
    rng = random.Random(rate)
    return lambda body: "[A0]" if rng.random() < rate else "[A1]"


def compared(call: Call, new: str) -> Any:
    done = call("compare", new, "old", "--where", "agent={model}", "--margin", "0.15", "--json")
    assert done.code == 0, done.err
    (one,) = json.loads(done.out)["differences"]
    return one["verdict"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "code", "verdict"), [(0.95, 0, "equivalent"), (0.93, 0, "equivalent"), (0.4, 1, "worse")]
)
def test_no_a_small_and_a_large_difference(call: Call, rate: float, code: int, verdict: str) -> None:
    one = ("--max-connections", "1")  # so that every reply goes to the same match
    with LoopbackServer(cooperating(0.95)) as old, LoopbackServer(cooperating(rate)) as new:
        assert call("run", "check.yaml", "--model", old.model, "--name", "old", *one).code == 0
        decide = ("--gates", "gates.yaml", "--until-decided", "--most-seeds", "60", "--json", *one)
        done = call("gate", "check.yaml", "--model", new.model, "--name", "new", *decide)
        assert done.code == code, done
        judged = {of["gate"]: of for of in json.loads(done.out)["judged"]}
        assert judged["is kind"]["answer"] == ("fail" if code else "pass")
        assert judged["is kind"]["where"] == f"agent {new.model}"
        assert compared(call, "new") == verdict


@pytest.mark.slow
def test_what_a_gate_needs_is_said_for_any_model(call: Call) -> None:
    with LoopbackServer() as server:
        done = call("gate", "check.yaml", "--model", server.model, "--gates", "gates.yaml", "--dry-run")
    assert done.code == 0 and "is kind: can pass with 19 matches or more (10 seeds)" in done.err
