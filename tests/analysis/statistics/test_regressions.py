"""Mixed and logistic models equal closed forms, and refuse data that cannot carry them."""

import math
from typing import Any

import numpy as np
import pytest

from ostrom.analysis.statistics import (
    BadSample,
    Undefined,
    gee_logistic,
    linear_mixed_model,
    logistic_regression,
    student_t,
)

Array = np.ndarray[Any, np.dtype[Any]]


def people(seed: int = 0, count: int = 40, rows: int = 10) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(count), rows)
    condition = (person % 2).astype(float)
    return (rng.normal(size=count)[person] + rng.normal(size=person.size) * 2 + 0.5 * condition, condition, person)


def test_a_balanced_mixed_model_is_the_t_test_of_person_means() -> None:
    score, condition, person = people()
    model = linear_mixed_model(score, {"condition": condition}, groups=person, unit="person")
    means = score.reshape(40, 10).mean(axis=1)
    test = student_t(means[1::2], means[::2], unit="person")
    line = model["condition"]
    assert (line.value, line.statistic, line.p) == pytest.approx((test.value, test.statistic, test.p))
    assert line.df == 38 and (line.low, line.high) == pytest.approx((test.low, test.high))
    assert model.details["boundary"] is False and 0 < float(model.details["intraclass_correlation"]) < 1


def test_a_mixed_model_far_from_zero_has_the_same_differences() -> None:
    score, condition, person = people()
    near, far = (
        linear_mixed_model(score + shift, {"condition": condition}, groups=person, unit="person")["condition"]
        for shift in (0.0, 1e11)
    )
    assert (far.value, far.p) == pytest.approx((near.value, near.p), rel=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_an_unbalanced_mixed_model_equals_the_reference_optimum() -> None:
    score, condition, person = people(seed=3)
    keep = np.random.default_rng(1).random(score.size) < 0.6
    score, condition, person = score[keep] + 100, condition[keep], person[keep]
    trial = np.random.default_rng(2).normal(size=score.size)
    ours = linear_mixed_model(score, {"condition": condition, "trial": trial}, groups=person, unit="person")
    x = np.column_stack([np.ones(score.size), condition, trial])
    from statsmodels.regression.mixed_linear_model import MixedLM

    theirs = MixedLM(score, x, groups=person).fit(reml=True, method="powell")
    assert [line.value for line in ours.coefficients] == pytest.approx(theirs.fe_params.tolist(), rel=1e-3)
    assert [line.se for line in ours.coefficients] == pytest.approx(theirs.bse_fe.tolist(), rel=5e-3)
    assert ours.details["variance_within"] == pytest.approx(theirs.scale, rel=1e-2)
    # Between persons: 40 - 2 terms; within: what the rows have left.
    assert ours["condition"].df == 38 and ours["trial"].df == score.size - 40 - 1
    z = linear_mixed_model(score, {"condition": condition, "trial": trial}, groups=person, unit="p", df="normal")
    assert z["trial"].df is None and z["trial"].value == ours["trial"].value


def test_groups_that_differ_less_than_chance_are_reported_as_boundary() -> None:
    person = np.repeat(np.arange(10), 4)
    score = np.tile([1.0, 2.0, 3.0, 4.0], 10)
    model = linear_mixed_model(score, {"x": np.tile([0.0, 1, 0, 1], 10)}, groups=person, unit="person")
    assert model.details["boundary"] is True and model.details["variance_between"] == 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"groups": np.zeros(400)}, "at least 2 groups"),
        ({"groups": np.arange(400)}, "exactly one"),
        ({"predictors": {"x": np.ones(400)}}, "singular design: x"),
        ({"predictors": {}}, "at least one predictor"),
        ({"outcome": np.ones(400)}, "constant"),
        ({"outcome": np.full(400, math.nan)}, "missing"),
        ({"interactions": [("condition", "what")]}, "interaction"),
        ({"reference": {"condition": "z"}}, "no level 'z'"),
        ({"reference": {"what": "z"}}, "no predictor 'what'"),
    ],
)
def test_mixed_models_refuse_what_they_cannot_carry(change: dict[str, Any], problem: str) -> None:
    score, condition, person = people()
    good: dict[str, Any] = {
        "outcome": score,
        "predictors": {"condition": condition},
        "groups": person,
        "unit": "person",
    }
    with pytest.raises((BadSample, Undefined), match=problem) as caught:
        linear_mixed_model(**(good | change))
    assert "\n" not in str(caught.value)


def test_rows_that_repeat_within_groups_have_no_residual_variance() -> None:
    person = np.repeat(np.arange(10), 4)
    score = np.random.default_rng(0).normal(size=10)[person]
    with pytest.raises(Undefined, match="same group"):
        linear_mixed_model(score, {"c": (person % 2).astype(float)}, groups=person, unit="person")


def answers(seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(50), 6)
    condition = (person % 2).astype(float)
    lean = rng.normal(size=50)[person]
    return (rng.random(300) < 1 / (1 + np.exp(-(lean + 0.6 * condition)))).astype(float), condition, person


def sandwich(y: Array, x: Array, person: Array) -> tuple[Array, Array]:
    """Maximum likelihood by Newton steps and the cluster sandwich without any correction."""
    beta = np.zeros(x.shape[1])
    for _ in range(50):
        mean = 1 / (1 + np.exp(-x @ beta))
        bread = np.linalg.inv((x * (mean * (1 - mean))[:, None]).T @ x)
        beta = beta + bread @ x.T @ (y - mean)
    scores = np.stack([(x * (y - mean)[:, None])[person == p].sum(axis=0) for p in np.unique(person)])
    return beta, np.sqrt(np.diag(bread @ scores.T @ scores @ bread))


