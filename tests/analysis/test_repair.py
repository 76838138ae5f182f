"""Lock-in and repair, counted by hand on played scripts."""

from pathlib import Path

import pytest

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.models.base import Request
from ostrom.models.providers import scripted
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile
from ostrom.testing import check_measure

MOVES = {1: "CDDCDCCC", 2: "CCDCCCCC", 3: "CCCCCCCC"}
"""By seat. All cooperate in rounds 1, 4, 6, 7, 8: stretches without are 2-3 and 5."""


@pytest.mark.parametrize("name", ["last_switch", "repair_rate", "repair_time"])
def test_they_conform(name: str) -> None:
    check_measure(name)


def reply(request: Request) -> str:
    text = request.messages[-1].content
    (seat,) = [n for n in MOVES if f"You are Player {n}." in text]
    (now,) = [n for n in range(1, 9) if f"This is round {n}" in text]
    return "[A0]" if MOVES[seat][now - 1] == "C" else "[A1]"


def test_repair_is_counted_for_three_players(tmp_path: Path) -> None:
    study = {
        "name": "repair", "game": "public_goods", "mechanism": {"name": "repetition", "rounds": 8},
        "agent": {"memory": {"name": "window", "k": 2}, "constrain": "never", "style": "direct"},
        "types": {"m": {"model": "scripted/repair"}},
    }  # fmt: skip
    scripted.register("repair", reply)
    try:
        play(StudyFile.model_validate(study), runs=tmp_path)
    finally:
        scripted.unregister("repair")
    with open_run(tmp_path / "repair") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        # Rounds after a broken one: 3 (broken), 4 (whole), 6 (whole).
        assert estimate(data, "repair_rate")[0].value == pytest.approx(2 / 3)
        assert estimate(data, "repair_time")[0].value == pytest.approx(1.5)
        seats = {e.key["seat"]: e.value for e in estimate(data, "last_switch", ["seat"])}
        assert seats == {1: pytest.approx(6 / 8), 2: pytest.approx(4 / 8), 3: 0.0}
