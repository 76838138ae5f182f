"""What the command line and presets make of a study's content, before anything is checked."""

from typing import Any

import pytest

from ostrom.ground.errors import StudyError, UnknownName
from ostrom.studies.baselines import split_baselines
from ostrom.studies.files import presets_of
from ostrom.studies.load import apply_preset, merged, split_change, with_addresses, with_options

RAW: dict[str, Any] = {
    "name": "s", "game": "chicken", "types": {"a": "grim", "b": "random"}, "vary": {"k": [1], "j": [2]}, "seeds": 3,
    "presets": {"small": {"seeds": 1, "types": {"b": None}, "vary": {"k": None, "i": [3]}, "mechanism.rounds": 4}},
}  # fmt: skip


def test_a_preset_replaces_factors_and_takes_out_what_is_null() -> None:
    assert apply_preset(RAW, "small", "s") == {
        "name": "s", "game": "chicken", "types": {"a": "grim"}, "vary": {"j": [2], "i": [3]}, "seeds": 1,
        "mechanism": {"rounds": 4},
    }  # fmt: skip
    assert apply_preset(RAW, None, "s") == {key: value for key, value in RAW.items() if key != "presets"}
    assert presets_of(RAW) == ["small"] and presets_of({"name": "s"}) == []


@pytest.mark.parametrize(
    ("presets", "key"),
    [(3, "presets"), ({"small": 3}, "presets.small"), ({"small": {"vary": 3}}, "presets.small.vary"),
     ({"small": {"seeds.x": 3}}, "presets.small.seeds.x")],
)  # fmt: skip
def test_a_preset_that_is_no_mapping_is_refused(presets: Any, key: str) -> None:
    with pytest.raises(StudyError) as refused:
        apply_preset({**RAW, "presets": presets}, "small", "s")
    assert refused.value.key == key
    with pytest.raises(UnknownName, match="preset"):
        apply_preset(RAW, "large", "s")


def test_a_preset_may_be_called_by_a_number() -> None:
    raw = {**RAW, "presets": {1: {"seeds": 5}, 2.5: {"seeds": 6}}}
    assert presets_of(raw) == ["1", "2.5"]
    assert [apply_preset(raw, name, "s")["seeds"] for name in presets_of(raw)] == [5, 6]
    with pytest.raises(UnknownName, match=r"unknown preset 'small' \(known: 1, 2\.5\)"):
        apply_preset(raw, "small", "s")


def test_changes_are_paths_with_values() -> None:
    data, _ = merged(RAW, None, ["vary.k=null", "game=a=b", " seeds = 7 "])
    assert (data["vary"], data["game"], data["seeds"]) == ({"j": [2]}, "a=b", 7)
    for change in ("seeds", "=3", " =3"):
        with pytest.raises(StudyError, match="write it as key=value"):
            split_change(change)
    with pytest.raises(StudyError, match="cannot be given fields") as refused:
        merged(RAW, None, ["seeds.x=1"])
    assert refused.value.key == "--set"


@pytest.mark.parametrize(
    ("variants", "names"),
    [
        (None, ["m/1", "m/2"]),
        ({"cold": {"params": {"temperature": 0}}}, ["m/1", "m/1 cold", "m/2", "m/2 cold"]),
        ({"cold": {"of": "first"}}, ["m/1", "m/1 cold", "m/2"]),
        ({"cold": {"of": "m/2"}}, ["m/1", "m/2", "m/2 cold"]),
        ({"cold": {"of": ["m/2"]}, "off": None}, ["m/1", "m/2", "m/2 cold"]),
    ],
)
def test_models_of_the_command_line_replace_models_and_leave_scripts(variants: Any, names: list[str]) -> None:
    types = {"a": "grim", "b": {"strategy": "random"}, "c": "x/y", "d": {"model": "x/z"}, "e": "small"}
    data = {"types": types, "variants": variants, "models": {"small": "x/w"}}
    made = with_options(data, "s", ["m/1", "m/2"])["types"]
    assert list(made) == ["a", "b", *names] and made["m/1"] == {"model": "m/1"}
    with pytest.raises(StudyError, match=r"variants\.cold\.of"):
        with_options({"variants": {"cold": {"of": "m/3"}}}, "s", ["m/1"])


