"""A replication from another package: found, validated, run, estimated, reported and compared by its names alone."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.replications.packages import OWN_FOLDERS, install

ROOT = Path(__file__).parents[2]
SEVERAL = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from ostrom.cli import main
from tests.pictures import NAME, STAND_IN
sys.modules[NAME] = STAND_IN  # no test here looks at a picture
made = []
for command in json.load(sys.stdin):
    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.argv = ["ostrom", *command]
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as left:
            code = left.code or 0
    made.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(made))
"""
Commands = Callable[..., list[tuple[int, str, str]]]


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    """Run commands, one after the other, in a process that has some packages installed."""

    def run(*lines: str, installed: list[Path]) -> list[tuple[int, str, str]]:
        path = os.pathsep.join([*map(str, installed), str(ROOT), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-c", SEVERAL],
            input=json.dumps([line.split("|") for line in lines]),
            capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return [tuple(one) for one in json.loads(done.stdout)]

    return run


@pytest.mark.slow
def test_a_broken_package_is_named_and_breaks_nothing_else(commands: Commands, tmp_path: Path) -> None:
    broken = install(
        tmp_path / "a", "broken-import", {"broken_import/__init__.py": "import no_such_module\n"},
        "[ostrom.replications]\nbroken = broken_import\n[ostrom.measures]\nlost = broken_import:MEASURE\n",
    )  # fmt: skip
    empty = install(
        tmp_path / "b", "no-constant",
        {"no_constant/__init__.py": "", "no_constant/measures/__init__.py": "",
         "no_constant/measures/nothing.py": "", "no_constant/studies/lending.yaml": "name: other\n"},
        "[ostrom.replications]\nempty = no_constant\n",
    )  # fmt: skip
    double = install(
        tmp_path / "c", "double-name", {"double_name/__init__.py": "MEASURE = None\n"},
        "[ostrom.measures]\nscore = double_name:MEASURE\n[ostrom.replications]\npersonas = double_name\n",
    )  # fmt: skip
    fifth = install(
        tmp_path / "d", "fifth-paper",
        {"fifth_paper/__init__.py": "", "fifth_paper/studies/lending.yaml": "name: lending\n"},
        "[ostrom.replications]\nfifth = fifth_paper\n",
    )  # fmt: skip
    lines = [
        "list|measures|--json", "list|replications|--json", "list|studies|--json", "show|study|memory",
        "show|measure|cooperation", "show|measure|lost", "show|measure|nothing", "show|measure|score",
        "show|study|lending", "show|study|no_such_study", "show|reference|personas",
    ]  # fmt: skip
    made = dict(zip(lines, commands(*lines, installed=[broken, empty, double, fifth]), strict=True))
    for line in (*lines[:5], "show|reference|personas"):
        assert made[line][0] == 0, (line, made[line])
    problems = {row["name"]: row["problem"] for row in json.loads(made["list|replications|--json"][1])}
    assert "broken-import cannot be imported: ModuleNotFoundError" in problems["broken"]
    for line, words in {
        "show|measure|lost": "package broken-import cannot be loaded: ModuleNotFoundError",
        "show|measure|nothing": "no_constant.measures.nothing does not assign the constant MEASURE",
        "show|measure|score": "of that name: ostrom.analysis.measures.score, double-name",
        "show|study|lending": "several packages have a study of that name: no_constant, fifth_paper",
        "show|study|no_such_study": "replication broken cannot be used: package broken-import",
    }.items():
        code, out, err = made[line]
        assert code == 2 and not out and err.count("\n") == 1, (line, err)
        assert words in err or words.replace("no_constant, fifth_paper", "fifth_paper, no_constant") in err, err


@pytest.mark.slow
def test_parts_in_the_folders_of_a_replication_are_found_without_entry_points(
    commands: Commands, tmp_path: Path
) -> None:
    place = install(tmp_path / "site", "sixth-paper", OWN_FOLDERS, "[ostrom.replications]\nsixth = sixth_paper\n")
    parts = {"games": "ferry", "strategies": "waits_once", "mechanisms": "pier", "memories": "log_book"}
    lines = [
        *(f"list|{kind}|--json" for kind in parts),
        "show|prompt|mechanisms/pier.txt",
        "run|crossing",
        "estimate|crossing|cooperation|--by|agent|--json",
    ]
    made = dict(zip(lines, commands(*lines, installed=[place]), strict=True))
    for line, (code, _, err) in made.items():
        assert code == 0, (line, err)
    for kind, name in parts.items():
        assert name in {row["name"] for row in json.loads(made[f"list|{kind}|--json"][1])}
    assert "You meet once, at the pier." in made["show|prompt|mechanisms/pier.txt"][1]
    estimates = json.loads(made["estimate|crossing|cooperation|--by|agent|--json"][1])["estimates"]
    assert {one["agent"]: one["value"] for one in estimates}["captain"] == 1.0


EXAMPLE = ROOT / "examples" / "ostrom-plugin"


def example_installed(site: Path) -> Path:
    """The example package, laid out as pip would, with the entry points of its pyproject.toml."""
    declared = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in of.items())
        for group, of in declared["entry-points"].items()
    )
    source = EXAMPLE / "src"
    parts = {
        str(path.relative_to(source)): path.read_text()
        for path in source.rglob("*")
        if path.suffix in (".py", ".txt", ".yaml", ".csv")
    }
    return install(site, declared["name"], parts, points)


