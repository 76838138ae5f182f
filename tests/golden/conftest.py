"""Where golden outputs lie, and the kept runs over which they are made."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from tests.cli.in_process import Done, caller
from tests.data.make_runs import HERE, MODELS, STUDIES, VERSIONS, placed
from tests.golden.normalise import document, normalised

from ostrom.models.providers.scripted import register, unregister

OUTPUTS = Path(__file__).with_name("outputs")
KEPT = Path(__file__).parents[1] / "data"
NEWEST = ("1.0", "before-2.0")
"""Versions whose runs are printed, reported and exported."""


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


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Compares a text with the file of this case."""
    return snapshot.use_extension(Output)


@pytest.fixture(autouse=True)
def _models(_no_keys: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, reply in MODELS.items():
        register(name, reply)
    for name, value in SCREEN.items():
        monkeypatch.setenv(name, value)
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
    out = done.out
    if out.lstrip()[:1] in ("{", "[") and "--json" in command:
        lines = out.splitlines()
        out = "".join(map(document, lines)) if len(lines) > 1 and _each(lines) else document(out)
    parts = [f"$ ostrom {command}", f"exit code {done.code}"]
    for name, text in (("stdout", out), ("stderr", done.err)):
        if text:
            parts += [f"---- {name}", text.rstrip("\n")]
    return normalised("\n".join(parts) + "\n", home)


def _each(lines: Sequence[str]) -> bool:
    return all(line[:1] == "{" and line[-1:] == "}" for line in lines)


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
        for command in commands:
            if command.startswith("cat "):
                texts.append(_file(home, command[4:]))
            else:
                texts.append(printed(command, call(*_words(command), keys=keys), home))
        return "\n".join(texts)

    return run


def _words(command: str) -> list[str]:
    import shlex

    return shlex.split(command)


def _file(home: Path, pattern: str) -> str:
    """Files that a command wrote, pages as outlines."""
    from tests.golden.render import outline

    parts = []
    for path in sorted(home.glob(pattern)):
        if not path.is_file():
            continue
        text = path.read_text()
        if path.suffix == ".html":
            text = outline(text)
        elif path.suffix == ".json":
            text = document(text)
        parts.append(f"==== {path.relative_to(home)}\n{text}")
    return normalised("\n".join(parts) or f"==== {pattern}: no such file\n", home)
