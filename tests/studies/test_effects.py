"""What would change nothing is refused: factors that are played alike, and keys that something else replaces."""

from pathlib import Path
from typing import Any

import pytest

from ostrom.agents.config import NO_MODEL
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import StudyError
from ostrom.models.providers import scripted
from ostrom.studies.files import builtin_names, presets_of
from ostrom.studies.load import load_study
from ostrom.studies.plan import plan_of
from ostrom.studies.resolve import check_effects, resolve

BASE: dict[str, Any] = {
    "name": "effects",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 3},
    "types": {"a": {"strategy": "grim"}, "b": "tit_for_tat"},
}
MEMORIES = {"agent.memory": ["window:2", "full"]}
SPREAD = {"who": {"one": {"agent.memory": "window:1"}, "both": {"agent.memory": "full"}, "as_is": {}}}


def refused(study: dict[str, Any], **how: Any) -> StudyError:
    with pytest.raises(StudyError) as error:
        resolve({**BASE, **study}, **how)
    assert "\n" not in str(error.value)
    return error.value


@pytest.mark.parametrize(
    ("study", "key"),
    [
        ({"vary": {"agent.strategy": ["defector", "cooperator"]}}, "vary.strategy"),
        ({"vary": {"agent.model": ["openai/a", "openai/b"]}}, "vary.model"),
        ({"vary": {"who": {"x": {"agent.memory": "full"}, "y": {}}}}, "vary.who"),
        ({"vary": {"agent.memory": ["full", "window:1"]}, "seats": {1: {"memory": "full"}, 2: {"memory": "full"}}},
         "vary.memory"),
        ({"vary": {"agent.memory": ["full", "window:1"], "who": {"x": {"agent.memory": "full"},
                                                                "y": {"agent.memory": "window:3"}}}}, "vary.memory"),
        ({"vary": {"seating": ["self", "unordered"]}, "types": {"a": "grim"}}, "vary.seating"),
    ],
)  # fmt: skip
def test_a_factor_that_changes_nothing_is_refused(study: dict[str, Any], key: str) -> None:
    error = refused(study)
    assert error.key == key and "changes nothing" in str(error)


@pytest.mark.parametrize(
    "study",
    [
        {"vary": MEMORIES},
        {"vary": {"agent.memory": ["full"]}},  # one level: nothing to compare
        {"vary": {"agent.style": ["direct", "reasoned"]}},  # a rehearsal by scripts of a study with models
        {"vary": SPREAD},  # two of its three levels are alike
        {"vary": {"agent.strategy": ["grim", "defector"]}, "types": {}},
        {"vary": {"types.a.attributes": [{"size": 1}, {"size": 2}]}},
        {"vary": {"agent.memory": ["full", "window:1"], "rounds": {"set": "mechanism.rounds", "to": [1, 2]}},
         "only": [{"memory": "full", "rounds": 1}, {"memory": "window:1", "rounds": 2}]},
        {"vary": {**MEMORIES, "who": {"alike": {"agent.memory": "full"}, "as_is": {}}}},  # as_is lets memory through
    ],
)  # fmt: skip
def test_a_factor_that_changes_something_is_played(study: dict[str, Any]) -> None:
    resolve({**BASE, **study})


@pytest.mark.parametrize(
    ("study", "how", "says"),
    [
        ({"vary": MEMORIES}, {"changes": ["agent.memory=windw:3"]}, "the study varies it (factor memory)"),
        ({"vary": MEMORIES}, {"changes": ["agent.memory={name: window, k: 3}"]}, "agent.memory.name has no effect"),
        ({"vary": MEMORIES}, {"changes": ["agent.memory=full"]}, "agent.memory has no effect"),
        ({"vary": {"m": {"x": {"mechanism": "none"}, "y": {"mechanism": {"name": "repetition", "rounds": 2}}}}},
         {"changes": ["mechanism.rounds=9"]}, "mechanism.rounds has no effect: the study varies it (factor m)"),
        ({}, {"changes": ["agent.strategy=defector"]}, "types, seats or --model replace it"),
        ({}, {"changes": ["agent.model=openai/x"]}, "types, seats or --model replace it"),
        ({"types": {"a": {"strategy": "grim", "memory": "full"}}},
         {"changes": ["agent.memory=window:3"]}, "replace it"),
        ({"types": {"a": "grim"}, "seats": {1: {"memory": "full"}, 2: {"memory": "window:1"}}},
         {"changes": ["agent.memory=window:3"]}, "replace it"),
        ({}, {"changes": ["types.c=openai/c"], "models": ["scripted/x"]}, "types.c has no effect"),
        ({}, {"changes": ["types.c.model=openai/c"], "models": ["scripted/x"]}, "types.c.model has no effect"),
        ({}, {"changes": ["variants.V.style=direct"]}, "named with --model"),
        ({}, {"changes": ["seeds=3"], "seeds": 4}, "seeds has no effect"),
        ({}, {"changes": ["budget.calls=3"], "options": PlayOptions(budget_calls=4)}, "budget.calls has no effect"),
    ],
)  # fmt: skip
def test_a_change_that_reaches_no_match_is_refused(study: dict[str, Any], how: dict[str, Any], says: str) -> None:
    error = refused(study, **how)
    assert error.key == "--set" and says in str(error)


