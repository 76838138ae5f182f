"""The house: lower rooms never import higher ones, and the command line starts lightly."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "ostrom"
FLOORS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "plain_yaml", "registry", "streams", "terminal", "values", "whole_files"}),
    frozenset({"games"}),
    frozenset({"answers"}),
    frozenset({"mechanisms", "memory"}),
    frozenset({"framing"}),
    frozenset({"models"}),
    frozenset({"agents"}),
    frozenset({"engine"}),
    frozenset({"analysis"}),
    frozenset({"reports"}),
    frozenset({"people", "probe"}),
    frozenset({"studies"}),
    frozenset({"replications"}),
    frozenset({"testing"}),
    frozenset({"web"}),
    frozenset({"cli", "__main__"}),
    frozenset({"lab", "__init__"}),
)
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
HEAVY = (
    "scipy",
    "statsmodels",
    "altair",
    "polars",
    "duckdb",
    "pandas",
    "ray",
    "torch",
    "vl_convert",
    "xllamacpp",
)


def rooms_imported(path: Path) -> set[str]:
    """The rooms that a file imports, wherever in the file the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "ostrom" else [f"ostrom.{a.name}" for a in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("ostrom.")}
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_lower_rooms_never_import_higher_ones(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    higher = {other for other in rooms_imported(path) if other in FLOOR and FLOOR[other] > FLOOR[room]}
    # The commands may use the conformance checks (`ostrom models check`); nobody below may.
    assert not higher, f"{room} imports {', '.join(sorted(higher))}"


def test_every_room_has_its_floor() -> None:
    rooms = {p.name.removesuffix(".py") for p in SOURCE.iterdir() if p.suffix == ".py" or p.is_dir()}
    assert rooms - {"__pycache__", "py.typed"} <= set(FLOOR)


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


def test_the_engine_knows_no_study() -> None:
    """No room below the studies asks which study it is playing."""
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if FLOOR.get(room, 99) >= FLOOR["studies"]:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and "study" in ast.unparse(node.left).split("."):
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


def test_files_stay_readable() -> None:
    """A file beyond 400 lines wants a second look; half of all files have at most 150."""
    lengths = sorted(len(p.read_text(encoding="utf-8").splitlines()) for p in SOURCE.rglob("*.py"))
    assert lengths[len(lengths) // 2] <= 150
    assert lengths[-1] <= 450


OWN_INTERVALS = re.compile(
    r"bootstrap|wilson|newcombe|clopper|NormalDist|\bt_interval|student_t|resampl|percentiles", re.IGNORECASE
)
OTHER_QUESTIONS = {
    "analysis/inference/responses.py": "rounds as if they were independent, shown beside the interval over matches",
    "analysis/inference/frequencies.py": "weights of a mixture of strategies, no mean of units",
}
"""Who else may import an interval, and what of."""


@pytest.mark.parametrize(
    "room",
    ["analysis/measures", "analysis/inference", "analysis/dynamics", "analysis/motives", "analysis/traces"]
    + ["analysis/lexicons", "reports", "studies", "replications", "cli"],
)
def test_nobody_upstairs_computes_an_interval(room: str) -> None:
    """Means, shares, differences and slopes take their limits from ostrom.analysis.intervals."""
    for path in sorted((SOURCE / room).rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom) and name not in OTHER_QUESTIONS:
                names = " ".join(alias.name for alias in node.names)
                assert not OWN_INTERVALS.search(names), f"{name} imports {names}"


def test_draws_become_an_interval_in_one_file() -> None:
    """What is no mean (weights of a mixture, shares of variance) takes its percentiles from the same place."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name != "analysis/intervals/resampled.py":
            found = re.findall(r"\bnp\.(?:nan)?(?:quantile|percentile)\(", path.read_text(encoding="utf-8"))
            assert not found, f"{name} takes percentiles of its own: {found}"


ONE_WORD_TWO_ROOMS = {"Run": "a run in the Python face, and the run on disk that it opens"}
"""Class names that two rooms may share, with the reason; keep this list short."""


def test_a_class_name_has_one_meaning() -> None:
    """One word, one meaning: a second class of the same name gets a name of its own."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(name)
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert {name: twice[name] for name in twice if name not in ONE_WORD_TWO_ROOMS} == {}
