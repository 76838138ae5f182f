"""The rows of a run that was played by a model, column by column, and the numbers that it shows meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from ostrom.engine.plan import Tally
from ostrom.engine.play_options import PlayOptions
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile
from ostrom.testing.server import LoopbackServer

Small = Callable[..., StudyFile]


def test_a_tally_begins_at_nothing() -> None:
    tally = Tally()
    assert all(not getattr(tally, field.name) for field in fields(tally))


def test_rows_say_who_decided_and_how(small: Small, runs: Path) -> None:
    with LoopbackServer(lambda body: "so A0, the first") as server:
        study = small(
            agent={"style": "direct", "memory": "window:2", "framing": {"labels": ["A0", "A1"]}},
            types={"model": {"model": server.model}, "tft": "tit_for_tat"},
            mechanism={"name": "repetition", "rounds": 2},
            vary={}, seeds=1,
        )  # fmt: skip
        result = play(study, runs=runs)
        calls = server.count
    assert result.complete and result.tally.calls == calls == result.tally.decisions // 2
    with open_run(runs / "small") as run:
        matches, decisions = list(run.rows.matches()), list(run.rows.decisions())
    mixed = [row for row in matches if {row["agent"], row["opponents"]} == {"model", "tft"}]
    by_agent = {row["agent"]: row for row in mixed}
    model, script = by_agent["model"], by_agent["tft"]
    assert (model["model"], model["strategy"], model["agent_memory"], model["agent_style"]) == (
        server.model, None, "window:2", "direct",
    )  # fmt: skip
    assert (script["model"], script["strategy"], script["agent_style"]) == (None, "tit_for_tat", None)
    assert (model["state"], model["reason"], model["unit"], model["rounds_played"]) == (
        "done",
        None,
        "match",
        2,
    )
    assert (
        model["cooperation"] == script["cooperation"] == 1.0 and model["complaints"] == model["policies"] == 0
    )
    mine = [row for row in decisions if row["agent"] == "model" and row["match"] == model["match"]]
    assert [(r["step"], r["round"], r["kind"], r["action"], r["label"], r["reading"]) for r in mine] == [
        (0, 1, "act", "cooperate", "A0", "loose"), (1, 2, "act", "cooperate", "A0", "loose"),
    ]  # fmt: skip
    assert all(r["cooperative"] is True and r["invalid"] is False and r["seat"] == r["player"] for r in mine)
    assert [r["payoff"] for r in mine] == [3.0, 3.0] and model["score"] == 3.0  # a mean over rounds


@pytest.mark.parametrize("arrays", [True, False])
def test_decisions_are_counted_alike_however_scripts_are_played(
    small: Small, runs: Path, arrays: bool
) -> None:
    tally = play(small(vary={}), runs=runs, options=PlayOptions(arrays=arrays)).tally
    assert (tally.matches, tally.done, tally.decisions) == (8, 8, 8 * 6 * 2)
