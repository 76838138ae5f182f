"""Results of commands have the names of their JSON as attributes; notebooks show tables, escaped."""

from pathlib import Path
from typing import Any

import pytest

import ostrom
from ostrom.analysis.estimate import trend
from ostrom.ground.errors import UsageError
from ostrom.ground.results import MOST_ROWS, CommandResult, TableRows, html_of, html_table

STUDY = {"name": "<s>", "game": "chicken", "types": {"<i>a": "random", "b": "grim"}, "seating": "ordered", "seeds": 2}


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
    assert [row["agent"] for row in result.estimates] == ["<i>a", "b"] and result.source[0].n == result.estimates[0][
        "n"
    ]
    assert "&lt;i&gt;a" in result._repr_html_() and "<i>" not in result._repr_html_()
    tested = ostrom.commands.test(["s", "cooperation"], factor="agent")
    assert tested.factor == "agent" and tested.runs == ["s"]
    own = run.test("cooperation", "agent")
    assert own.factor == "agent" and own.measure == "cooperation"
    assert run.registered is None
    with pytest.raises(AttributeError, match="allowed: runs, measure"):
        _ = result.nothing


def test_a_long_table_and_a_long_cell_are_cut() -> None:
    html = html_table([{"a": "x" * 1000}] * (MOST_ROWS + 5))
    assert html.count("<tr>") == MOST_ROWS + 1 and "and 5 more rows" in html and "x" * 401 not in html
    assert html_of({"n": 1, "rows": [{"a": None}]}) == (
        "<table><tr><th>n</th><td>1</td></tr></table><b>rows</b><table><tr><th>a</th></tr><tr><td></td></tr></table>"
    )


def test_tables_and_cells_are_whole_up_to_their_bounds() -> None:
    whole, more = html_table([{"a": 1}] * MOST_ROWS), html_table([{"a": 1}, {"b": 2}] * MOST_ROWS)
    assert whole.count("<tr>") == MOST_ROWS + 1 and "more rows" not in whole
    assert more.count("<tr>") == MOST_ROWS + 1 and "and 100 more rows" in more and "<th>b</th>" in more
    assert f"<td>{'x' * 400}</td>" in html_table([{"a": "x" * 400}])
    assert f"<td>{'x' * 400}…</td>" in html_table([{"a": "x" * 401}])
    assert "<td>0.1235</td><td>1<br>2</td><td>0</td>" in html_table([{"a": 0.123456, "b": "1\n2", "c": 0}])


def test_the_table_of_a_result_is_its_named_list_or_the_first_list_of_rows() -> None:
    document = {"names": ["a"], "none": [], "first": [{"a": {"b": 1}}], "second": [{"c": 2}, {"c": 3}]}
    assert CommandResult(document).table.to_dicts() == [{"a.b": 1}]
    assert CommandResult(document, rows_key="second").table.to_dicts() == [{"c": 2}, {"c": 3}]
    assert CommandResult({"names": ["a", {"b": 1}]}).table.is_empty()


ASKED = {
    "name": "asked",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 4},
    "types": {"echo": "tit_for_tat", "hawk": "defector"},
    "seating": "ordered",
    "vary": {"memory": {"set": "agent.memory", "to": ["window:1", "full"]}},
    "seeds": 6,
}


def test_questions_are_functions_of_the_package_with_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = ostrom.play(ASKED, progress=False)
    other = ostrom.play({**ASKED, "seeds": 4}, name="fewer", progress=False)
    statements = [f"- {{name: g{least}, measure: cooperation, at_least: {least}}}" for least in (0.9, 0.001)]
    Path("gates.yaml").write_text("\n".join(["gates:", *statements]))
    judged = ostrom.gate(run, gates="gates.yaml", runs="elsewhere")  # a run is found by its own folder
    assert judged.answer == "fail" and judged.source.answer == "fail"
    assert judged.table["answer"].to_list()[0] == "fail" and judged.table["estimate.n"].to_list() == [36] * 4
    assert judged.to_dict() == ostrom.commands.gate("asked", gates="gates.yaml") | {"run": str(run.path)}
    assert type(judged.to_dict()) is dict
    Path("asked.yaml").write_text(
        "name: asked\ngame: chicken\ntypes: {a: random}\nseating: self\n"
        "vary: {memory: {set: agent.memory, to: [full, 'window:1']}}\n"
    )
    curve = ostrom.power(
        "asked.yaml", measure="cooperation", contrast="memory=full-window:1", seeds="3,6", simulations=100
    )
    assert curve.table["seeds"].to_list() == [3, 6] == [point.seeds for point in curve.source.points]
    differences = ostrom.compare(run, other, by="agent")
    assert differences.table["agent"].to_list() == ["echo", "hawk"] and differences.source.new == "asked"
    assert differences.table.height == 2 and differences.changed  # the rows of the answer, not another list
    published = ostrom.compare(ostrom.play("pd-tournament", preset="smoke", progress=False))
    assert published.table.height == len(published.cells) == len(published.source.lines)
    with pytest.raises(UsageError, match="name a paper"):
        ostrom.replicate()
    assert {"compare", "gate", "power", "replicate"} <= set(dir(ostrom))


@pytest.mark.slow
def test_a_panel_that_cannot_be_drawn_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostrom.reports.build.DEFAULT_PANELS", ())
    wrong = {"chart": "curve", "measure": "cooperation", "x": "nonsense"}
    run = ostrom.play({**STUDY, "name": "s", "report": {"panels": [wrong]}}, runs=tmp_path, progress=False)
    with pytest.raises(UsageError, match="unknown column 'nonsense'"):
        run.report()
    assert run.report(checklist=True) == run.path / "report" / "checklist.md"  # needs no panel


def test_a_trend_is_asked_for_with_its_scale_its_level_and_its_groups(tmp_path: Path) -> None:
    study = {**STUDY, "name": "s", "types": {"a": "random:0.5", "b": "random:0.9"}, "seeds": 3}
    run = ostrom.play(study, runs=tmp_path, progress=False)
    asked: list[dict[str, Any]] = [{"log": True, "level": 0.8}, {"by": ["agent"]}, {"where": {"agent": "a"}}]
    for options in asked:
        with run.data() as data:
            expected = trend(data, "cooperation", "seat", **{"by": ["agent"], **options})
        found = run.trend("cooperation", "seat", **options)
        assert found["value"].to_list() == [one.value for one in expected]
        assert found["low"].to_list() == [one.low for one in expected]
    assert found["over"].to_list() == ["seat"]
