"""The mechanisms study beside its published figures; every own figure here is worked out by hand."""

from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.analysis.intervals import mean_of
from ostrom.analysis.references import published_rows
from ostrom.data.rundata import run_data
from ostrom.features.comparing import Comparison, Line, compare_run, references
from ostrom.replications.coopeval.figures import FOUR, TYPES, mechanism_of
from ostrom.replications.coopeval.reference import _missing, _settings
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

NONE = "vary.mechanism={none: {mechanism: none}}"
PD = "vary.game=[{name: prisoners_dilemma, preset: coopeval}]"
REPETITION = (
    "vary.mechanism={{it: {{mechanism: {{name: repetition, rounds: 15, told_continuation: {0}, discount: {0}}}}}}}"
)


def played(folder: Path, changes: Sequence[str], seeds: int = 1, types: str = "c: cooperator, d: defector") -> Path:
    study = load_study("mechanisms", changes=[f"types={{{types}}}", "agent.answer=choice", *changes], seeds=seeds)
    play(study, runs=folder)
    return folder / "mechanisms"


def compared(folder: Path, *chosen: str) -> Comparison:
    with open_run(folder) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        return compare_run(data, chosen)


def line(made: Comparison, agent: str | None, *cell: str) -> Line:
    (found,) = [one for one in made.lines if one.own.agent == agent and one.cell == cell]
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """A cooperator and a defector without a mechanism."""
    return compared(played(tmp_path_factory.mktemp("alone"), [NONE]), "d=Claude")


