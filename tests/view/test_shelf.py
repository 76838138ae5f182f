"""Runs that stay open for readers: one reader of a run does not hold up those of another."""

import threading
import time
from pathlib import Path

import pytest
from tests.view.runs import talk

from ostrom.ground.errors import UsageError
from ostrom.view import shelf as module
from ostrom.view.shelf import RunsFolder


def test_a_reader_waits_for_the_same_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OPEN", 1)
    for name in ("a", "b"):
        talk(tmp_path, name=name)
    shelf, order = RunsFolder(tmp_path), list[str]()

    def read() -> None:
        with shelf.opened("a") as run:
            order.append(f"second {run.journal.outcome_of(0) is not None}")

    def second_waits() -> bool:
        with shelf._guard:  # a reader takes a run out and puts it back
            return shelf._open["a"].readers == 2

    with shelf.opened("a") as first:
        waiting = threading.Thread(target=read)
        waiting.start()
        while not second_waits():
            time.sleep(0.01)
        with shelf.opened("b") as other:  # and the first one is closed only when nobody reads it any more
            assert other.name == "b" and first.journal.outcome_of(0) is not None
        order.append("first")
    waiting.join(300)
    assert order == ["first", "second True"]
    shelf.close()


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["", ".", "..", "../a", "a/b", "nobody"])
def test_only_what_lies_in_the_folder_has_a_name(tmp_path: Path, name: str) -> None:
    talk(tmp_path / "runs", name="a")
    talk(tmp_path, name="b")
    with pytest.raises(UsageError, match="no such run"):
        RunsFolder(tmp_path / "runs").folder(name)


def test_a_folder_without_runs_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no run"):
        RunsFolder(tmp_path)
    with pytest.raises(UsageError, match="is no folder"):
        RunsFolder(tmp_path / "nothing")
