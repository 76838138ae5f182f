"""`ostrom gate`: verdicts by intervals, exit codes, files for other programs, and nothing that passes without data."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml
from tests.cli.in_process import Call, Done

import ostrom
from ostrom.cli.commands import run as running
from ostrom.ground.errors import ModelError
from ostrom.models.providers import scripted

STUDY = """\
name: s
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 10}
types: {coin: "random:0.5", mostly: "random:0.97", defector: defector}
seating: unordered
vary: {game: [prisoners_dilemma, stag_hunt]}
seeds: 6
"""
KIND = {"name": "kind", "measure": "cooperation", "where": {"agent": "mostly"}, "at_least": 0.8}
SAME = {"name": "same", "measure": "cooperation", "where": {"agent": ["mostly"]},
        "contrast": "game=prisoners_dilemma-stag_hunt", "within": 0.3}  # fmt: skip
COIN = {"name": "coin | <b>`x`\n@all", "measure": "cooperation", "where": {"agent": "coin"}, "at_most": 0.1}
NOBODY = {"name": "nobody", "measure": "cooperation", "where": {"agent": "nobody"}, "at_least": 0}


def gates(*given: Any, **more: Any) -> str:
    Path("gates.yaml").write_text(yaml.safe_dump({"gates": list(given), **more}, sort_keys=False))
    return "gates.yaml"


def judged(call: Call, *given: Any, options: tuple[str, ...] = (), **more: Any) -> tuple[int, dict[str, Any]]:
    done: Done = call("gate", "s", "--gates", gates(*given, **more), "--json", *options)
    return done.code, json.loads(done.out)


@pytest.mark.slow
def test_a_gate_has_the_estimate_of_the_command_estimate_and_its_interval_where_it_is_approximate(call: Call) -> None:
    _, told = judged(call, {**KIND, "approximate": True}, {**SAME, "approximate": True})
    _, sure = judged(call, KIND, SAME)
    asked = ("estimate", "s", "cooperation", "--where", "agent=mostly", "--json")
    level = json.loads(call(*asked).out)["estimates"][0]
    difference = json.loads(call(*asked, "--contrast", "game=prisoners_dilemma-stag_hunt").out)["estimates"][0]
    for own, bound, theirs in zip(told["judged"], sure["judged"], (level, difference), strict=True):
        assert (own["estimate"]["low"], own["estimate"]["high"]) == (theirs["low"], theirs["high"])
        assert own["approximate"] and not bound["approximate"] and own["least"] is None
        assert bound["estimate"]["value"] == theirs["value"] and bound["estimate"]["method"] == "betting"
        assert bound["estimate"]["low"] < theirs["low"] < theirs["high"] < bound["estimate"]["high"]
    assert "ordinary values only" in told["control"] and "ordinary" not in sure["control"]
    shown = call("gate", "s", "--gates", gates({**KIND, "approximate": True}), "--junit", "j.xml")
    assert "pass, approximate" in shown.out and "pass, approximate" in Path("j.xml").read_text()


@pytest.mark.parametrize(
    ("gate", "why"),
    [
        ({"measure": "total_gain", "at_least": 0}, "total_gain: the measure has no declared bounds"),
        (
            {
                "measure": "total_gain",
                "contrast": "game=prisoners_dilemma-stag_hunt",
                "within": 9,
                "mean_over_agents": True,
            },
            "no declared bounds",
        ),
    ],
)
def test_what_has_no_guaranteed_bound_is_refused_unless_it_may_be_approximate(
    call: Call, gate: dict[str, Any], why: str
) -> None:
    """Before a study is played, and for a run."""
    for target in ("s", "s.yaml"):
        done = call("gate", target, "--gates", gates({"name": "a", **gate}), "--json")
        assert done.code == 2 and done.err.count("\n") == 1 and not done.out, done
        assert f"gates.yaml: gate 'a': {why}" in done.err or why in done.err
        assert "approximate: true" in done.err
    code, told = judged(call, {"name": "a", **gate, "approximate": True})
    assert code == 0 and told["judged"][0]["approximate"] and told["judged"][0]["answer"] == "pass"


def test_the_price_is_named_before_anything_is_played(call: Call) -> None:
    high = {"name": "high", "measure": "cooperation", "where": {"agent": "mostly"}, "at_least": 0.9}
    never = {**high, "name": "never", "at_least": 1}
    sure = {**high, "name": "sure", "where": {"agent": "defector", "opponents": "defector"}, "at_least": 0}
    made = gates(high, {**SAME, "within": 0.05}, never, sure, {**high, "name": "sql", "where": "seed = 1"})
    done = call("gate", "s.yaml", "--gates", made, "--name", "unplayed", "--dry-run", "--json")
    assert done.code == 0 and not Path("runs/unplayed").exists(), done
    told = {one["gate"]: one for one in json.loads(done.out)["prices"]}
    # Nothing below log(.025) / log(.9) = 35.01 can do; matches against itself weigh two seats, which costs more.
    assert told["high"] == {"gate": "high", "least": 59, "seeds": 10, "planned": 36}
    # tests/recomputed/test_gates.py finds these 23 seeds too.
    assert told["same"] == {"gate": "same", "least": 134, "seeds": 23, "planned": 36}
    assert {told[name]["least"] for name in ("never", "sure", "sql")} == {None}
    assert "high: can pass with 59 matches or more (10 seeds); planned are 36 matches (6 seeds), so" in done.err
    assert "never: can never pass" in done.err and "sure: has no sampling error" in done.err
    assert "sql: what it needs is not known" in done.err
    twice = call("gate", "s.yaml", "--gates", gates(high, SAME, simultaneous=True), "--dry-run", "--json")
    assert json.loads(twice.out)["prices"][0]["least"] > 59
    assert call("gate", "s", "--gates", made, "--dry-run").code == 2


@pytest.mark.slow
@pytest.mark.parametrize(("reply", "state"), [(ModelError("refused"), "failed"), ("no answer", "skipped")])
def test_a_match_that_failed_or_was_skipped_is_missing(call: Call, reply: Any, state: str) -> None:
    """All other matches cooperate; no verdict rests on them alone, unless the gate allows it."""
    replies = iter([reply, *["[A0]"] * 100])
    scripted.register("once", lambda request: next(replies))
    study = {
        "name": "lossy", "game": "prisoners_dilemma", "agent": {"style": "direct"}, "seeds": 30,
        "types": {"a": "scripted/once"}, "invalid": {"policy": "skip-match", "retries": 0},
    }  # fmt: skip
    Path("lossy.yaml").write_text(yaml.safe_dump(study))
    assert call("run", "lossy.yaml", "--name", state).code in (0, 1)
    asked = {"name": "all", "measure": "cooperation", "at_least": 0.7}
    done = call("gate", state, "--gates", gates(asked), "--json")
    (told,) = json.loads(done.out)["judged"]
    assert (done.code, told["answer"], told["reason"]) == (3, "undecided", "1 of 30 matches are not finished")
    assert told["estimate"]["n"] == 29
    assert call("gate", state, "--gates", gates({**asked, "missing": 0.05})).code == 0
    states = ostrom.open_run(state).sql("SELECT DISTINCT match, state FROM matches")["state"].to_list()
    assert states.count(state) == 1


@pytest.mark.slow
def test_all_intervals_hold_at_once_where_that_is_asked(call: Call) -> None:
    _, each = judged(call, {**KIND, "by": ["game"]}, SAME)
    _, once = judged(call, {**KIND, "by": ["game"]}, SAME, simultaneous=True)
    assert once["level"] == pytest.approx(1 - 0.05 / 3) and "all 3 intervals" in once["control"]
    for one, wider in zip(each["judged"], once["judged"], strict=True):
        assert wider["estimate"]["low"] < one["estimate"]["low"]
    _, off = judged(call, KIND, SAME, simultaneous=True, options=("--no-simultaneous", "--level", "0.9"))
    assert off["level"] == 0.9
    _, on = judged(call, KIND, SAME, options=("--simultaneous",))
    assert on["level"] == pytest.approx(1 - 0.05 / 2)


def test_slopes_balanced_means_and_every_level_against_one_are_those_of_estimate(call: Call) -> None:
    slope = {"name": "slope", "measure": "cooperation", "over": "seed", "log": True, "within": 2,
             "where": {"seed": [1, 2, 3, 4, 5]}, "mean_over_agents": True}  # fmt: skip
    even = {"name": "even", "measure": "cooperation", "balance": ["agent"], "at_least": 0}
    each = {"name": "each", "measure": "cooperation", "contrast": "agent=*-coin", "between": [-1, 1]}
    some = {**each, "name": "some", "where": {"agent": ["coin", "mostly"]}}
    code, told = judged(call, slope, even, each, some)
    assert code == 0, told
    found = []
    for options in (
        ("--over", "seed", "--log", "--where", "seed=1,2,3,4,5", "--mean-over-agents"),
        ("--balance", "agent"),
        ("--contrast", "agent=*-coin"),
    ):
        done = call("estimate", "s", "cooperation", *options, "--json")
        found += json.loads(done.out)["estimates"]
    own = [(one["estimate"]["low"], one["estimate"]["high"]) for one in told["judged"]]
    for (low, high), one in zip(own[:4], found, strict=True):
        assert low <= one["value"] <= high
    assert [one["group"].get("agent") for one in told["judged"][2:]] == [
        "mostly - coin", "defector - coin", "mostly - coin",
    ]  # fmt: skip


def test_a_study_is_played_with_its_options_within_its_budget(call: Call) -> None:
    scripted.register("first", lambda request: "[A0]")
    made = gates({**KIND, "where": {}, "at_least": 0})
    options = ("--model", "scripted/first", "--preset", "smoke", "--seeds", "1", "--name", "built", "--json")
    done = call("gate", "horizon", "--gates", made, *options, "--budget-calls", "1")
    assert done.code == 3 and "no finished match" in json.loads(done.out)["judged"][0]["reason"], done
    study = json.loads(Path("runs/built/run.json").read_bytes())["study"]
    assert study["seeds"] == 1 and study["budget"]["calls"] == 1


def test_an_interrupted_study_says_so_by_its_code(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is complete here and its gate passes; only that somebody interrupted it decides the code."""
    play = running.play_resolved
    monkeypatch.setattr(running, "play_resolved", lambda *of, **how: replace(play(*of, **how), interrupted=True))
    done = call("gate", "s.yaml", "--gates", gates(KIND), "--json")
    assert done.code == 130 and json.loads(done.out)["answer"] == "pass", done


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("gate", "reason"),
    [
        (NOBODY, "agent has no level 'nobody'"),
        ({**KIND, "where": "seed > 99"}, "no finished match that is asked for has a value"),
        ({**KIND, "where": {"agent": "mostly", "opponents": "mostly", "seed": 0, "game": "stag_hunt"}},
         "it can pass with 19 matches or more"),
        ({**SAME, "where": {"agent": "mostly", "game": "stag_hunt"}}, "must be two of its levels"),
        ({**SAME, "by": ["agent"], "where": "agent = 'coin' OR (agent = 'mostly' AND game = 'stag_hunt')"},
         "only one of the levels"),
        ({**KIND, "by": ["game"], "where": "agent = 'mostly' AND game = 'stag_hunt'"}, "at this level"),
        ({**SAME, "contrast": "agent=*-coin", "by": ["game"], "where": "game = 'stag_hunt' OR agent <> 'mostly'",
          "within": 1}, "only one of the levels"),
    ],
)  # fmt: skip
def test_without_data_nothing_passes(call: Call, gate: dict[str, Any], reason: str) -> None:
    code, told = judged(call, gate)
    assert code in (2, 3) and told["answer"] == "undecided"
    assert any(reason in one["reason"] for one in told["judged"]), told


