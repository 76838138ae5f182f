"""Factors by hand: the ways to write one, how levels set fields, which combinations a grid has, who is called what."""

from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.agents.config import AgentConfig
from ostrom.ground.errors import StudyError, UnknownName
from ostrom.ground.yaml import DEEPEST
from ostrom.studies.factors import (
    LONGEST_NAME,
    Cell,
    Factor,
    Grid,
    Level,
    agent_names,
    clients_of,
    error_at,
    merge,
    on_top,
    read_factors,
    set_path,
    unit_key,
    watching_types,
)
from ostrom.studies.sources import ordinal_2x2, scenarios


@pytest.mark.parametrize(
    ("vary", "made"),
    [
        ({"agent.memory": ["full", "none"]}, [("memory", ["full", "none"], "agent.memory")]),
        ({"k": {"set": "agent.memory.k", "to": [1, 2]}}, [("k", [1, 2], "agent.memory.k")]),
        ({"who": {"a": {"x.y": 1}}}, [("who", ["a"], "x.y")]),
        (
            {"agent.memory": ["full"], "seats.1.memory": ["none"]},
            [("memory", ["full"], "agent.memory"), ("seats.1.memory", ["none"], "seats.1.memory")],
        ),
        (
            {"game": [{"name": "chicken", "x": 1}, {"name": "chicken", "x": 2}]},
            [("game", ["chicken:x=1", "chicken:x=2"], "game")],
        ),
        ({"game": [{"name": "chicken", "label": "hawk"}]}, [("game", ["hawk"], "game")]),
        ({"only.x": [None, True, 1.5, [1]]}, [("x", [None, True, 1.5, "[1]"], "only.x")]),
    ],
)  # fmt: skip
def test_a_factor_and_its_levels(vary: dict[str, Any], made: list[tuple[str, list[Any], str]]) -> None:
    factors = read_factors(vary)
    assert [(f.name, [lv.label for lv in f.levels], next(iter(f.levels[0].assigns))) for f in factors] == made


def test_the_label_of_a_level_is_no_parameter_of_its_part() -> None:
    (memory,) = read_factors({"agent.memory": [{"name": "window", "k": 4, "label": "four"}]})
    assert memory.levels[0] == Level("four", {"agent.memory": {"name": "window", "k": 4}})


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ({"seed": [1]}, "needs a name of its own"),
        ({"a": {"set": "x", "to": [1]}, "b.a": [2]}, None),
        ({"a.b": [1], "b": {"set": "c", "to": [2]}}, "needs a name of its own"),
        ({"a": {"set": 3, "to": [1]}}, "'set' must name a field"),
        ({"a": []}, "at least one level"),
        ({"a": "x"}, "at least one level"),
        ({"a": {}}, "at least one level"),
        ({"a": [1, "1"]}, "names a level twice"),
        ({"a": {"x": 3}}, "a named level sets fields"),
        ({"a": [{"name": "x", "label": [1]}]}, r"vary.a.label: must be a text"),
        ({"a": {"x": {3: 1}}}, "must name a field"),
        ({"family": [1], "g": {"set": "game", "to": {"from": "ordinal_2x2", "each": 1}}}, "bring a column 'family'"),
        ({"g": {"set": "game", "to": {"from": "scenarios", "beside": "x"}}}, "there is no such key"),
    ],
)
def test_what_is_no_factor_is_refused(vary: dict[str, Any], words: str | None) -> None:
    if words is None:
        assert [factor.name for factor in read_factors(vary)] == ["a", "b.a"]
        return
    with pytest.raises(StudyError, match=words):
        read_factors(vary, "s.yaml")


def factor(name: str, size: int) -> Factor:
    return Factor(name, tuple(Level(f"{name}{n}", {}) for n in range(size)))


