"""Own figures beside published ones: only where both exist, every doubt in view, nothing used in silence."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cli.conftest import Command

from ostrom.analysis.references import published_rows
from ostrom.data.rundata import run_data
from ostrom.features.comparing import Comparison, Line, RunFigure, compare_run, references
from ostrom.ground.errors import UsageError
from ostrom.ground.registry import replications
from ostrom.models.providers import scripted
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

GAMES = "vary.game=[{name: prisoners_dilemma, preset: memory_curse}, public_goods]"


@cache  # several tests ask the same of the same run
def compared(folder: Path, chosen: tuple[str, ...] = (), reference: str | None = None) -> Comparison:
    with open_run(folder) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        return compare_run(data, chosen, reference)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A memory run of strategies: one that always cooperates, one at random."""
    folder = tmp_path_factory.mktemp("sweep")
    study = load_study(
        "memory",
        preset="smoke",
        changes=[
            "types={kind: cooperator, r: 'random:0.5'}",
            GAMES,
            "vary.history_length.to=[2, 7, 80]",
            "mechanism.rounds=6",
        ],
        seeds=3,
    )
    play(study, runs=folder)
    yield folder / "memory"


def line(made: Comparison, agent: str | None, *cell: str) -> list[Line]:
    return [one for one in made.lines if one.own.agent == agent and one.cell == cell]


def test_every_table_is_shipped_and_every_reference_reads_its_own() -> None:
    assert list(replications()) == [
        "commons",
        "coopeval",
        "memory_curse",
        "personas",
        "pricing",
        "recognised",
        "repeated_games",
        "sharing",
        "tools",
    ]
    assert len(published_rows("memory_curse")) == 1737
    assert references.names() == ["commons", "coopeval", "memory_curse", "personas", "repeated_games", "sharing"]
    for name in references:
        made = references.build(name)
        figures = made.published()
        assert figures and all(len(figure.cell) == len(made.columns) for figure in figures)


def test_the_doubts_of_the_tables_are_all_carried_over() -> None:
    figures = references.build("memory_curse").published()
    doubted = [f for f in figures if f.doubts]
    noted = [
        row for row in published_rows("memory_curse") if "CONFLICT:" in row["note"] or "SUSPICIOUS:" in row["note"]
    ]
    assert len([f for f in doubted if f.cell[-1] != "paranoia_ratio"]) == len(noted)
    assert all(f.doubts for f in figures if f.cell[-1] == "paranoia_ratio")
    assert [f.value for f in figures if f.status == "uncertain"]


def test_differences_in_protocol_are_said(sweep: Path) -> None:
    remarks = " ".join(compared(sweep).remarks)
    assert "mechanism.rounds = 6, the paper 500" in remarks


@pytest.mark.slow
def test_a_game_is_compared_by_its_payoffs_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "name: two_suspects\nactions: [talk, keep_still]\ncooperative: keep_still\npayoffs:\n"
        "  talk, talk: [100, 100]\n  talk, keep_still: [300, -100]\n"
        "  keep_still, talk: [-100, 300]\n  keep_still, keep_still: [200, 200]\n"
    )
    study = load_study(
        "memory",
        preset="smoke",
        changes=["types={kind: cooperator}", f"vary.game=['{tmp_path / 'mine.yaml'}']", "mechanism.rounds=2"],
    )
    play(study, runs=tmp_path)
    made = compared(tmp_path / "memory")
    (reward,) = line(made, "kind", "prisoners_dilemma", "reasoning", "2", "", "", "mean_reward")
    assert reward.own.value == 200.0 and reward.high == 200.0
    said = "pays as the paper's prisoners dilemma and is compared with it."
    assert any(remark.endswith(said) for remark in made.remarks)


@pytest.mark.slow
def test_answers_by_the_policy_are_a_doubt_about_the_own_figure(tmp_path: Path) -> None:
    answers = iter(range(10**9))
    scripted.register("mumbles", lambda _: "[A0]" if next(answers) % 3 else "Hm.")
    try:
        study = load_study(
            "memory",
            preset="smoke",
            changes=["types={m: {model: scripted/mumbles}}", GAMES, "mechanism.rounds=4", "invalid.retries=0",
                     "agent.constrain=never"],
        )  # fmt: skip
        play(study, runs=tmp_path)
    finally:
        scripted.unregister("mumbles")
    made = compared(tmp_path / "memory")
    assert any("given by the policy" in doubt for one in made.lines for doubt in one.own.doubts)
    assert any(re.fullmatch(r"m: 3\d % of the actions were given by the policy\.", text) for text in made.remarks)


def own(value: float, low: float | None = None, high: float | None = None) -> RunFigure:
    return RunFigure(("x",), "a", value, low, high, None, 3)


