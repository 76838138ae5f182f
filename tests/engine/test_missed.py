"""A player who misses decisions: what the journal, the tables and the measures say about it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ostrom.agents.base import DecisionContext
from ostrom.analysis.estimate import estimate
from ostrom.answers import Answer
from ostrom.data.rundata import run_data
from ostrom.mechanisms.missing import MISSED
from ostrom.mechanisms.protocol import Decision
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

Small = Callable[..., StudyFile]


class Late:
    """Cooperates, and misses the second round."""

    instant = False

    def __init__(self, *_: Any) -> None: ...

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        return MISSED if decision.view.round == 2 else Answer("cooperate", "person")


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch, small: Small) -> Small:
    """A study in which somebody comes late."""
    monkeypatch.setattr("ostrom.agents.language.Person", Late)

    def study(**mechanism: Any) -> StudyFile:
        return small(
            mechanism={"name": "repetition", "rounds": 4, **mechanism},
            types={"late": {"person": True}, "tft": "tit_for_tat"},
            seating="seats", vary={}, seeds=1,
        )  # fmt: skip

    return study


def test_a_void_round_is_in_every_table(late: Small, runs: Path) -> None:
    assert play(late(missed="mark"), runs=runs).complete
    with open_run(runs / "small") as run:
        matches, decisions = list(run.rows.matches()), list(run.rows.decisions())
    mine, other = ([r for r in decisions if r["agent"] == name] for name in ("late", "tft"))
    assert [r["missed"] for r in mine] == [False, True, False, False] and not any(r["missed"] for r in other)
    assert (mine[1]["answer"], mine[1]["reading"], mine[1]["invalid"]) == (None, "missed", False)
    for row in (mine[1], other[1]):
        assert (row["action"], row["cooperative"], row["payoff"]) == (None, None, 0.0)
    assert other[1]["answer"] == "cooperate", "what the other one answered stays on record"
    assert {m["agent"]: (m["rounds_played"], m["score"], m["cooperation"], m["missed_decisions"]) for m in matches} == {
        "late": (4, 2.25, 1.0, 1),
        "tft": (4, 2.25, 1.0, 0),
    }
    with open_run(runs / "small") as run:
        data = run_data(run.rows, run.folder.path, run.manifest)
        values = {
            name: {e.key["agent"]: e.value for e in estimate(data, name, by=["agent"])}["late"]
            for name in ("score", "payoff", "cooperation", "coordination", "missed")
        }
    assert values == {"score": 2.25, "payoff": 2.25, "cooperation": 1, "coordination": 1, "missed": 0.25}


def test_a_missed_round_is_replayed_as_missed(late: Small, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes back is not asked again."""
    played = play(late(missed="mark"), runs=runs)
    assert played.complete
    monkeypatch.setattr(Late, "answer", None)
    again = play(late(missed="mark"), runs=runs)
    assert again.complete and again.tally.resumed == 1


def test_without_a_rule_nothing_is_played(late: Small, runs: Path) -> None:
    result = play(late(), runs=runs)
    assert result.tally.failed == 1
    assert "mechanism repetition: player 1 missed a decision, and the study has no rule" in result.tally.failures[0]
    with open_run(runs / "small") as run:
        mine = [r for r in run.rows.decisions() if r["agent"] == "late"]
    assert [r["round"] for r in mine] == [1], "a decision without an answer is not journaled"
