"""`--dry-run` names the adapters of a study that are not there yet."""

import json
from pathlib import Path

import pytest
from tests.cli.in_process import caller

STUDY = {
    "name": "tuned",
    "game": "prisoners_dilemma",
    "types": {
        "plain": {"model": "embedded/smollm2-135m"},
        "made": {"model": "embedded/smollm2-135m", "settings": {"adapter": "made"}},
        "missing": {"model": "embedded/smollm2-135m", "settings": {"adapter": "later/adapter"}},
    },
    "seating": "self",
}


def test_a_dry_run_names_adapter_folders_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = caller(monkeypatch, tmp_path)
    (tmp_path / "tuned.yaml").write_text(json.dumps(STUDY))
    (tmp_path / "made").mkdir()
    done = call("run", "tuned.yaml", "--dry-run")
    assert done.code == 0 and "adapters that are not here yet: later/adapter (" in done.out + done.err
    told = json.loads(call("run", "tuned.yaml", "--dry-run", "--json").out)
    assert told["missing_adapters"] == ["later/adapter"]
    (tmp_path / "later" / "adapter").mkdir(parents=True)
    done = call("run", "tuned.yaml", "--dry-run")
    assert done.code == 0 and "adapters that are not here yet" not in done.out + done.err
