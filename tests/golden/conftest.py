"""Where golden outputs lie, and the kept runs over which they are made."""

import difflib
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.exceptions import SnapshotDoesNotExist
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from tests import pictures
from tests.cli.in_process import Done, caller
from tests.data.make_runs import HERE, MODELS, STUDIES, VERSIONS, placed
from tests.golden.normalise import document, folded, normalised
from tests.golden.render import chart, outline

from ostrom.models.providers.scripted import register, unregister

OUTPUTS = Path(__file__).with_name("outputs")
KEPT = Path(__file__).parents[1] / "data"
NEWEST = ("1.0", "before-2.0")
"""Versions whose runs are printed, reported and exported."""
DAY_AFTER = 1795046400.0
"""A day after the kept pilot: personal data is to be erased after 90 days, and the audit says so."""


SCREEN = {"COLUMNS": "80", "LINES": "25", "TZ": "UTC", "TERM": "dumb", "TTY_COMPATIBLE": "1"}
"""A terminal of 80 columns without colours."""


class Output(SingleFileSnapshotExtension):
    """One text file a case, in one folder for each test file."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder of a test file's outputs."""
        return str(OUTPUTS / test_location.basename)


Golden = Callable[[str], None]


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> Golden:
    """Compare a text with the file of this case; where they differ, the lines that do are all that is said."""
    output = snapshot.use_extension(Output)
    location = snapshot.test_location

    def same(text: str) -> None:
        stored = None
        with suppress(SnapshotDoesNotExist):
            stored = Output().read_snapshot(test_location=location, index=0, session_id=text)
        if output == text:
            return
        if stored is None:
            pytest.fail("this case has no golden output yet: run `make golden`, then read it", pytrace=False)
        old, new = str(stored).splitlines(), text.splitlines()
        lines = difflib.unified_diff(old, new, "golden output", "now", n=2, lineterm="")
        pytest.fail("\n".join(lines), pytrace=False)

    return same


@pytest.fixture(autouse=True)
def _models(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, reply in MODELS.items():
        register(name, reply)
    for name, value in SCREEN.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(pictures.STAND_IN, "vegalite_to_svg", chart)
    yield
    for name in MODELS:
        unregister(name)


Place = Callable[[Sequence[str]], Path]


def run_folders() -> dict[str, Path]:
    """Every kept run that is printed, by its name."""
    folders = {}
    for version in NEWEST:
        for kept in VERSIONS[version]:
            for path in sorted((KEPT / version / kept.name / "runs").glob("*")):
                folders[path.name] = path
    return folders


RUNS = run_folders()


def place(home: Path, names: Sequence[str]) -> Path:
    """Copy kept runs and the files of their studies into a folder."""
    for kept in {kept.name for version in NEWEST for kept in VERSIONS[version]}:
        if (STUDIES / kept).is_dir():
            shutil.copytree(STUDIES / kept, home, dirs_exist_ok=True)
    for extra in (Path(__file__).with_name("files"), KEPT / "before-2.0" / "registered"):
        for path in extra.glob("*.*"):
            shutil.copy(path, home)
    (home / "runs").mkdir(exist_ok=True)
    for name in names:
        shutil.copytree(RUNS[name], home / "runs" / name)
    shutil.copytree(KEPT / "1.0" / "profile" / "profiles", home / "profiles")
    placed(home, HERE, str(home))
    return home


@pytest.fixture
def new_home() -> Iterator[Callable[[], Path]]:
    """Makes empty folders whose names have the same length on every machine: tables at 80 columns hold them."""
    homes: list[Path] = []

    def make() -> Path:
        homes.append(Path(tempfile.mkdtemp(prefix="golden-", dir=Path("/tmp").resolve())))
        return homes[-1]

    yield make
    for home in homes:
        shutil.rmtree(home, ignore_errors=True)


def printed(command: str, done: Done, home: Path) -> str:
    """What a command printed, with its exit code."""
    out, err = normalised(done.out, home), normalised(done.err, home)
    if out.lstrip()[:1] in ("{", "[") and "--json" in command:
        lines = out.splitlines()
        out = "".join(map(document, lines)) if len(lines) > 1 and _each(lines) else document(out)
    parts = [f"$ ostrom {command}", f"exit code {done.code}"]
    for name, text in (("stdout", out), ("stderr", err)):
        if text:
            parts += [f"---- {name}", text.rstrip("\n")]
    return "\n".join(parts) + "\n"


def _each(lines: Sequence[str]) -> bool:
    return all(line[:1] == "{" and line[-1:] == "}" for line in lines)


def with_slow(cases: Iterable[str], slow: Collection[str]) -> list[Any]:
    """Cases as parameters; those that `make test` leaves out are marked."""
    return [pytest.param(case, marks=[pytest.mark.slow] if case in slow else []) for case in cases]


Shell = Callable[..., str]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, new_home: Callable[[], Path]) -> Shell:
    """Run commands one after the other in a new folder with the runs that they name; gives what all printed."""

    def run(*commands: str, keys: str = "", runs: Sequence[str] = ()) -> str:
        words = {word for command in commands for word in command.replace("=", " ").replace(",", " ").split()}
        names = [name for name in RUNS if name in words or name in runs or "ALL" in runs]
        if "parts" in names:
            names += ["parts.1-of-2", "parts.2-of-2"]
        home = place(new_home(), list(dict.fromkeys(names)))
        call = caller(monkeypatch, home)
        texts = []
        if commands[0].startswith("people "):
            monkeypatch.setattr(time, "time", lambda: DAY_AFTER)
        for command in commands:
            if command.startswith("cat "):
                texts.append(_file(home, command[4:]))
            else:
                texts.append(printed(command, call(*shlex.split(command), keys=keys), home))
        return "\n".join(texts)

    return run


def _file(home: Path, pattern: str) -> str:
    """Files that a command wrote, pages as outlines."""
    parts = []
    for path in sorted(home.glob(pattern)):
        if not path.is_file():
            continue
        text = normalised(path.read_text(), home)
        if path.suffix == ".html":
            text = outline(text)
        elif path.suffix == ".json":
            text = document(text)
        elif path.suffix in (".csv", ".jsonl"):
            text = folded(text)
        parts.append(f"==== {path.relative_to(home)}\n{text}")
    return "\n".join(parts) or f"==== {pattern}: no such file\n"
