"""A sample of a test by hand: one value per unit, levels in order, what is left out, and rows for every pair."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.analysis import summary
from ostrom.analysis.estimate import Estimate
from ostrom.analysis.hypothesis_methods import (
    LOGISTIC_SD,
    SampleRow,
    _constant,
    _dependent,
    _same_units,
    bayes_factor,
    clusters_behind,
    many_comparisons,
    pairwise,
    sample_of,
    standardised,
)
from ostrom.analysis.measure import Measure
from ostrom.analysis.statistics.regression import FittedRegression
from ostrom.analysis.statistics.samples import StatisticsError, Undefined
from ostrom.analysis.units import Observation, Observations
from ostrom.ground.errors import UsageError

PLAIN = Measure("plain", "Plain", "number", "A value.", "SELECT match, 1 AS value")


def one(value: float, match: int, k: Any, weight: float | None = None, *, exact: bool = False) -> Observation:
    columns = {"run": "r", "match": match, "k": k, "half": match % 2, "game": "pd"}
    return Observation(value, weight, (None, None), exact, columns)


def found(*rows: Observation) -> Observations:
    names = frozenset(rows[0].columns) if rows else frozenset()
    return Observations(PLAIN, rows, ("k",), {"k": (2, 1, 3)}, names)


ROWS = (one(1.0, 0, 1), one(3.0, 0, 1), one(4.0, 1, 1), one(6.0, 2, 2), one(7.0, 0, 2), one(9.0, 3, None))


def test_players_of_a_match_are_one_value_and_missing_levels_are_counted() -> None:
    sample = sample_of(found(*ROWS), ["k"])
    assert sample.levels == {"k": [2, 1]} and sample.missing == 1 and sample.repeated == 1
    assert [(row.levels, row.value) for row in sample.rows] == [((2,), 6.0), ((2,), 7.0), ((1,), 2.0), ((1,), 4.0)]
    assert sample.groups() == [
        {"k": 2, "matches": 2, "mean": 6.5, "sd": pytest.approx(math.sqrt(0.5))},
        {"k": 1, "matches": 2, "mean": 3.0, "sd": pytest.approx(math.sqrt(2.0))},
    ]
    assert [row.value for row in sample.rows_at(1)] == [2.0, 4.0] and len(sample.side(1)) == 3
    assert sample.warnings("welch") == ("1 values without a level of k are left out",)
    assert _same_units(sample, 1, 2) == ([2.0], [7.0], 2)
    assert _dependent(sample, "paired") and many_comparisons(sample) == ()
    assert len(sample.model_rows("glm")) == 4 and len(sample.model_rows("mixed")) == 5
    single = sample_of(found(one(1.0, 0, 1), one(2.0, 1, 2)), ["k"])
    assert single.groups()[0]["sd"] is None and _dependent(single, "paired") == ()
    assert sample_of(found(*ROWS, one(1.0, 5, 3)), ["k"]).levels["k"] == [2, 1, 3]
    assert sample_of(found(*ROWS, one(8.0, 1, 2)), ["k"]).repeated == 2
    assert sample_of(found(*ROWS), ["k", "half"]).missing == 1
    by_round = replace(PLAIN, unit="decision")
    decisions = sample_of(replace(found(*ROWS), measure=by_round), ["k"])
    assert (decisions.unit, decisions.by_round, sample.by_round) == ("match", False, False)
    assert sample_of(replace(found(*ROWS), measure=replace(PLAIN, unit="scenario")), ["k"]).unit == "scenario"


def test_exact_and_weighted_values_are_said() -> None:
    rows = (one(1.0, 0, 1, 1.0, exact=True), one(2.0, 1, 2, 1.0), one(3.0, 2, 2, 2.0))
    warnings = sample_of(found(*rows), ["k"]).warnings("welch")
    assert warnings[0].startswith("1 of 3 values come from deterministic players")
    assert warnings[1] == "plain weighs its values; here all matches count the same"
    assert len(sample_of(found(*rows[:2]), ["k"]).warnings("welch")) == 1
    partly = (one(1.0, 0, 1, exact=True), one(1.0, 0, 1), one(2.0, 1, 2))
    assert sample_of(found(*partly), ["k"]).warnings("welch") == ()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((), "no finished match that is asked for has a value of plain"),
        ((one(1.0, 0, 1), one(2.0, 1, 1)), r"factor k: a test needs at least 2 levels with values \(found 1\)"),
        ((one(1.0, 0, None),), r"\(found none\)"),
        ((one(1.0, 0, 1, exact=True), one(2.0, 1, 2, exact=True)), "all values come from deterministic players"),
    ],
)
def test_a_sample_without_a_comparison_is_refused(rows: tuple[Observation, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        sample_of(found(*rows), ["k"])


def test_every_pair_has_a_row_and_holm_corrects_those_with_a_p_value() -> None:
    sample = sample_of(found(*(one(float(k), k, k) for k in (1, 2, 3))), ["k"])
    ps = {(2, 1): 0.01, (2, 3): 0.04}

    def compare(first: Any, second: Any) -> dict[str, Any]:
        if (first, second) not in ps:
            raise Undefined("no spread")
        return {"difference": 1.0, "p": ps[first, second]}

    rows = pairwise(sample, compare)
    assert [row["comparison"] for row in rows] == ["2 - 1", "2 - 3", "1 - 3"]
    assert [row["p_holm"] for row in rows] == [pytest.approx(0.02), pytest.approx(0.04), None]
    assert [row["note"] for row in rows] == ["", "", "no spread"]
    assert many_comparisons(sample) == ("p_holm corrects for 3 comparisons by Holm's method",)
    ps.clear()
    with pytest.raises(Undefined, match="no spread"):
        pairwise(sample, compare)


def row(level: Any, unit: int, cluster: str = "") -> SampleRow:
    return SampleRow((level,), (unit,), (cluster,), 1.0, False)


def test_clusters_behind_a_term_and_its_bayes_factor() -> None:
    apart = [row(1, 0, "a"), row(1, 1, "b"), row(2, 2, "c")]
    both = [row(1, 0, "a"), row(2, 1, "a"), row(1, 2, "b"), row(2, 3, "b")]
    assert clusters_behind({"k": "1"}, apart, True) == {"k[2]": (2, 1)}
    assert clusters_behind({"k": "1"}, both, True) == {"k[2]": (2,)}
    assert clusters_behind({"k": "1"}, both, False) == {"k[2]": (2, 2)}
    assert _constant(apart) and not _constant(both)
    line = Estimate({"term": "k[2]"}, 1.0, 0.5, None, 4, "match", "t", statistic=3.0)
    factor = bayes_factor(line, (10, 12), "match")
    assert factor is not None and factor > 1
    nothing = ((line, None), (line, (1, 1)), *((replace(line, statistic=t), (10, 12)) for t in (None, math.inf)))
    assert [bayes_factor(*of, "match") for of in nothing] == [None] * 4


def test_estimates_in_standard_deviations_of_the_outcome() -> None:
    fit = FittedRegression("m", (), 4, 2, "match", {"variance_between": 3.0, "variance_within": 1.0})
    assert standardised("mixed", fit)[0] == 2.0 and standardised("glm", fit)[0] == LOGISTIC_SD


def test_p_values_of_several_pairs_are_corrected_where_every_pair_has_one() -> None:
    values: Any = SimpleNamespace(factors=["k"], levels={"k": [1, 2, 3]})
    found: dict[Any, Any] = {(1, 2): {"p": 0.01, "d": 1}, (1, 3): {"p": 0.04, "d": 2}, (2, 3): None}

    def compare(first: Any, second: Any) -> dict[str, Any]:
        row = found[first, second]
        if row is None:
            raise StatisticsError("no values")
        return dict(row)

    rows = pairwise(values, compare)
    assert [row["comparison"] for row in rows] == ["1 - 2", "1 - 3", "2 - 3"]
    assert [row["p_holm"] for row in rows] == [0.02, 0.04, None] and [row["note"] for row in rows] == [
        "",
        "",
        "no values",
    ]
    found[2, 3] = {"d": 3, "q": 1}
    assert pairwise(values, compare)[0]["p_holm"] == 0.02, "a pair without a p-value corrects nothing"
    found.update(dict.fromkeys(found))
    with pytest.raises(StatisticsError, match="no values"):
        pairwise(values, compare)
    values.levels = {"k": [1, 2]}
    found[1, 2] = {"p": 0.01, "d": 1}
    assert "p_holm" not in pairwise(values, compare)[0], "one pair needs no correction"


@pytest.mark.parametrize(("certain", "exact"), [(3, True), (1, False), (0, False)])
def test_a_cell_is_exact_where_all_its_matches_are(certain: int, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "Determinism", lambda _: lambda match: match < certain)
    facts = {"state": "done", "unit": "match", "game": "pd", "mechanism": "none", "agent": "a", "score": 1.0,
             "opponents": "b"}  # fmt: skip
    played = [{**facts, "match": match, "cooperation": float(match != 1)} for match in range(3)]
    plan = SimpleNamespace(unit=lambda _: SimpleNamespace(cell={"k": 1}, key="", players=(), kind="match"))
    rows: Any = SimpleNamespace(plan=plan, matches=lambda: [*played, {**played[0], "match": 7, "state": "failed"}])
    (cell,) = summary.summarise(rows)
    assert (cell.exact, cell.matches) == (exact, 3) and cell.cooperation == pytest.approx(2 / 3)
    assert (cell.interval_text == "exact") is exact and cell.factors == {"game": "pd", "mechanism": "none", "k": 1}
