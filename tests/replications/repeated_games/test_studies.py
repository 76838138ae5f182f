"""The declared studies of repeated 2x2 games, and what happens to answers that are no option."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostrom.ground.errors import StudyError, UnknownName
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.files import presets_of
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import play
from ostrom.studies.sources.ordinal_2x2 import build

STUDIES = ("games-2x2", "pd-tournament", "bos-tournament", "framing-robustness", "prediction", "horizon", "hints")
PROMPTS: list[str] = []


def first(request: Request) -> str:
    text = request.messages[-1].content
    PROMPTS.append(request.messages[0].content)
    named = re.search(r"Valid answers: (\[\w+\])", text)
    assert named is not None
    return named[1]


@pytest.fixture(autouse=True)
def model() -> Iterator[None]:
    PROMPTS.clear()
    register("first", first)
    yield
    unregister("first")


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_the_three_presets_and_they_resolve(name: str) -> None:
    assert {"paper", "small", "smoke"} <= set(presets_of(name))
    for preset in presets_of(name):
        assert len(StudyPlan(load_study(name, preset=preset, models=["scripted/first"]))) > 0


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", STUDIES)
def test_every_study_plays_its_smoke_preset_to_the_end(name: str, tmp_path: Path) -> None:
    result = play(load_study(name, preset="smoke", models=["scripted/first"]), runs=tmp_path)
    assert result.complete and result.tally.done == result.tally.matches and result.tally.invalid == 0


def test_the_144_games_are_played_by_all_ordered_pairs_and_carry_their_family() -> None:
    study = load_study("games-2x2", models=["scripted/a", "scripted/b"])
    plan = StudyPlan(study)
    assert len(plan) == 144 * 4
    pairs = Counter(tuple(p.name for p in unit.players) for unit in plan.units())
    assert len(pairs) == 4 and set(pairs.values()) == {144}
    families = Counter(unit.cell["family"] for unit in plan.units())
    assert families["biased"] == 44 * 4 and families["tragic"] == 8 * 4
    unit = plan.unit(0)
    assert unit.mechanism.told["rounds"] == 10  # type: ignore[attr-defined]
    config = unit.players[0].config
    assert (config.framing.labels, config.params["temperature"], config.memory) == ("JF", 0, "full")


def test_families_are_chosen_in_one_line() -> None:
    study = load_study(
        "games-2x2", models=["scripted/a"], changes=["vary.game={from: ordinal_2x2, families: [pd-family, tragic]}"]
    )
    assert len(StudyPlan(study)) == 7 + 8


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"families": "dilemmas"}, "unknown family"),
        ({"numbers": "0-3"}, "numbered from 1 to 144"),
        ({"numbers": "many"}, "a number or a range"),
        ({"each": 0}, "at least 1"),
        ({"families": "tragic", "numbers": 1}, "no game has"),
    ],
)
def test_games_that_do_not_exist_are_refused(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises((StudyError, UnknownName), match=complaint):
        build(**wrong)


def cast_of(name: str, preset: str, *models: str, changes: tuple[str, ...] = ()) -> dict[str, str]:
    """The style of every player of a tournament; all ordered pairs are played."""
    plan = StudyPlan(load_study(name, preset=preset, models=models, changes=changes))
    cast = {p.name: p.config.style for unit in plan.units() for p in unit.players}
    pairs = {tuple(p.name for p in unit.players) for unit in plan.units()}
    assert len(plan) == len(pairs) == len(cast) ** 2
    return cast


def test_the_papers_tournaments_have_its_cast_alone() -> None:
    """Social chain of thought has one model in the Battle of the Sexes, and nobody in the Prisoner's Dilemma."""
    a, b = "scripted/a", "scripted/b"
    dilemma = cast_of("pd-tournament", "paper", a, b)
    assert {*dilemma} == {"always_j", "always_f", "defect_once", a, b}
    assert "social" not in dilemma.values()
    scripts = {"always_j", "always_f", "alternate"}
    battle = cast_of("bos-tournament", "paper", a, b)
    assert {*battle} == {*scripts, a, f"{a} SCoT", b}
    assert [name for name, style in battle.items() if style == "social"] == [f"{a} SCoT"]
    assert {*cast_of("bos-tournament", "paper", b, a)} == {*scripts, a, f"{b} SCoT", b}
    other = ("variants.SCoT.of=scripted/b",)
    assert {*cast_of("bos-tournament", "paper", a, b, changes=other)} == {*scripts, a, b, f"{b} SCoT"}


@pytest.mark.parametrize("of", ["second", "[scripted/c]", "3"])
def test_a_variant_of_nobody_who_plays_is_refused(of: str) -> None:
    said = r"variants\.SCoT\.of: must be 'first' or models that are named \(allowed: scripted/a\)"
    with pytest.raises(StudyError, match=said):
        load_study("bos-tournament", models=["scripted/a"], changes=[f"variants.SCoT.of={of}"])


def test_versus_needs_somebody_on_both_sides() -> None:
    with pytest.raises(StudyError, match=r"types: seating 'versus' needs a model .* and a script"):
        StudyPlan(load_study("hints", preset="paper"))


def test_the_papers_observer_watches_the_alternating_script_in_seat_2() -> None:
    plan = StudyPlan(load_study("prediction", preset="paper", models=["scripted/first"]))
    found = [(u.cell["predictor"], [p.name for p in u.players], vars(u.mechanism)["watched"]) for u in plan.units()]
    assert found == [
        ("players", ["scripted/first", "alternate"], None),
        ("observer", ["scripted/first", "alternate", "scripted/first"], 2),
    ]
