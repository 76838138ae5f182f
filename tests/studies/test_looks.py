"""Sequential designs: seeds are played until the criterion is met, and no interruption changes the decision."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import Call, caller

import ostrom
from ostrom.analysis.estimate import contrast

STUDY = """\
name: seq
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 8}
types: {a: "random:0.5"}
vary:
  p: {low: {types.a: "random:0.5"}, high: {types.a: "random:0.8"}}
stop: {measure: cooperation, contrast: p=high-low, RULE, at_least: 3, at_most: 24, every: 3}
"""
WIDTH, FACTOR = "width: 0.8", "bayes_factor: 6"


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    (tmp_path / "w.yaml").write_text(STUDY.replace("RULE", WIDTH))
    (tmp_path / "b.yaml").write_text(STUDY.replace("RULE", FACTOR).replace("name: seq", "name: bf"))
    return caller(monkeypatch, tmp_path)


def looks(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(f"runs/{name}/looks.json").read_bytes())
    return found


def seeds(name: str) -> int:
    return int(json.loads(Path(f"runs/{name}/run.json").read_bytes())["study"]["seeds"])


@pytest.mark.slow
def test_it_stops_at_the_first_look_that_meets_the_criterion_and_says_so(call: Call) -> None:
    done = call("run", "w.yaml", "--json")
    taken = looks("seq")
    assert done.code == 0 and json.loads(done.out)["complete"]
    assert [look["stop"] for look in taken] == [False] * (len(taken) - 1) + [True] and 3 < taken[-1]["seeds"] < 24
    assert taken[-1]["criterion"] <= 0.8 < taken[-2]["criterion"] and seeds("seq") == taken[-1]["seeds"]
    told = json.loads(call("estimate", "seq", "cooperation", "--contrast", "p=high-low", "--json").out)
    (one,) = told["estimates"]
    assert one["value"] == taken[-1]["value"] and taken[-1]["method"] == "betting"
    assert taken[-1]["low"] < one["low"] < one["high"] < taken[-1]["high"]
    assert f"stopped after {taken[-1]['seeds']} seeds, because the criterion is met" in told["stopping"][0]
    assert call("report", "seq").code == 0
    assert "interval at most 0.8 wide" in Path("runs/seq/report/index.html").read_text()
    assert call("run", "b.yaml").code == 0
    assert looks("bf")[-1]["criterion"] >= 6 and all(1 / 6 < look["criterion"] < 6 for look in looks("bf")[:-1])


@pytest.mark.slow
def test_interruptions_change_no_look_and_nothing_is_played_beyond_the_decision(call: Call) -> None:
    assert call("run", "w.yaml").code == 0
    whole = looks("seq")
    for _ in range(60):
        done = call("run", "w.yaml", "--name", "cut", "--limit", "5")
        if done.code == 0:
            break
        assert done.code == 1
    assert looks("cut") == whole and seeds("cut") == seeds("seq")
    # Killed between the last match and its look: the look is taken again from the matches.
    Path("runs/cut/looks.json").unlink()
    assert call("resume", "cut").code == 0 and looks("cut") == whole and seeds("cut") == seeds("seq")
    changed = [{**whole[0], "criterion": 0.1}, *whole[1:]]
    Path("runs/cut/looks.json").write_text(json.dumps(changed))
    refused = call("resume", "cut")
    assert refused.code == 1 and "is on record with criterion 0.1" in refused.err and refused.err.count("\n") == 1


@pytest.mark.slow
def test_looks_on_record_that_had_another_interval_stand(call: Call) -> None:
    """A run of an earlier release decided by its own interval; a changed value is refused all the same."""
    assert call("run", "w.yaml").code == 0
    whole = looks("seq")
    old = [{key: value for key, value in look.items() if key not in ("method", "version")} for look in whole]
    old[0] |= {"criterion": 1.7, "low": -0.9, "high": 0.8}
    old[-1] |= {"stop": False, "why": ""}
    Path("runs/seq/looks.json").write_text(json.dumps(old))
    assert call("resume", "seq").code == 0
    again = looks("seq")
    assert again[: len(old)] == [{**look, "method": "", "version": 1} for look in old] and len(again) > len(old)
    Path("runs/seq/looks.json").write_text(json.dumps([{**old[0], "value": 0.123}]))
    assert "the look after 3 seeds is on record" in call("resume", "seq").err


@pytest.mark.slow
def test_a_look_sees_whole_blocks_of_seeds_in_any_order(call: Call) -> None:
    """A run that has more seeds than a look is about gives the same look: only the first seeds count."""
    from ostrom.analysis.stopping import StopRule
    from ostrom.data.rundata import run_data
    from ostrom.studies.design import look_at
    from ostrom.studies.run import open_run

    assert call("run", "w.yaml", "--set", "stop=null", "--name", "all", "--seeds", "24").code == 0
    assert call("run", "w.yaml").code == 0
    rule = StopRule(measure="cooperation", contrast="p=high-low", width=0.8, at_least=3, at_most=24, every=3)
    with open_run(Path("runs/all")) as opened, run_data(opened.rows, Path("runs/all"), opened.manifest) as data:
        again = [look_at(data, rule, look["seeds"]).as_dict() for look in looks("seq")]
    assert again == looks("seq")


@pytest.mark.slow
def test_the_largest_number_of_seeds_ends_it(call: Call) -> None:
    assert call("run", "w.yaml", "--set", "stop.width=0.01", "--set", "stop.at_most=7").code == 0
    assert [look["seeds"] for look in looks("seq")] == [3, 6, 7]
    assert looks("seq")[-1]["why"] == "the largest number of seeds is reached"


@pytest.mark.slow
@pytest.mark.parametrize("low", ["grim", "random:0.5"])
def test_a_measure_without_values_so_far_does_not_end_the_run(call: Call, low: str) -> None:
    """Nothing is to be repaired where all cooperate: looks see nothing, and the most seeds are played."""
    kind = ("--set", f"vary.p.low.types.a={low}", "--set", "vary.p.high.types.a=cooperator")
    rule = ("--set", "stop.measure=repair_rate", "--set", "stop.at_most=5", "--set", "stop.every=1")
    for _ in range(2):  # what is on record is what a second look sees
        assert call("run", "w.yaml", *kind, *rule).code == 0
        assert [look["seeds"] for look in looks("seq")] == [3, 4, 5] and seeds("seq") == 5
        assert {(look["n"], look["value"], look["criterion"]) for look in looks("seq")} == {(0, None, None)}
    assert looks("seq")[-1]["why"] == "the largest number of seeds is reached"
    assert "stopped after 5 seeds" in " ".join(call("estimate", "seq", "cooperation").out.split())


def test_level_and_where_of_the_rule_are_those_of_its_looks(call: Call) -> None:
    rule = ("--set", "stop.level=0.8", "--set", "stop.where={seed: [0, 1]}", "--set", "stop.at_most=6")
    assert call("run", "w.yaml", *rule, "--set", "stop.width=0.001").code == 0
    with ostrom.open_run("seq").data() as data:
        (told,) = contrast(data, "cooperation", "p", "high - low", where={"seed": [0, 1]})
    bounds = told.at_level(0.8, guaranteed=True)
    assert bounds.low is not None and bounds.high is not None
    # Cells draw their own chance, so both matches of each side count.
    assert [(look["seeds"], look["n"]) for look in looks("seq")] == [(3, 4), (6, 4)]
    assert all((look["low"], look["high"]) == (bounds.low, bounds.high) for look in looks("seq"))
    wider = told.at_level(0.95, guaranteed=True)
    assert wider.low is not None and wider.low < bounds.low


def test_a_factor_against_a_difference_stops_as_well(call: Call) -> None:
    same = ("--set", "vary.p.high.types.a=random:0.501", "--set", "stop.bayes_factor=1.5")
    assert call("run", "b.yaml", *same, "--set", "stop.at_most=60").code == 0
    assert looks("bf")[-1]["criterion"] <= 1 / 1.5 and looks("bf")[-1]["why"] == "the criterion is met"


def test_a_dry_run_shows_the_most_seeds_and_seeds_of_the_study_are_not_used(call: Call) -> None:
    Path("w.yaml").write_text(Path("w.yaml").read_text() + "seeds: 5\n")
    told = json.loads(call("run", "w.yaml", "--dry-run", "--json").out)
    assert told["matches"] == 2 * 24, told
    assert call("run", "w.yaml", "--set", "stop.width=1.9").code == 0 and seeds("seq") == 3


@pytest.mark.slow
def test_power_shows_what_looking_costs(call: Call) -> None:
    told = json.loads(
        call(
            "power", "w.yaml", "--effect", "0.6", "--baseline", "0.2", "--sd", "0.15", "--simulations", "100", "--json"
        ).out
    )  # fmt: skip
    there, nothing = told["sequences"]
    assert there["excludes"] > 0.5 > 0.05 > nothing["excludes"] and min(there["covers"], nothing["covers"]) > 0.95
    assert 3 <= there["mean_seeds"] <= 24 and told["looks"] == [3, 6, 9, 12, 15, 18, 21, 24]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("width: 0", "stop.width: must be more than 0"),
        ("width: 0.1, bayes_factor: 3", "exactly one of width and bayes_factor"),
        ("level: 0.9", "exactly one of width and bayes_factor"),
        ("width: 0.1, at_leest: 3", "did you mean 'at_least'?"),
        ("width: 0.1, by: [p]", "one contrast"),
        ("width: 0.1, level: 2", "stop.level: must be less than 1"),
    ],
)
def test_a_wrong_rule_is_one_line(call: Call, rule: str, words: str) -> None:
    Path("w.yaml").write_text(STUDY.replace("RULE", rule))
    done = call("run", "w.yaml")
    assert done.code == 2 and words in done.err and done.err.count("\n") == 1, done


def test_what_the_study_cannot_give_is_refused_before_it_is_played(call: Call) -> None:
    for change, words in (
        ("stop.contrast=p=high-lo", "did you mean 'low'?"),
        ("stop.measure=cooperatoin", "did you mean cooperation"),
    ):
        done = call("run", "w.yaml", "--set", change)
        assert done.code == 2 and words in done.err and not Path("runs").exists(), done
    done = call("run", "w.yaml", "--seeds", "9")
    assert done.code == 2 and "stop.at_least to stop.at_most" in done.err
