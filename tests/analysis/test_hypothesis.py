"""Tests of a measure between levels, against scipy and statsmodels on the values that a query of our own gives."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.analysis.conftest import PlayedRun

from ostrom.analysis.estimate import contrast
from ostrom.analysis.hypothesis import Method, _check, _usual
from ostrom.analysis.hypothesis import test as tested_by_agent
from ostrom.analysis.measure import Measure
from ostrom.analysis.statistics import linear_mixed_model, logistic_regression
from ostrom.analysis.statistics.means import jzs_from_t
from ostrom.analysis.units import condition
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UnknownName, UsageError

tested = partial(tested_by_agent, mean_over_agents=True)
tested.__test__ = False  # type: ignore[attr-defined]  # pytest collects callables of this name

PLAYED: dict[str, Any] = {
    "seating": "unordered",
    "types": {"coin": "random:0.5", "mostly": "random:0.8"},
    "vary": {"k": {"set": "agent.memory.k", "to": [1, 4, 16]}, "game": ["prisoners_dilemma", "stag_hunt"]},
    "seeds": 4,
}
FIRST = Measure(
    "first", "First action", "share", "Whether a player's first action is cooperative.",
    "SELECT match, player, arg_min(cooperative::INTEGER, round) AS value FROM decisions "
    "WHERE kind = 'act' GROUP BY match, player",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(play_run: PlayedRun) -> RunData:
    return play_run(**PLAYED)


def per_match(run: RunData, factor: str, level: Any, more: str = "true") -> dict[int, float]:
    """Means per match, in plain SQL."""
    rows = run.records(
        f"SELECT match, avg(cooperation) AS v FROM matches WHERE state = 'done' AND {factor} = ? AND {more} "
        "GROUP BY match ORDER BY match",
        level,
    )
    return {row["match"]: row["v"] for row in rows}


def test_welch_is_scipys_on_means_per_match(run: RunData) -> None:
    made = tested(run, "cooperation", "game", "welch")
    assert (made.method, made.unit) == ("welch", "match")
    sides = [list(per_match(run, "game", game).values()) for game in ("prisoners_dilemma", "stag_hunt")]
    theirs = stats.ttest_ind(*sides, equal_var=False)
    [row] = made.results["comparisons"]
    assert (row["t"], row["p"], row["df"]) == pytest.approx((theirs.statistic, theirs.pvalue, theirs.df))
    assert (row["low"], row["high"]) == pytest.approx(tuple(theirs.confidence_interval()))
    assert row["comparison"] == "prisoners_dilemma - stag_hunt" and row["n"] == [36, 36]
    assert [(g["game"], g["matches"]) for g in made.groups] == [("prisoners_dilemma", 36), ("stag_hunt", 36)]
    assert made.groups[0]["mean"] == pytest.approx(np.mean(sides[0]))
    assert made.groups[0]["sd"] == pytest.approx(np.std(sides[0], ddof=1))


@pytest.mark.parametrize(
    "question", [("cooperation", "game"), ("payoff", "k"), ("score", "agent"), ("cooperation", "k")]
)
def test_a_test_without_a_method_gives_the_numbers_of_estimate(run: RunData, question: tuple[str, str]) -> None:
    made = tested(run, *question)
    for row in made.results["comparisons"]:
        first, second = row["comparison"].split(" - ")
        (one,) = contrast(run, *question, f"{first} - {second}")
        numbers = (one.value, one.low, one.high, one.p_value, one.bound_low, one.bound_high, one.n)
        assert [row[name] for name in ("difference", "low", "high", "p", "bound_low", "bound_high", "n")] == list(
            numbers
        )


@pytest.mark.parametrize("seed", range(3))
def test_ten_random_questions_have_one_answer(run: RunData, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(10):
        measure, factor = str(rng.choice(["cooperation", "score", "payoff"])), str(rng.choice(["k", "game", "agent"]))
        other = str(rng.choice([name for name in ("k", "game", "seed") if name != factor]))
        levels = [row["v"] for row in run.records(f"SELECT DISTINCT {other} AS v FROM matches ORDER BY v")]
        where = {other: levels[int(rng.integers(len(levels))) :]}
        rows = tested(run, measure, factor, where=where).results["comparisons"]
        assert rows
        for row in rows:
            (one,) = contrast(run, measure, factor, row["comparison"], where=where)
            assert (row["difference"], row["low"], row["high"], row["p"]) == (one.value, one.low, one.high, one.p_value)


def test_three_levels_are_compared_in_pairs_with_holm(run: RunData) -> None:
    made = tested(run, "cooperation", "k", "welch")
    ps = []
    for one, two in ((1, 4), (1, 16), (4, 16)):
        sides = [list(per_match(run, "k", k).values()) for k in (one, two)]
        ps.append(float(stats.ttest_ind(*sides, equal_var=False).pvalue))
    rows = made.results["comparisons"]
    assert [row["comparison"] for row in rows] == ["1 - 4", "1 - 16", "4 - 16"]
    assert [row["p"] for row in rows] == pytest.approx(ps)
    assert min(row["p_holm"] for row in rows) == pytest.approx(min(1.0, 3 * min(ps)))
    assert any("3 comparisons by Holm" in text for text in made.assumptions)


def test_players_of_one_match_are_pairs(run: RunData) -> None:
    made = tested(run, "cooperation", "agent", "paired", where="opponents <> agent")
    usual = tested(run, "cooperation", "agent", where="opponents <> agent")
    assert usual.method == "estimate" and usual.results["comparisons"][0]["method"].startswith("paired t")
    more = "opponents <> agent"
    sides = [per_match(run, "agent", agent, more) for agent in ("coin", "mostly")]
    assert list(sides[0]) == list(sides[1]) and len(sides[0]) == 24
    theirs = stats.ttest_rel(list(sides[0].values()), list(sides[1].values()))
    [row] = made.results["comparisons"]
    assert (row["t"], row["p"]) == pytest.approx((theirs.statistic, theirs.pvalue)) and row["n"] == [24]
    unpaired = tested(run, "cooperation", "agent", "welch", where="opponents <> agent")
    assert any("24 matches have values at more than one level" in text for text in unpaired.warnings)
    factor = tested(run, "cooperation", "agent", "jzs", where="opponents <> agent")
    assert factor.results["comparisons"][0]["t"] == pytest.approx(theirs.statistic)


def test_one_way_anova_is_scipys(run: RunData) -> None:
    made = tested(run, "cooperation", "k", "anova")
    theirs = stats.f_oneway(*(list(per_match(run, "k", k).values()) for k in (1, 4, 16)))
    assert made.results["sources"][0]["f"] == pytest.approx(theirs.statistic)
    assert made.results["sources"][0]["p"] == pytest.approx(theirs.pvalue)


def test_a_permutation_moves_clusters_or_stays_within_them(run: RunData) -> None:
    few = "seed = 1 AND k = 1"
    made = tested(run, "cooperation", "game", "permutation", where=few)
    sides = [list(per_match(run, "game", g, few).values()) for g in ("prisoners_dilemma", "stag_hunt")]
    theirs = stats.permutation_test(
        sides, lambda a, b: np.mean(a) - np.mean(b), n_resamples=10**6, permutation_type="independent"
    )
    [row] = made.results["comparisons"]
    assert row["difference"] == pytest.approx(theirs.statistic) and row["arrangements"] == "all arrangements"
    assert row["p"] == pytest.approx(theirs.pvalue)
    within = tested(run, "cooperation", "game", "permutation", cluster="seed")
    assert within.results["comparisons"][0]["note"] == "swaps within clusters"
    whole = tested(
        run, "cooperation", "game", "permutation", cluster="seed", where="seed + (game = 'stag_hunt')::INT IN (1, 3)"
    )
    assert "clusters by seed" in whole.design
    assert whole.results["comparisons"][0]["note"] == "whole clusters swap levels"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The MLE may be on the boundary")
def test_models_are_those_of_statsmodels(run: RunData) -> None:
    import statsmodels.api as sm

    rows = run.records(
        "SELECT match, player, agent, cooperation AS y FROM matches WHERE state = 'done' ORDER BY match, player"
    )
    x = np.column_stack([np.ones(len(rows)), [row["agent"] == "mostly" for row in rows]]).astype(float)
    groups = [row["match"] for row in rows]
    mixed = tested(run, "cooperation", "agent", "mixed")
    fit = sm.MixedLM([row["y"] for row in rows], x, groups).fit(reml=True)
    line = mixed.results["coefficients"][1]
    assert line["term"] == "agent[mostly]"
    assert (line["estimate"], line["se"]) == pytest.approx((fit.fe_params[1], fit.bse_fe[1]), rel=2e-2)
    own = linear_mixed_model(
        [row["y"] for row in rows], {"agent": [row["agent"] for row in rows]}, groups=groups, unit="match"
    )["agent[mostly]"]
    assert (line["estimate"], line["se"], line["p"]) == pytest.approx((own.value, own.se, own.p))
    (facts,) = mixed.results["fit"]
    total = (facts["variance_between"] + facts["variance_within"]) ** 0.5
    assert line["standardised"] == pytest.approx(own.value / total)
    assert line["standardised_low"] == pytest.approx(line["low"] / total)
    assert mixed.results["coefficients"][0]["standardised"] is mixed.results["coefficients"][0]["bf10"] is None
    assert line["bf10"] > 0 and any(a.startswith("bf10: JZS") for a in mixed.assumptions)
    assert any(a.startswith("standardised: in standard deviations") for a in mixed.assumptions)

    firsts = {(r["match"], r["player"]): r["value"] for r in FIRST.rows(run)}
    y = np.array([firsts[row["match"], row["player"]] for row in rows], dtype=float)
    gee = tested(run, FIRST, "agent", "gee")
    theirs = sm.GEE(y, x, groups=groups, family=sm.families.Binomial(), cov_struct=sm.cov_struct.Exchangeable()).fit(
        maxiter=200, ctol=1e-8
    )
    line = gee.results["coefficients"][1]
    assert (line["estimate"], line["se"]) == pytest.approx((theirs.params[1], theirs.bse[1]), rel=1e-5)

    apart = run.records(
        "SELECT match, player, agent FROM matches WHERE state = 'done' AND opponents = agent AND player = 1 "
        "ORDER BY match"
    )
    alone = Measure(
        "own", "Own", "share", "First action of the first player.", f"SELECT * FROM ({FIRST.values}) WHERE player = 1"
    )
    glm = tested(run, alone, "agent", "glm", where="opponents = agent")
    theirs = sm.GLM(
        np.array([firsts[row["match"], 1] for row in apart], dtype=float),
        np.column_stack([np.ones(len(apart)), [row["agent"] == "mostly" for row in apart]]).astype(float),
        family=sm.families.Binomial(),
    ).fit()
    line = glm.results["coefficients"][1]
    assert (line["estimate"], line["se"]) == pytest.approx((theirs.params[1], theirs.bse[1]), rel=1e-5)
    assert line["standardised"] == pytest.approx(line["estimate"] * 3**0.5 / np.pi)
    sizes = [sum(row["agent"] == name for row in apart) for name in sorted({row["agent"] for row in apart})]
    assert line["bf10"] == pytest.approx(jzs_from_t(line["statistic"], *sizes, unit="match").bf10)


def test_every_answer_names_unit_design_and_assumptions(run: RunData) -> None:
    methods: tuple[Method, ...] = ("welch", "paired", "anova", "permutation", "jzs", "mixed")
    for method in methods:
        made = tested(run, "cooperation", "agent", method)
        assert made.unit == "match" and made.design and made.assumptions
        assert made.as_dict()["method"] == method


def test_wrong_questions_are_refused(run: RunData, play_run: PlayedRun) -> None:
    with pytest.raises(UnknownName, match="did you mean game"):
        tested(run, "cooperation", "gme")
    with pytest.raises(UsageError, match="needs values of 0 or 1: cooperation has"):
        tested(run, "cooperation", "game", "glm")
    with pytest.raises(UsageError, match="at least 2 levels"):
        tested(run, "cooperation", "mechanism")
    with pytest.raises(UsageError, match="takes no clusters"):
        tested(run, "cooperation", "game", "welch", cluster="k")
    with pytest.raises(UsageError, match="compares the levels of one factor"):
        tested(run, "cooperation", "game", "welch", second="k")
    with pytest.raises(UsageError, match="needs several values of each match"):
        tested(run, "joint_cooperation", "game", "mixed")
    scripted = play_run(types={"kind": "cooperator", "tft": "tit_for_tat"})
    with pytest.raises(UsageError, match="all values come from deterministic players"):
        tested(scripted, "cooperation", "agent")


def test_a_condition_is_levels_or_sql_and_cannot_leave_the_table(run: RunData, tmp_path: Any) -> None:
    assert condition([run], "cooperation", ["k=1, 4", "game=stag_hunt"]) == {"k": [1, 4], "game": ["stag_hunt"]}
    assert condition([run], "cooperation", ["k >= 4"]) == "(k >= 4)"
    assert condition([run], "cooperation", []) is None
    with pytest.raises(UsageError, match="no level 'stag_hnt', did you mean 'stag_hunt'"):
        condition([run], "cooperation", ["game=stag_hnt"])
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    for where in (
        f"(SELECT count(*) FROM read_text('{secret}')) = 1",
        f"true) ORDER BY match; COPY (SELECT 1) TO '{tmp_path}/made.csv'; SELECT (1",
        "no_such_column = 1",
    ):
        with pytest.raises(UsageError, match="where"):
            tested(run, "cooperation", "game", where=where)
    assert not (tmp_path / "made.csv").exists()


def test_models_of_a_measure_by_round_take_every_round(run: RunData) -> None:
    where = "game = 'stag_hunt'"
    rows = run.records(
        "SELECT d.match, d.round, any_value(k) AS k, avg(d.payoff) AS v, count(DISTINCT action) = 1 AS same "
        f"FROM decisions d WHERE kind = 'act' AND {where} GROUP BY d.match, d.round ORDER BY d.match, d.round"
    )
    each = len(rows) // len({row["match"] for row in rows})
    assert each > 1
    mixed = tested(run, "payoff_by_round", "k", "mixed", cluster="match", where=where)
    own = linear_mixed_model(
        [row["v"] for row in rows], {"k": [str(row["k"]) for row in rows]}, groups=[row["match"] for row in rows],
        unit="match", reference={"k": "1"},
    )  # fmt: skip
    lines = mixed.results["coefficients"]
    theirs = sorted(line.value for line in own.coefficients)  # the levels may stand in another order
    assert sorted(line["estimate"] for line in lines) == pytest.approx(theirs, abs=1e-6)
    assert mixed.design.startswith("one value per match and round, random intercept per match")
    glm = tested(run, "coordination_by_round", "k", "glm", where=where)
    shares = [np.mean([row["same"] for row in rows if row["k"] == k]) for k in (1, 4, 16)]
    odds = [np.log(share / (1 - share)) for share in shares]
    lines = glm.results["coefficients"]
    expected = [odds[0], odds[1] - odds[0], odds[2] - odds[0]]
    assert sorted(line["estimate"] for line in lines) == pytest.approx(sorted(expected), abs=1e-6)
    assert "errors robust to dependence within match" in glm.design
    robust = logistic_regression(
        [row["same"] for row in rows], {"k": [str(row["k"]) for row in rows]}, unit="match",
        clusters=[row["match"] for row in rows], reference={"k": "1"},
    )  # fmt: skip
    errors = sorted(float(line.se or 0) for line in robust.coefficients)
    assert sorted(line["se"] for line in lines) == pytest.approx(errors, rel=1e-4)


@pytest.mark.parametrize(
    ("method", "second", "clusters", "words"),
    [
        ("anovaa", None, (), "method"),
        (None, "k", (), r"second: must be another column than the factor \(found 'k' twice\)"),
        (None, None, ("k",), r"cluster: must be another column than the factor \(found k\)"),
        (None, "game", ("game",), "cluster: must be another column"),
        ("welch", "game", (), "method welch compares the levels of one factor"),
        ("permutation", "game", (), "method permutation compares the levels of one factor"),
        ("anova", None, ("seed",), "method anova takes no clusters"),
    ],
)
def test_wrong_use_of_a_method_is_refused(
    method: str | None, second: str | None, clusters: tuple[str, ...], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        _check(method, "k", second, clusters)
    _check("anova", "k", "game", ())
    _check("gee", "k", "game", ("seed",))


@pytest.mark.parametrize(
    ("factors", "levels", "repeated", "method"),
    [(1, 2, 0, "estimate"), (1, 2, 3, "estimate"), (1, 3, 3, "estimate"), (2, 2, 0, "anova")],
)
def test_the_usual_method(factors: int, levels: int, repeated: int, method: str) -> None:
    values: Any = SimpleNamespace(
        clusters=(), factors=("k", "game")[:factors], levels={"k": list(range(levels))}, repeated=repeated
    )
    assert _usual(values) == method
    values.clusters = ("seed",)
    with pytest.raises(UsageError, match="cluster: name the method too"):
        _usual(values)
