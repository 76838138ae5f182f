"""The panels of the memory studies: right numbers, everything escaped, honest where there is nothing."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ostrom.data.rundata import RunData, run_data
from ostrom.ground.errors import StudyError, UnknownName
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.reports.declared import panels
from ostrom.reports.panel import Drawn
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

SWEEP = ("memory_lengths", "memory_regimes", "memory_penalty")
WORDS = ("traces_words:paranoia", "traces_words:forward", "traces_words:defection", "traces_forward",
         "traces_samples")  # fmt: skip
ALL = (*SWEEP, *WORDS, "memory_asymmetric", "memory_recovery")


def reply(request: Request) -> str:
    """Long pasts make it defect when it reasons; what it writes would be markup if it were not escaped."""
    text = request.messages[-1].content
    if "reasons" not in text:
        return "[A0]"
    if text.count("R") > 60:
        return "They betrayed me & the risk <b>is real</b>; last round was bad.\n[A1]"
    return "The future matters & <script>alert('trust')</script>, long-term <i>gain</i>.\n[A0]"


@contextmanager
def run_of(name: str, folder: Path, *changes: str, seeds: int = 2) -> Iterator[RunData]:
    register("teller", reply)
    try:
        study = load_study(
            name, preset="smoke",
            changes=["types={m: {model: scripted/teller}, c: cooperator}", "agent.constrain=never", *changes],
            seeds=seeds,
        )  # fmt: skip
        play(study, runs=folder)
    finally:
        unregister("teller")
    with open_run(folder / name) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield data


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunData]:
    folder = tmp_path_factory.mktemp("sweep")
    with run_of("memory", folder, "vary.history_length.to=[0, 2, 10, 80]", "mechanism.rounds=4") as data:
        yield data


def draw(data: RunData, spec: str) -> Drawn:
    return panels.build(spec).draw(data)


def rows(drawn: Drawn, table: str) -> list[dict[str, object]]:
    (found,) = [t for t in drawn.tables if t.name == table]
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_the_papers_rule_and_its_count_stand_beside_our_regimes(sweep: RunData) -> None:
    drawn = draw(sweep, "memory_regimes")
    (note,) = [note for note in drawn.notes if "own rule" in note]
    reasoned = [r for r in rows(drawn, "memory_regimes") if r["style"] == "reasoned"]
    cursed = sum(r["papers_rule"] == "cursed" for r in reasoned)
    assert f"{len(reasoned) - cursed} of {len(reasoned)} reasoned pairs are immune and {cursed} cursed" in note
    assert "10 immune and 18 cursed of 28" in note


def test_samples_come_from_different_cells_and_never_change(sweep: RunData) -> None:
    first, again = draw(sweep, "traces_samples:4"), draw(sweep, "traces_samples:4")
    assert len(first.html) == 5 and first.html == again.html
    with pytest.raises(StudyError, match="traces must lie between 1 and 50"):
        panels.build("traces_samples:0")
    with pytest.raises(UnknownName, match="kind of words 'fear'"):
        panels.build("traces_words:fear")


@pytest.mark.sample(5)
@pytest.mark.parametrize("spec", ALL)
def test_an_empty_run_is_told_as_such(sweep: RunData, tmp_path: Path, spec: str) -> None:
    play(load_study("memory", preset="smoke", changes=["types={c: cooperator}", "mechanism.rounds=1"]), runs=tmp_path)
    journal = sqlite3.connect(tmp_path / "memory" / "journal.db")
    for table in ("units", "answers", "questions", "calls"):
        journal.execute(f"DELETE FROM {table}")
    journal.execute("UPDATE meta SET value=(SELECT count(*) FROM plays) WHERE key='entries'")
    journal.commit()
    journal.close()
    (tmp_path / "memory" / "journal.db.tally").unlink()
    with open_run(tmp_path / "memory") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        drawn = draw(data, spec)
        assert drawn.notes and not drawn.figures and not drawn.tables and not drawn.html


def test_a_run_of_strategies_has_no_traces_and_says_so(tmp_path: Path) -> None:
    play(load_study("memory", preset="smoke", changes=["types={c: cooperator}", "mechanism.rounds=1"]), runs=tmp_path)
    with open_run(tmp_path / "memory") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        for spec in WORDS:
            drawn = draw(data, spec)
            assert drawn.notes == ["No model was called in this run, so there are no traces to read."]
            assert not drawn.figures
