"""Robustness: variance comes out where it was put in; a conclusion survives only if it holds everywhere."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from ostrom.analysis.estimate import Estimate
from ostrom.analysis.statistics import StatisticsError
from ostrom.data.rundata import RunData, columns, run_data
from ostrom.features.robustness.robustness import (
    Conclusion,
    Robustness,
    _negated,
    _readers,
    _same_split,
    _widest,
    robustness,
    wordings,
    wordings_of,
)
from ostrom.features.robustness.variance_shares import EXACT_TERMS, shapley_shares, variance_shares
from ostrom.ground.errors import UnknownName
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play


def frame(outcome: Any, **more: Any) -> pl.DataFrame:
    """A balanced design: two agents, three stories, two label pairs, two games, two seats, twelve seeds."""
    rows = []
    design = product("ab", ("x", "y", "z"), ("JF", "QX"), ("pd", "bos"), range(12))
    for number, (agent, story, labels, game, seed) in enumerate(design):
        for seat in (1, 2):
            cell = {"agent": agent, "story": story, "labels": labels, "game": game, "seed": seed, "seat": seat}
            rows.append(
                {
                    "run": "r", "match": number, "unit": "match", "state": "done", "strategy": None,
                    "player": seat, "opponents": agent, **cell, "cooperation": float(outcome(**cell)), **more,
                }
            )  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"strategy": pl.String})


@pytest.fixture
def run_of(tmp_path: Path) -> Any:
    """A run that has nothing but its table of matches."""

    def of(table: pl.DataFrame) -> RunData:
        names = columns("matches", dict.fromkeys(("story", "labels"), str))
        missing = [pl.lit(None, dtype=pl.String).alias(name) for name in names if name not in table.columns]
        table.with_columns(missing).write_parquet(tmp_path / "matches.parquet")
        levels = {name: table[name].unique(maintain_order=True).to_list() for name in ("story", "labels", "game")}
        return RunData(
            tmp_path, {"study": {}}, levels=levels, types=dict.fromkeys(levels, str), planned=table.height,
            rows={"matches": table.height, "decisions": 0, "calls": 0},
        )  # fmt: skip

    return of


@pytest.fixture
def analysed(run_of: Any) -> Any:
    def of(values: Any, **options: Any) -> Robustness:
        return robustness(run_of(frame(values)), ["story", "labels"], **options)

    return of


@pytest.mark.slow
def test_shares_go_to_what_makes_the_difference(analysed: Any) -> None:
    found = analysed(lambda agent, story, seed, **_: 0.5 * (agent == "a") + 0.25 * (story == "x") + 0.01 * seed)
    assert found.shares is not None
    assert found.shares["agent"].share > found.shares["story"].share > 0.1
    assert found.shares["labels"].share == pytest.approx(0) and found.shares["seat"].share == pytest.approx(0)
    assert sum(line.share for line in found.shares.shares) == pytest.approx(1)
    assert any("opponents goes with agent" in note for note in found.notes)


def noise(seed: int, seat: int, share: float = 0.04) -> float:
    return share * ((seed * 2 + seat) % 3)


@pytest.mark.slow
def test_a_conclusion_that_surely_holds_in_every_framing_survives(analysed: Any) -> None:
    found = analysed(
        lambda agent, story, seed, seat, **_: 0.7 * (agent == "a") + 0.1 * "xyz".index(story) + noise(seed, seat)
    )
    assert [(c.within["game"], c.survives, c.framings) for c in found.conclusions] == [
        ("pd", "yes", 6), ("bos", "yes", 6),
    ]  # fmt: skip
    one = found.conclusions[0]
    assert str(one) == "a > b in all 6 framings" and one.difference.value == pytest.approx(0.7)
    assert one.difference.n == 144 and one.difference.low < 0.7 < one.difference.high
    assert found.control == "12 comparisons at 95%, family-wise error controlled by Holm's method"
    assert found.as_dict()["conclusions"][0]["survives"] == "yes"


@pytest.mark.slow
def test_one_framing_that_surely_turns_the_sign_is_enough_to_fall(analysed: Any) -> None:
    def outcome(agent: str, story: str, labels: str, game: str, seed: int, seat: int, **_: Any) -> float:
        turned = (story, labels, game) == ("z", "QX", "bos")
        return 0.9 * ((agent == "b") == turned) + noise(seed, seat, 0.005)

    by_game = {c.within["game"]: c for c in analysed(outcome).conclusions}
    assert by_game["pd"].survives == "yes" and by_game["bos"].survives == "no"
    assert by_game["bos"].exceptions == ("story z, labels QX",) and by_game["bos"].agreeing == 5


@pytest.mark.slow
def test_a_sign_that_chance_may_have_made_is_undecided(analysed: Any) -> None:
    """The same sign everywhere, but small beside the spread of three matches."""
    found = analysed(lambda agent, seed, seat, **_: 0.02 * (agent == "a") + noise(seed, seat, 0.3))
    assert [(c.agreeing, c.survives) for c in found.conclusions] == [(6, "undecided")] * 2


@pytest.mark.slow
def test_a_difference_of_nothing_is_no_conclusion(analysed: Any) -> None:
    found = analysed(lambda seed, **_: seed / 12)
    assert [c.survives for c in found.conclusions] == ["undecided"] * 2
    assert all(c.agreeing == 0 and str(c).startswith("a = b") for c in found.conclusions)


@pytest.mark.slow
def test_the_lower_level_may_stand_first(analysed: Any) -> None:
    found = analysed(lambda agent, seed, seat, **_: 0.8 * (agent == "b") + noise(seed, seat))
    for one in found.conclusions:
        assert str(one) == "a < b in all 6 framings" and one.survives == "yes"
        assert one.difference.value == pytest.approx(-0.8)
        assert one.difference.low < -0.8 < one.difference.high


@pytest.mark.slow
def test_two_agents_of_one_match_are_not_independent(run_of: Any) -> None:
    """Each adds 0.4 to a match by chance, which their difference does not see."""
    table = frame(
        lambda seat, seed, **_: 0.1 * (seat == 1) + 0.4 * (seed == 1) + 0.001 * (seat == 1) * (-1) ** seed
    ).with_columns(pl.when(pl.col("seat") == 1).then(pl.lit("a")).otherwise(pl.lit("b")).alias("agent"))
    with run_of(table) as data:
        found = robustness(data, ["story", "labels"])
    for one in found.conclusions:
        assert one.difference.value == pytest.approx(0.1)
        low, high = one.difference.low, one.difference.high
        # 144 pairs with a standard deviation of .001: each side alone would give a width of .05.
        assert low is not None and high is not None and high - low < 0.001


@pytest.mark.slow
def test_levels_of_a_factor_can_be_compared(analysed: Any) -> None:
    found = analysed(lambda game, seed, seat, **_: 0.9 * (game == "pd") + noise(seed, seat), contrast="game")
    assert [(c.first, c.second, c.survives) for c in found.conclusions] == [("pd", "bos", "yes")]


def test_a_constant_outcome_has_no_variance_and_says_so(analysed: Any) -> None:
    found = analysed(lambda **_: 1.0)
    assert found.shares is None and any("no variance" in note for note in found.notes)


@pytest.mark.slow
def test_scripts_are_left_out_where_others_read(run_of: Any) -> None:
    scripts = frame(lambda **_: 0.0, strategy="grim").with_columns(pl.col("match") + 1000)
    both = pl.concat([scripts, frame(lambda seed, **_: seed / 12)])
    found = robustness(run_of(both), ["story"])
    assert found.rows == both.height // 2 and any("scripted players are left out" in n for n in found.notes)


def test_with_one_framing_nothing_can_survive(run_of: Any) -> None:
    data = frame(lambda agent, **_: agent == "a").filter((pl.col("story") == "x") & (pl.col("labels") == "JF"))
    found = robustness(run_of(data), ["story", "labels"])
    assert {c.survives for c in found.conclusions} == {None} and found.control == ""
    assert any("no framing was varied" in note for note in found.notes)


def test_wrong_use_is_named(analysed: Any) -> None:
    with pytest.raises(UnknownName, match="unknown measure 'happiness'"):
        analysed(lambda **_: 0.0, outcome="happiness")
    with pytest.raises(UnknownName, match="agent"):
        analysed(lambda **_: 0.0, agents=["nobody"])
    with pytest.raises(UnknownName, match="unknown column 'tone'"):
        analysed(lambda **_: 0.0, contrast="tone")


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
        with open_run("drawn", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
            assert wordings_of(data) == ["units"]
            found = robustness(data)
    finally:
        unregister("fond")
    assert found.framings == ("units", "labels")
    assert found.shares is not None and found.shares["labels"].share > 0.9
    assert found.shares["residual"].share == pytest.approx(0)


@pytest.mark.parametrize(
    ("value", "agreeing", "survives", "words"),
    [
        (0.2, 3, "yes", "a > b in all 3 framings"), (-0.2, 2, "no", "a < b in 2 of 3 framings"),
        (1e-13, 3, "no", "a = b in all 3 framings"), (-0.2, 3, None, "a < b in the only framing"),
    ],
)  # fmt: skip
def test_a_conclusion_in_words(value: float, agreeing: int, survives: Any, words: str) -> None:
    one = Estimate({}, value, value - 0.1, value + 0.3, 9, "match", "t")
    assert str(Conclusion({}, "agent", "a", "b", one, 3, agreeing, survives, ())) == words
    turned = _negated(one)
    assert (turned.value, turned.low, turned.high) == (-value, -value - 0.3, -value + 0.1)
    assert _negated(replace(one, low=None, high=None)).low is None


def test_two_columns_split_rows_alike_only_one_to_one() -> None:
    assert _same_split(["a", "b", "a"], ["x", "y", "x"])
    assert not _same_split(["a", "b", "a"], ["x", "y", "z"]) and not _same_split(["a", "b"], ["x", "x"])


def row(low: float | None, high: float | None) -> Any:
    return SimpleNamespace(bounds=(low, high))


def test_the_bounds_of_a_weighted_sum() -> None:
    assert _widest(None, [(2.0, row(0.0, 1.0)), (-1.0, row(0.0, 3.0))]) == (-3.0, 2.0)
    assert _widest((-5.0, 1.0), [(2.0, row(0.0, 1.0))]) == (-5.0, 2.0)
    assert _widest((1.0, 9.0), [(2.0, row(0.0, 1.0))]) == (0.0, 9.0)
    assert _widest(None, [(2.0, row(0.0, None))]) == (None, None) == _widest((None, 1.0), [(2.0, row(0.0, 1.0))])


def test_scripts_are_left_out_where_somebody_reads() -> None:
    model: Any = {"agent": "m", "strategy": None}
    script: Any = {"agent": "s", "strategy": "grim"}
    for rows, agents, kept, noted in (
        ([model, script], [], [model], 1), ([script], [], [script], 0), ([model], [], [model], 0),
        ([model, script], ["s"], [script], 0),
    ):  # fmt: skip
        notes: list[str] = []
        assert list(_readers(rows, agents, notes)) == kept and len(notes) == noted
    with pytest.raises(UnknownName, match="agent 'x'"):
        _readers([model], ["x"], [])


@pytest.mark.parametrize(
    ("vary", "found"),
    [
        ({"a": {"set": ["agent.framing.story", "agent.framing.labels"], "to": [1]}}, ["a"]),
        ({"a": {"set": ["agent.framing.story", "game"], "to": [1]}}, []),
        ({"agent.framing.story": ["x", "y"], "game": ["x"]}, ["agent.framing.story"]),
        ({"agent.framing.story": {"from": "file"}}, ["agent.framing.story"]),
        ({"a": {"one": {"agent": {"framing": {"story": "x"}}}, "two": {"agent.framing.story": "y"}}}, ["a"]),
        ({"a": {"one": {"agent": {"framing": {"story": "x"}, "style": "direct"}}}}, []),
        ({"agent.framing.story": {"from": "file", "where": {"a": 1}}}, ["agent.framing.story"]),
        ({"a": {"one": {"agent": {}}, "two": {"agent.framing.story": "y"}}}, []),
        ({"a": {"one": "x"}}, []),
        (None, []),
    ],
)
def test_a_wording_sets_nothing_but_framings(vary: Any, found: list[str]) -> None:
    assert wordings({"vary": vary}) == found


@pytest.mark.parametrize(
    ("outcome", "factors", "more", "says"),
    [
        ([1, 1, 1], {"a": "xyx"}, {}, "constant at 1"),
        ([1, 2], {"a": "xy"}, {}, "outcome"),
        ([1, 2, 3], {}, {}, r"between 1 and 8 factors .*\(found 0\)"),
        ([1, 2, 3], {str(i): "xyx" for i in range(9)}, {}, r"\(found 9\)"),
        ([1, 2, 3], {"a": "xyx"}, {"clusters": [1, 2, 3]}, "give rng together with clusters"),
        ([1, 2, 3], {"a": "xxx"}, {}, "factor a: has the single level 'x'"),
    ],
)
def test_what_cannot_be_decomposed_is_refused(outcome: Any, factors: Any, more: Any, says: str) -> None:
    with pytest.raises(StatisticsError, match=says):
        variance_shares(outcome, {name: list(of) for name, of in factors.items()}, unit="match", **more)


def test_shares_less_chance_and_balance_by_hand() -> None:
    """A difference of 2 between two levels of two values each: 4 of 5 parts, 1 degree of freedom, 2 left."""
    found = variance_shares([0, 1, 2, 3], {"a": list("xxyy")}, unit="match")
    assert found["a"].share == pytest.approx(0.8) and (found["a"].df, found["residual"].df) == (1, 2)
    assert found["a"].adjusted.value == pytest.approx(0.8 - 0.1)
    assert found["residual"].adjusted.value == pytest.approx(0.3)
    assert found.balanced and found.total_variance == pytest.approx(5 / 3) and found.resamples == 0
    assert not variance_shares([0, 1, 2], {"a": list("xxy")}, unit="match").balanced
    with pytest.raises(StatisticsError, match=r"no source 'b' \(found: a, residual\)"):
        found["b"]


def test_drawn_orders_add_up_to_the_same_sum() -> None:
    count = EXACT_TERMS + 1
    shares = shapley_shares(lambda terms: np.array([float(sum(terms)) + 1.0]), count, np.random.default_rng(0))
    assert [float(share[0]) for share in shares] == pytest.approx(list(range(count)))
