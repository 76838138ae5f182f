"""A page says once what its figures rest on: calls, temperature, versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostrom.data.rundata import run_data
from ostrom.models.providers.scripted import register, unregister
from ostrom.reports.build import build_report
from ostrom.reports.card import calls_table, made_of
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play


@pytest.mark.slow
def test_the_foot_of_a_page_names_calls_temperature_and_models(tmp_path: Path) -> None:
    register("said", "[A0]")
    study = {
        "name": "captions", "game": "prisoners_dilemma", "types": {"m": {"model": "scripted/said", "style": "direct"}},
        "vary": {"temperature": {"set": "agent.params.temperature", "to": [0.2, 1.0]}}, "seeds": 3,
        "report": {"panels": [{"chart": "dots", "measure": "cooperation", "y": "agent"}]},
    }  # fmt: skip
    try:
        play(load_study(study), runs=tmp_path)
    finally:
        unregister("said")
    with open_run("captions", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        sentence = made_of(data)
        table = calls_table(data)
        page = build_report(data).path.read_text(encoding="utf-8")
    assert sentence.startswith("12 model calls at temperature 0.2, 1; models: scripted/said")
    assert page.count(sentence) == 1 and page.index(sentence) > page.index("What was run</h2>")
    assert table is not None
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [(r["temperature"], r["agent"], r["calls"]) for r in rows] == [(0.2, "m", 6), (1.0, "m", 6)]


def test_a_run_of_scripts_says_that_no_model_was_called(tmp_path: Path) -> None:
    study = {"name": "scripts", "game": "prisoners_dilemma", "types": {"c": {"strategy": "cooperator"}}}
    play(load_study(study), runs=tmp_path)
    with open_run("scripts", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        assert made_of(data) == "No model was called." and calls_table(data) is None