@pytest.mark.parametrize(
    ("study", "change"),
    [
        ({}, "mechanism.rounds=3"),  # what it is already
        ({}, "agent.style=reasoned"),  # the default
        ({}, "seeds=1"),
        ({}, "title=Mine"),
        ({"vary": SPREAD}, "agent.memory=window:3"),  # it holds where the factor is as_is
        ({"vary": MEMORIES}, "vary.n={set: mechanism.rounds, to: [1, 2]}"),
        ({"types": {"a": "grim"}, "seats": {1: {"memory": "full"}}}, "agent.memory=window:3"),
        ({}, "types={a: grim, b: defector}"),
        ({}, "seats={2: {memory: 'window:1'}}"),
        ({}, "seating=self"),
        ({}, "observers=[a]"),
    ],
)
def test_a_change_that_holds_somewhere_is_made(study: dict[str, Any], change: str) -> None:
    resolve({**BASE, **study}, changes=[change])


def test_a_later_change_may_replace_an_earlier_one() -> None:
    resolve(BASE, changes=["mechanism.rounds=4", "mechanism.rounds=5"])


def test_a_preset_that_reaches_no_match_is_refused() -> None:
    study = {"vary": MEMORIES, "presets": {"short": {"agent": {"memory": "window:1"}, "mechanism.rounds": 1}}}
    error = refused(study, preset="short")
    assert error.key == "presets.short.agent.memory" and "factor memory" in str(error)
    study["presets"] = {"short": {"agent": {"memory": "window:2"}}}  # a level of the factor
    resolve({**BASE, **study}, preset="short")
    study["presets"] = {"short": {"agent": {"memory": "window:1"}, "vary": {"agent.memory": None}}}
    resolve({**BASE, **study}, preset="short", changes=["agent.memory=window:4"])


def test_a_preset_takes_paths() -> None:
    study = {
        **BASE,
        "vary": {"n": {"set": "mechanism.rounds", "to": [1, 2]}},
        "presets": {"p": {"vary.n.to": [7, 8], "mechanism.noise": 0.5, "seats.2.memory": "window:1"}},
    }
    made = load_study(study, preset="p")
    assert made.vary["n"] == {"set": "mechanism.rounds", "to": [7, 8]}
    assert made.mechanism == {"name": "repetition", "rounds": 3, "noise": 0.5}
    assert made.seats == {2: {"memory": "window:1"}}
    study["presets"] = {"p": {"seeds.first": 3}, "q": {"seeds": 2, "seeds.first": 3}}
    with pytest.raises(StudyError, match=r"presets\.q\.seeds\.first: seeds: cannot be given fields"):
        load_study(study, preset="q")


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", builtin_names())
def test_no_built_in_study_is_refused(name: str) -> None:
    for preset in [None, *presets_of(name)]:
        for models in ((), ("scripted/x",)):
            try:
                plan = plan_of(load_study(name, preset=preset, models=models), file=name)
            except StudyError as error:
                assert error.problem == NO_MODEL or error.key == "types"
                continue
            check_effects(plan, name, preset, (), models, None, {})
            break


def test_the_example_study_is_not_refused() -> None:
    file = Path(__file__).parents[2] / "examples" / "remembering-society.yaml"
    resolve(file, models=["openai/x"])


def test_a_null_that_takes_a_variant_out_has_its_effect() -> None:
    scripted.register("some", lambda request: "[J]")
    plan = resolve("pd-tournament", changes=["variants={SCoT: null}"], models=["scripted/some"], seeds=1).plan
    assert not any("SCoT" in seated.name for unit in plan.units() for seated in unit.players)
