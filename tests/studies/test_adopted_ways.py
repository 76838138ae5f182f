"""What a society records of imitation: the member that was imitated, and in runs begun before 2.0 whose way it was."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import caller

from ostrom.engine import journal
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run

STUDY: dict[str, Any] = {
    "name": "spread",
    "game": "prisoners_dilemma",
    "mechanism": {
        "name": "society",
        "network": "ring:2",
        "members": {"cooperator": 4, "defector": 4},
        "rounds": 12,
        "imitation": {"rule": "death-birth", "strength": 5.0, "members": 4},
    },
    "types": {"cooperator": "cooperator", "defector": "defector"},
    "seating": "self",
}


def strangers(run: Path) -> tuple[int, int]:
    """How many members are on record as imitated, and how many of them are no neighbours."""
    with open_run(run) as opened:
        facts = json.loads(next(iter(opened.rows.matches()))["facts"])
    pairs = [sorted(entry[1:]) for entry in facts["adopted"]]
    return len(pairs), sum(pair not in facts["links"] for pair in pairs)


def test_imitated_members_are_neighbours_and_earlier_runs_are_read_by_their_own_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, runs = caller(monkeypatch, tmp_path), tmp_path / "runs"
    (tmp_path / "spread.yaml").write_text(json.dumps(STUDY))
    assert call("run", "spread.yaml", "--name", "new").code == 0
    with monkeypatch.context() as earlier:
        earlier.setattr(journal, "__version__", "1.0.0")
        earlier.setattr(StudyPlan, "_before_2", True)
        assert call("run", "spread.yaml", "--name", "old").code == 0
    adopted, apart = strangers(runs / "new")
    assert adopted > 10 and apart == 0
    adopted_then, apart_then = strangers(runs / "old")
    assert adopted_then == adopted and apart_then > 0
    for run in ("runs/new", "runs/old"):
        assert call("check", run).code == 0
