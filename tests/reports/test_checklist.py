"""`ostrom report --checklist`: entries come from the run; what it does not know is said to be not recorded."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ostrom.data.rundata import run_data
from ostrom.features.reporting.command import report
from ostrom.ground.errors import UsageError
from ostrom.reports.card import ITEMS, UNKNOWN, VALIDATION, checklist_table, run_entries
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing.server import LoopbackServer


def test_entries_are_those_of_the_run(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        agent = {"model": server.model, "style": "direct", "params": {"temperature": 0.3, "max_tokens": 20}}
        study = {"name": "s", "game": "prisoners_dilemma", "types": {"m": agent}, "seating": "self"}
        play(load_study(study), runs=tmp_path, name="run")
    output = report([str(tmp_path / "run")], checklist=True, runs=tmp_path)
    assert isinstance(output.document, dict)
    items = output.document["items"]
    assert tuple(items) == ITEMS
    assert items["Model"] == f"{server.model} (2 calls)"
    assert f"{datetime.now(UTC):%Y-}" in items["Dates of use"]
    assert "temperature 0.3" in items["Parameters"] and "max_tokens 20" in items["Parameters"]
    assert items["Access"].endswith("replies live") and "wire openai" in items["Access"]
    assert items[VALIDATION] == UNKNOWN
    assert items["Registration"] == "the run is not bound to one"
    assert "| Model |" in Path(output.document["checklist"]).read_text(encoding="utf-8")


def test_a_run_without_models_says_so(tmp_path: Path) -> None:
    study = {"name": "s", "game": "prisoners_dilemma", "types": {"a": "grim"}, "seating": "self"}
    play(load_study(study), runs=tmp_path, name="run")
    with open_run(tmp_path / "run") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        entries = run_entries(data)
    assert entries["Model"] == entries["Access"] == "no call of a model is in this run"


def test_an_item_without_an_entry_is_not_recorded() -> None:
    rows = {str(item): entry for item, entry in checklist_table({"Model": "m"}).rows}
    assert rows == {**dict.fromkeys(ITEMS, UNKNOWN), "Model": "m"}


def test_options_that_would_do_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--checklist"):
        report(["run"], checklist=True, intervals=True, runs=tmp_path)
