"""Verdicts: what an interval says about a claim and about a printed figure."""

from typing import Any

import pytest

from ostrom.analysis.claims import references
from ostrom.analysis.intervals.moderated import NONE, Prior
from ostrom.analysis.references import Own
from ostrom.features.replicate.papers import PrintedSpread
from ostrom.features.replicate.verdicts import Interval, PaperVerdict, cell_verdict, claim_verdict, recomputed_verdict


@pytest.mark.parametrize(
    ("ends", "expect", "answer"),
    [
        ((-0.3, -0.1), "below", "agrees"),
        ((-0.3, 0.0), "below", "undecided"),  # 0 itself is not below 0
        ((0.1, 0.3), "below", "differs"),
        ((-0.04, 0.3), "below", "differs"),  # an effect of .05 is excluded
        ((-0.06, 0.3), "below", "undecided"),
        ((0.1, 0.3), "above", "agrees"),
        ((-0.3, -0.1), "above", "differs"),
        ((-0.3, 0.04), "above", "differs"),
        ((-0.3, 0.06), "above", "undecided"),
        ((-0.04, 0.05), "equal", "agrees"),
        ((-0.04, 0.06), "equal", "undecided"),
        ((0.06, 0.2), "equal", "differs"),
        ((-0.2, -0.06), "equal", "differs"),
        ((-0.2, -0.04), "equal", "undecided"),  # not 0, and maybe no more than .05 away from it
        ((0.04, 0.2), "equal", "undecided"),
    ],
)  # fmt: skip
def test_a_claim_needs_the_whole_interval(ends: tuple[float, float], expect: str, answer: str) -> None:
    one = Interval(sum(ends) / 2, *ends, 4)
    assert claim_verdict(one, expect, 0.0, 0.05).answer == answer  # type: ignore[arg-type]
    shifted = Interval(one.value + 1, ends[0] + 1, ends[1] + 1, 4)
    assert claim_verdict(shifted, expect, 1.0, 0.05).answer == answer  # type: ignore[arg-type]


def figure(value: float, se: float | None, **more: Any) -> Own:
    return Own(("rate",), "a", value, None, None, None, 3, **{"se": se, "df": 2.0, **more})


def test_without_an_interval_nothing_is_decided() -> None:
    alone = claim_verdict(Interval(-0.5, None, None, 1), "below", 0, 0.1)
    for verdict in (alone, cell_verdict(figure(-0.5, None), NONE, -0.5, 0.0, 0.1, 1)):
        assert str(verdict) == "undecided: too few matches for an interval"


@pytest.mark.parametrize(
    ("own", "prior", "error", "answer"),
    [
        (figure(81.0, 1.0), NONE, 0.0, "agrees"),  # 1 + 2.92
        (figure(81.0, 2.0), NONE, 0.0, "undecided"),
        (figure(81.0, 2.0), Prior(40.0, 3.0), 0.0, "agrees"),  # the table says that cells vary less
        (figure(95.0, 2.0), NONE, 0.0, "differs"),  # 15 - 8.6
        (figure(70.0, 1.0), NONE, 0.0, "differs"),
        (figure(92.0, 3.0), NONE, 0.0, "undecided"),
        (figure(95.0, 2.0), NONE, 6.0, "undecided"),  # the printed figure is uncertain, too
        (figure(80.0, None, alike=True), NONE, 0.0, "agrees"),
        (figure(85.1, None, alike=True), NONE, 0.0, "differs"),
        (figure(80.0, 0.1, width=16.0), NONE, 0.0, "undecided"),
    ],
)
def test_a_figure_agrees_within_the_margin(own: Own, prior: Prior, error: float, answer: str) -> None:
    assert cell_verdict(own, prior, 80.0, error, 5.0, 3).answer == answer


def test_bounds_that_say_the_same_guarantee_it() -> None:
    assert cell_verdict(figure(80.0, 0.5, sure=(76.0, 84.0)), NONE, 80.0, 0.0, 5.0, 3).guaranteed
    assert not cell_verdict(figure(80.0, 0.5, sure=(60.0, 84.0)), NONE, 80.0, 0.0, 5.0, 3).guaranteed
    assert cell_verdict(figure(20.0, 0.5, sure=(10.0, 70.0)), NONE, 80.0, 0.0, 5.0, 3).guaranteed


