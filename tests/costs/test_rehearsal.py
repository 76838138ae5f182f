"""A forecast looks at the questions that will be asked, also where they turn on what was designed or said before."""

from collections import Counter
from pathlib import Path

import pytest

from ostrom.costs.forecast import forecast
from ostrom.costs.lengths import CHARACTERS_PER_TOKEN, Lengths
from ostrom.costs.rehearsal import rehearsed
from ostrom.mechanisms.protocol import Decision
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.prompts import rehearse
from ostrom.studies.run import open_run, play
from ostrom.testing.server import LoopbackServer


@pytest.mark.slow
@pytest.mark.parametrize("study", ["mechanisms", "prediction", "personas"])
def test_what_is_forecast_is_what_is_asked(study: str, tmp_path: Path) -> None:
    with LoopbackServer() as server:
        loaded = load_study(study, preset="smoke", models=[server.model])
        told = forecast(StudyPlan(loaded))
        play(loaded, runs=tmp_path, name="run")
    with open_run(tmp_path / "run") as run:
        prompts = [run.journal.prompt(call["id"]) or [] for call in run.rows.calls() if "try0" in call["part"]]
    characters = sum(len(content) for prompt in prompts for _, content in prompt)
    assert told.calls >= len(prompts)
    mean, forecast_mean = characters / len(prompts), told.tokens_in * CHARACTERS_PER_TOKEN / told.calls
    assert 0.8 * mean < forecast_mean < 1.6 * mean


def test_preparations_are_rehearsed_first() -> None:
    plan = StudyPlan(load_study("mechanisms", models=["openai/gpt-4o-mini"]))
    needy = [u for u in map(plan.unit, range(len(plan))) if u.needs]
    assert {u.mechanism.name for u in needy} == {"mediation", "contracting"}
    for unit in needy[:: len(needy) // 6]:
        asked: dict[int, list[Decision]] = rehearse(plan, unit, enough=4)
        kinds = Counter(d.kind for decisions in asked.values() for d in decisions)
        assert kinds["vote"] and kinds["act"] and set(asked) == set(range(len(unit.players)))


@pytest.mark.parametrize(("game", "exact"), [("centipede", False), ("ultimatum", True)])
def test_a_game_that_may_end_early_is_not_taken_for_one_that_never_does(game: str, exact: bool) -> None:
    agent = {"model": "openai/gpt-test", "style": "direct", "params": {"max_tokens": 50}}
    for seed in range(3):  # the first course of one of them is the longest
        study = {"name": "s", "game": game, "seed": seed, "types": {"m": agent}, "seating": "self"}
        plan = StudyPlan(load_study(study))
        found = rehearsed(plan, plan.unit(0), Lengths())
        assert (found.exact, found.varies) == (exact, not exact)
        assert (found.decisions == plan.unit(0).mechanism.most_decisions(plan.unit(0).game)) is exact