def test_a_combination_without_a_value_leaves_a_gate_undecided(call: Call) -> None:
    """Nothing is to be repaired where both cooperate, although each level has values elsewhere."""
    players = {"kind": "cooperator", "coin": "random:0.5"}
    vary = {side: {name: {f"types.{side}": who} for name, who in players.items()} for side in ("one", "two")}
    study: dict[str, Any] = {
        "name": "cells", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 6}, "vary": vary,
        "types": dict.fromkeys(vary, "cooperator"), "seating": "seats", "seeds": 3,
    }  # fmt: skip
    Path("cells.yaml").write_text(yaml.safe_dump(study))
    assert call("run", "cells.yaml").code == 0
    rate = {"measure": "repair_rate", "by": ["one", "two"], "approximate": True, "between": [0, 1]}
    none = "no finished match has a value at"
    for where, lacking in (
        ({}, ({"one": "kind", "two": "kind"}, f"{none} these levels")),
        ({"two": "kind"}, ({"one": "kind"}, f"{none} this level")),  # and not one level that is not asked for
    ):
        done = call("gate", "cells", "--gates", gates({"name": "any", **rate, "where": where}), "--json")
        told = [one for one in json.loads(done.out)["judged"] if one["estimate"] is None]
        assert done.code == 3 and [(one["group"], one["reason"]) for one in told] == [lacking], done


