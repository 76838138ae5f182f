"""CONTRIBUTING.md is enough to add a sequential game and a stock game: both are made here as it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ostrom.framing import Library
from ostrom.games.amounts import Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.ground.streams import Streams
from ostrom.mechanisms import mechanisms
from ostrom.testing import check_game
from ostrom.testing.check_mechanism import check_mechanism, drive, played_by

GUIDE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
WORDS = {
    "audit": "You earn {{ amount(params.income) }}. {{ names[0] }} reports, {{ names[1] }} may audit.",
    "audit_report": '{% include "games/_round.txt" %}How much do you report?',
    "audit_check": '{% include "games/_round.txt" %}{{ names[0] }} reports {{ facts.report }}. Do you audit or trust?',
    "audit_past": "Round {{ number }}: {% for move in moves %}{{ move.name }} {{ move.value }} {% endfor %}",
    "well": "A well holds {{ params.full }} buckets; {{ params.rain }} come back after a round.",
    "well_pump": '{% include "games/_round.txt" %}It holds {{ facts.water }}. How many do you take?',
    "well_past": "Round {{ number }}: {{ facts.left }} were left; you received {{ points }}",
}


def audit() -> Any:
    """The builder that the guide prints."""
    code = next(block for block in re.findall(r"```python\n(.*?)```", GUIDE, re.S) if '"""Audit' in block)
    space: dict[str, Any] = {"__name__": "audit"}
    exec(compile(code, "CONTRIBUTING.md", "exec", dont_inherit=True), space)
    return space["GAME"]


def well(full: int = 30, rain: int = 6) -> FunctionGame:
    """Two farmers pump a well of ``full`` buckets, to which ``rain`` buckets come back after every round."""

    def play(now: Now) -> Stages:
        water = now.state.get("water", full)
        wanted = yield [Due(seat, "pump", Amounts(0, water // 2), {"water": water}) for seat in range(2)]
        left = water - sum(map(int, wanted))
        return End(
            [float(w) for w in wanted],
            {"left": left},
            state={"water": min(full, left + rain)},
            over="dry" if left < 2 else None,
        )

    return FunctionGame(
        "well", (Amounts(0, full),) * 2, play, stages=("pump",), stateful=True, citation="own",
        params={"full": full, "rain": rain},
    )  # fmt: skip


@pytest.fixture
def library(tmp_path: Path) -> Library:
    (tmp_path / "games").mkdir()
    for name, text in WORDS.items():
        (tmp_path / "games" / f"{name}.txt").write_text(text + "\n", encoding="utf-8")
    return Library(tmp_path)


def test_the_sequential_game_of_the_guide(library: Library) -> None:
    build = audit()
    check_game(build)
    check_mechanism({"name": "repetition", "rounds": 2}, games=[build()], seeds=1, library=library)
    streams = Streams(0, 0)
    outcome = drive(
        mechanisms.build("none"), build(), streams, played_by(["constant:40", "constant:audit"], streams)
    ).outcome
    assert outcome.scores == (30, 65) and outcome.rounds[0].facts["caught"]
    best = drive(
        mechanisms.build("none"), build(), streams, played_by(["best_response"] * 2, streams)
    ).outcome
    assert best.scores == (
        50,
        45,
    )  # a fine of 50 costs as much as the whole tax, so the smallest report is made


def test_the_stock_game_of_the_guide(library: Library) -> None:
    check_game(well)
    check_mechanism({"name": "repetition", "rounds": 3}, games=[well()], seeds=1, library=library)
    streams = Streams(0, 0)
    rules = mechanisms.build({"name": "repetition", "rounds": 5})
    spared = drive(rules, well(), streams, played_by(["constant:3"] * 2, streams)).outcome
    assert [r.facts["left"] for r in spared.rounds] == [24] * 5 and spared.scores == (3, 3)
    emptied = drive(rules, well(), streams, played_by(["proportional:1"] * 2, streams)).outcome
    assert len(emptied.played) == 1 and emptied.facts["over"] == "dry" and emptied.scores == (3, 3)
