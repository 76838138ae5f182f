"""`ostrom power`: the declared analysis on simulated values, what it costs, and wrong use in one line."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.cli.in_process import Call

import ostrom
from ostrom.analysis.estimate import contrast, estimate
from ostrom.costs.measured import measure
from ostrom.data.rundata import run_data
from ostrom.features.power.simulation import pace_of
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing.server import LoopbackServer

STUDY = """\
name: s
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 8}
types: {a: "random:0.5"}
vary:
  game: [prisoners_dilemma, stag_hunt]
  p: {low: {types.a: "random:0.5"}, high: {types.a: "random:0.62"}}
seeds: 60
"""
ASK = ("--measure", "cooperation", "--contrast", "p=high-low")


def told(call: Call, *more: str, study: str = "s.yaml") -> dict[str, Any]:
    done = call("power", study, *ASK, "--simulations", "150", "--json", *more)
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def shared() -> str:
    """The same study with seeds that its cells share."""
    (Path.cwd() / "shared.yaml").write_text(STUDY.replace("seeds: 60", "seeds: {count: 60, shared: true}"))
    return "shared.yaml"


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(("--baseline", "0.5", "--effect", "0.1"), marks=pytest.mark.slow),
        ("--baseline", "0.85", "--effect", "0.12"),
    ],
)
def test_a_smaller_sd_never_gives_less_power(call: Call, more: tuple[str, ...]) -> None:
    power = [
        told(call, *more, "--sd", sd, "--seeds", "4", "--simulations", "100")["points"][-1]["power"]
        for sd in ("0", "0.01", "0.1", "0.2", "0.35")
    ]
    assert power == sorted(power, reverse=True) and power[0] == 1 > power[-1]


@pytest.mark.slow
def test_power_from_a_pilot_is_what_real_runs_of_that_size_find(call: Call) -> None:
    """60 seeds are cut into 20 studies of 3; their contrasts exclude zero as often as the simulation says."""
    found = told(call, "--from", "s", "--effect", "0.12", "--seeds", "3", "--simulations", "300")
    (point,) = [one for one in found["points"] if one["seeds"] == 3]
    run = ostrom.open_run("s")
    hits = 0
    with run.data() as data:
        for first in range(0, 60, 3):
            (one,) = contrast(data, "cooperation", "p", "high - low", where={"seed": list(range(first, first + 3))})
            hits += one.low is not None and one.low > 0
            assert one.n == point["n"] == 12
    # 20 studies: the standard error of the share is at most .11.
    assert abs(hits / 20 - point["power"]) < 0.33, (hits, point)
    assert found["assumed"]["baseline"] == pytest.approx(0.5, abs=0.03)
    assert found["assumed"]["sd"] == pytest.approx((0.25 / 16) ** 0.5, abs=0.02)
    assert abs(found["assumed"]["correlation"]) < 0.25 and "run s: 240 matches" in found["assumed"]["source"]


@pytest.mark.slow
def test_more_seeds_find_more_and_the_error_stays(call: Call) -> None:
    asked = ("--baseline", "0.6", "--sd", "0.2", "--seeds", "3,10,24", "--effect", "0.15", "--simulations", "100")
    found = told(call, *asked)
    powers = [one["power"] for one in found["points"]]
    assert powers == sorted(powers) and powers[-1] > 0.9
    assert all(one["error"] < 0.1 and one["error_low"] <= one["error"] <= one["error_high"] for one in found["points"])
    needed = found["needed"]
    assert 3 < needed <= 24 and any(one["seeds"] == needed and one["power"] >= 0.8 for one in found["points"])
    assert all(one["power"] < 0.8 for one in found["points"] if one["seeds"] < needed)
    (before,) = told(call, *asked, "--seeds", str(needed - 1), "--power", "0.01")["points"][-1:]
    assert before["seeds"] == needed - 1 and before["power"] < 0.8
    assert found == told(call, *asked)
    assert found["points"][1] != told(call, *asked, "--seed", "7", "--seeds", "10")["points"][0]


@pytest.mark.slow
def test_pairs_that_go_together_need_fewer_seeds(call: Call) -> None:
    tied, free, apart = (
        told(call, "--sd", "0.25", "--seeds", "10", f"--correlation={rho}", study=shared())["points"][-1]["power"]
        for rho in ("0.9", "0", "-0.9")
    )
    assert tied > free + 0.2 and free > apart
    done = call("power", "s.yaml", *ASK, "--correlation", "0.5")
    assert done.code == 2 and "--correlation: no matches of this contrast pair" in done.err


@pytest.mark.slow
def test_cost_grows_with_the_seeds_and_time_comes_from_the_pace(call: Call) -> None:
    asked = (
        "--model",
        "openai/gpt-4o-mini",
        "--seeds",
        "2,4",
        "--seconds-per-call",
        "0.5",
        "--where",
        "game=stag_hunt",
    )
    (Path.cwd() / "m.yaml").write_text(
        STUDY.replace('types: {a: "random:0.5"}', "types: {a: openai/gpt-4o-mini}")
        .replace('{low: {types.a: "random:0.5"}, high: {types.a: "random:0.62"}}',
                 "{low: {agent.memory: {name: window, k: 1}}, high: {agent.memory: {name: window, k: 2}}}")
    )  # fmt: skip
    found = told(call, *asked, "--where", "game=stag_hunt", study="m.yaml")
    two, four = found["points"][:2]
    assert (two["matches"], four["matches"]) == (8, 16) and (two["n"], four["n"]) == (4, 8)
    assert four["calls"] == 2 * two["calls"] == 256 and four["seconds"] == 128
    assert four["usd"] == pytest.approx(2 * two["usd"]) and two["usd"] > 0


@pytest.mark.slow
def test_what_is_stated_replaces_what_a_pilot_says_and_effects_end_at_the_bound(call: Call) -> None:
    asked = ("--seeds", "2", "--simulations", "100", "--effect", "0.3")
    stated = ("--baseline", "0.9", "--sd", "0.2", "--correlation", "0.5")
    study = shared()
    from_pilot = told(call, *asked, *stated, "--from", "s", study=study)
    assert "with stated baseline, sd, correlation" in from_pilot["assumed"]["source"]
    alone = told(call, *asked, *stated, study=study)
    assert from_pilot["points"] == alone["points"] and alone["effect"] == pytest.approx(0.1, abs=0.001)
    assert from_pilot["assumed"] | {"source": "stated"} == alone["assumed"]


def test_the_pace_is_the_time_with_any_call_under_way_per_call(call: Call) -> None:
    """Two calls at once take as long as one: 3 calls in 5 seconds, whatever was waited between."""
    from ostrom.features.power.simulation import pace_of

    rows = [{"at": 10.0, "latency": 3.0}, {"at": 11.0, "latency": 3.0}, {"at": 20.0, "latency": 1.0}]
    assert pace_of(cast(Any, SimpleNamespace(records=lambda sql: rows))) == pytest.approx(5 / 3)
    assert pace_of(cast(Any, SimpleNamespace(records=lambda sql: []))) is None


def test_a_pilot_whose_matches_are_alike_is_refused(call: Call) -> None:
    sure = STUDY.replace("random:0.62", "cooperator").replace("random:0.5", "defector")
    Path("sure.yaml").write_text(sure.replace("name: s", "name: sure").replace("seeds: 60", "seeds: 2"))
    assert call("run", "sure.yaml").code == 0
    done = call("power", "s.yaml", *ASK, "--from", "sure")
    assert done.code == 2 and "shows no spread" in done.err and done.err.count("\n") == 1, done


@pytest.mark.slow
def test_a_level_at_a_bound_says_nothing_about_the_spread_of_the_other(call: Call) -> None:
    """Where all matches at level B are alike at 1, those at level A are not: two seeds find nothing for certain."""
    found, close = (told(call, "--baseline", b, "--effect=-0.2", "--seeds", "15") for b in ("1", "0.9999"))
    assert found["effect"] == pytest.approx(-0.2, abs=0.001) and found["points"][-1]["power"] < 0.9
    assert found["points"][-1]["power"] == pytest.approx(close["points"][-1]["power"], abs=0.1)
    Path("top.yaml").write_text(
        STUDY.replace("random:0.62", "random:0.8").replace("random:0.5", "cooperator").replace("name: s", "name: top")
        .replace("seeds: 60", "seeds: 6").replace("  game: [prisoners_dilemma, stag_hunt]\n", "")
    )  # fmt: skip
    assert call("run", "top.yaml").code == 0
    pilot = told(call, "--from", "top", "--effect=-0.2", "--seeds", "2,6", study="top.yaml")
    with ostrom.open_run("top").data() as data:
        (high,) = estimate(data, "cooperation", where={"p": "high"})
    # The side of chance alone says how much matches vary, at the mean that the effect gives.
    assert high.sd is not None
    share = high.sd**2 / (high.value * (1 - high.value))
    assert pilot["assumed"]["baseline"] == 1 and pilot["points"][0]["power"] < 0.9
    stated = told(call, "--baseline", "0.8", f"--sd={(share * 0.16) ** 0.5}", "--effect=-0.001", study="top.yaml")
    assert stated["assumed"]["sd"] == pytest.approx(high.sd, abs=0.03)
    moved = told(call, "--from", "top", "--baseline", "0.8", "--effect=-0.1", "--seeds", "2", study="top.yaml")
    assert moved["assumed"]["sd"] == pytest.approx((share * 0.16) ** 0.5)


@pytest.mark.slow
def test_conditions_of_a_pilot_are_found_where_the_opponents_go_with_the_factor(call: Call) -> None:
    """Two models in self-play: the opponents are another name of the agent."""
    Path("self.yaml").write_text(
        "name: self\ngame: prisoners_dilemma\nmechanism: {name: repetition, rounds: 8}\n"
        'types: {m1: "random:0.5", m2: "random:0.5"}\nvary:\n  q:\n'
        '    lo: {types.m1: "random:0.05", types.m2: "random:0.05"}\n'
        '    hi: {types.m1: "random:0.9", types.m2: "random:0.9"}\nseeds: 12\n'
    )
    assert call("run", "self.yaml").code == 0
    asked = ("--measure", "cooperation", "--contrast", "agent=m2-m1", "--effect", "0.2", "--from", "self", "--json")
    done = call("power", "self.yaml", *asked, "--simulations", "100", "--seeds", "2")
    # 0.9 + 0.2 ends at 1, 0.05 + 0.2 does not: the mean of both conditions.
    assert json.loads(done.out)["effect"] == pytest.approx(0.15, abs=0.03)


@pytest.mark.slow
def test_players_without_chance_do_not_count_in_the_spread(call: Call) -> None:
    """Level B alternates by rule; the spread is that of level A alone."""
    Path("half.yaml").write_text(
        STUDY.replace("random:0.62", "random:0.7").replace("random:0.5", "alternator").replace("name: s", "name: half")
        .replace("seeds: 60", "seeds: 8").replace("  game: [prisoners_dilemma, stag_hunt]\n", "")
    )  # fmt: skip
    assert call("run", "half.yaml").code == 0
    with ostrom.open_run("half").data() as data:
        (high,) = estimate(data, "cooperation", where={"p": "high"})
    assert high.sd is not None
    pilot = told(call, "--from", "half", "--effect", "0.2", "--seeds", "2", study="half.yaml")
    share = high.sd**2 / (high.value * (1 - high.value))
    assert pilot["assumed"]["baseline"] == 0.5 and pilot["assumed"]["sd"] == pytest.approx((share / 4) ** 0.5)


def test_an_effect_that_a_bound_cuts_is_said(call: Call) -> None:
    done = call("power", "s.yaml", *ASK, "--baseline", "0.9", "--effect", "0.2", "--seeds", "2", "--simulations", "100")
    assert "the effect of 0.2 ends at a bound of the measure: the true difference is 0.1" in done.out


def test_several_agents_are_analysed_one_by_one(call: Call) -> None:
    """Two agents bring twice the matches, and no more power: each has its own row in the analysis."""
    text = STUDY.replace('{a: "random:0.5"}', '{a: "random:0.5", b: "random:0.4"}', 1)
    (Path.cwd() / "two.yaml").write_text(text + "seating: self\n")
    more = ("--seeds", "3", "--simulations", "100")
    one, two = told(call, *more, study="s.yaml"), told(call, *more, study="two.yaml")
    assert one["agents"] == [] and two["agents"] == ["a", "b"] and two["where"] == {"agent": "a"}
    first, second = one["points"][0], two["points"][0]
    assert second["matches"] == 2 * first["matches"] and second["n"] == first["n"]
    mean = call("power", "two.yaml", *ASK, *more, "--where", "agent=a,b", "--json")
    assert json.loads(mean.out)["points"][0]["n"] == 2 * first["n"]


def test_the_pace_of_a_pilot_is_the_rate_that_a_forecast_takes(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        study = {
            "name": "paced", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 4},
            "types": {"a": {"model": server.model, "style": "direct"}}, "seating": "self", "seeds": 4,
        }  # fmt: skip
        play(load_study(study), runs=tmp_path)
    with open_run("paced", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        assert measure("paced", tmp_path).rate == pytest.approx(1 / (pace_of(data) or 0))