def test_the_cells_of_a_grid_the_last_factor_fastest() -> None:
    grid = Grid([factor("a", 2), factor("b", 3)])
    assert len(grid) == 6 and list(grid) == [grid.levels(n) for n in range(6)]
    assert list(grid)[:4] == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert {(place, lv) for n in grid.covering_cells() for place, lv in enumerate(grid.levels(n))} == {
        (0, 0), (0, 1), (1, 0), (1, 1), (1, 2),
    }  # fmt: skip
    part = Grid([factor("a", 2), factor("b", 3)], [{"a": "a1", "b": ["b0", "b2"]}, {"b": "b1"}])
    assert list(part) == [(0, 1), (1, 0), (1, 1), (1, 2)] and list(part.covering_cells()) == [0, 1, 3]
    with pytest.raises(StudyError, match="keeps part of 1002001 combinations"):
        Grid([factor("a", 1001), factor("b", 1001)], [{"a": "a1"}])
    assert len(Grid([factor("a", 1001), factor("b", 1001)])) == 1001**2


@pytest.mark.parametrize(
    ("data", "path", "made"),
    [
        ({}, "a.b", {"a": {"b": 9}}),
        ({"a": "x"}, "a.b", {"a": {"name": "x", "b": 9}}),
        ({"a": {"b": 1, "c": 2}}, "a.b", {"a": {"b": 9, "c": 2}}),
        ({}, "seats.1.k", {"seats": {1: {"k": 9}}}),
        ({"seats": {"1": {}}}, "seats.1.k", {"seats": {"1": {"k": 9}}}),
        ({}, "a.12", {"a": {12: 9}}),
    ],
)
def test_a_path_sets_one_field(data: dict[str, Any], path: str, made: dict[str, Any]) -> None:
    set_path(data, path, 9)
    assert data == made


def test_a_path_through_a_value_and_one_too_deep_are_refused() -> None:
    for held in ("window:2", [1], 3):
        with pytest.raises(StudyError, match="cannot be given fields"):
            set_path({"a": held}, "a.b", 1)
    set_path({}, ".".join("a" * (DEEPEST + 1)), 1)
    with pytest.raises(StudyError, match=f"more than {DEEPEST} levels"):
        set_path({}, ".".join("a" * (DEEPEST + 2)), 1)


@pytest.mark.parametrize(
    ("base", "over", "made"),
    [
        ({"m": {"name": "a", "k": 1}}, {"m": {"name": "b"}}, {"m": {"name": "b"}}),
        ({"m": {"name": "a", "k": 1}}, {"m": {"name": "a", "j": 2}}, {"m": {"name": "a", "k": 1, "j": 2}}),
        ({"m": {"k": 1}}, {"m": {"j": 2}}, {"m": {"k": 1, "j": 2}}),
        ({"m": {"k": 1}}, {"m": 3}, {"m": 3}),
    ],
)
def test_a_part_of_another_name_inherits_nothing(base: Any, over: Any, made: Any) -> None:
    assert merge(base, over) == made


def test_a_new_way_to_decide_replaces_the_model_and_its_short_name() -> None:
    agent = {"model": "a/b", "called": "small", "style": "direct"}
    assert on_top(agent, {"strategy": "grim"}) == {"style": "direct", "strategy": "grim"}
    assert on_top(agent, {"style": "social"}) == {**agent, "style": "social"}
    assert on_top(agent, {"strategy": None}) == {**agent, "strategy": None}


def test_units_of_a_cell_by_generation() -> None:
    rules: Any = SimpleNamespace(generations=2)
    seatings: Any = (("a",), ("b",), ("c",))
    cell = Cell({"k": 1}, None, rules, {}, {}, seatings, (("t", 0), ("t", 1)))  # type: ignore[arg-type]
    assert cell.size == 8 and (cell.places(0), cell.places(1)) == (range(5), range(5, 8))
    sat: list[Any] = [cell.seating(place) for place in (2, 4, 5)]
    assert sat == [(("a",), 0), (("c",), 0), (("a",), 1)]
    assert cell.columns == {"k": 1}
    assert unit_key({"b": 1, "a": 2}, [3]) == unit_key({"a": 2, "b": 1}, [3]) == '[{"a":2,"b":1},[3]]'


