"""`ostrom estimate`, `ostrom test` and what `list` and `show` know of analysis."""

from __future__ import annotations

import csv
import io
import json
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


@pytest.mark.slow
def test_an_estimate_is_a_table_one_json_document_or_csv(call: Call) -> None:
    shown = call("estimate", "s", "cooperation", "--by", "agent,game")
    assert shown.code == 0 and "stag_hunt" in shown.out and "The share of a player's actions" in shown.out
    made = call("estimate", "s", "cooperation", "--by", "agent", "--where", "k=1", "--json")
    document = json.loads(made.out)
    assert [one["agent"] for one in document["estimates"]] == ["=coin", "mostly"] and not made.err
    assert all(one["n"] == 6 for one in document["estimates"])
    rows = list(
        csv.DictReader(io.StringIO(call("estimate", "s", "cooperation", "--by", "agent", "--csv").out))
    )
    assert [row["agent"] for row in rows] == ["=coin", "mostly"]
    safe = call("estimate", "s", "cooperation", "--by", "agent", "--csv", "--safe").out
    assert [row["agent"] for row in csv.DictReader(io.StringIO(safe))] == ["'=coin", "mostly"]


@pytest.mark.slow
def test_differences_slopes_and_several_runs(call: Call) -> None:
    found = json.loads(call("estimate", "s", "payoff", "--contrast", "k=4-1", "--json").out)
    assert [one["k"] for one in found["estimates"]] == ["4 - 1"]
    found = json.loads(
        call("estimate", "s", "payoff", "--over", "k", "--log", "--level", "0.9", "--json").out
    )
    assert found["estimates"][0]["level"] == 0.9 and found["log"] is True
    twice = json.loads(call("estimate", "s", "s", "cooperation", "--json").out)
    once = json.loads(call("estimate", "s", "cooperation", "--json").out)
    assert twice["estimates"][0]["n"] == 2 * once["estimates"][0]["n"]


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


@pytest.mark.slow
def test_a_test_names_unit_design_and_assumptions(call: Call) -> None:
    shown = call("test", "s", "cooperation", "--factor", "game", "--second", "k")
    assert shown.code == 0
    for words in (
        "two-way analysis of variance",
        "unit of analysis: match",
        "Type II",
        "assumptions:",
        "game x k",
    ):
        assert words in shown.out
    made = json.loads(call("test", "s", "cooperation", "--factor", "agent", "--where", "k=1", "--json").out)
    assert made["method"] == "welch"
    assert made["unit"] == "match" and made["comparisons"][0]["comparison"] == "=coin - mostly"


def test_measures_charts_and_runs_are_listed_and_shown(call: Call) -> None:
    assert {"cooperation", "payoff"} <= {
        row["name"] for row in json.loads(call("list", "measures", "--json").out)
    }
    assert {"dots", "curve"} <= {row["name"] for row in json.loads(call("list", "chart", "--json").out)}
    assert json.loads(call("list", "runs", "--json").out) == [
        {
            "name": "s",
            "study": "s",
            "matches": 24,
            "finished": 24,
            "problem": "",
            "state": "24 of 24 matches done, complete",
        }
    ]
    shown = json.loads(call("show", "measure", "cooperation", "--json").out)
    assert (shown["scale"], shown["bounds"], shown["needs"]) == ("share", "0 to 1", "matches.cooperation")
    assert "colour=None" in call("show", "chart", "curve").out
    assert json.loads(call("show", "reference", "personas", "--json").out)["figures"] == 200


def test_help_imports_nothing_heavy(call: Call) -> None:
    import subprocess

    heavy = ("scipy", "duckdb", "polars", "numpy")
    code = f"import sys; from ostrom.cli.app import app; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
