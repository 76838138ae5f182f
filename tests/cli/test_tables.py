"""Tables on screens of several widths: no word is cut, and what does not fit is told below or as a list."""

from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console

from ostrom.cli import output
from ostrom.ground.results import TextTable

COLUMNS = ["agent", "game", "difference", "low", "high", "n", "method", "verdict"]
WORDS = "undecided: about 34 seeds in both runs (no calls more) would decide"
ROWS: list[list[Any]] = [
    ["coin", "prisoners_dilemma", 0.198, 0.127, 0.257, 12, "paired bounded t", WORDS],
    ["mostly", "stag_hunt", -0.184, -0.265, 0.262, 12, "exact", "equivalent"],
]


def shown(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    width: int,
    rows: Sequence[Sequence[Any]] = ROWS,
    columns: Sequence[str] = COLUMNS,
) -> str:
    """What a terminal of that width shows."""
    screen = Console(width=width, force_terminal=True, color_system=None, no_color=True)
    monkeypatch.setattr(output, "console", lambda **_: screen)
    output.show(TextTable("cooperation: new minus old", columns, rows))
    return capsys.readouterr().out.replace("\x1b[1m", "").replace("\x1b[0m", "").replace("\x1b[3m", "")


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_no_word_is_cut_and_no_line_is_too_long(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(monkeypatch, capsys, width)
    for word in {word for row in ROWS for value in row for word in output.cell(value).split()} | set(COLUMNS):
        assert word in text, f"{word} is cut at {width}:\n{text}"
    assert max(map(len, text.splitlines())) <= width


def test_where_room_is_short_what_all_rows_share_stands_below(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    narrow, wide = (shown(monkeypatch, capsys, width) for width in (80, 120))
    assert "n: 12" in narrow.splitlines() and "┃" not in narrow
    assert "n: 12" not in wide and "┃" in wide


def test_a_table_that_would_be_taller_than_a_list_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    long: list[list[str | None]] = [["g", "word " * 60, "other " * 60], ["h", "word " * 50, None]]
    lines = shown(monkeypatch, capsys, 70, long, ["gate", "statement", "why"]).splitlines()
    assert lines[:3] == ["cooperation: new minus old", "", "gate       g"]
    assert lines[3].startswith("statement  word word") and sum(line.startswith("why") for line in lines) == 1


def test_numbers_in_words_stand_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    output.show(TextTable("", ["calls"], [["10,800"], ["no bound"], ["9"]]))
    assert "│        9 │" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (True, "yes"), (0.5, "0.5"), (2.0, "2"), (-0.0004, "-0"), (1_234_567.0, "1.23e+06"),
     (-1_234_567.0, "-1.23e+06"), (-999_999.5, "-999999.5"), (7, "7")],
)  # fmt: skip
def test_a_cell_has_few_digits_on_either_side_of_nought(value: Any, text: str) -> None:
    assert output.cell(value) == text