def test_logistic_models_equal_the_sandwich_by_hand() -> None:
    y, condition, person = answers()
    x = np.column_stack([np.ones(y.size), condition])
    beta, se = sandwich(y, x, person)
    gee = gee_logistic(y, {"c": condition}, clusters=person, unit="person", correlation="independence")
    robust = logistic_regression(y, {"c": condition}, clusters=person, unit="person")
    factor = math.sqrt(50 / 49 * 299 / 298)
    assert (gee["c"].value, gee["c"].se) == pytest.approx((beta[1], se[1]), rel=1e-6)
    assert (robust["c"].value, robust["c"].se) == pytest.approx((beta[1], se[1] * factor), rel=1e-6)
    odds = [y[condition == c].mean() / (1 - y[condition == c].mean()) for c in (0, 1)]
    assert math.exp(robust["c"].value) == pytest.approx(odds[1] / odds[0])
    assert robust["c"].value in robust["c"]


@pytest.mark.parametrize("far", [-1e5, -1000.0, -300.0, -60.0, -20.0, 20.0, 60.0, 300.0, 470.0, 1000.0, 1e8])
@pytest.mark.filterwarnings("error")
def test_an_answer_that_the_model_is_sure_of_changes_nothing(far: float) -> None:
    rng = np.random.default_rng(3)
    person, x = np.repeat(np.arange(16), 6), rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], 96)
    y = (rng.random(96) < 1 / (1 + np.exp(-x))).astype(float)
    beta, se = sandwich(y, np.column_stack([np.ones(96), x]), person)
    near = gee_logistic(y, {"x": x}, clusters=person, unit="person")["x"]
    more: Any = {"predictors": {"x": np.append(x, far)}, "clusters": np.append(person, 0), "unit": "person"}
    for sign in (1, -1):  # whatever an answer is called
        outcome = np.append(y, float(far > 0)) if sign == 1 else 1 - np.append(y, float(far > 0))
        gee = gee_logistic(outcome, correlation="independence", **more)["x"]
        robust = logistic_regression(outcome, **more)["x"]
        assert (gee.value, gee.se) == pytest.approx((sign * beta[1], se[1]), rel=1e-6)
        assert (robust.value, robust.se) == pytest.approx((gee.value, se[1] * math.sqrt(16 / 15 * 96 / 95)), rel=1e-6)
        alone = logistic_regression(outcome, {"x": np.append(x, far)}, unit="row")["x"]
        plain = logistic_regression(y, {"x": x}, unit="row")["x"]
        assert (alone.value, alone.se) == pytest.approx((sign * plain.value, plain.se), rel=1e-6)
        # One row more moves the correlation within clusters a little.
        alike = gee_logistic(outcome, **more)["x"]
        assert (alike.value, alike.se) == pytest.approx((sign * near.value, near.se), rel=0.01)


def test_exchangeable_and_independent_working_models_agree_on_balanced_clusters() -> None:
    y, condition, person = answers()
    one = gee_logistic(y, {"c": condition}, clusters=person, unit="person")
    two = gee_logistic(y, {"c": condition}, clusters=person, unit="person", correlation="independence")
    wide = gee_logistic(y, {"c": condition}, clusters=person, unit="person", covariance="bias_reduced")
    assert one["c"].value == pytest.approx(two["c"].value, rel=1e-5)
    assert float(one.details["within_cluster_correlation"]) > 0.02
    plain = logistic_regression(y, {"c": condition}, unit="answer")
    errors = [model["c"].se or math.nan for model in (plain, one, wide)]
    assert plain.n_clusters is None and errors[0] < errors[1] < errors[2]


def test_labels_become_readable_terms_with_interactions() -> None:
    rng = np.random.default_rng(0)
    persona, seen = rng.choice(["green", "plain", "profit"], 600), rng.choice(["no", "yes"], 600)
    y = rng.random(600) < 0.4 + 0.2 * (persona == "green") * (seen == "yes")
    model = logistic_regression(
        y,
        {"persona": persona, "seen": seen},
        interactions=[("persona", "seen")],
        reference={"persona": "plain"},
        clusters=rng.integers(0, 40, 600),
        unit="scenario",
    )
    assert [line.key["term"] for line in model.coefficients] == [
        "intercept",
        "persona[green]",
        "persona[profit]",
        "seen[yes]",
        "persona[green]:seen[yes]",
        "persona[profit]:seen[yes]",
    ]
    assert model["persona[green]:seen[yes]"].value > 0.3
    assert model["intercept"].as_dict()["unit"] == "scenario" and model["intercept"].as_dict()["term"] == "intercept"


def test_separated_answers_are_found_and_refused() -> None:
    y, condition, person = answers()
    for outcome in (condition, np.where(condition == 1, y, 0.0)):
        for fit in (logistic_regression, gee_logistic):
            with pytest.raises(Undefined, match="separation"):
                fit(outcome, {"c": condition}, clusters=person, unit="person")
    with pytest.raises(Undefined, match="always 1"):
        logistic_regression(np.ones(300), {"c": condition}, unit="person")
    with pytest.raises(BadSample, match="only 0 and 1"):
        logistic_regression(y * 2, {"c": condition}, unit="person")
    with pytest.raises(BadSample, match="2 clusters"):
        gee_logistic(y, {"c": condition}, clusters=np.zeros(300), unit="person")
