"""`ostrom branch` and `ostrom attribute` as people run them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ostrom.cli import main
from ostrom.studies.load import load_study
from ostrom.studies.run import play

STUDY = {
    "name": "duel",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 8},
    "types": {"a": "tit_for_tat", "b": "alternator"},
    "seating": "seats",
}
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ostrom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in a folder with one run; gives exit code, stdout and stderr."""
    play(load_study(STUDY), runs=tmp_path / "runs")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["ostrom", *arguments])
        code = 0
        try:
            main()
        except SystemExit as left:
            code = int(left.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return run


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
def test_wrong_use_exits_with_two_and_one_line(ostrom: Command, arguments: tuple[str, ...], text: str) -> None:
    code, out, err = ostrom("more", *arguments)
    assert code == 2 and out == ""
    assert text in err and len(err.strip().splitlines()) == 1
