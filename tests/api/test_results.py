"""Results of commands have the names of their JSON as attributes; notebooks show tables, escaped."""

from __future__ import annotations

from pathlib import Path

import pytest

import ostrom
from ostrom.ground.results import MOST_ROWS, CommandResult, TableRows, html_of, html_table

STUDY = {
    "name": "<s>",
    "game": "chicken",
    "types": {"<i>a": "random", "b": "grim"},
    "seating": "ordered",
    "seeds": 2,
}


def test_runs_forecasts_and_transcripts_are_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = ostrom.study({**STUDY, "name": "s"})
    forecast = study.forecast()._repr_html_()
    assert "<table>" in forecast and "8 matches" in forecast and "<td>likely</td>" in forecast
    run = ostrom.play(study, progress=False)
    html = run._repr_html_()
    assert "8 of 8 matches" in html and "<td>&lt;i&gt;a</td>" in html and "<i>" not in html
    said = run.transcript(0)
    assert isinstance(said, TableRows) and "<table>" in said._repr_html_()
    result = ostrom.commands.estimate(["s", "cooperation"], by="agent")
    assert isinstance(result, CommandResult) and result.measure == "cooperation" and result["by"] == ["agent"]
    assert [row["agent"] for row in result.estimates] == ["<i>a", "b"] and result.source[
        0
    ].n == result.estimates[0]["n"]
    assert "&lt;i&gt;a" in result._repr_html_() and "<i>" not in result._repr_html_()
    tested = ostrom.commands.test(["s", "cooperation"], factor="agent")
    assert tested.factor == "agent" and tested.runs == ["s"]
    with pytest.raises(AttributeError, match="allowed: runs, measure"):
        _ = result.nothing


def test_a_long_table_and_a_long_cell_are_cut() -> None:
    html = html_table([{"a": "x" * 1000}] * (MOST_ROWS + 5))
    assert html.count("<tr>") == MOST_ROWS + 1 and "and 5 more rows" in html and "x" * 401 not in html
    assert html_of({"n": 1, "rows": [{"a": None}]}) == (
        "<table><tr><th>n</th><td>1</td></tr></table><b>rows</b><table><tr><th>a</th></tr><tr><td></td></tr></table>"
    )