def test_a_study_without_a_reference_says_so(tmp_path: Path) -> None:
    study = load_study({"name": "bare", "game": "chicken", "types": {"k": "cooperator"}})
    play(study, runs=tmp_path)
    with pytest.raises(UsageError, match=r"names no published figures.*known: commons, coopeval, memory_curse"):
        compared(tmp_path / "bare")


def test_the_144_games_are_compared_by_family(tmp_path: Path) -> None:
    study = load_study(
        {
            "name": "families",
            "game": "ordinal_2x2:78",
            "mechanism": {"name": "repetition", "rounds": 2},
            "types": {"first": "constant:first"},
            "vary": {"number": {"set": "game", "to": ["ordinal_2x2:78", "ordinal_2x2:67", "ordinal_2x2:1"]}},
            "report": {"reference": "repeated_games"},
        }
    )
    play(study, runs=tmp_path)
    made = compared(tmp_path / "families", ("GPT-4",))
    cells = {one.cell[0]: one for one in made.lines}
    assert set(cells) <= {"win_win", "pd_family", "second_best", "biased", "cyclic", "unfair"}
    assert "win_win" in cells and "pd_family" in cells
    # A constant player has no sampling error.
    assert all((one.own.matches, one.own.low) == (1, one.own.value) for one in cells.values())
    assert cells["win_win"].doubts and "released data" in cells["win_win"].doubts[0]


class TestCommands:
    """What a person types."""

    def test_an_empty_run_has_nothing_to_compare_and_says_so(
        self, ostrom: Command, tmp_path: Path, sweep: Path
    ) -> None:
        shown = ostrom("compare", str(emptied(sweep, tmp_path)))
        assert shown.returncode == 0 and shown.stdout == ""
        assert "no finished match" in shown.stderr

    def test_traces_of_strategies_are_an_honest_nothing(self, ostrom: Command, sweep: Path) -> None:
        shown = ostrom("more", "traces", str(sweep))
        assert shown.returncode == 2 and shown.stdout == ""
        assert "no reply of a model holds reasoning (of 0 replies)" in shown.stderr

    @pytest.mark.parametrize(
        ("name", "text", "told"),
        [
            ("l.yaml", "lexicons: {hope: [future", "not valid YAML"),
            ("l.yaml", "words: {hope: [future]}", "unknown key"),
            ("l.json", '{"lexicons": {"hope": []}}', "at least one term"),
            ("l.yaml", "lexicons: {hope: {terms: [a], mode: fuzzy}}", "unknown match mode"),
            ("l.txt", "hope", "unknown kind of lexicon file"),
            ("l.yaml", "lexicons: {agent: [future]}", "has a column of this name"),
        ],
    )
    def test_wrong_lexicon_files_get_one_clear_line(
        self, ostrom: Command, sweep: Path, tmp_path: Path, name: str, text: str, told: str
    ) -> None:
        file = tmp_path / name
        file.write_text(text)
        failed = ostrom("more", "traces", str(sweep), "--lexicons", str(file))
        assert failed.returncode == 2
        (only,) = failed.stderr.strip().splitlines()
        assert told in only and failed.stdout == ""

    def test_a_missing_lexicon_file_is_named(self, ostrom: Command, sweep: Path, tmp_path: Path) -> None:
        failed = ostrom("more", "traces", str(sweep), "--lexicons", str(tmp_path / "none.yaml"))
        assert failed.returncode == 2 and "none.yaml: cannot be read" in failed.stderr

    def test_repeated_terms_are_a_warning_not_an_error(self, ostrom: Command, sweep: Path, tmp_path: Path) -> None:
        file = tmp_path / "l.yaml"
        file.write_text("lexicons: {hope: [future, Future]}")
        shown = ostrom("more", "traces", str(sweep), "--lexicons", str(file))
        assert "counted once" in shown.stderr and "holds reasoning" in shown.stderr  # strategies wrote none

    def test_wrong_columns_are_refused(self, ostrom: Command, sweep: Path) -> None:
        failed = ostrom("more", "traces", str(sweep), "--by", "modle")
        assert failed.returncode == 2 and "did you mean model" in failed.stderr


def emptied(run: Path, folder: Path) -> Path:
    """A copy of a run whose journal holds nothing."""
    import shutil
    import sqlite3

    copy = folder / "empty"
    shutil.copytree(run, copy)
    journal = sqlite3.connect(copy / "journal.db")
    for table in ("units", "answers", "questions", "calls"):
        journal.execute(f"DELETE FROM {table}")
    journal.execute("UPDATE meta SET value=(SELECT count(*) FROM plays) WHERE key='entries'")
    journal.commit()
    journal.close()
    for name in ("tables.json", "traces.json", "journal.db.tally"):
        (copy / name).unlink(missing_ok=True)
    return copy


def figure(word: str | None = None, model: str | None = None) -> Any:
    return SimpleNamespace(word=word, model=model)
