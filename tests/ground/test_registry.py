"""Parts found by name: what is found must be of the kind that is asked for, and fit what is written."""

from pathlib import Path
from typing import Any

import pytest

from ostrom.ground.errors import StudyError, UnknownName
from ostrom.ground.registry import NamedFiles, Registry, own_holders, parse_spec, write_spec


def _registry() -> Registry[Any]:
    def part(a: int, b: int = 2, *, c: int = 3) -> tuple[int, int, int]:
        return a, b, c

    def alone() -> int:
        return 1

    def failing(a: int) -> float:
        return 1 / a

    registry: Registry[Any] = Registry("toy", None, "TOY", "ostrom.no_such_group")
    for name, factory in (("part", part), ("alone", alone), ("failing", failing)):
        registry.add(name, factory)
    return registry


def test_a_part_of_another_kind_is_refused_in_one_line() -> None:
    registry: Registry[int] = Registry("number", None, "NUMBER", "ostrom.no_such_group")
    registry.add("seven", int)
    assert registry.get_instance("seven", type) is int
    with pytest.raises(StudyError) as caught:
        registry.get_instance("seven", int)
    assert str(caught.value) == "number seven: is a type, not a int"


def test_names_are_added_once_and_forgotten() -> None:
    registry = _registry()
    assert list(registry) == registry.names() == ["alone", "failing", "part"]
    with pytest.raises(StudyError, match="there is already a toy of that name"):
        registry.add("part", int)
    registry.remove("part")
    registry.remove("part")
    assert "part" not in registry and "alone" in registry
    with pytest.raises(UnknownName, match=r"unknown toy 'aloen' \(did you mean alone\?"):
        registry.get("aloen")


@pytest.mark.parametrize(
    ("spec", "built"),
    [
        ("part:1", (1, 2, 3)),
        ("part:1,5", (1, 5, 3)),
        (" part : 1 , c = 4 ", (1, 2, 4)),
        ({"name": "part", "a": 7, "c": 0}, (7, 2, 0)),
        ("alone", 1),
        ("alone:", 1),
    ],
)
def test_a_part_is_built_from_what_is_written(spec: Any, built: Any) -> None:
    assert _registry().build(spec) == built


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("part", "f.yaml: k: toy part needs 'a' (allowed: a, b, c)"),
        ("part:1,2,3", "f.yaml: k: toy part takes at most 2 values without a name, found 3 (allowed: a, b, c)"),
        ("part:1,a=2", "f.yaml: k: toy part: 'a' is given twice, by its place and by its name (allowed: a, b, c)"),
        ("alone:1", "f.yaml: k: toy alone takes at most 0 values without a name, found 1 (allowed: no parameters)"),
        ("failing:0", "f.yaml: k: toy failing: division by zero"),
        ("part:b=1,2", "f.yaml: k: unnamed values come before named ones (found 'part:b=1,2')"),
        ("", "f.yaml: k: must be a name or a mapping with a 'name' (found '')"),
        (3, "f.yaml: k: must be a name or a mapping with a 'name' (found 3)"),
        ({"a": 1}, "f.yaml: k: needs a 'name' (found {'a': 1})"),
        ({"name": 1}, "f.yaml: k: needs a 'name' (found {'name': 1})"),
    ],
)  # fmt: skip
def test_what_does_not_fit_a_part_is_named_with_its_place(spec: Any, words: str) -> None:
    with pytest.raises(StudyError) as caught:
        _registry().build(spec, key="k", file="f.yaml")
    assert str(caught.value) == words


def test_a_key_that_a_part_does_not_take_is_told_before_one_that_it_lacks() -> None:
    with pytest.raises(StudyError, match="unknown key 'd' of toy part"):
        _registry().build("part:d=1")
    with pytest.raises(UnknownName, match=r"^f\.yaml: k: unknown toy 'prat'"):
        _registry().build("prat", key="k", file="f.yaml")


@pytest.mark.parametrize(
    ("spec", "whole"),
    [
        ("part:1", {"name": "part", "a": 1, "b": 2, "c": 3}),
        ({"name": "part", "a": 1, "c": 5}, {"name": "part", "a": 1, "b": 2, "c": 5}),
        ("part", "part"),
        ("part:1,2,3", "part:1,2,3"),
    ],
)
def test_a_part_is_spelled_out_where_it_fits(spec: Any, whole: Any) -> None:
    assert _registry().normalized_spec(spec) == whole


def test_words_of_a_specification_are_read_and_written() -> None:
    assert parse_spec("window:3,real=0.5,flag=true,,word=a") == (
        "window", [3], {"real": 0.5, "flag": True, "word": "a"},
    )  # fmt: skip
    assert write_spec({"name": "my.py:recent@1a2b3c4d5e6f", "k": 3, "m": "x"}) == "my.py:recent:k=3,m=x"


def test_rooms_beside_the_features_hold_parts_too() -> None:
    people, probe, *features = own_holders()
    assert (people, probe) == ("ostrom.people", "ostrom.probe") and features == sorted(features)
    assert "ostrom.features.power" in features and not any("__" in name for name in features)


def test_files_of_one_name_in_two_packages_are_refused_when_asked_for(tmp_path: Path) -> None:
    held = NamedFiles("study")
    for name, package in (("one", "first"), ("two", "first"), ("two", "second")):
        path = tmp_path / f"{name}-{package}.yaml"
        path.write_text(f"{name} of {package}", encoding="utf-8")
        held.put(name, path, package)
    assert held.text("one") == "one of first" and held.named("three") is None and sorted(held) == ["one", "two"]
    assert held.text(str(tmp_path / "two-second.yaml")) == "two of second"
    with pytest.raises(StudyError, match=r"^two: several packages have a study of that name: first, second$"):
        held.text("two")
    for source in ("absent.yaml", "absent.yml", "a/absent"):
        with pytest.raises(StudyError, match=f"{source}: there is no such file"):
            held.text(source)
    with pytest.raises(UnknownName, match=r"unknown study 'tow' \(did you mean two\?"):
        held.text("tow")
