"""`ostrom estimate`, `ostrom test` and what `list` and `show` know of analysis."""

import sys

import pytest
from tests.cli.in_process import Call

STUDY = """\
name: s
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 4}
types: {"=coin": "random:0.5", mostly: "random:0.8"}
agent: {memory: {name: window, k: 1}}
vary:
  game: [prisoners_dilemma, stag_hunt]
  k: {set: agent.memory.k, to: [1, 4]}
seeds: 3
"""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("estimate s cooperatoin", "did you mean cooperation"),
        ("estimate s cooperation --by agnt", "did you mean agent"),
        ("estimate s cooperation --where game=stag_hnt", "did you mean 'stag_hunt'?"),
        ("estimate s cooperation --contrast game=stag_hnt-prisoners_dilemma", "did you mean 'stag_hunt'?"),
        ("estimate s cooperation --contrast game", "must be FACTOR=A-B"),
        ("estimate s cooperation --over game", "needs numbers in game"),
        ("estimate s cooperation --where nothing>1", 'Referenced column "nothing" not found'),
        ("estimate s cooperation --where k=1 --where k=4", "k is given twice"),
        ("estimate s cooperation --where k>99", "no finished match"),
        ("estimate s cooperation --level 95", "--level must lie between"),
        ("estimate s cooperation --json --csv", "exclude each other"),
        ("estimate s cooperation --safe", "--safe is for --csv"),
        ("estimate s cooperation --log", "--log needs --over"),
        ("estimate cooperation", "name a run"),
        ("test s cooperation --factor gme", "did you mean game"),
        ("test s cooperation --factor game --method welsh", "did you mean welch"),
        ("test s cooperation --factor game --type IV", "--type must be II or III"),
        ("test s cooperation --factor game --cluster k", "name the method too"),
        ("show measure paiof", "did you mean payoff"),
        ("list mesures", "did you mean 'measures'?"),
        ("show run s", "ostrom report s"),
    ],
)
def test_what_is_wrong_is_one_line(call: Call, arguments: str, words: str) -> None:
    done = call(*arguments.split())
    assert done.code == 2 and not done.out and done.err.count("\n") == 1, done
    assert words in done.err


def test_help_imports_nothing_heavy(call: Call) -> None:
    import subprocess

    heavy = ("scipy", "duckdb", "polars", "numpy")
    code = f"import sys; from ostrom.cli.app import app; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