def test_a_complaint_about_a_field_of_a_type_names_its_place() -> None:
    for spec, key, at in (
        ({"style": "loud"}, "agent.style", "types.a.style"), ("loud", "agent.strategy", "types.a"),
        ({"style": "loud"}, "agent", "types.a"), ({"memory": "x"}, "agent.style", "agent.style"),
        ({"style": "x"}, "game", "game"),
    ):  # fmt: skip
        with pytest.raises(StudyError) as refused, error_at("types.a", spec):
            raise StudyError("is wrong", key=key)
        assert refused.value.key == at


def test_names_of_players_whom_a_seat_changes() -> None:
    half, grim = AgentConfig(strategy="random:0.5"), AgentConfig(strategy="grim")
    types = {"half": half, "g": grim}
    assert agent_names(types, {("half", 0): half, ("half", 1): grim}) == {("half", 1): "g"}
    model = {"m": AgentConfig(model="a/b", style="direct")}
    other = AgentConfig(model="a/b", style="direct", params={**model["m"].params, "temperature": 0})
    assert agent_names(model, {("m", 1): other}) == {("m", 1): "m (params.temperature=0)"}
    long = AgentConfig(model="a/b", style="direct", params={"x" * LONGEST_NAME: 0})
    assert agent_names(model, {("m", 1): long})["m", 1].endswith(f"… {long.identity})")


def test_types_that_watch_and_clients_that_must_agree() -> None:
    assert watching_types(["gpt", "grim"], {"grim"}, "all", "s") == ["gpt", "grim"]
    assert watching_types(["tft", "grim"], {"grim", "tft"}, "models", "s") == ["tft", "grim"]
    assert watching_types(["gpt", "grim"], {"grim"}, "grim", "s") == ["grim"]
    with pytest.raises(StudyError, match="names no type of the study"):
        watching_types(["gpt"], (), ["gpt", "lost"], "s")
    one = AgentConfig(model="http://h/v1#m", settings={"connections": 2})
    assert clients_of([one, AgentConfig(strategy="grim"), one]) == {one.client: {"connections": 2}}
    with pytest.raises(StudyError, match="two different settings"):
        clients_of([one, AgentConfig(model="http://h/v1#m", settings={"connections": 3})])


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        ({"numbers": 7}, [7]), ({"numbers": "143-144"}, [143, 144]), ({"numbers": ["1", "2-2"]}, [1, 2]),
        ({"families": ["tragic"], "each": 1}, [42]), ({"families": "tragic", "numbers": ["1-43"]}, [42, 43]),
    ],
)  # fmt: skip
def test_ordinal_games_by_number_and_family(options: dict[str, Any], labels: list[int]) -> None:
    assert [entry.label for entry in ordinal_2x2.build(**options)] == [f"ordinal_2x2:{n}" for n in labels]


@pytest.mark.parametrize(
    "options",
    [{"numbers": n} for n in (0, 145, "3-2", "a", "1-b", "-1")]
    + [{"each": n} for n in (0, True, 1.5)]
    + [{"families": "tragic", "numbers": 1}],
)
def test_ordinal_games_that_there_are_none_of(options: dict[str, Any]) -> None:
    words = "each must be a whole number" if "each" in options else "source ordinal_2x2"
    with pytest.raises(StudyError, match=words):
        ordinal_2x2.build(**options)
    with pytest.raises(UnknownName, match="family of ordinal games"):
        ordinal_2x2.build(["lost"])


def test_scenarios_come_from_a_family_or_a_folder() -> None:
    for wrong in ({}, {"family": "commons", "folder": "x"}):
        with pytest.raises(StudyError, match="either a family or a folder"):
            scenarios.build(**wrong)
    with pytest.raises(StudyError, match="there is no such folder"):
        scenarios.build(folder="lost")
    with pytest.raises(UnknownName, match="class of scenarios"):
        scenarios.build("commons", classes="lost")
    with pytest.raises(UnknownName, match="scenario"):
        scenarios.build("commons", names="lost")
