"""Panels as data: every entry of ours can be built, and what is wrong with an entry is said in one line."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from ostrom.ground.errors import StudyError, UsageError
from ostrom.reports.canvas import WIDE
from ostrom.reports.declared import FILE, Column, DeclaredPanel, declared_panels, panel_factory, panels
from ostrom.reports.theme import MAIN, MOST_COLOURS
from ostrom.testing import check_panel

from .conftest import Played

NEEDED: dict[str, dict[str, Any]] = {
    "cooperation_by": {"x": "game"},
    "trade_off": {"gain": "cooperation", "cost": "score", "factor": "game", "base": "stag_hunt"},
}
SPEC: dict[str, Any] = {
    "title": "{{ what }} of agents",
    "about": "Means by agent.",
    "parameters": {"what": "score", "most": 5},
    "refuse": {"if": "most < 1", "say": "most must be at least 1 (found {{ most }})"},
    "let": {"rates": "estimate(data, what, ['agent'])"},
    "empty": {"if": "most == 4", "say": "Four is nothing."},
    "figures": [
        {
            "kind": "dots", "name": "rates", "each": "rates", "label": "{{ r.key.agent }}", "value": "r",
            "axis": "{{ what }}", "caption": "{{ rests_on(drawn) }}", "alt": "Dots.",
        }
    ],
    "tables": [
        {
            "name": "rates_{{ what }}", "each": "rates", "caption": "Means.",
            "columns": ["agent = r.key.agent", "mean, low, high = r", "*['n', 'unit'] = [r.n, r.unit]", "method"],
        }
    ],
    "notes": [
        {"each": "rates", "say": "{{ r.key.agent }} has {{ fixed(r.value) }}."}, {"if": "most > 5", "say": "Many."},
        "{{ '' }}",
    ],
}  # fmt: skip
FILE_OF_TESTS = {"use": {"ostrom.analysis.estimate": ["estimate"]}, "rates": SPEC}


def built(**parameters: Any) -> Any:
    return panel_factory("rates", "ostrom.reports", FILE_OF_TESTS)(**parameters)


@pytest.mark.sample(25)
@pytest.mark.parametrize("name", list(panels))
def test_every_panel_of_ours_can_be_built(name: str) -> None:
    """Its functions can be imported and its templates read; it says what it shows."""
    part = panels.build({"name": name, **NEEDED.get(name, {})})
    assert part.title and (panels.get(name).__doc__ or "").strip()


def test_a_declared_panel_draws_lists_and_says(played: Played) -> None:
    data = played()
    panel = built()
    drawn = panel.draw(data)
    assert panel.title == "score of agents"
    (table,) = drawn.tables
    assert table.name == "rates_score"
    assert list(table.columns) == ["agent", "mean", "low", "high", "n", "unit", "method"]
    means = {row[0]: row[1] for row in table.rows}
    assert list(drawn.notes) == [f"{agent} has {mean:.2f}." for agent, mean in means.items()]
    (figure,) = drawn.figures
    values = figure.chart(WIDE)["data"]["values"]
    assert {row["label"]: row["mean"] for row in values} == means
    assert "Many." in built(most=6).draw(data).notes
    assert built(most=4).draw(data).notes == ["Four is nothing."]


def _many(count: int, **more: Any) -> list[Any]:
    """The figures of so many series of one row each; the last has no value."""
    figure = {
        "kind": "dots", "name": "f", "each": f"range({count + 1})", "label": "at {{ r }}", "series": "'s' ~ r",
        "value": f"none if r == {count} else r", "axis": "a", "caption": "{{ drawn | length }}", "alt": "Dots.", **more,
    }  # fmt: skip
    panel = panel_factory("many", "ostrom.reports", {"many": {"title": "t", "figures": [figure]}})()
    data: Any = SimpleNamespace(agents=(), types=(), plan=None, manifest={}, rows=None)
    return list(panel.draw(data).figures)


def _drawn(figure: Any) -> list[tuple[str, str, float]]:
    values = figure.chart(WIDE)["data"]["values"]
    return [(row["label"], row["series"], row["mean"]) for row in values]


def test_more_series_than_colours_join_the_labels_or_make_figures_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ostrom.reports.declared.tones", lambda data, _, names: dict.fromkeys(names.values(), "#000000")
    )
    (whole,) = _many(MOST_COLOURS)
    assert _drawn(whole)[1] == ("at 1", "s1", 1) and whole.caption == str(MOST_COLOURS)
    (joined,) = _many(MOST_COLOURS + 1)
    assert _drawn(joined)[1] == ("at 1 · s1", "all types", 1) and len(_drawn(joined)) == MOST_COLOURS + 1
    assert MAIN in str(joined.chart(WIDE))
    first, second = _many(MOST_COLOURS + 2, split=True)
    assert (first.name, second.name, len(_drawn(first))) == ("f", "f_2", MOST_COLOURS)
    assert [row[1] for row in _drawn(second)] == [f"s{MOST_COLOURS}", f"s{MOST_COLOURS + 1}"]
    (ordered,) = _many(3, order="['s2', 's9', 's0']")
    assert sorted(row[1] for row in _drawn(ordered)) == ["s0", "s1", "s2"]
    assert _many(0) == []
    (blocks,) = _many(2, facet="block {{ r }}")
    assert "block 0" in str(blocks.chart(WIDE)) and "block 1" in str(blocks.chart(WIDE))


def test_the_panel_of_the_examples_says_its_verdict(played: Played) -> None:
    block = (Path(__file__).parents[2] / "examples" / "panels.yaml").read_text(encoding="utf-8")
    drawn = panel_factory("fifth_gain", "ostrom.reports", yaml.safe_load(block))().draw(played())
    (figure,), (table,) = drawn.figures, drawn.tables
    assert [row[0] for row in table.rows] == ["kind", "coin"]
    assert figure.caption == "stag hunt - prisoners dilemma: differences with 95 % intervals."
    *said, control = drawn.notes
    assert all(re.search(r"above 0: (yes|no|undecided at this size)\.$", note) for note in said) and len(said) == 2
    assert "Holm" in control


def test_a_declared_panel_keeps_the_contract_of_panels(played: Played) -> None:
    check_panel(built(), data=played())


def test_parameters_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"most must be at least 1 \(found 0\)"):
        built(most=0)
    with pytest.raises(StudyError, match="most must lie between 1 and 100"):
        panels.build({"name": "spreading_sentences", "most": 0})
    with pytest.raises(UsageError, match="unknown kind of words 'wrong'"):
        panels.build({"name": "traces_words", "show": "wrong"})
    with pytest.raises(StudyError, match="cooperation_by needs 'x'"):
        panels.build("cooperation_by")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"title": "{{ open"}, "TemplateSyntaxError"),
        ({"title": "t", "figures": [{"kind": "pie"}]}, "KeyError: 'pie'"),
        ({"title": "t", "tables": [{"name": "t", "columns": ["a = (("]}]}, "TemplateSyntaxError"),
    ],
)
def test_what_is_wrong_with_an_entry_names_the_file_and_the_panel(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError) as caught:
        panel_factory("odd", "my.package", {"odd": spec})()
    assert f"my.package/{FILE}" in str(caught.value) and "panel odd" in str(caught.value)
    assert words in str(caught.value)


def test_a_function_that_is_not_there_is_named() -> None:
    spec = {"title": "t", "let": {"x": "lost(data)"}}
    with pytest.raises(StudyError, match="no_such_module"):
        panel_factory("odd", "ostrom.reports", {"use": {".no_such_module": ["lost"]}, "odd": spec})()


def test_columns_are_read_as_they_are_written() -> None:
    scope = {"r": {"a": 1, "b": 2}, "names": ["x", "y"]}
    assert (Column("a").names(scope), Column("a").cells(scope)) == (["a"], [1])
    assert Column("served = assigned = r.b").names(scope) == ["served = assigned"]
    spread = Column("*names = [r.a, r.b]")
    assert (spread.names(scope), spread.cells(scope)) == (["x", "y"], [1, 2])
    assert Column("v, low, high = none").cells(scope) == [None, None, None]


def test_nothing_that_an_entry_does_not_mention_is_imported() -> None:
    panel = DeclaredPanel({"title": "t"}, {}, {})
    assert panel.title == "t"
    file = {"use": {"no.such.module": ["lost"]}, "plain": {"title": "t", "notes": ["Said."]}}
    assert panel_factory("plain", "ostrom.reports", file)().title == "t"


def test_a_file_that_cannot_be_read_breaks_no_other_panel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "torn_paper"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / FILE).write_text("mine: [")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert declared_panels("torn_paper") == {}
    with pytest.raises(StudyError, match=f"torn_paper/{FILE}"):
        declared_panels("torn_paper", strict=True)
