"""The examples in CONTRIBUTING work as printed."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ostrom.agents.strategies._declared import strategy_of
from ostrom.agents.strategy import Strategy
from ostrom.analysis.measure import Measure
from ostrom.games import build_game
from ostrom.games.declared import factory_of
from ostrom.games.game import Game
from ostrom.games.tensor import symmetric_2x2
from ostrom.ground.errors import GameError, ParameterError
from ostrom.ground.yaml import read_yaml
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.testing import check_game, check_measure, check_strategy

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def block(language: str, holding: str) -> str:
    """The fenced block of a language that holds a text."""
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return next(b for b in blocks if holding in b)


def test_the_game_file_and_the_game_in_python_are_the_same_game(tmp_path: Path) -> None:
    path = tmp_path / "snowdrift.yaml"
    path.write_text(block("yaml", "snowdrift"))
    from_file = build_game(str(path))
    names: dict[str, object] = {}
    exec(block("python", "snowdrift"), names)
    build = names["GAME"]
    assert callable(build)
    in_python = build()
    assert isinstance(in_python, Game)
    assert (from_file.payoffs == in_python.payoffs).all()
    check_game(build)
    check_game(from_file)
    with pytest.raises(ParameterError, match="cost must be a finite number, found 'much'"):
        build(cost="much")


def test_the_declared_game_is_the_same_game_too(tmp_path: Path) -> None:
    declaration = read_yaml(block("yaml", "benefit > cost"), "snowdrift.yaml")
    build = factory_of("snowdrift", declaration)
    (tmp_path / "snowdrift.yaml").write_text(block("yaml", "snowdrift"))
    assert (build().payoffs == build_game(str(tmp_path / "snowdrift.yaml")).payoffs).all()
    check_game(build)
    with pytest.raises(GameError, match=r"needs benefit > cost > 0 \(found benefit=5, cost=6\); strict=False lifts"):
        build(cost=6)


def test_the_game_by_a_rule_is_one() -> None:
    names: dict[str, Any] = {}
    exec(block("python", "def build(income"), names)
    assert names["GAME"]().payoff((100, 1)) == (50.0, 50.0)
    with pytest.raises(ParameterError, match="fine must be a number of at least 0, found -1"):
        names["GAME"](fine=-1)


def test_parameters_are_bounded_by_their_annotations() -> None:
    names: dict[str, Any] = {}
    exec(block("python", "class Fading"), names)
    fading = names["Fading"]
    assert (fading().rate, fading(keep=100).keep) == (0.1, 100)
    with pytest.raises(ParameterError, match="keep must be a whole number from 1 to 100, found 0"):
        fading(keep=0)
    with pytest.raises(ParameterError, match="did you mean 'drop'"):
        fading(mode="dorp")


def test_imports_that_earlier_editions_printed_still_work() -> None:
    from ostrom.games.parameters import number, whole_number
    from ostrom.mechanisms.parameters import amount

    assert import_module("ostrom.games.bimatrix").symmetric_2x2 is symmetric_2x2
    assert (number("audit", "fine", 3), whole_number("well", "rain", 3.0, least=0, most=9), amount("fine", 2)) == (
        3.0,
        3,
        2.0,
    )
    with pytest.raises(GameError, match="game well: rain must be a whole number from 0 to 9, found 10"):
        whole_number("well", "rain", 10, least=0, most=9)


def test_the_declared_strategies_are_strategies() -> None:
    names: dict[str, Any] = {}
    exec(block("python", "RULES = {"), names)
    for name, rule in names["RULES"].items():
        check_strategy(strategy_of(name, rule))


def test_the_study_in_the_front_page_is_valid() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    [study] = [b for b in re.findall(r"```yaml\n(.*?)```", readme, re.DOTALL) if "window-against-grim" in b]
    plan = StudyPlan(load_study(read_yaml(study, "README.md")))
    assert (plan.cells, len(plan)) == (6, 6 * 4 * 5)


def test_every_room_and_every_part_of_the_failure_suite_is_listed() -> None:
    from chaos.__main__ import PARTS
    from tests.house.test_rooms import FLOORS

    rooms = set().union(*FLOORS) - {"ostrom", "__main__"}
    house = TEXT.partition("## The house")[2].partition("`tests/house` checks")[0]
    listed = {word for line in house.splitlines() if line.startswith("    ") for word in line[:28].split()}
    assert rooms <= listed, f"not listed: {sorted(rooms - listed)}"
    table = set(re.findall(r"^\| (`[^|]*`) \|", TEXT, re.MULTILINE))
    assert set(PARTS) <= {name for cell in table for name in re.findall(r"`(\w+)`", cell)}


def test_the_strategy_is_one() -> None:
    names: dict[str, type[Strategy]] = {}
    exec(block("python", "TitForTwoTats"), names)
    check_strategy(names["STRATEGY"])
    with pytest.raises(TypeError, match="memory_depth must be 0 or more, or UNBOUNDED"):
        exec(block("python", "TitForTwoTats").replace("memory_depth = 2", "memory_depth = None"), {})


def test_the_measure_is_one() -> None:
    names: dict[str, Measure] = {}
    exec(block("python", "last_action"), names)
    check_measure(names["MEASURE"])