def test_seeds_and_budget_of_the_command_line() -> None:
    assert with_options({"seeds": 3}, "s", seeds=0) == {"seeds": 0}
    assert with_options({"stop": {"at_most": 9}}, "s")["seeds"] == 9
    assert with_options({"budget": {"usd": 1, "calls": 2}}, "s", budget={"usd": 5})["budget"] == {"usd": 5, "calls": 2}
    with pytest.raises(StudyError, match=r"plays stop\.at_least to stop\.at_most seeds"):
        with_options({"stop": {"at_most": 9}}, "s", seeds=3)


URLS = ["http://a/v1#m", "http://b/v1"]


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (3, "must map short names"),
        ({"a b": "x/y"}, "a short name has letters"),
        ({"grim": "x/y"}, "is the name of a strategy"),
        ({"s": {"params": {}}}, "needs 'model'"),
        ({"s": 3}, "needs 'model'"),
        ({"s": {"model": "x/y", "style": "direct"}}, "unknown key 'style'"),
        ({"s": "y"}, "not another short name"),
        ({"s": "x/y", "t": "x/y"}, "is the same model as s"),
        ({"s": {"replicas": []}}, "must be a list of addresses"),
        ({"s": {"replicas": "http://a/v1#m"}}, "must be a list of addresses"),
        ({"s": {"replicas": [3, "http://a/v1#m"]}}, "must be a list of addresses"),
        ({"s": {"replicas": ["http://a/v1#m", "http://b/v1#n"]}}, "must name one model"),
        ({"s": {"replicas": ["http://a/v1"]}}, "must name one model"),
    ],
)
def test_a_short_name_that_could_be_something_else_is_refused(models: Any, words: str) -> None:
    with pytest.raises(StudyError, match=words):
        with_addresses({"models": models}, "s")


def test_short_names_are_replaced_wherever_a_model_may_stand() -> None:
    small = {"model": "x/y", "params": {"temperature": 0}}
    data = {
        "models": {"small": small, "many": {"replicas": URLS}}, "agent": {"model": "small", "style": "direct"},
        "types": {"a": "small", "b": "grim", "c": {"model": "x/z"}}, "seats": {1: {"style": "social"}},
        "vary": {"agent.model": ["small", "x/z"], "who": {"l": {"agent.model": "small", "agent.style": "direct"}}},
    }  # fmt: skip
    made = with_addresses(data, "s")
    assert made["models"]["many"] == {
        "model": "http://a/v1#m",
        "settings": {"replicas": ["http://a/v1", "http://b/v1"]},
    }
    assert made["agent"] == {**small, "called": "small", "style": "direct"}
    assert made["types"] == {"a": {**small, "called": "small"}, "b": "grim", "c": {"model": "x/z"}}
    level = {"agent.called": "small", "agent.model": "x/y", "agent.params": {"temperature": 0}}
    assert made["vary"]["model"] == {"small": level, "x/z": {"agent.called": None, "agent.model": "x/z"}}
    assert made["vary"]["who"]["l"] == {**level, "agent.style": "direct"}
    assert with_addresses({"agent": {"model": "small"}}, "s") == {"agent": {"model": "small"}}
    with pytest.raises(UnknownName, match="model"):
        with_addresses({**data, "agent": {"model": "smal"}}, "s")
    with pytest.raises(StudyError, match="names a level twice"):
        with_addresses({**data, "vary": {"agent.model": ["small", "small"]}}, "s")


def test_baselines_are_taken_out_of_a_memory() -> None:
    agent = {"style": "direct", "memory": {"name": "sanitized", "baselines": [{"run": "r"}]}}
    assert split_baselines(agent) == ({"style": "direct", "memory": {"name": "sanitized"}}, [{"run": "r"}])
    assert split_baselines({"memory": "full"}) == ({"memory": "full"}, [])
