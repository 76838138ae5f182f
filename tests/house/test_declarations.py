"""YAML declarations: every expression compiles, every name is known (`make lint`)."""

from typing import Any

import pytest
from tools.declarations import of_exhibits, of_measures, of_panels, problems


def panel(**entry: Any) -> dict[str, Any]:
    return {"use": {"ostrom.analysis.estimate": ["estimate"]}, "mine": {"title": "Mine", **entry}}


GOOD = panel(
    parameters={"by": "agent"},
    refuse={"if": "not by", "say": "by must name a column"},
    let={"points": "estimate(data, 'cooperation', [by])", "count": "points|length"},
    empty={"if": "not points", "say": "No match has {{ by }}."},
    figures=[
        {"name": "mine", "kind": "dots", "repeat": "[1, 2]", "each": "points", "value": "r", "label": "{{ r.key }}",
         "caption": "{{ drawn|length }} of {{ count }}, {{ part }}", "alt": "Dots.", "draw": {"zero": "count > 1"}},
    ],
    tables=[{"name": "mine", "each": "points", "columns": ["agent", "value, low, high = r", "*points = [r.n]"]}],
    notes=["{% for point in points %}{{ point.n }}{% endfor %}"],
)  # fmt: skip


def test_every_expression_of_the_package_compiles_and_every_name_is_known() -> None:
    assert list(problems()) == []


def test_a_panel_without_a_mistake_has_no_problem() -> None:
    assert list(of_panels(GOOD, "ostrom.reports")) == []


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"let": {"points": "estimate(data, 'cooperation'"}}, "mine: let.points: TemplateSyntaxError"),
        ({"let": {"points": "estimat(data, 'x')"}}, "mine: let.points: unknown name 'estimat'"),
        ({"let": {"a": "b", "b": "1"}}, "mine: let.a: unknown name 'b'"),
        ({"let": {"a": "[1]|unlike"}}, "mine: let.a: TemplateAssertionError: No filter named 'unlike'"),
        ({"title": "{{ data }}"}, "mine: title: unknown name 'data'"),
        ({"notes": ["{{ r.n }}"]}, "mine: notes.say: unknown name 'r'"),
        ({"tables": [{"name": "t", "each": "[]", "columns": ["a = c.n"]}]}, "mine: tables.columns: unknown name 'c'"),
        ({"tables": [{"name": "t", "each": "rows", "columns": ["a"]}]}, "mine: tables.each: unknown name 'rows'"),
        ({"figures": [{"name": "f", "kind": "pie", "each": "[]"}]}, "mine: unknown kind of figure 'pie'"),
        ({"html": [{"each": "[]", "page": "<p>{{ s }}</p>"}]}, "mine: html.page: unknown name 's'"),
        ({"refused": {"say": "{{ errors }}"}}, "mine: refused.say: unknown name 'errors'"),
        ({"python": ".cells:nothing"}, "mine: .cells:nothing: module 'ostrom.reports.cells' has no attribute"),
        ({"chart": "pie", "measure": "cooperation"}, "mine: unknown chart 'pie'"),
        ({"chart": "dots", "measure": "co-operation"}, "mine: unknown measure 'co-operation'"),
        ({"chart": "dots", "measure": "$m"}, "mine: measure: unknown parameter $m"),
    ],
)
def test_a_mistake_in_a_panel_is_named(entry: dict[str, Any], words: str) -> None:
    assert any(line.startswith(words) for line in of_panels(panel(**entry), "ostrom.reports"))


def test_functions_that_are_not_there_or_not_used_are_named() -> None:
    file = {"use": {".cells": ["nothing"], "ostrom.nowhere": ["all"]}}
    lines = list(of_panels(file, "ostrom.reports"))
    assert "use: ostrom.nowhere:all: No module named 'ostrom.nowhere'" in lines
    assert "use: nothing is used by no entry" in lines
    (line,) = of_measures({"m": {"function": "ostrom.analysis.measure:nothing"}}, "ostrom.analysis.measures")
    assert line.startswith("m: ostrom.analysis.measure:nothing: ")


def test_panels_and_measures_of_a_paper_that_are_not_there_are_named() -> None:
    panels = [{"chart": "dots", "measure": {"name": "none"}}, {"name": "no_panel"}, "games_pairs"]
    file = {"exhibits": [{"name": "Table 1", "panels": panels}]}
    assert list(of_exhibits(file, "p")) == ["Table 1: unknown measure 'none'", "Table 1: unknown panel 'no_panel'"]
