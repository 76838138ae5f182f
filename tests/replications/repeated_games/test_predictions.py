"""Predictions: asked of players, of an observer, or on the way to a choice; never told to anyone."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostrom.costs.forecast import forecast
from ostrom.ground.errors import StudyError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

PROMPTS: list[str] = []


def clever(request: Request) -> str:
    """Predicts F, and answers what it is told to believe."""
    text = request.messages[0].content
    PROMPTS.append(text)
    if re.search(r"will Player \d choose in it", text):
        return "[F]"
    plausible_usage = re.search(r"You expect Player \d to choose (\w)", text)
    return f"[{plausible_usage[1]}]" if plausible_usage else "[J]"


@pytest.fixture(autouse=True)
def model() -> Iterator[None]:
    PROMPTS.clear()
    register("clever", clever)
    yield
    unregister("clever")


def study(**more: Any) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": "foretold",
        "game": "battle_of_the_sexes",
        "mechanism": {"name": "repetition", "rounds": 4, "told_rounds": True},
        "agent": {"framing": {"labels": "JF", "history": "sentences"}, "style": "direct"},
        "types": {"m": {"model": "scripted/clever"}, "alternate": "alternator"},
        "seating": "ordered",
    }
    return {**data, **more}


def rows_of(data: dict[str, Any], runs: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    play(load_study(data), runs=runs)
    with open_run("foretold", runs) as run:
        return list(run.rows.decisions()), list(run.rows.matches())


def with_predict(how: str | None, **more: Any) -> dict[str, Any]:
    return study(mechanism={"name": "repetition", "rounds": 4, "told_rounds": True, "predict": how, **more})


def test_a_social_prediction_is_never_in_any_history(tmp_path: Path) -> None:
    # The prediction (F) is not what anybody plays (J): nothing but the belief of the moment may say F.
    data = study(types={"m": {"model": "scripted/clever", "style": "social"}, "always": "constant:0"})

    def stubborn(request: Request) -> str:
        PROMPTS.append(request.messages[0].content)
        return "[F]" if "in it?" in PROMPTS[-1] else "[J]"

    register("clever", stubborn)
    rows_of(data, tmp_path)
    pasts = [re.findall(r"^Round \d+: .*$", text, re.M) for text in PROMPTS]
    assert any(pasts)
    for lines in pasts:
        assert all(" F " not in line for line in lines)


def test_resuming_does_not_ask_for_a_prediction_again(tmp_path: Path) -> None:
    data = study(types={"m": {"model": "scripted/clever", "style": "social"}}, seating="self")
    play(load_study(data), runs=tmp_path)
    calls = len(PROMPTS)
    assert calls == 4 * 2 * 2
    play(load_study(data), runs=tmp_path)
    assert len(PROMPTS) == calls


def test_the_players_prompts_for_an_action_are_the_same_with_and_without_predictions(tmp_path: Path) -> None:
    rows_of(with_predict(None), tmp_path / "a")
    without = sorted(PROMPTS)
    PROMPTS.clear()
    decisions, _ = rows_of(with_predict("players"), tmp_path / "b")
    acting = sorted(p for p in PROMPTS if "in it?" not in p)
    assert acting == without
    predicted = [r for r in decisions if r["kind"] == "predict"]
    assert len(predicted) == 4 * 4 * 2 and {(r["seat"], r["target"]) for r in predicted} == {(1, 2), (2, 1)}
    assert all(r["action"] is None and r["payoff"] is None for r in predicted)


def test_players_do_not_notice_an_observer(tmp_path: Path) -> None:
    rows_of(with_predict(None), tmp_path / "a")
    without = sorted(PROMPTS)
    PROMPTS.clear()
    rows_of(with_predict("observer"), tmp_path / "b")
    assert sorted(p for p in PROMPTS if "You are Player" in p) == without


def test_an_observer_may_watch_one_seat(tmp_path: Path) -> None:
    decisions, _ = rows_of(with_predict("observer", watched=2), tmp_path)
    assert {r["target"] for r in decisions if r["player"] == 3} == {2}
    told = [text for text in PROMPTS if "You do not take part yourself" in text]
    assert told and all("you foretell what Player 2 will do, and" in text for text in told)
    PROMPTS.clear()
    rows_of(with_predict("observer"), tmp_path / "both")
    told = [text for text in PROMPTS if "You do not take part yourself" in text]
    assert told and all("you foretell what Player 1 and Player 2 will do, and" in text for text in told)


def test_observers_are_models_unless_the_study_names_others() -> None:
    def observers(**more: Any) -> set[str]:
        plan = StudyPlan(load_study({**with_predict("observer"), **more}))
        return {unit.players[2].name for unit in plan.units()}

    assert observers() == {"m"}
    assert observers(observers="all") == {"m", "alternate"}
    assert observers(observers=["alternate"]) == {"alternate"}
    with pytest.raises(StudyError, match="observers: names no type"):
        observers(observers=["nobody"])


def test_the_forecast_counts_predictions() -> None:
    def calls(how: str | None) -> int:
        return forecast(StudyPlan(load_study(with_predict(how)))).calls

    # Four seatings hold the model four times in two seats; it observes each of them at both seats.
    assert (calls(None), calls("players"), calls("observer")) == (16, 32, 16 + 32)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"predict": "everybody"}, "players, observer or null"),
        ({"watched": 1}, "only an observer has a watched seat"),
        ({"predict": "observer", "watched": 0}, "the number of a seat"),
        ({"predict": "observer", "watched": 3}, "has 2 seats"),
    ],
)
def test_predictions_that_make_no_sense_are_refused(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(StudyError, match=complaint):
        StudyPlan(load_study(study(mechanism={"name": "repetition", **settings})))
