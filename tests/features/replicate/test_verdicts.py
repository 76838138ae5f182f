"""Verdicts: what an interval says about a claim and about a printed figure."""

import pytest

from ostrom.analysis.claims import references
from ostrom.features.replicate.papers import PrintedSpread
from ostrom.features.replicate.verdicts import (
    Interval,
    PaperVerdict,
    cell_verdict,
    claim_verdict,
    recomputed_verdict,
)


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


def test_without_an_interval_nothing_is_decided() -> None:
    alone = Interval(-0.5, None, None, 1)
    for verdict in (claim_verdict(alone, "below", 0, 0.1), cell_verdict(alone, -0.5, 0, 0.1)):
        assert str(verdict) == "undecided: too few matches for an interval"


@pytest.mark.parametrize(
    ("ends", "error", "answer"),
    [
        ((78.0, 84.0), 0.0, "agrees"),
        ((78.0, 86.0), 0.0, "undecided"),
        ((81.0, 84.0), 0.0, "agrees"),  # clearly another value, and within the margin
        ((82.0, 92.0), 0.0, "differs"),
        ((70.0, 79.0), 0.0, "differs"),
        ((82.0, 92.0), 4.0, "undecided"),  # the printed figure is uncertain, too
        ((78.0, 84.0), 3.0, "undecided"),
    ],
)
def test_a_figure_agrees_within_the_margin(ends: tuple[float, float], error: float, answer: str) -> None:
    one = Interval(sum(ends) / 2, *ends, 4)
    assert cell_verdict(one, 80.0, error, 5.0).answer == answer


def test_more_seeds_add_no_scenarios() -> None:
    few = Interval(-0.04, -0.12, 0.04, 3, usd=6.0, scenarios=3)
    for verdict in (claim_verdict(few, "below", 0.0, 0.01), cell_verdict(few, -0.1, 0.0, 0.07)):
        assert (str(verdict), verdict.seeds) == ("undecided: 3 scenarios, and more seeds add none", None)
    alone = cell_verdict(Interval(-0.04, -0.12, 0.04, 3, scenarios=1), -0.1, 0.0, 0.07)
    assert str(alone) == "undecided: 1 scenario, and more seeds add none"


def test_more_seeds_shrink_the_interval_with_their_root() -> None:
    # Half a width of .08 must come below .04: four times the seeds.
    verdict = claim_verdict(Interval(-0.04, -0.12, 0.04, 3, usd=6.0), "below", 0.0, 0.01)
    assert (verdict.seeds, verdict.usd) == (9, 18.0)
    assert str(verdict) == "undecided: about 9 more seeds, 18.00 USD"
    one = claim_verdict(Interval(-0.04, -0.0401, 0.0401, 1), "below", 0.0, 0.01)
    assert str(one) == "undecided: about 1 more seed"
    assert "no number of seeds" in str(cell_verdict(Interval(84, 80, 88, 3), 80.0, 9.0, 4.0))
    many = claim_verdict(Interval(-0.0001, -0.5, 0.5, 3), "below", 0.0, 0.00001)
    assert str(many) == "undecided: more than 10,000 more seeds"
    assert str(PaperVerdict("not comparable", "another model")) == "not comparable: another model"
    assert str(PaperVerdict("undecided", "", 10_000)) == "undecided: about 10,000 more seeds"
    # What the printed figure leaves open, no seed of ours narrows: 3 * 8^2 / (4^2 - 1.96^2) = 15.8 seeds in all.
    assert cell_verdict(Interval(84, 76, 92, 3), 80.0, 1.0, 5.0).seeds == 13
    assert str(PaperVerdict("differs", approximate=True)) == "differs, approximate"
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
