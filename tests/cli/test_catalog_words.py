"""What `ostrom list`, `ostrom show` and `ostrom validate` say of parts and files, by hand."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.cli import logs
from ostrom.cli.commands.catalog import part_row, run_rows, show
from ostrom.cli.commands.validate import check_file
from ostrom.ground.errors import OstromError, UnknownName, UsageError


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("run", "r", "a run is shown by its report: `ostrom report r`"),
        ("replication", "nobody", "unknown replication 'nobody'"),
        ("strategy", "nobody", "unknown strategy 'nobody'"),
        (
            "prompt",
            "nothing_like_it",
            "there is no prompt file 'nothing_like_it' (see `ostrom list prompts`)",
        ),
    ],
)
def test_what_cannot_be_shown_is_one_line(kind: str, name: str, line: str) -> None:
    with pytest.raises(OstromError) as refused:
        show(kind, name)
    assert str(refused.value).startswith(line)


def test_a_part_that_cannot_be_loaded_says_why() -> None:
    def get(name: str) -> Any:
        raise UnknownName("game", name, ["chicken"])

    row = part_row(SimpleNamespace(get=get), "lost")
    assert row["name"] == "lost" and row["what"].startswith("unknown game 'lost'") and row["parameters"] == ""


def test_a_folder_that_is_no_run_is_listed_with_its_problem(tmp_path: Path) -> None:
    assert run_rows(tmp_path / "none") == [] == run_rows(tmp_path)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.json").write_text("{}")
    ((row),) = run_rows(tmp_path)
    assert row["name"] == "bad" and row["study"] is row["state"] is None and row["problem"]


CODE = """
from ostrom.memory import Memory
from ostrom.agents.strategy import Strategy
def lately(rounds): return rounds[-1:]
def mirror(past, rng): return 0
def _own(rounds): return rounds
def helper(x): return x
NUMBER = 3
"""


def test_a_python_file_says_which_parts_it_holds(tmp_path: Path) -> None:
    file = tmp_path / "parts.py"
    file.write_text(CODE)
    assert check_file(file) == {
        "file": str(file), "kind": "Python file", "memories": "parts.py:lately", "strategies": "parts.py:mirror",
    }  # fmt: skip
    file.write_text("def helper(x): return x\n")
    with pytest.raises(
        UsageError, match=r"parts\.py: holds no part of a study: a memory is a function of `rounds`"
    ):
        check_file(file)


def test_games_in_files_are_told_by_what_they_hold(tmp_path: Path) -> None:
    text = "name: tiny\nactions: [a, b]\npayoffs: {'a, a': [1, 1], 'a, b': [0, 2], 'b, a': [2, 0], 'b, b': [0, 0]}\n"
    (tmp_path / "tiny.yaml").write_text(text)
    facts = check_file(tmp_path / "tiny.yaml")
    assert facts == {"file": str(tmp_path / "tiny.yaml"), "kind": "game", "name": "tiny", "seats": 2}
    (tmp_path / "study.yaml").write_text(text + "mechanism: none\n")
    assert check_file(tmp_path / "study.yaml") is None


@pytest.mark.parametrize(("verbose", "seen"), [(0, 0), (1, 1), (2, 2), (9, 2)])
def test_a_log_says_more_the_more_is_asked_for(
    verbose: int,
    seen: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logger = logging.getLogger("ostrom")
    level, passed = logger.level, logger.propagate
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdef")
    try:
        logs.set_up(verbose, tmp_path / "log")
        logger.info("two\nlines sk-0123456789abcdef")
        logger.debug("every call")
        written = (tmp_path / "log").read_text().splitlines()
        assert (
            len(written) == 2
            and written[1].endswith("DEBUG ostrom: every call")
            and "sk-0123" not in written[0]
        )
        assert len(capsys.readouterr().err.splitlines()) == seen
        logs.set_up(0)
        assert not [h for h in logger.handlers if isinstance(h.formatter, logs._Plain)]
    finally:
        logs.set_up(0)
        logger.setLevel(level)
        logger.propagate = passed
    with pytest.raises(
        UsageError, match=r"^--log-file .*none/log: cannot be written \(No such file or directory\)$"
    ):
        logs.set_up(0, tmp_path / "none" / "log")
