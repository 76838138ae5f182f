"""What Ostrom reports is what an independent script finds in the exported tables, and both are what theory says."""

import ast
from pathlib import Path
from typing import Any

import pytest
from tests.replications import recomputed

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.data.tables import export_rows
from ostrom.features.inference.said import statements
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play


def exported(folder: Path, **spec: Any) -> Path:
    """The tables of a study that strategies play, as CSV files."""
    study = load_study({"name": "played", "game": "prisoners_dilemma:coopeval", **spec})
    assert play(study, runs=folder).complete
    with open_run("played", folder) as run:
        export_rows(run.rows, "csv", folder / "csv")
    return folder / "csv"


def test_the_script_is_independent() -> None:
    source = Path(recomputed.__file__).read_text(encoding="utf-8")
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert not {name for name in imported if name.startswith(("ostrom", "tests"))}


def test_statements_are_scored_alike(tmp_path: Path) -> None:
    tables = exported(
        tmp_path,
        mechanism={"name": "repetition", "rounds": 6, "state": "after", "state_as": "memory_one", "noise": 0.2},
        types={"tft": "tit_for_tat", "bad": "defector"},
        seating="unordered",
        seeds=3,
    )
    found = recomputed.said(tables)
    with open_run("played", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        ours = {(str(s.match), str(s.player)): (s.agreement, s.log_loss) for s in statements(data)}
        means = {e.key["agent"]: e.value for e in estimate(data, "said_agreement", ["agent"])}
    assert len(found) == len(ours) == 18
    for (match, player, _), scores in found.items():
        assert scores == pytest.approx(ours[match, player])
    assert all(0 < mean < 1 for mean in means.values()), "noise breaks some statements"
