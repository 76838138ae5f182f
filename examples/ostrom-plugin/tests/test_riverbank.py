"""Every part of the package keeps Ostrom's contracts."""

from pathlib import Path
from tempfile import TemporaryDirectory

import ostrom
from ostrom.testing.check_measure import check_measure
from ostrom.testing.check_mechanism import check_mechanism


def test_the_game_is_played_under_the_usual_mechanisms() -> None:
    check_mechanism("none", games=["irrigation"])
    check_mechanism({"name": "repetition", "rounds": 3, "talk": {"when": "after"}}, games=["irrigation"])


def test_the_mechanism_keeps_the_contract() -> None:
    check_mechanism("pledges")
    check_mechanism({"name": "pledges", "fine": 2, "talk": {"order": "in_turn", "turns": 2}})


def test_the_measure_keeps_the_contract() -> None:
    pledged = {
        "name": "pledged",
        "game": "prisoners_dilemma",
        "mechanism": "pledges",
        "types": {"coin": "random:0.5"},
        "seeds": 2,
    }
    with TemporaryDirectory() as folder:
        run = ostrom.play(pledged, runs=Path(folder), progress=False)
        with run.data() as data:
            check_measure("kept_pledge", data=data)
