"""A paper's tables and figures: declared as data, written under their names with ours beside them."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from ostrom.data.rundata import run_data
from ostrom.features.comparing import Own, Published, references
from ostrom.features.reporting import as_paper as write
from ostrom.features.reporting.as_paper import write_as_paper
from ostrom.features.reporting.command import write_report
from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.registry import replications
from ostrom.ground.validation import validate
from ostrom.ground.yaml import read_yaml
from ostrom.models.providers import scripted
from ostrom.reports.exhibits.declared import Exhibit, Exhibits, check_exhibits, exhibits_of
from ostrom.reports.exhibits.shape import entries, printed_shape, single_figures
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

COLUMNS = ("game", "length", "measure")
TABLE = Exhibit(
    name="Table 3", title="A table", study=("s",), rows=("game", "model"), columns=("length",),
    where={"measure": "rate"}, labels={"pd": "Dilemma"},
)  # fmt: skip


def printed(game: str, length: str, model: str, value: float, **rest: object) -> Published:
    return Published((game, length, "rate"), model, value, 0.5, "Table 3", "verified", **rest)  # type: ignore[arg-type]


def ours(game: str, length: str, agent: str, value: float) -> Own:
    return Own((game, length, "rate"), agent, value, value - 1, value + 1, 0.25, 3)


def test_ours_stands_under_the_model_it_is_compared_with() -> None:
    published = [
        printed("pd", "2", "X", 1.0), printed("pd", "10", "X", 2.0, doubts=("CONFLICT: why",)),
        printed("pd", "2", "Y", 3.0), printed("pg", "2", "X", 4.0),
        Published(("pd", "2", "rate"), "X", 9.0, None, "Table 4", "verified"),
        Published(("pd", "2", "other"), "X", 9.0, None, "Table 3", "verified"),
    ]  # fmt: skip
    own = [ours("pd", "2", "a", 1.5), ours("pd", "80", "a", 2.5), ours("pg", "2", "b", 3.5)]
    found = entries(TABLE, COLUMNS, published, {"r": own}, {"a": "X"})
    table = printed_shape(TABLE, found, "SE over runs")
    assert list(table.columns) == ["game", "model", "2", "10", "80"]
    assert "After ±: printed SE over runs; ours SD over matches." in table.caption
    assert [list(row) for row in table.rows] == [
        ["Dilemma", "X", "1.0 ± 0.5", "2.0 ± 0.5 †", None],
        ["Dilemma", "a (ours)", "1.5 ± 0.2", None, "2.5 ± 0.2"],
        ["Dilemma", "Y", "3.0 ± 0.5", None, None],
        ["pg", "X", "4.0 ± 0.5", None, None],
        ["pg", "b (ours)", "3.5 ± 0.2", None, None],
    ]
    single = single_figures(TABLE, COLUMNS, found)
    assert single.rows[1][3:5] == ["printed", "X"] and single.rows[1][-1] == "CONFLICT: why"
    assert single.rows[4][3:] == ["ours", "a", "r", 1.5, 0.25, 0.5, 2.5, 3, None, None]


def test_figures_of_several_runs_are_labelled_by_run() -> None:
    own = {"one": [ours("pd", "2", "a", 1.5)], "two": [ours("pd", "2", "a", 2.5)], "three": []}
    found = entries(TABLE, COLUMNS, [printed("pd", "2", "X", 1.0)], own, {"a": "X"})
    table = printed_shape(TABLE, found, "SE")
    assert [list(row) for row in table.rows] == [
        ["Dilemma", "X", "1.0 ± 0.5"], ["Dilemma", "a in one (ours)", "1.5 ± 0.2"],
        ["Dilemma", "a in two (ours)", "2.5 ± 0.2"],
    ]  # fmt: skip
    assert "are of the runs one, two." in table.caption
    assert [row[5] for row in single_figures(TABLE, COLUMNS, found).rows] == [None, "one", "two"]
    alone = printed_shape(
        TABLE, entries(TABLE, COLUMNS, [printed("pd", "2", "X", 1.0)], {"one": []}, {}), "SE"
    )
    assert "(ours)" not in alone.caption


def test_the_best_of_a_cell_is_marked_among_the_papers_and_among_ours() -> None:
    table = TABLE.model_copy(update={"best": "highest"})
    published = [printed("pd", "2", "X", 1.0), printed("pd", "2", "Y", 3.0)]
    own = [ours("pd", "2", "a", 1.5), ours("pd", "2", "b", 0.5)]
    made = printed_shape(table, entries(table, COLUMNS, published, {"r": own}, {}), "SE")
    assert [row[2] for row in made.rows] == ["1.0 ± 0.5", "3.0 ± 0.5 *", "1.5 ± 0.2 *", "0.5 ± 0.2"]
    assert made.caption is not None and "* the highest of the paper's models" in made.caption


def test_counts_stand_behind_their_shares() -> None:
    published = [replace(printed("pd", "2", "X", 77.4), count="205/265")]
    own = [replace(ours("pd", "2", "a", 12.5), count="2/16")]
    made = printed_shape(TABLE, entries(TABLE, COLUMNS, published, {"r": own}, {}), "SE")
    assert [row[2] for row in made.rows] == ["77.4 ± 0.5 (205/265)", "12.5 ± 0.2 (2/16)"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{name: T, title: t, study: s, rows: [game, model]}", "both rows and columns"),
        ("{name: T, title: t, study: s, rows: [game], columns: [length]}", "model must stand once"),
        ("{name: T, title: t}", "needs rows and columns"),
        ("{name: T, title: t, rows: [model], columns: [length]}", "needs study"),
        ("{name: T, title: t, without: none, color: red}", "color"),
    ],
)
def test_a_wrong_declaration_is_one_line(entry: str, problem: str) -> None:
    with pytest.raises(StudyError, match=problem) as told:
        validate(Exhibits, read_yaml(f"exhibits: [{entry}]", "x"), "exhibits.yaml")
    assert "exhibits.yaml" in str(told.value) and "\n" not in str(told.value)


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", sorted({*replications()} & {*references.names()}))
def test_every_declared_name_column_panel_and_study_exists(name: str) -> None:
    found = exhibits_of(name)
    check_exhibits(found, references.build(name), name)
    sources = {p.source for p in references.build(name).published()}
    for one in found:
        for study in one.study:
            load_study(study)
        if one.rows:
            assert set(one.sources) <= sources, f"{one.name}: no published figure of {one.sources}"


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(UsageError, match=r"Table 3: unknown column 'length' \(allowed: game, condition"):
        check_exhibits((TABLE,), references.build("memory_curse"), "x")


@pytest.mark.slow
def test_a_run_is_written_in_the_shape_of_the_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = load_study(
        "memory", preset="smoke", changes=["types={kind: cooperator}", "mechanism.rounds=4"], seeds=2
    )
    play(study, runs=tmp_path)
    with open_run(tmp_path / "memory") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        made = write_as_paper(data, ["kind=Mistral-7B"])
        assert made.failures == () and made.path == tmp_path / "memory/report/as-paper/index.html"
        monkeypatch.setattr(write, "exhibits_of", lambda name: ())
        with pytest.raises(UsageError, match="memory_curse declares no tables and figures"):
            write_as_paper(data)
    tables = made.path.parent / "tables"
    rows = list(csv.DictReader((tables / "Appendix-Table-1.csv").read_text(encoding="utf-8").splitlines()))
    at = next(i for i, row in enumerate(rows) if row["model"] == "kind (ours)")
    assert rows[at]["2"] == "100.0 ± 0.0" and rows[at]["20"] == ""
    assert (rows[at - 1]["model"], rows[at - 1]["80"]) == ("Mistral-7B", "85.3 ± 2.9")
    assert "85.3 $\\pm$ 2.9" in (tables / "Appendix-Table-1.tex").read_text(encoding="utf-8")
    page = made.path.read_text(encoding="utf-8")
    assert all(one.name in page for one in exhibits_of("memory_curse"))


@pytest.mark.slow
def test_several_runs_of_one_paper_stand_in_the_same_tables(tmp_path: Path) -> None:
    scripted.register("second", lambda request: "[A1]")
    game = {"name": "prisoners_dilemma", "preset": "repeated_games"}
    others = {"defect_once": "defect_once"}, {"alternate": "alternator"}
    for name, games, other in zip(("one", "two"), (game, "battle_of_the_sexes"), others, strict=True):
        data = {
            "name": name, "game": games, "seating": "ordered", "types": {"a": {"model": "scripted/second"}, **other},
            "mechanism": {"name": "repetition", "rounds": 3}, "report": {"reference": "repeated_games"},
        }  # fmt: skip
        play(load_study(data), runs=tmp_path)
    made = write_report("one", tmp_path, paper=((), None), more=["two"])
    assert made.failures == () and made.path == tmp_path / "one/report/as-paper/index.html"
    names = {path.stem for path in (made.path.parent / "figures").glob("*.svg")}
    # Each figure is drawn from the run that has its game; example games are those of the named players.
    assert "Figure-3-games_pairs_defection" in names and "Figure-5-games_pairs_coordination" in names
    assert "Figure-3-games_pairs_coordination" not in names and "Figure-3-strips_model_defect_once" in names
    assert "Figure-5-strips_model_alternate" in names
    tables = {path.name for path in (made.path.parent / "tables").glob("*.csv")}
    assert {"Contest-in-the-Prisoner-s-Dilemma.csv", "Contest-in-the-Battle-of-the-Sexes.csv"} <= tables
    page = made.path.read_text(encoding="utf-8")
    assert "two: Not compared: coordination rate" in page or "one: Not compared:" in page
    assert "Run: two." in page
    alone = write_report("two", tmp_path, paper=((), None))
    said = (
        "This run has no finished match with game = prisoners_dilemma; it comes from the study pd-tournament."
    )
    assert said in alone.path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_table_of_one_study_is_not_filled_from_a_run_of_another(tmp_path: Path) -> None:
    scripted.register("third", lambda request: "[A0]")
    for name in ("memory", "memory-asymmetric"):
        changes = ["mechanism.rounds=3"]
        play(
            load_study(name, preset="smoke", models=["scripted/third"], changes=changes, seeds=1),
            runs=tmp_path,
        )
    scripted.unregister("third")
    made = write_report("memory", tmp_path, paper=((), None), more=["memory-asymmetric"])
    folder = made.path.parent / "tables"

    def runs_of(table: str) -> set[str]:
        text = (folder / f"{table}-figures.csv").read_text(encoding="utf-8")
        return {row["run"] for row in csv.DictReader(text.splitlines()) if row["whose"] == "ours"}

    # Equal memories of 2 rounds are played in both studies.
    assert runs_of("Appendix-Table-1") == {"memory"}
    assert runs_of("Appendix-Table-9") == {"memory-asymmetric"}
    page = made.path.read_text(encoding="utf-8")
    captions = {
        name: page[(at := page.index(f"{name}. ")) : page.index("</", at)]
        for name in ("Appendix Table 1", "Appendix Table 9", "Appendix Table 15")
    }
    with open_run("memory-asymmetric", tmp_path) as run:
        calls = f"{sum(1 for _ in run.rows.calls()):,} model calls"
    assert "Run memory: " in captions["Appendix Table 1"]
    assert f"Run memory-asymmetric: {calls}" in captions["Appendix Table 9"]
    # A table of printed figures alone rests on no call and has no figure of ours.
    assert (
        "model calls" not in captions["Appendix Table 15"] and "(ours)" not in captions["Appendix Table 15"]
    )