@pytest.mark.slow
def test_the_example_package_runs_by_its_entry_points_alone(commands: Commands, tmp_path: Path) -> None:
    place = example_installed(tmp_path / "site")
    lines = [
        *(f"list|{kind}|--json" for kind in ("replications", "games", "mechanisms", "measures", "references")),
        "show|game|irrigation",
        "validate|river",
        "run|river|--preset|smoke",
        "run|river-pledges|--preset|smoke",
        "run|river-pledges|--preset|smoke|--model|openai/gpt-4o-mini|--dry-run",
        "estimate|river|amount_share|--by|agent,stage|--json",
        "estimate|river-pledges|kept_pledge|--by|agent|--json",
        "compare|river|--json",
        "report|river|--json",
        "transcript|river-pledges|--match|1",
    ]
    made = dict(zip(lines, commands(*lines, installed=[place]), strict=True))
    for line, (code, _, err) in made.items():
        assert code == 0, (line, err)
    for kind, name in (
        ("replications", "river"), ("games", "irrigation"), ("mechanisms", "pledges"), ("measures", "kept_pledge"),
        ("references", "river"),
    ):  # fmt: skip
        assert name in {row["name"] for row in json.loads(made[f"list|{kind}|--json"][1])}
    shares = json.loads(made["estimate|river|amount_share|--by|agent,stage|--json"][1])["estimates"]
    assert {(one["agent"], one["stage"]): one["value"] for one in shares} == {
        ("greedy", "open"): 1.0, ("half", "open"): 0.5, ("half", "use"): 0.4,
    }  # fmt: skip
    kept = json.loads(made["estimate|river-pledges|kept_pledge|--by|agent|--json"][1])["estimates"]
    assert {one["agent"]: one["value"] for one in kept} == {"kind": 1.0, "mean": 1.0}
    assert "taken" in made["compare|river|--json"][1]
    assert json.loads(made["report|river|--json"][1])["failures"] == []
    assert "message" in made["transcript|river-pledges|--match|1"][1]


@pytest.mark.slow
def test_the_example_package_keeps_the_contracts(tmp_path: Path) -> None:
    place = example_installed(tmp_path / "site")
    run = "import test_riverbank as t; [getattr(t, name)() for name in dir(t) if name.startswith('test_')]"
    path = os.pathsep.join([str(place), str(EXAMPLE / "tests"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", run], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
