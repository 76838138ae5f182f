"""The mechanisms study: its size, a scripted tournament, kills, and players who do not answer properly."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.run_tables import tables

from ostrom.costs.forecast import forecast
from ostrom.engine.play_options import PlayOptions
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

THREE = "types={tft: tit_for_tat, all_d: defector, br: best_response}"
SIX = THREE.replace("}", ", grim: grim, all_c: cooperator, chance: 'random:0.5'}")


def rows_of(folder: Path) -> list[dict[str, Any]]:
    with open_run(folder) as run:
        return list(run.rows.matches())


# -- the design of the study -----------------------------------------------------------------------------


def test_six_types_make_about_nineteen_thousand_nine_hundred_decisions_a_run() -> None:
    plan = StudyPlan(load_study("mechanisms", changes=[SIX], seeds=1))
    assert forecast(plan).decisions == 19_872
    assert StudyPlan(load_study("mechanisms", changes=[SIX])).study.seeds == 3


@pytest.mark.parametrize("preset", ["paper", "small", "smoke"])
def test_every_preset_has_all_six_mechanisms(preset: str) -> None:
    plan = StudyPlan(load_study("mechanisms", preset=preset, changes=[THREE]))
    labels = {unit.cell["mechanism"] for unit in plan.units()}
    assert labels == {
        "none", "repetition", "reputation_first", "reputation_higher", "mediation", "contracting",
    }  # fmt: skip


def test_a_type_designs_once_per_seat_and_all_its_matches_use_the_design() -> None:
    plan = StudyPlan(load_study("mechanisms", changes=[THREE], seeds=1))
    units = [u for u in plan.units() if u.cell == {"game": "public_goods", "mechanism": "contracting"}]
    preparations = {u.index: u for u in units if u.kind == "preparation"}
    assert len(preparations) == 3 * 3 and len(units) == 9 + 27
    for unit in units:
        if unit.kind == "match":
            made = [preparations[index] for index in unit.needs]
            assert [p.players[0].name for p in made] == [player.name for player in unit.players]
            assert [p.seat for p in made] == [0, 1, 2]


# -- a scripted tournament -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tournament(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three scripted types over all games and mechanisms."""
    runs = tmp_path_factory.mktemp("runs")
    result = play(load_study("mechanisms", changes=[THREE], seeds=1), name="calm", runs=runs)
    assert result.complete and result.tally.failed == result.tally.skipped == 0
    return runs / "calm"


@pytest.mark.slow
def test_mechanisms_make_calculating_players_cooperate(tournament: Path) -> None:
    alone = [
        r for r in rows_of(tournament)
        if r["unit"] == "match" and r["agent"] == "br" and set(r["opponents"].split(" + ")) == {"br"}
    ]  # fmt: skip
    by_mechanism = {
        m: [r["cooperation"] for r in alone if r["mechanism"] == m and r["game"] != "trust"]
        for m in ("none", "mediation", "contracting")
    }
    assert set(by_mechanism["none"]) == {0.0}
    assert set(by_mechanism["mediation"]) == set(by_mechanism["contracting"]) == {1.0}


@pytest.mark.slow
def test_a_tournament_in_pieces_is_the_same_tournament(tournament: Path, tmp_path: Path) -> None:
    study = load_study("mechanisms", changes=[THREE], seeds=1)
    for _ in range(20):
        if play(study, name="calm", runs=tmp_path, options=PlayOptions(limit=120)).complete:
            break
    assert tables(tmp_path / "calm", tmp_path / "a") == tables(tournament, tmp_path / "b")


# -- killed ----------------------------------------------------------------------------------------------


# -- players who do not answer as they should ------------------------------------------------------------


@pytest.fixture
def stubborn() -> Iterator[Callable[[str, str], None]]:
    """Register models by a text that they always write; forgotten afterwards."""
    names = []

    def make(name: str, text: str) -> None:
        register(name, text)
        names.append(name)

    yield make
    for name in names:
        unregister(name)


def mixed(model: str, policy: str, mechanism: str, **more: Any) -> Any:
    """One model and one script under one mechanism."""
    return load_study(
        {
            "name": "odd",
            "game": "prisoners_dilemma:coopeval",
            "mechanism": mechanism,
            "agent": {"style": "direct", "constrain": "never"},
            "types": {"odd": {"model": model}, "tft": "tit_for_tat"},
            "seating": "ordered",
            "invalid": {"retries": 2, "policy": policy},
            **more,
        }
    )


@pytest.mark.parametrize("mechanism", ["mediation", "contracting"])
def test_a_failed_design_fails_alone_and_its_matches_are_skipped_with_the_reason(
    tmp_path: Path, stubborn: Callable[[str, str], None], mechanism: str
) -> None:
    stubborn("mute", "I would rather not say.")
    result = play(mixed("scripted/mute", "fail", mechanism), runs=tmp_path)
    assert (result.tally.failed, result.tally.skipped, result.tally.done) == (2, 3, 3)
    rows = rows_of(tmp_path / "odd")
    failed = [r for r in rows if r["state"] == "failed"]
    assert {(r["unit"], r["agent"]) for r in failed} == {("preparation", "odd")}
    skipped = [r for r in rows if r["state"] == "skipped"]
    assert all("the preparation of odd at seat" in r["reason"] for r in skipped)
    assert all("no valid answer: the reply contains no JSON object" in r["reason"] for r in skipped)
    done = [r for r in rows if r["state"] == "done" and r["unit"] == "match"]
    assert {r["agent"] for r in done} == {"tft"} and len(done) == 2


def test_a_design_that_comes_later_is_used(tmp_path: Path, stubborn: Callable[[str, str], None]) -> None:
    stubborn("late", "not yet")
    study = mixed("scripted/late", "fail", "mediation")
    assert play(study, runs=tmp_path).tally.skipped == 3
    wise = '{"delegators_1": "A1", "delegators_2": "A0"}'

    def reply(request: Request) -> str:
        text = request.messages[0].content
        return wise if "step 1." in text else '{"M1": true, "M2": false}' if "step 2." in text else "[delegate]"

    register("late", reply)
    assert play(study, runs=tmp_path).tally.skipped == 3  # what was said before is read again
    result = play(study, runs=tmp_path, options=PlayOptions(ask_again=True))
    assert (result.complete, result.tally.done, result.tally.skipped) == (True, 8, 0)
    assert all(r["state"] == "done" for r in rows_of(tmp_path / "odd"))


def test_a_skipped_design_skips_its_matches(tmp_path: Path, stubborn: Callable[[str, str], None]) -> None:
    stubborn("mute", "")
    result = play(mixed("scripted/mute", "skip-match", "contracting"), runs=tmp_path)
    assert (result.complete, result.tally.skipped, result.tally.done) == (True, 5, 3)
    again = play(mixed("scripted/mute", "skip-match", "contracting"), runs=tmp_path)
    assert (again.complete, again.tally.skipped, again.tally.done) == (True, 5, 3)


def test_two_settings_of_one_model_are_two_types(tmp_path: Path) -> None:
    register("calm", "[A0]")
    try:
        types = {"cool": {"model": "scripted/calm", "params": {"temperature": 0}}, "hot": {"model": "scripted/calm"}}
        study = load_study({"name": "two", "game": "prisoners_dilemma", "agent": {"style": "direct"},
                            "types": types, "seating": "ordered"})  # fmt: skip
        play(study, runs=tmp_path)
    finally:
        unregister("calm")
    rows = rows_of(tmp_path / "two")
    assert len({r["agent_id"] for r in rows}) == 2 == len({r["agent"] for r in rows})
