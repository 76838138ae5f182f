"""`ostrom estimate`, `ostrom test` and what `list` and `show` know of analysis."""

import sys

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


def test_help_imports_nothing_heavy(call: Call) -> None:
    import subprocess

    heavy = ("scipy", "duckdb", "polars", "numpy")
    code = f"import sys; from ostrom.cli.app import app; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
