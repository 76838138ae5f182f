"""The examples in CONTRIBUTING work as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ostrom.agents.strategy import Strategy
from ostrom.analysis.measure import Measure
from ostrom.games import build_game
from ostrom.games.game import Game
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


def test_the_study_in_the_front_page_is_valid() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    [study] = [b for b in re.findall(r"```yaml\n(.*?)```", readme, re.DOTALL) if "window-against-grim" in b]
    plan = StudyPlan(load_study(read_yaml(study, "README.md")))
    assert (plan.cells, len(plan)) == (6, 6 * 4 * 5)


def test_every_room_is_in_the_plan_of_the_house() -> None:
    source = Path(__file__).parents[2] / "src" / "ostrom"
    rooms = {p.name for p in source.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert all(re.search(rf"^    .*\b{room}\b", TEXT, re.MULTILINE) for room in rooms), rooms


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
