"""`make all` knows every target of the Makefile that checks or measures, and goes on where it was cut off."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tools.every import __main__ as every
from tools.every.__main__ import SUITES, Suite, main, outcome_line, rows, state

ROOT = Path(__file__).parents[2]
APART = {
    "all",
    "all-table",
    "help",
    "clean",
    "lock",
    "newest",
    "format",
    "golden",
    "pictures",
    "test",
    "chaos-short",
    "bench-quick",
}
"""Targets that change the tree or the machine, or are a part of another one."""
MAKEFILE = """\
long:
\t@echo run >> demo/long; test -e demo/patient || { touch demo/patient; sleep 600; }; echo 3 passed in 1.0s
red:
\t@echo run >> demo/red; echo SKIPPED [1] test_x.py: no cluster; echo 1 failed, 2 passed; exit 3
far:
\t@echo run >> demo/far
"""
SCRIPT = """\
import sys
from tools.every.__main__ import Suite, main
sys.exit(main(sys.argv[1:], [Suite("red"), Suite("long"), Suite("far", ("no-such-program",), "nothing")]))
"""


def test_every_target_is_run() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    described = set(re.findall(r"^([a-z-]+):.*##", text, re.M))
    assert described - APART == {suite.target for suite in SUITES}
    assert sum(suite.target == "chaos" for suite in SUITES) == 3
    assert "cover VERSIONS=newest" in {suite.name for suite in SUITES}, "all tests are run with the newest versions too"


def test_an_unknown_suite_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tset"]) == 2
    assert "unknown suite tset (allowed: demo" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "started"),
    [
        ("lint SEED=1", None),
        ("chaos SEED=7", None),
        ("SEED=1", None),
        ("chaos SEED=1", ["chaos SEED=1"]),
        ("lint chaos SEED=2 chaos SEED=0", ["lint", "chaos SEED=0", "chaos SEED=2"]),
        ("chaos", ["chaos SEED=0", "chaos SEED=1", "chaos SEED=2"]),
    ],
)
def test_a_suite_is_named_by_its_target_or_with_its_variables(
    typed: str,
    started: list[str] | None,
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    begun: list[str] = []
    monkeypatch.setattr(every, "run", lambda suite: begun.append(suite.name))
    assert main(typed.split()) == (2 if started is None else 1)
    assert begun == (started or [])
    said = capsys.readouterr()
    if started is None:
        assert f"unknown suite {typed} (allowed: " in said.err and "chaos, chaos SEED=0, chaos SEED=1" in said.err
    else:
        assert f"0 of {len(started)} suites held on" in said.out


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with three suites: one that fails, one that hangs the first time, and one that this machine lacks."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    (tmp_path / "Makefile").write_text(MAKEFILE, encoding="utf-8")
    (tmp_path / "every.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / ".gitignore").write_text("/demo/\n", encoding="utf-8")
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words], check=True)
    return tmp_path


def start(*words: str) -> subprocess.Popen[str]:
    """`make all` with the suites of this checkout, in a process group of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment["PYTHONPATH"] = str(ROOT)
    return subprocess.Popen(
        [sys.executable, "every.py", *words], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def times(name: str) -> int:
    """How often a suite was started."""
    return len(Path("demo", name).read_text(encoding="utf-8").splitlines())


def test_a_run_that_is_cut_off_goes_on_where_it_was(tree: Path) -> None:
    first = start()
    while not (tree / "demo" / "patient").exists():
        assert first.poll() is None
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    table, _ = start("--table").communicate()
    assert re.search(r"^\| red \| \w+ \| .* \| failed \(2\) \| 2 \| 1 failed, 2 passed \|$", table, re.M)
    assert (
        re.search(r"^\| long \| \w+ \| .* \| cut off \|  \|  \|$", table, re.M)
        and "| far | | | | never run | | |" in table
    )

    second = start()
    table, _ = second.communicate()
    assert (second.returncode, times("red"), times("long")) == (1, 1, 2)
    assert re.search(r"^\| long \| .* \| held \| 0 \| 3 passed in 1.0s \|$", table, re.M)
    reason = r"found none of no-such-program \(Debian: apt-get install nothing\)"
    assert re.search(rf"^\| far \| .* \| cannot run here \|  \| {reason} \|$", table, re.M)
    assert "1 of 3 suites held on" in table and ": not red, far" in table
    assert "red: SKIPPED [1] test_x.py: no cluster" in table and not (tree / "demo" / "far").exists()

    named = start("long")
    named.communicate()
    assert (named.returncode, times("red"), times("long")) == (0, 1, 3)


def test_another_tree_runs_everything_again(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "demo" / "patient").touch()
    suites = [Suite("long")]
    assert main([], suites) == 0 and times("long") == 1
    (tree / "chaos").mkdir()
    for name in ("BENCHMARKS.md", "chaos/results.json"):
        (tree / name).write_text("figures of a suite", encoding="utf-8")
    assert main([], suites) == 0 and times("long") == 1
    capsys.readouterr()
    (tree / "new.py").write_text("x = 1\n", encoding="utf-8")
    assert main(["--table"], suites) == 0 and "held, on another tree" in capsys.readouterr().out
    assert main([], suites) == 0 and times("long") == 2
    assert [row.commit.endswith("with changes") for row in rows()] == [False, False, True, True]
    assert state()[0] == rows()[-1].tree


def test_without_a_checkout_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("make all needs a git checkout")


def test_the_line_of_an_outcome_is_the_one_that_counts() -> None:
    assert (
        outcome_line(["2 failed, 3 passed in 4s", "CPU 12 s", "make: *** [all] Error 1"]) == "2 failed, 3 passed in 4s"
    )
    assert outcome_line(["55 pages in site/", "make[1]: *** [Makefile:1: docs] Error 1"]) == "55 pages in site/"
    assert outcome_line([]) == ""
