"""A page says once what its figures rest on: calls, temperature, versions."""

from pathlib import Path

from ostrom.data.rundata import run_data
from ostrom.reports.card import calls_table, provenance
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play


def test_a_run_of_scripts_says_that_no_model_was_called(tmp_path: Path) -> None:
    study = {"name": "scripts", "game": "prisoners_dilemma", "types": {"c": {"strategy": "cooperator"}}}
    play(load_study(study), runs=tmp_path)
    with open_run("scripts", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        assert provenance(data) == "No model was called." and calls_table(data) is None
