"""Real runs of scripted players, and the page a browser would see."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ostrom.data.rundata import RunData, run_data
from ostrom.engine.play_options import PlayOptions
from ostrom.reports.build import build_report
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

Played = Callable[..., RunData]


@contextmanager
def opened(folder: Path) -> Iterator[RunData]:
    """The data of a run on disk."""
    with open_run(folder) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield data


def small(**changes: Any) -> StudyFile:
    """A study of scripted strategies."""
    study = {
        "name": "small",
        "title": "A small study",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 5},
        "agent": {"memory": {"name": "window", "k": 1}},
        "types": {"kind": "cooperator", "coin": "random:0.5"},
        "vary": {"game": ["prisoners_dilemma", "stag_hunt"], "k": {"set": "agent.memory.k", "to": [4, 1]}},
        "seeds": 3,
        **changes,
    }
    return StudyFile.model_validate(study)


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    """Play a study and open its data."""
    made: list[RunData] = []

    def make(limit: int | None = None, **changes: Any) -> RunData:
        play(small(**changes), runs=tmp_path, options=PlayOptions(limit=limit))
        with open_run(tmp_path / "small") as run:
            made.append(run_data(run.rows, run.folder.path, run.manifest))
        return made[-1]

    yield make
    for data in made:
        data.close()


@pytest.fixture(scope="session")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the small study, for tests that only look at it."""
    folder = tmp_path_factory.mktemp("ready")
    play(small(), runs=folder, options=PlayOptions())
    with opened(folder / "small") as data:
        report = build_report(data)
    assert report.failures == ()
    return report.path


class Page(HTMLParser):
    """Tags, attributes and visible text of a page, read as a browser reads them."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source, self.tags, self.links, self.ids, self.words = (source, set[str](), list[str](), list[str](), "")
        self._silent = False
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._silent = tag == "style"
        for name, value in attrs:
            if name in ("href", "src", "xlink:href"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")
            assert not name.startswith("on"), f"{tag} has a handler {name}"

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words += data
        self._silent = False

    @property
    def text(self) -> str:
        """What a reader sees, on one line."""
        return " ".join(self.words.split())


def page_of(path: Path) -> Page:
    """A page on disk."""
    return Page(path.read_text(encoding="utf-8"))
