"""A paper's tables and figures: declared as data, written under their names with ours beside them."""

import csv
from pathlib import Path

import pytest

from ostrom.features.comparing import Published, RunFigure, references
from ostrom.features.reporting.command import write_report
from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.registry import replications
from ostrom.ground.validation import validate
from ostrom.ground.yaml import read_yaml
from ostrom.models.providers import scripted
from ostrom.reports.exhibits.declared import Exhibit, Exhibits, check_exhibits, exhibits_of
from ostrom.reports.exhibits.shape import entries, printed_shape
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

COLUMNS = ("game", "length", "measure")
TABLE = Exhibit(
    name="Table 3", title="A table", study=("s",), rows=("game", "model"), columns=("length",),
    where={"measure": "rate"}, labels={"pd": "Dilemma"},
)  # fmt: skip


def printed(game: str, length: str, model: str, value: float, **rest: object) -> Published:
    return Published((game, length, "rate"), model, value, 0.5, "Table 3", "verified", **rest)  # type: ignore[arg-type]


def ours(game: str, length: str, agent: str, value: float) -> RunFigure:
    return RunFigure((game, length, "rate"), agent, value, value - 1, value + 1, 0.25, 3)


def test_the_best_of_a_cell_is_marked_among_the_papers_and_among_ours() -> None:
    table = TABLE.model_copy(update={"best": "highest"})
    published = [printed("pd", "2", "X", 1.0), printed("pd", "2", "Y", 3.0)]
    own = [ours("pd", "2", "a", 1.5), ours("pd", "2", "b", 0.5)]
    made = printed_shape(table, entries(table, COLUMNS, published, {"r": own}, {}), "SE")
    assert [row[2] for row in made.rows] == ["1.0 ± 0.5", "3.0 ± 0.5 *", "1.5 ± 0.2 *", "0.5 ± 0.2"]
    assert made.caption is not None and "* the highest of the paper's models" in made.caption


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
def test_a_table_of_one_study_is_not_filled_from_a_run_of_another(tmp_path: Path) -> None:
    scripted.register("third", lambda request: "[A0]")
    for name in ("memory", "memory-asymmetric"):
        changes = ["mechanism.rounds=3"]
        play(load_study(name, preset="smoke", models=["scripted/third"], changes=changes, seeds=1), runs=tmp_path)
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
    assert "model calls" not in captions["Appendix Table 15"] and "(ours)" not in captions["Appendix Table 15"]
