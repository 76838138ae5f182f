"""`ostrom branch` and `ostrom attribute` as people run them."""

from pathlib import Path

import pytest
from tests.cli.in_process import caller

from ostrom.studies.load import load_study
from ostrom.studies.run import play

STUDY = {
    "name": "duel",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 8},
    "types": {"a": "tit_for_tat", "b": "alternator"},
    "seating": "seats",
}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("branch", "duel", "--match", "0", "--at", "99"), "has rounds 1 to 8"),
        (("branch", "duel", "--match", "0", "--at", "3", "--set", "colour=red"), "cannot be changed in a branch"),
        (("attribute", "duel", "--match", "0", "--round", "99"), "has rounds 1 to 8"),
        (("attribute", "duel", "--match", "0", "--round", "3", "--method", "swap"), "allowed: drop, flip, both"),
        (("attribute", "nothing", "--match", "0", "--round", "3"), "there is no such run"),
    ],
)
def test_wrong_use_exits_with_two_and_one_line(
    arguments: tuple[str, ...], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(load_study(STUDY), runs=tmp_path / "runs")
    done = caller(monkeypatch, tmp_path)("more", *arguments)
    assert done.code == 2 and done.out == ""
    assert text in done.err and len(done.err.strip().splitlines()) == 1