def test_unfinished_matches_leave_a_gate_undecided_unless_they_are_allowed(call: Call) -> None:
    gates({**KIND, "where": {"agent": "coin"}, "at_least": 0.1})
    assert call("run", "s.yaml", "--name", "part", "--limit", "60").code == 1
    done = call("gate", "part", "--gates", "gates.yaml", "--json")
    told = json.loads(done.out)
    assert done.code == 3 and told["judged"][0]["reason"] == "12 of 42 matches are not finished", told
    gates({**KIND, "where": {"agent": "coin"}, "at_least": 0.1, "missing": 0.4})
    assert call("gate", "part", "--gates", "gates.yaml").code == 0
    # The same command with the study goes on with the run, so that nothing is missing any more.
    gates({**KIND, "where": {"agent": "coin"}, "at_least": 0.1})
    assert call("gate", "s.yaml", "--gates", "gates.yaml", "--name", "part").code == 0


def test_junit_and_markdown_say_the_same_and_no_text_breaks_them(call: Call) -> None:
    done = call("gate", "s", "--gates", gates(KIND, COIN, NOBODY), "--junit", "j.xml", "--markdown", "m.md")
    assert done.code == 1 and "fail: 1 of 3 passed, 1 failed, 1 undecided" in done.out
    suites = ET.parse("j.xml").getroot()
    (suite,) = suites
    assert (suites.tag, suite.tag, {case.tag for case in suite}) == ("testsuites", "testsuite", {"testcase"})
    assert [[part.tag for part in case] for case in suite] == [["system-out"], ["failure"], ["error"]]
    for counted in (suites, suite):
        told = {key: int(counted.attrib[key]) for key in ("tests", "failures", "errors")}
        found = [len(list(counted.iter(tag))) for tag in ("testcase", "failure", "error")]
        assert list(told.values()) == found == [3, 1, 1] and counted.get("name") == "ostrom gate s"
    assert all(case.get("name") and case.get("classname") == "ostrom.gate" for case in suite)
    assert all(part.get("message") == part.text and part.text for part in suite.iterfind("testcase/*[@type]"))
    assert [part.get("type") for part in suite.iterfind("testcase/*[@type]")] == ["fail", "undecided"]
    text = Path("m.md").read_text()
    assert text.startswith("### `s`: fail") and r"| `coin \| <b>'x' @all` |" in text and "| undecided |" in text
    assert all(
        line.count("`") % 2 == 0 and line.replace("\\|", "").count("|") == 7
        for line in text.splitlines()
        if line.startswith("|")
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gates: []", "gates: "),
        ("gates: 5", "gates.yaml: gates: must be a list"),
        ("- a", "must be a mapping with the key gates"),
        ("gates: [{name: a, measure: cooperation}]", "exactly one of at_least"),
        ("gates: [{name: a, measure: cooperation, at_least: 0, at_most: 1}]", "found at_least and at_most"),
        ("gates: [{name: a, measure: cooperation, within: 1}]", "give contrast or over"),
        ("gates: [{name: a, measure: cooperation, between: [2, 1]}]", "in order"),
        ("gates: [{name: a, measure: cooperation, atleast: 0.1}]", "did you mean 'at_least'?"),
        ("gates: [{name: a, measure: cooperatoin, at_least: 0.1}]", "gate 'a': "),
        ("gates: [{name: a, measure: cooperation, at_least: 0, where: {agnt: x}}]", "did you mean agent"),
        ("gates: [{name: a, measure: cooperation, at_least: .nan}]", "gates"),
        ("gates: [{name: a, measure: cooperation, at_least: 0, contrast: game}]", "must be FACTOR=A-B"),
        ("gates: [{name: a, measure: score, at_least: 0}, {name: a, measure: payoff, at_least: 0}]", "two gates"),
        ("level: 95\ngates: [{name: a, measure: cooperation, at_least: 0}]", "level: must be less than 1"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_line(call: Call, text: str, words: str) -> None:
    Path("gates.yaml").write_text(text)
    done = call("gate", "s", "--gates", "gates.yaml", "--json")
    assert done.code == 2 and not done.out and done.err.count("\n") == 1, done
    assert words in done.err, done.err


def test_wrong_use_is_one_line(call: Call) -> None:
    made = gates(KIND)
    for arguments, words in (
        (("nothing", "--gates", made), "there is no such run"),
        (("s", "--gates", "none.yaml"), "cannot be read"),
        (("s", "--gates", made, "--model", "a/b"), "is a run, which --model cannot change"),
        (("s", "--gates", made, "--junit", "no/x.xml"), "there is no folder"),
        (("s", "--gates", made, "--level", "2"), "--level must lie between"),
    ):
        done = call("gate", *arguments)
        assert done.code == 2 and words in done.err and done.err.count("\n") == 1, done