@pytest.fixture(scope="module")
def designed(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """The same two with mediators and contracts of their own."""
    changes = ["vary.mechanism={mediation: {mechanism: mediation}, contracting: {mechanism: contracting}}"]
    return compared(played(tmp_path_factory.mktemp("designed"), changes), "c=Claude")


def test_means_run_over_seats_so_that_a_match_against_itself_counts_twice(alone: Comparison) -> None:
    one = line(alone, "d", "NoMechanism", "prisoners_dilemma", "", "mean_payoff")
    # 3 against the cooperator in either seat, and 1 in both seats against itself.
    assert one.own.value == pytest.approx((3 + 3 + 1 + 1) / 4) and one.value == 1.278
    investor, trustee, itself = 6, 20, 4
    trust = line(alone, "d", "NoMechanism", "trust_game", "", "mean_payoff")
    assert trust.own.value == pytest.approx((investor + trustee + 2 * itself) / 4)


def test_normalised_means_of_a_game_and_of_all_four(alone: Comparison) -> None:
    one = line(alone, None, "NoMechanism", "prisoners_dilemma", "", "mean_payoff_normalised")
    # The cooperator earns 1 on average (2, 2, 0, 0), the defector 2; the scale begins at 1 and is 1 long.
    assert one.own.value == pytest.approx(((1 - 1) + (2 - 1)) / 2) and one.value == 0.097
    whole = line(alone, "d", "NoMechanism", "all_four", "", "mean_payoff_normalised")
    # Public goods: 1 and half a point per cooperator among the others, one on average. Travelers: 4, 4, 2, 2.
    assert whole.own.value == pytest.approx(fmean([2 - 1, (1.5 - 1) / 0.5, (3 - 2) / 3, (8.5 - 4) / 6]))
    assert line(alone, None, "NoMechanism", "all_four", "", "mean_payoff_normalised").value == 0.072


def test_fitness_is_what_a_type_earns_in_the_population_that_is_left(alone: Comparison) -> None:
    # Only defectors are left, so everybody meets defectors alone.
    earned = {"prisoners_dilemma": 0.0, "public_goods": 0.5, "travelers_dilemma": 0.0, "trust_game": (0 + 2) / 2}
    for game, points in earned.items():
        one = line(alone, "c", "NoMechanism", game, "", "fitness_after_replicator")
        assert one.own.value == pytest.approx(points, abs=1e-9)
    whole = line(alone, "c", "NoMechanism", "all_four", "", "fitness_after_replicator_normalised")
    assert whole.own.value == pytest.approx(fmean([-1, -0.5 / 0.5, -2 / 3, -3 / 6]))
    everybody = line(alone, None, "NoMechanism", "trust_game", "", "fitness_after_replicator")
    # Weighted by the final population: the cooperator's 1 has no weight.
    assert everybody.own.value == pytest.approx(4.0) and everybody.value == 4.5


@pytest.mark.slow
def test_every_run_evolves_by_itself_and_the_spread_is_over_runs(tmp_path: Path) -> None:
    folder = played(tmp_path, [NONE, PD], seeds=5, types="r: 'random:0.3', d: defector")
    one = line(compared(folder), "r", "NoMechanism", "prisoners_dilemma", "", "fitness_after_replicator")
    with open_run(folder) as run:
        rows = [r for r in run.rows.matches() if r["agent"] == "r" and r["opponents"] == "d"]
    runs = [fmean(r["score"] for r in rows if r["seed"] == seed) for seed in {r["seed"] for r in rows}]
    assert sorted(runs) == [0.5, 0.5, 0.5, 0.5, 1.0]
    assert one.own.value == pytest.approx(0.6, abs=1e-6)
    assert one.own.spread == pytest.approx(stdev(runs) / sqrt(5), abs=1e-6)
    over = mean_of(runs, unit="run").limits()  # the unit is a run
    assert (one.own.low, one.own.high) == pytest.approx((over.low, over.high), abs=1e-5)


@pytest.mark.slow
def test_what_evolves_without_chance_is_exact_and_designs_have_an_interval(
    alone: Comparison, designed: Comparison
) -> None:
    fit = [one.own for one in alone.lines if one.cell[-1].startswith("fitness")]
    assert fit and all(own.low == own.high == pytest.approx(own.value) for own in fit)
    stable = [one.own for one in designed.lines if one.cell[-1] == "design_nash_stable_pct"]
    assert stable
    for own in stable:
        if own.value in (0, 100):  # all designs alike: no spread, no classical interval
            assert own.low is None and own.high is None
            continue
        assert own.low is not None and own.high is not None and own.low < own.high
        assert 0 <= own.low <= own.value + 1e-9 and own.value - 1e-9 <= own.high <= 100


def test_designs_are_judged_by_game_and_averaged_over_the_four(designed: Comparison) -> None:
    def share(mechanism: str, agent: str, measure: str) -> float:
        return line(designed, agent, mechanism, "all_four", "", measure).own.value

    # A mediator that cooperates only if all delegate: nobody gains by leaving. Delegating is weakly dominant in
    # the Prisoner's Dilemma and in public goods; against a claim of 5 a claim of 4 is better than the
    # mediator's 2, and an investor with an honest trustee does better by investing.
    assert share("Mediation", "c", "design_nash_stable_pct") == 100.0
    assert share("Mediation", "c", "design_weakly_dominant_pct") == 50.0
    assert share("Contracting", "c", "design_weakly_dominant_pct") == 100.0
    assert share("Contracting", "d", "design_nash_stable_pct") == 0.0
    one = line(designed, "c", "Mediation", "all_four", "", "design_weakly_dominant_pct")
    # Two designs a run in games of two, three in public goods.
    assert one.value == 45.8 and one.own.matches == 3 * 2 + 3
    assert any("amounts are bounded" in remark for remark in designed.remarks)


def test_a_setting_that_the_paper_does_not_have_is_said_and_not_compared(tmp_path: Path) -> None:
    made = compared(played(tmp_path, [REPETITION.format(0.5), PD]))
    assert made.lines == ()
    assert any("Repetition with continuation 0.5" in remark for remark in made.remarks)


@pytest.mark.parametrize(
    ("change", "cell"),
    [
        (REPETITION.format(0.8), ("Repetition", "")),
        ("agent.memory.k=2", ("Repetition", "window 2")),
        ("agent.memory=full", ("Repetition", "memory full")),
        ("vary.mechanism.it.mechanism.discount=null", ("Repetition", "told 0.8, discount None")),
        (
            "vary.mechanism={it: {mechanism: {name: reputation, order: higher, window: 4}}}",
            ("Reputation+", "window 4"),
        ),
        ("vary.mechanism={it: {mechanism: reputation}}", ("Reputation-", "")),
        ("vary.mechanism={it: {mechanism: mediation}}", ("Mediation", "")),
        ("vary.mechanism.it.mechanism.told_continuation=null", ("Repetition", "told None, discount 0.8")),
    ],
)  # fmt: skip
def test_what_is_set_otherwise_is_read_from_the_rules(change: str, cell: tuple[str, str]) -> None:
    study = load_study("mechanisms", models=["scripted/any"], changes=[REPETITION.format(0.8), change, PD])
    units = [unit for unit in StudyPlan(study).units() if unit.kind == "match"]
    assert {mechanism_of(unit) for unit in units} == {cell}


def test_two_contracting_matches_are_a_doubt_on_every_mean_that_they_move() -> None:
    figures = references.build("coopeval").published()
    doubted = {(f.model, f.cell[1], f.cell[3]) for f in figures if any("972" in doubt for doubt in f.doubts)}
    moved = ("Claude", "Gemini-R", "Gemini-B", "Qwen-30b")
    assert doubted == {(m, "all_four", "mean_payoff_normalised") for m in moved} | {
        (m, "public_goods", "mean_payoff") for m in moved
    }
    (claude,) = [
        f for f in figures if (f.model, f.cell) == ("Claude", ("Contracting", "all_four", "", "mean_payoff_normalised"))
    ]
    assert claude.value == 0.557 and "0.867 instead of 0.557" in claude.doubts[0]


def test_payments_cancel_so_a_fourth_model_must_have_gained() -> None:
    """Normalised means of four games, of which public goods is half a point long: 2 points per unit."""
    short = 2 * ((0.557 - 0.867) + (1.055 - 0.978) + (0.778 - 0.624))
    assert short == pytest.approx(-0.158)
    spreads = {
        r["model"]: float(r["se"])
        for r in published_rows("coopeval")
        if (r["mechanism"], r["game"], r["metric"]) == ("Contracting", "public_goods", "mean_payoff")
    }
    # What comes from one of three runs shows in the standard error over runs as the shift itself.
    assert {m for m in ("Gemini-B", "GPT-5.2", "GPT-4o") if spreads[m] >= 0.15} == {"Gemini-B"}


def test_every_published_row_is_compared_or_named() -> None:
    """Of 936 rows only the 20 mean ranks are left out, and a remark says so."""
    figures = references.build("coopeval").published()
    left = [
        r for r in published_rows("coopeval") if r["metric"] == "deviation_rating_rank" and r["model"] == "llm_average"
    ]
    assert len(figures) == 936 - len(left) and len(left) == 20
    assert {r["value"] for r in left} == {"3.5"}


@pytest.mark.parametrize(
    ("mechanism", "games", "types", "lines"),
    [
        ("Repetition|window 2", 4, TYPES, ["the mean of all ranks"]),
        ("Repetition", 4, TYPES, ["the mean of all ranks", "the ablations"]),
        ("Repetition|window 2", 3, TYPES, ["the run has no ", "the mean of all ranks"]),
        ("Repetition|window 2", 4, TYPES - 1, [f"(the run has {TYPES - 1})"]),
        ("Repetition|window 2", 4, TYPES + 1, [f"(the run has {TYPES + 1})"]),
        ("Reputation-|window 2", 4, TYPES, ["the mean of all ranks", "no fitness and no ranks for reputation"]),
        ("Contracting|window 2", 4, TYPES, ["the mean of all ranks", "amounts are bounded here"]),
    ],
)
def test_what_a_run_cannot_have_is_told_group_by_group(
    mechanism: str, games: int, types: int, lines: list[str]
) -> None:
    played = sorted(FOUR)[:games]
    points = [SimpleNamespace(mechanism=mechanism, game=g, type=str(t)) for g in played for t in range(types)]
    found: Any = SimpleNamespace(points=points, payable=FOUR)
    told = list(_missing(found))
    assert len(told) == len(lines) and all(part in line for part, line in zip(lines, told, strict=True)), told
    figures: Any = [SimpleNamespace(cell=("Repetition", "", "window 2"))]
    assert len(list(_settings(found, figures))) == (mechanism != "Repetition|window 2")
