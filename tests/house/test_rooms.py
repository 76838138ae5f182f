"""The house: lower rooms never import higher ones, features stay apart, and the command line starts lightly."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.house.source import SOURCE, nodes, trees

FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"ground"}),
    frozenset({"games"}),
    frozenset({"answers"}),
    frozenset({"mechanisms"}),
    frozenset({"memory"}),
    frozenset({"framing"}),
    frozenset({"models"}),
    frozenset({"agents"}),
    frozenset({"engine"}),
    frozenset({"data"}),
    frozenset({"analysis"}),
    frozenset({"reports"}),
    frozenset({"studies"}),
    frozenset({"costs"}),
    frozenset({"api"}),
    frozenset({"cli"}),
    frozenset({"web"}),
    frozenset({"features"}),
    frozenset({"people", "probe", "view"}),
    frozenset({"replications"}),
    frozenset({"testing"}),
    frozenset({"ostrom", "__main__"}),
)
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
HEAVY = ("scipy", "statsmodels", "altair", "polars", "duckdb", "pandas", "ray", "torch", "vl_convert", "xllamacpp")


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    names = {}
    for path in trees():
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        names[".".join(parts).removesuffix(".__init__")] = path
    return names


def imports_in(path: Path) -> Iterator[str]:
    """The modules that a file imports, wherever in it the import stands.

    ``from ostrom import x`` imports the package itself where x is no module: that is the room at the very top.
    """
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ostrom":
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in modules() else node.module


@cache
def arrows() -> dict[str, frozenset[str]]:
    """What each module imports of the package."""
    return {name: frozenset(imports_in(path)) - {name} for name, path in modules().items()}


def room_of(module: str) -> str:
    """The room of a module; the package itself is the room `ostrom`."""
    return (module.split(".") + ["ostrom"])[1] if module != "ostrom" else "ostrom"


@pytest.mark.slow
def test_every_room_has_its_floor() -> None:
    assert {room_of(name) for name in modules()} <= set(FLOOR)


def test_lower_rooms_never_import_higher_ones() -> None:
    upward = [
        f"{name} -> {other}"
        for name, others in arrows().items()
        for other in sorted(others)
        if FLOOR[room_of(other)] > FLOOR[room_of(name)]
    ]
    assert upward == []


def test_rooms_of_one_floor_stay_apart() -> None:
    beside = [
        f"{name} -> {other}"
        for name, others in arrows().items()
        for other in sorted(others)
        if room_of(other) != room_of(name) and FLOOR[room_of(other)] == FLOOR[room_of(name)]
    ]
    assert beside == []


def test_a_feature_imports_no_other_feature() -> None:
    crossing = [
        f"{name} -> {other}"
        for name, others in arrows().items()
        for other in sorted(others)
        if name.startswith("ostrom.features.")
        and other.startswith("ostrom.features.")
        and name.split(".")[2] != other.split(".")[2]
    ]
    assert crossing == []


def test_only_commands_import_the_frame_of_the_command_line() -> None:
    others = [
        name
        for name, imported in arrows().items()
        if any(room_of(other) == "cli" for other in imported)
        and room_of(name) not in ("cli", "__main__", "testing")
        and "command" not in name.rpartition(".")[2]
    ]
    assert others == []


def test_no_circle_of_imports() -> None:
    """Peel off modules whose imports are all peeled off; what remains stands in a circle or above one."""
    left = {name: set(others) for name, others in arrows().items()}
    while free := [name for name, others in left.items() if not others & left.keys()]:
        for name in free:
            del left[name]
    users = {name: [user for user, others in left.items() if name in others] for name in left}
    while idle := [name for name in left if not any(user in left for user in users[name])]:
        for name in idle:  # above a circle, not in one
            del left[name]
    assert sorted(left) == []


def test_every_feature_says_what_it_answers() -> None:
    for folder in sorted((SOURCE / "features").iterdir()):
        if folder.is_dir() and folder.name != "__pycache__":
            lines = (folder / "README.md").read_text(encoding="utf-8").splitlines()
            assert 4 <= len(lines) <= 25, f"{folder.name}/README.md has {len(lines)} lines"
            assert lines[0].startswith("# "), folder.name


@pytest.mark.slow
def test_printed_imports_of_0_1_still_work() -> None:
    """A module that moved is the same module under both names."""
    code = (
        "from importlib import import_module\n"
        "from ostrom.ground.moved import MOVED\n"
        "for old, new in MOVED.items():\n"
        "    assert import_module(old) is import_module(new), old\n"
        "from ostrom.studies.compare.figures import Own, Published, Reference\n"
        "from ostrom.analysis.rundata import RunData, run_data\n"
        "from ostrom.analysis.inference import infer_strategies\n"
        "from ostrom.analysis.dynamics.coalescence import critical_ratio\n"
        "from ostrom.streams import Streams\n"
        "from ostrom.studies.run import open_run\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['ostrom', '--help']\n"
        "from ostrom.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"heavy = [m for m in {HEAVY + ('numpy', 'pydantic')!r} if m in sys.modules]\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_list_of_games_loads_neither_the_engine_nor_prompts() -> None:
    """Nor do those of other parts that need neither; studies are read as plain data."""
    rooms = ("framing", "agents", "analysis", "models")
    kinds = ("games", "mechanisms", "networks", "memories", "replications", "studies")
    code = (
        "import sys\n"
        "from ostrom.cli import main\n"
        f"for kind in {kinds!r}:\n"
        "    sys.argv = ['ostrom', 'list', kind]\n"
        "    try:\n        main()\n    except SystemExit:\n        pass\n"
        "    assert kind in ('replications', 'studies') or 'ostrom.studies' not in sys.modules\n"
        f"rooms = [r for r in {rooms!r} if f'ostrom.{{r}}' in sys.modules]\n"
        f"heavy = [m for m in {(*HEAVY, 'ostrom.engine.runner', 'jinja2', 'numpy')!r} if m in sys.modules]\n"
        "assert not rooms + heavy, rooms + heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_engine_knows_no_study() -> None:
    """No room below the studies asks which study it is playing."""
    for path in trees():
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if FLOOR.get(room, 99) >= FLOOR["studies"]:
            continue
        for node in nodes(path):
            if not isinstance(node, ast.Compare):
                continue
            names = {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node.left)}
            if "study" in names and "study" in ast.unparse(node.left).split("."):
                raise AssertionError(f"{path}: {ast.unparse(node)}")


def test_no_file_below_the_replications_names_one_of_their_studies() -> None:
    """Names of one word (memory, society) are those of parts, too; no other name occurs."""
    names = {p.stem for p in (SOURCE / "replications").glob("*/studies/*.yaml") if "-" in p.stem}
    assert {"said-and-done", "mechanisms-controls", "prompt-evolution"} <= names
    for path in SOURCE.rglob("*"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if path.is_file() and path.suffix != ".pyc" and FLOOR.get(room, 99) < FLOOR["replications"]:
            text = path.read_bytes().decode("utf-8", "replace")
            assert not [name for name in names if name in text], path


OWN_INTERVALS = re.compile(
    r"bootstrap|wilson|newcombe|clopper|NormalDist|\bt_interval|student_t|resampl|percentiles", re.IGNORECASE
)
OTHER_QUESTIONS = {
    "features/inference/runs.py": "rounds as if they were independent, shown beside the interval over matches",
    "features/inference/frequencies.py": "weights of a mixture of strategies, no mean of units",
    "features/robustness/variance_shares.py": "shares of variance, no mean of units",
}
"""Who else may import an interval, and what of."""


@pytest.mark.parametrize(
    "room",
    ["analysis/measures", "features", "people", "view", "probe", "reports", "studies", "replications", "api", "cli"],
)
def test_nobody_upstairs_computes_an_interval(room: str) -> None:
    """Means, shares, differences and slopes take their limits from ostrom.analysis.intervals."""
    assert (SOURCE / room).is_dir()
    for path in sorted((SOURCE / room).rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for node in nodes(path):
            if isinstance(node, ast.Import | ast.ImportFrom) and name not in OTHER_QUESTIONS:
                names = " ".join(alias.name for alias in node.names)
                assert not OWN_INTERVALS.search(names), f"{name} imports {names}"


def test_draws_become_an_interval_in_one_file() -> None:
    """What is no mean (weights of a mixture, shares of variance) takes its percentiles from the same place."""
    for path in trees():
        name = path.relative_to(SOURCE).as_posix()
        if name != "analysis/statistics/resampling.py":
            found = re.findall(r"\bnp\.(?:nan)?(?:quantile|percentile)\(", path.read_text(encoding="utf-8"))
            assert not found, f"{name} takes percentiles of its own: {found}"


ONE_WORD_TWO_ROOMS = {"Run": "a run in the Python face, and the run on disk that it opens"}
"""Class names that two rooms may share, with the reason; keep this list short."""


def test_a_class_name_has_one_meaning() -> None:
    """One word, one meaning: a second class of the same name gets a name of its own."""
    found: dict[str, list[str]] = {}
    for path in trees():
        name = path.relative_to(SOURCE).as_posix()
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(name)
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert {name: twice[name] for name in twice if name not in ONE_WORD_TWO_ROOMS} == {}


def test_a_room_holds_no_leftovers_of_an_editor_or_a_merge() -> None:
    leftovers = {".orig", ".rej", ".bak", ".swp", ".tmp"}
    assert not [path for path in SOURCE.rglob("*") if path.suffix in leftovers or path.name.endswith("~")]
