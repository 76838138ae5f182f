"""`make all`: every suite one after the other, and one table of what ran on which commit.

Each suite writes to its own log under demo/all. One that fails does not stop those after it, and the exit code says
whether all held. A suite that has ended on the tree at hand is not run again unless it is named, so `make all` goes on
where it was cut off. Run it on an otherwise idle machine: `make bench` is one of them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FOLDER = Path("demo/all")
TABLE = FOLDER / "table.jsonl"
"""One line when a suite begins and one when it ends; the last line of a suite on a tree counts."""
WRITTEN = (
    "BENCHMARKS.md", "benchmarks/results.json", "benchmarks/calls_in_flight.svg", "chaos/results.json",
    "docs/methods.md", "examples/*.ipynb",
)  # fmt: skip
"""What suites write into the tree: not a part of what tells one tree from another."""


@dataclass(frozen=True)
class Suite:
    """A target of the Makefile with its variables, and the programs of which it needs one."""

    name: str
    needs: tuple[str, ...] = ()
    package: str = ""

    @property
    def target(self) -> str:
        """The target without its variables."""
        return self.name.split()[0]

    def named(self, names: Sequence[str]) -> bool:
        """Whether the names hold the target, or the target with its variables."""
        return self.target in names or self.name in names

    def obstacle(self) -> str:
        """Why the suite cannot run on this machine; empty if it can."""
        if not self.needs or any(map(shutil.which, self.needs)):
            return ""
        return f"found none of {', '.join(self.needs)} (Debian: apt-get install {self.package})"


@dataclass(frozen=True)
class Row:
    """What came of one suite on one tree; without an exit code it has begun and not ended."""

    suite: str
    tree: str
    commit: str
    begun: str
    minutes: float = 0.0
    code: int | None = None
    line: str = ""

    @property
    def outcome(self) -> str:
        """The outcome in a word or two."""
        if self.code is None:
            return "cannot run here" if self.line else "cut off"
        return "held" if self.code == 0 else f"failed ({self.code})"


# The first ones run in the environment that a submission has; those after them install packages into it, and the
# failure suite trains adapters with what `make train` installs. All tests are run twice: with the pinned
# versions, and with the newest ones under coverage.
SUITES = (
    *map(Suite, ("demo", "lint", "test-all", "package", "docs", "blocks", "notebooks", "interop", "axelrod", "ray")),
    *map(Suite, ("train", "servers", "probe")),
    Suite("browser", () if os.environ.get("OSTROM_BROWSER") else BROWSERS, "chromium"),
    *map(Suite, ("cover VERSIONS=newest", "fuzz", "chaos SEED=0", "chaos SEED=1", "chaos SEED=2")),
    *map(Suite, ("coverage", "mutants", "bench")),
)


def main(arguments: list[str], suites: Sequence[Suite] = SUITES) -> int:
    """Run the suites that have not ended on this tree (or those named) and print the table; 0 if all held."""
    names: list[str] = []
    for word in arguments:
        if "=" in word and names:  # a variable belongs to the target before it
            names[-1] += f" {word}"
        elif word != "--table":
            names.append(word)
    allowed = list(dict.fromkeys(name for suite in suites for name in (suite.target, suite.name)))
    if unknown := [name for name in names if name not in allowed]:
        print(f"unknown suite {unknown[0]} (allowed: {', '.join(allowed)})", file=sys.stderr)
        return 2
    try:
        tree, commit = state()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"make all needs a git checkout, to say what ran on which commit: {error}", file=sys.stderr)
        return 2
    if "--table" not in arguments:
        FOLDER.mkdir(parents=True, exist_ok=True)
        ended = {row.suite for row in rows() if row.tree == tree and row.code is not None}
        for suite in suites:
            if suite.named(names) if names else suite.name not in ended:
                run(suite)
    last = {row.suite: row for row in rows()}
    held = {row.suite for row in last.values() if row.tree == tree and row.code == 0}
    print("\n| suite | commit | begun (UTC) | minutes | outcome | exit | last line |\n|---|---|---|---|---|---|---|")
    for suite in suites:
        print(line_of(suite, last.get(suite.name), tree))
    wanted = [suite for suite in suites if not names or suite.named(names)]
    missing = [suite.name for suite in wanted if suite.name not in held]
    rest = f": not {', '.join(missing)}" if missing else ""
    print(f"\n{len(wanted) - len(missing)} of {len(wanted)} suites held on {commit}{rest}")
    for suite in suites:
        for reason in left_out(suite):
            print(f"{suite.name}: {reason}")
    return int(bool(missing) and "--table" not in arguments)


def line_of(suite: Suite, row: Row | None, tree: str) -> str:
    """A line of the table."""
    if row is None:
        return f"| {suite.name} | | | | never run | | |"
    outcome = row.outcome if row.tree == tree else f"{row.outcome}, on another tree"
    code = "" if row.code is None else row.code
    return f"| {suite.name} | {row.commit} | {row.begun} | {row.minutes:.1f} | {outcome} | {code} | {row.line} |"


def run(suite: Suite) -> None:
    """Run one suite, unless this machine lacks what it needs, and note what came of it."""
    tree, commit = state()
    row = Row(suite.name, tree, commit, time.strftime("%Y-%m-%d %H:%M", time.gmtime()))
    if obstacle := suite.obstacle():
        note(Row(**asdict(row) | {"line": obstacle}))
        return
    log = log_of(suite)
    print(f"make {suite.name} (log: {log})", flush=True)
    note(row)
    begin = time.monotonic()
    with log.open("wb") as file:
        code = subprocess.run(
            ["make", *suite.name.split()], stdout=file, stderr=subprocess.STDOUT, check=False
        ).returncode
    minutes = round((time.monotonic() - begin) / 60, 1)
    note(Row(**asdict(row) | {"minutes": minutes, "code": code, "line": outcome_line(log_lines(suite))}))


def state() -> tuple[str, str]:
    """A hash of the tree at hand without what suites write, and the commit in words."""
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        git("read-tree", "HEAD", **index)
        whole = git("write-tree", **index)
        git("add", "--all", ".", *(f":(exclude,glob){name}" for name in WRITTEN), **index)
        changed = git("write-tree", **index) != whole
        git("rm", "--cached", "--quiet", "--ignore-unmatch", *(f":(glob){name}" for name in WRITTEN), **index)
        tree = git("write-tree", **index)
    return tree, git("rev-parse", "--short", "HEAD") + (" with changes" if changed else "")


def git(*words: str, **variables: str) -> str:
    """What a git command prints."""
    environment = os.environ | variables
    return subprocess.run(["git", *words], env=environment, capture_output=True, text=True, check=True).stdout.strip()


def note(row: Row) -> None:
    """Add a line to the table on disk."""
    with TABLE.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row)) + "\n")


def rows() -> list[Row]:
    """The lines of the table on disk."""
    if not TABLE.exists():
        return []
    return [Row(**json.loads(line)) for line in TABLE.read_text(encoding="utf-8").splitlines()]


def log_of(suite: Suite) -> Path:
    """Where a suite writes what it prints."""
    return FOLDER / f"{suite.name.replace(' ', '-')}.log"


def log_lines(suite: Suite) -> list[str]:
    """The lines that a suite printed, without colours; none if it never ran."""
    log = log_of(suite)
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return [line.strip() for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines() if line.strip()]


def outcome_line(lines: list[str]) -> str:
    """The last line that counts tests or checks, else the last line that is not make's own."""
    counted = [line for line in lines if re.search(r"\b\d+ (passed|failed|held|errors?)\b", line)]
    other = [line for line in lines if not re.match(r"make(\[\d+\])?: ", line)]
    return (counted or other or [""])[-1][:120].replace("|", "/")


def left_out(suite: Suite) -> list[str]:
    """What a suite itself skipped, with its reasons."""
    return [line for line in log_lines(suite) if re.match(r"SKIPPED|\w+ +skipped ", line)]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
