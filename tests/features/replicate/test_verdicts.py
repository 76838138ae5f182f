"""Verdicts: what an interval says about a claim and about a printed figure."""

from dataclasses import replace
from typing import Any

import pytest

from ostrom.analysis.claims import references
from ostrom.analysis.intervals.kinds import mean_of
from ostrom.analysis.intervals.moderated import NONE, Prior, moderated, table_prior
from ostrom.analysis.references import RunFigure
from ostrom.features.replicate.papers import PrintedSpread
from ostrom.features.replicate.verdicts import (
    BELOW_MEAN,
    Interval,
    PaperVerdict,
    by_value,
    cell_verdict,
    claim_verdict,
    count_verdict,
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


def figure(value: float, se: float | None, **more: Any) -> RunFigure:
    return RunFigure(("rate",), "a", value, None, None, None, **{"matches": 3, "se": se, "df": 2.0, **more})


def test_without_an_interval_nothing_is_decided() -> None:
    alone = claim_verdict(Interval(-0.5, None, None, 1), "below", 0, 0.1)
    one = cell_verdict(figure(-0.5, None, matches=1), NONE, -0.5, 0.0, 0.1, 1)
    assert one.why == "By its value and the margin: every cell has one distinct match."
    for verdict in (alone, one):
        assert verdict.answer == ("undecided" if verdict is alone else "agrees")
    assert str(alone) == "undecided, cannot: There are too few matches for an interval."


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
def test_a_figure_agrees_within_the_margin(own: RunFigure, prior: Prior, error: float, answer: str) -> None:
    assert cell_verdict(own, prior, 80.0, error, 5.0, 3).answer == answer


def test_bounds_that_say_the_same_guarantee_it() -> None:
    assert cell_verdict(figure(80.0, 0.5, sure=(76.0, 84.0)), NONE, 80.0, 0.0, 5.0, 3).guaranteed
    assert not cell_verdict(figure(80.0, 0.5, sure=(60.0, 84.0)), NONE, 80.0, 0.0, 5.0, 3).guaranteed
    assert cell_verdict(figure(20.0, 0.5, sure=(10.0, 70.0)), NONE, 80.0, 0.0, 5.0, 3).guaranteed


def test_more_seeds_add_no_scenarios() -> None:
    few = claim_verdict(Interval(-0.04, -0.12, 0.04, 3, usd=6.0, scenarios=3), "below", 0.0, 0.01)
    for verdict in (few, cell_verdict(figure(81.0, 2.0, unit="scenario"), NONE, 80.0, 0.0, 5.0, 3)):
        assert (str(verdict), verdict.seeds) == (
            "undecided, cannot: There are 3 scenarios, and more seeds add none.",
            None,
        )


def test_more_seeds_shrink_the_interval_with_their_root() -> None:
    # Half a width of .08 must come below .04: four times the seeds.
    verdict = claim_verdict(Interval(-0.04, -0.12, 0.04, 3, usd=6.0), "below", 0.0, 0.01)
    assert (verdict.seeds, verdict.usd) == (9, 18.0)
    assert str(verdict) == "undecided, too few: about 9 more seeds, 18.00 USD"
    one = claim_verdict(Interval(-0.04, -0.0401, 0.0401, 1), "below", 0.0, 0.01)
    assert str(one) == "undecided, too few: about 1 more seed"
    assert "at the paper's own size" in str(cell_verdict(figure(84.0, 2.0), NONE, 80.0, 9.0, 4.0, 3))
    assert "It lies at the border" in str(cell_verdict(figure(83.9, 2.0), NONE, 80.0, 2.0, 4.0, 3))
    many = claim_verdict(Interval(-0.0001, -0.5, 0.5, 3), "below", 0.0, 0.00001)
    assert (many.kind, many.seeds) == ("too few", None) and "More than 10 x what was played" in many.why
    small = claim_verdict(Interval(-0.005, -0.08, 0.07, 3, scale=100.0), "below", 0.0, 0.01)
    assert str(small) == "undecided, small: An effect above 8 is ruled out."
    assert str(PaperVerdict("not comparable", "another model")) == "not comparable: another model"
    verdict = cell_verdict(figure(81.0, 2.0), NONE, 80.0, 0.0, 5.0, 3)  # 5.84 must come below 4
    assert verdict.seeds == 4 and "A difference above 9.61 is ruled out." in str(verdict)
    assert cell_verdict(figure(84.9, 2.0), NONE, 80.0, 0.0, 5.0, 3).kind == "small"


@pytest.mark.parametrize(
    ("ends", "expect", "answer"),
    [
        ((-0.3, 0.04), "not above", "agrees"),
        ((-0.3, 0.06), "not above", "undecided"),
        ((0.01, 0.06), "not above", "differs"),
        ((-0.04, 0.3), "not below", "agrees"),
        ((-0.3, -0.01), "not below", "differs"),
    ],
)
def test_a_claim_that_nothing_rises_excludes_the_smallest_effect(
    ends: tuple[float, float], expect: str, answer: str
) -> None:
    one = Interval(sum(ends) / 2, *ends, 4)
    assert claim_verdict(one, expect, 0.0, 0.05).answer == answer  # type: ignore[arg-type]


def test_half_of_the_printed_effect_does_not_agree() -> None:
    half = Interval(-0.2, -0.22, -0.18, 4)
    assert claim_verdict(half, "below", 0.0, 0.05, (-0.4, -0.4)).answer == "differs"
    within = claim_verdict(half, "below", 0.0, 0.05, (-0.4, -0.21))  # as the weakest of its models, not as their mean
    assert (within.answer, within.kind, within.why) == ("undecided", "cannot", BELOW_MEAN)
    assert claim_verdict(half, "below", 0.0, 0.01, (-0.28, -0.22)).answer == "agrees"  # nearer to the mean than to half
    assert claim_verdict(half, "below", 0.0, 0.01, (-0.25,)).answer == "differs"  # its own figure is no mean
    assert claim_verdict(half, "below", 0.0, 0.08, (-0.25,)).answer == "agrees"  # within the margin
    assert claim_verdict(half, "below", 0.0, 0.05, (-0.4, 0.5)).answer == "agrees"  # the paper has no effect on average
    wider = claim_verdict(replace(half, low=-0.28), "below", 0.0, 0.05, (-0.7, -0.24))
    assert (wider.answer, wider.why) == ("undecided", BELOW_MEAN)
    assert claim_verdict(replace(half, low=-0.36), "below", 0.0, 0.05, (-0.4, -0.4)).answer == "undecided"
    assert claim_verdict(replace(half, low=-0.42), "below", 0.0, 0.05, (-0.4, -0.4)).answer == "agrees"
    tiny = Interval(-0.02, -0.03, -0.01, 4)  # surely below 0, and surely too small to matter
    assert claim_verdict(tiny, "below", 0.0, 0.05).answer == "differs"
    assert claim_verdict(tiny, "below", 0.0, 0.05, (-0.02,)).answer == "agrees"  # as the paper has it
    assert claim_verdict(tiny, "below", 0.0, 0.05, (-0.06,)).answer == "differs"
    mirror = Interval(0.2, 0.18, 0.22, 4)
    assert claim_verdict(mirror, "above", 0.0, 0.05, (0.4, 0.5)).answer == "differs"


def test_without_spread_a_direction_needs_an_effect_that_matters() -> None:
    def of(value: float, expect: str) -> str:
        return by_value(Interval(value, None, None, 3), expect, 0.0, 0.05, (), "Alone.").answer  # type: ignore[arg-type]

    assert [of(value, "below") for value in (-0.06, -0.04, 0.2)] == ["agrees", "differs", "differs"]
    assert [of(value, "above") for value in (0.06, 0.04)] == ["agrees", "differs"]
    assert [of(value, "equal") for value in (0.04, 0.06)] == ["agrees", "differs"]
    assert [of(value, "not above") for value in (0.04, 0.06)] == ["agrees", "differs"]
    verdict = by_value(Interval(-0.06, None, None, 3), "below", 0.0, 0.05, (), "Alone.")
    assert verdict.approximate and verdict.why.endswith("Alone.")


def test_a_printed_count_lies_in_the_interval_of_ours() -> None:
    def of(*answers: str) -> str:
        return str(count_verdict(answers, 18, 28)[0])

    assert of(*["agrees"] * 3, "differs") == "agrees"
    assert of(*["differs"] * 4) == "differs"
    assert of("agrees", "undecided", "undecided", "differs") == "undecided, too few: 2 of 4 groups are undecided."
    assert of("agrees", *["differs"] * 3).startswith("undecided, cannot: 1 of 4 is nearer to half of 18 of 28")
    assert of(*["agrees"] * 2, "undecided", "differs") == "agrees"
    assert of("undecided", *["differs"] * 3) == "undecided, too few: 1 of 4 groups are undecided."
    assert of("agrees").startswith("undecided, cannot: There are 1 groups")


def test_the_variance_of_a_claim_is_mixed_with_that_of_its_table() -> None:
    one, other = (mean_of([0.5 - d, 0.5, 0.5 + d]) for d in (0.2, 0.02))
    prior = table_prior([mean_of([0.5 - d, 0.5, 0.5 + d]) for d in (0.02, 0.03, 0.02, 0.025, 0.2)])
    wide, narrow = (moderated(each, prior, 0.95) for each in (one, other))
    plain = one.reach(0.95)
    assert wide is not None and plain is not None and narrow is not None
    assert wide[1] - wide[0] < plain[1] - plain[0] and narrow[1] - narrow[0] < wide[1] - wide[0]
    assert moderated(one, NONE, 0.95) == plain and moderated(mean_of([0.5, 0.5]), prior, 0.95) is None


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
