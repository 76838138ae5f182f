"""The panels of the memory studies: right numbers, everything escaped, honest where there is nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ostrom.analysis.claims import games_of, references
from ostrom.data.rundata import RunData, run_data
from ostrom.ground.errors import StudyError, UnknownName
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.reports.build import build_report
from ostrom.reports.declared import panels
from ostrom.reports.figures import render
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


@pytest.mark.slow
def test_the_whole_report_is_drawn_and_escaped(sweep: RunData) -> None:
    made = build_report(sweep)
    assert made.failures == ()
    page = made.path.read_text()
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "<i>gain" not in page and "&lt;i&gt;gain" in page
    assert '<mark style="background:' in page
    names = {p.stem for p in (made.path.parent / "figures").glob("*.svg")}
    assert {"memory_lengths_reasoned", "memory_lengths_direct", "memory_lengths_by_style", "memory_decay",
            "memory_penalty", "traces_paranoia_ratio", "traces_forward_looking_ratio", "traces_forward",
            "traces_defection_mentions"} <= names  # fmt: skip


@pytest.mark.slow
@pytest.mark.sample(3)
@pytest.mark.parametrize("spec", [*SWEEP, *WORDS])
def test_every_panel_of_the_sweep_has_something_to_show(sweep: RunData, spec: str) -> None:
    drawn = draw(sweep, spec)
    assert drawn.figures or drawn.tables or drawn.html


@pytest.mark.slow
def test_lengths_give_cooperation_and_rewards(sweep: RunData) -> None:
    found = rows(draw(sweep, "memory_lengths"), "memory_lengths")
    assert len(found) == 2 * 2 * 2 * 4
    kind = [r for r in found if r["agent"] == "c" and r["game"] == "prisoners_dilemma"]
    assert all(r["cooperation"] == 1.0 and r["mean_reward"] == 200.0 for r in kind)
    assert [r["discounted_reward"] for r in kind] == [pytest.approx(200.0)] * 8
    assert all(r["sd_over_seeds"] == 0.0 for r in kind)


@pytest.mark.slow
def test_regimes_name_the_margin(sweep: RunData) -> None:
    found = rows(draw(sweep, "memory_regimes"), "memory_regimes")
    kind = [r for r in found if r["agent"] == "c"]
    assert {r["regime"] for r in kind} == {"immune"}
    assert {round(float(str(r["margin"])), 3) for r in kind} == {0.05}
    assert {r["history_lengths"] for r in kind} == {"2, 10, 80"}


@pytest.mark.slow
def test_a_penalty_names_its_length(sweep: RunData) -> None:
    table = rows(draw(sweep, "memory_penalty"), "memory_penalty")
    assert {r["history_length"] for r in table} == {80}
    # Chart, table and Appendix Table 12 have one sign: below 0 where reasoning costs cooperation.
    printed = {
        (own.agent, own.cell[0]): own.value
        for own in references.build("memory_curse").own(sweep, games_of(sweep))
        if own.cell[-1] == "deliberation_penalty_pp"
    }
    by_name = {"prisoners_dilemma": "prisoners_dilemma", "trust_symmetric": "trust_game"}
    penalties = {(r["agent"], by_name[str(r["game"])]): r["penalty"] for r in table}
    assert printed == {key: pytest.approx(100 * float(str(value))) for key, value in penalties.items()}
    assert any(value < 0 for value in printed.values())
    for r in table:
        assert r["low"] is None or float(str(r["low"])) <= float(str(r["penalty"])) <= float(str(r["high"]))


def test_the_papers_rule_and_its_count_stand_beside_our_regimes(sweep: RunData) -> None:
    drawn = draw(sweep, "memory_regimes")
    (note,) = [note for note in drawn.notes if "own rule" in note]
    reasoned = [r for r in rows(drawn, "memory_regimes") if r["style"] == "reasoned"]
    cursed = sum(r["papers_rule"] == "cursed" for r in reasoned)
    assert (
        f"{len(reasoned) - cursed} of {len(reasoned)} reasoned pairs are immune and {cursed} cursed" in note
    )
    assert "10 immune and 18 cursed of 28" in note


def test_samples_come_from_different_cells_and_never_change(sweep: RunData) -> None:
    first, again = draw(sweep, "traces_samples:4"), draw(sweep, "traces_samples:4")
    assert len(first.html) == 5 and first.html == again.html
    with pytest.raises(StudyError, match="traces must lie between 1 and 50"):
        panels.build("traces_samples:0")
    with pytest.raises(UnknownName, match="kind of words 'fear'"):
        panels.build("traces_words:fear")


@pytest.mark.slow
@pytest.mark.pictures
def test_roles_are_drawn_beside_homogeneous_tables(tmp_path: Path) -> None:
    with run_of("memory-asymmetric", tmp_path, "mechanism.rounds=3") as data:
        drawn = draw(data, "memory_asymmetric")
        found = rows(drawn, "memory_roles")
        assert len(drawn.figures) == 1
        assert {r["composition"] for r in found if r["game"] == "public_goods"} == {
            "3 x HL 2", "2 x HL 2 + 1 x HL 80", "1 x HL 2 + 2 x HL 80", "3 x HL 80",
        }  # fmt: skip
        alike = [r for r in found if r["composition"] == "3 x HL 2"]
        assert all(r["gap"] is None and r["forgiver"] is None for r in alike)
        assert render(drawn.figures[0].chart)[0].startswith("<svg")
        assert "sanitized" in draw(data, "memory_recovery").notes[0]


@pytest.mark.slow
@pytest.mark.pictures
def test_recovery_is_drawn_over_real_rounds(tmp_path: Path) -> None:
    with run_of("memory-sanitized", tmp_path, "mechanism.rounds=3") as data:
        drawn = draw(data, "memory_recovery")
        found = rows(drawn, "memory_recovery")
        assert {r["real_rounds"] for r in found} == {2, 12}
        assert all((r["gain"] is None) == (r["real_rounds"] == 12) for r in found)
        assert render(drawn.figures[0].chart)[0].startswith("<svg")
        assert "different memory" in draw(data, "memory_asymmetric").notes[0]
        assert "same window" in draw(data, "memory_lengths").notes[0]


@pytest.mark.sample(5)
@pytest.mark.parametrize("spec", ALL)
def test_an_empty_run_is_told_as_such(sweep: RunData, tmp_path: Path, spec: str) -> None:
    play(
        load_study("memory", preset="smoke", changes=["types={c: cooperator}", "mechanism.rounds=1"]),
        runs=tmp_path,
    )
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
    play(
        load_study("memory", preset="smoke", changes=["types={c: cooperator}", "mechanism.rounds=1"]),
        runs=tmp_path,
    )
    with open_run(tmp_path / "memory") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        for spec in WORDS:
            drawn = draw(data, spec)
            assert drawn.notes == ["No model was called in this run, so there are no traces to read."]
            assert not drawn.figures


@pytest.mark.slow
def test_direct_answers_have_no_traces_and_that_is_said(tmp_path: Path) -> None:
    with run_of("memory", tmp_path, "vary.style.to=[direct]", "mechanism.rounds=2") as data:
        assert "None of" in draw(data, "traces_forward").notes[0]
        assert "direct and reasoned" in draw(data, "memory_penalty").notes[0]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["uniform", "fail"])
def test_a_run_with_only_invalid_answers_shows_nothing_as_chosen(tmp_path: Path, policy: str) -> None:
    register("mute", "Hm, I fear a betrayal.")
    changes = ["types={m: {model: scripted/mute}}", "agent.constrain=never", "mechanism.rounds=2",
               f"invalid={{retries: 0, policy: {policy}}}"]  # fmt: skip
    try:
        play(load_study("memory", preset="smoke", changes=changes), runs=tmp_path)
    finally:
        unregister("mute")
    told = "given by the policy" if policy == "uniform" else "No match is finished"
    with open_run(tmp_path / "memory") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        for spec in (*SWEEP, "memory_asymmetric", "memory_recovery"):
            drawn = draw(data, spec)
            assert told in drawn.notes[0] and not drawn.figures and not drawn.tables
        words = draw(data, "traces_words:paranoia")
        assert bool(words.figures) == (policy == "uniform")
