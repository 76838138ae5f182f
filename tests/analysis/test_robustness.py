"""Robustness: variance comes out where it was put in; a conclusion survives only if it holds everywhere."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ostrom.analysis.robustness import Robustness, robustness, run_robustness
from ostrom.analysis.rundata import run_data
from ostrom.cli.robust import framing_factors
from ostrom.errors import UnknownName, UsageError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play


def frame(outcome: Any, **more: Any) -> pl.DataFrame:
    """A balanced design: two agents, three stories, two label pairs, two games, two seats, three seeds."""
    rows = []
    design = product("ab", ("x", "y", "z"), ("JF", "QX"), ("pd", "bos"), range(3))
    for number, (agent, story, labels, game, seed) in enumerate(design):
        for seat in (1, 2):
            cell = {
                "agent": agent,
                "story": story,
                "labels": labels,
                "game": game,
                "seed": seed,
                "seat": seat,
            }
            rows.append(
                {
                    "run": "r", "match": number, "unit": "match", "state": "done", "strategy": None,
                    "opponents": agent, **cell, "cooperation": float(outcome(**cell)), **more,
                }
            )  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"strategy": pl.String})


def analysed(outcome: Any) -> Robustness:
    return robustness(frame(outcome), ["story", "labels", "game"], ["story", "labels"])


def test_shares_go_to_what_makes_the_difference() -> None:
    found = analysed(lambda agent, story, seed, **_: (agent == "a") * 2 + (story == "x") + 0.01 * seed)
    assert found.shares is not None
    assert found.shares["agent"].share > found.shares["story"].share > 0.1
    assert found.shares["labels"].share == pytest.approx(0) and found.shares["seat"].share == pytest.approx(0)
    assert sum(line.share for line in found.shares.shares) == pytest.approx(1)
    assert any("opponents goes with agent" in note for note in found.notes)


def test_a_conclusion_that_holds_in_every_framing_survives() -> None:
    found = analysed(lambda agent, story, **_: (agent == "a") + 0.1 * "xyz".index(story))
    assert [(c.within["game"], c.survives, c.framings) for c in found.conclusions] == [
        ("pd", True, 6), ("bos", True, 6),
    ]  # fmt: skip
    assert str(found.conclusions[0]) == "a > b in all 6 framings"
    assert found.conclusions[0].difference == pytest.approx(1)


def test_one_framing_that_turns_the_sign_is_enough_to_fall() -> None:
    def outcome(agent: str, story: str, labels: str, game: str, **_: Any) -> float:
        turned = (story, labels, game) == ("z", "QX", "bos")
        return float((agent == "a") != turned)

    found = analysed(outcome)
    by_game = {c.within["game"]: c for c in found.conclusions}
    assert by_game["pd"].survives and not by_game["bos"].survives
    assert by_game["bos"].exceptions == ("story z, labels QX",) and by_game["bos"].agreeing == 5


def test_a_difference_of_nothing_is_no_conclusion() -> None:
    found = analysed(lambda seed, **_: seed)
    assert not any(c.survives for c in found.conclusions)


def test_levels_of_a_factor_can_be_compared() -> None:
    data = frame(lambda game, **_: game == "pd")
    found = robustness(data, ["story", "labels", "game"], ["story", "labels"], contrast="game")
    assert [(c.first, c.second, c.survives) for c in found.conclusions] == [("pd", "bos", True)]


def test_a_constant_outcome_has_no_variance_and_says_so() -> None:
    found = analysed(lambda **_: 1.0)
    assert found.shares is None and any("no variance" in note for note in found.notes)


def test_scripts_are_left_out_where_others_read() -> None:
    both = pl.concat([frame(lambda **_: 0.0, strategy="grim"), frame(lambda seed, **_: seed)])
    found = robustness(both, ["story"], ["story"])
    assert found.rows == both.height // 2 and any("scripted players are left out" in n for n in found.notes)


def test_with_one_framing_nothing_can_survive() -> None:
    data = frame(lambda agent, **_: agent == "a").filter(
        (pl.col("story") == "x") & (pl.col("labels") == "JF")
    )
    found = robustness(data, ["story", "labels", "game"], ["story", "labels"])
    assert {c.survives for c in found.conclusions} == {None}
    assert any("no framing was varied" in note for note in found.notes)


def test_wrong_use_is_named() -> None:
    data = frame(lambda **_: 0.0)
    with pytest.raises(UsageError, match="allowed: cooperation, score"):
        robustness(data, [], [], outcome="happiness")
    with pytest.raises(UnknownName, match="agent"):
        robustness(data, [], [], agents=["nobody"])
    with pytest.raises(UnknownName, match="column of matches"):
        robustness(data, ["tone"], [])


def test_labels_that_were_drawn_count_as_a_framing(tmp_path: Path) -> None:
    def fond_of_j(request: Request) -> str:
        text = request.messages[0].content
        return next(f"[{label}]" for label in "JQH" if f"[{label}]" in text)

    register("fond", fond_of_j)
    try:
        study = load_study(
            {
                "name": "drawn", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 3},
                "agent": {
                    "model": "scripted/fond", "style": "direct",
                    "framing": {"labels": "draw", "pool": ["JF", "QX", "RH"]},
                },
                "vary": {"units": {"set": "agent.framing.units", "to": ["points", "coins"]}}, "seeds": 20,
            }
        )  # fmt: skip
        play(study, runs=tmp_path)
        with open_run("drawn", tmp_path) as run:
            assert framing_factors(run.plan.factors) == ["units"]
            with run_data(run.rows, run.folder.path, run.manifest) as data:
                found = run_robustness(data, ["units"])
    finally:
        unregister("fond")
    assert found.framings == ("units", "labels")
    assert found.shares is not None and found.shares["labels"].share > 0.9
    assert found.shares["residual"].share == pytest.approx(0)