def test_more_seeds_add_no_scenarios() -> None:
    few = claim_verdict(Interval(-0.04, -0.12, 0.04, 3, usd=6.0, scenarios=3), "below", 0.0, 0.01)
    for verdict in (few, cell_verdict(figure(81.0, 2.0, unit="scenario"), NONE, 80.0, 0.0, 5.0, 3)):
        assert (str(verdict), verdict.seeds) == ("undecided: 3 scenarios, and more seeds add none", None)


def test_more_seeds_shrink_the_interval_with_their_root() -> None:
    # Half a width of .08 must come below .04: four times the seeds.
    verdict = claim_verdict(Interval(-0.04, -0.12, 0.04, 3, usd=6.0), "below", 0.0, 0.01)
    assert (verdict.seeds, verdict.usd) == (9, 18.0)
    assert str(verdict) == "undecided: about 9 more seeds, 18.00 USD"
    one = claim_verdict(Interval(-0.04, -0.0401, 0.0401, 1), "below", 0.0, 0.01)
    assert str(one) == "undecided: about 1 more seed"
    assert "cannot: it lies at the border" in str(cell_verdict(figure(84.0, 2.0), NONE, 80.0, 9.0, 4.0, 3))
    many = claim_verdict(Interval(-0.0001, -0.5, 0.5, 3), "below", 0.0, 0.00001)
    assert str(many) == "undecided: more than 10,000 more seeds"
    assert str(PaperVerdict("not comparable", "another model")) == "not comparable: another model"
    assert str(PaperVerdict("undecided", "", 10_000)) == "undecided: about 10,000 more seeds"
    verdict = cell_verdict(figure(81.0, 2.0), NONE, 80.0, 0.0, 5.0, 3)  # 5.84 must come below 4
    assert verdict.seeds == 4 and "a difference above 9.61 is ruled out" in str(verdict)
    assert "more than 10 x what was played" in str(cell_verdict(figure(84.9, 2.0), NONE, 80.0, 0.0, 5.0, 3))
    assert str(PaperVerdict("differs", guaranteed=True)) == "differs, guaranteed"
    assert str(PaperVerdict("undecided", "few matches", approximate=True)) == "undecided: few matches"


@pytest.mark.parametrize(
    ("value", "printed", "digits", "answer"),
    [
        (3.9165, 3.91, 2, "agrees"),  # cut, not rounded
        (3.92, 3.91, 2, "agrees"),  # one unit of the last digit, whatever its last bits are
        (3.9201, 3.91, 2, "differs"),
        (3.8999, 3.91, 2, "differs"),
        (153.44, 153.4, 1, "agrees"),
        (153.44, 153.4, 2, "differs"),
        (-0.5, 0.5, 1, "differs"),
    ],
)
def test_recomputed_figures_agree_within_the_last_printed_digit(
    value: float, printed: float, digits: int, answer: str
) -> None:
    assert recomputed_verdict(value, printed, digits).answer == answer


def test_a_printed_figure_has_the_decimals_of_its_text() -> None:
    tests = {p.cell[-1]: p.digits for p in references.build("repeated_games").published() if p.cell[1]}
    assert tests["df_against_all_others"] == 2 and tests["first_alternating_round"] == 0
    (df,) = (
        p
        for p in references.build("repeated_games").published()
        if p.cell == ("", "prisoners_dilemma", "df_against_all_others")
    )
    assert (df.value, df.digits) == (153.4, 1)
    assert {p.digits for p in references.build("coopeval").published() if p.cell[-1] == "mean_payoff"} == {3}


def test_a_printed_spread_is_what_it_is() -> None:
    assert PrintedSpread(kind="sd", n=4).error(3.0) == 1.5
    assert PrintedSpread(kind="se", n=4).error(3.0) == 3.0
