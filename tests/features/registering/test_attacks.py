"""Further ways around a registration: what is played from files beside the study, precomputed, shared or looked at."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.cli.in_process import Call
from tests.features.registering.conftest import PRIMARY, STUDY
from tests.features.registering.test_cheating import checked, kinds, registered

from ostrom.engine.folder import manifest_bytes
from ostrom.view.figures import answered

GAME = """\
actions: [give, keep]
cooperative: give
payoffs: {"give, give": [3, 3], "give, keep": [0, 5], "keep, give": [5, 0], "keep, keep": [1, 1]}
"""


def test_fewer_seeds_then_a_look_then_the_registered_seeds(call: Call) -> None:
    registered(call)
    done = call("run", "s.yaml", "--registered", "r.yaml", "--seeds", "3")
    assert done.code == 0 and "results are not shown" in done.err and "cooperation" not in done.out
    call("estimate", "s", "cooperation")
    assert call("resume", "s", "--seeds", "6").code == 0
    (look,) = checked(call)["deviations"]
    assert look == {"kind": "looks", "text": "1 look before it was complete (after 12 of 24 matches)"}


def test_a_game_file_that_is_edited_is_another_study(call: Call) -> None:
    Path("own.yaml").write_text(GAME)
    Path("s.yaml").write_text(STUDY.replace("game: prisoners_dilemma\n", "game: own.yaml\n").replace(
        "vary: {game: [prisoners_dilemma, stag_hunt]}\n", ""))  # fmt: skip
    registered(call)
    assert call("run", "s.yaml", "--registered", "r.yaml", "--limit", "2").code == 1
    Path("own.yaml").write_text(GAME.replace("[3, 3]", "[4, 4]"))
    assert call("register", "--check", "r.yaml").code == 1
    done = call("run", "s.yaml", "--registered", "r.yaml")
    assert done.code == 1 and "own.yaml was changed" in done.err
    kept = Path("runs/s/own.yaml")
    kept.write_text(Path("own.yaml").read_text())
    done = call("resume", "s")
    assert done.code == 1 and "own.yaml was changed" in done.err
    kept.write_text(GAME)
    assert call("run", "s.yaml", "--registered", "r.yaml", "--name", "edited").code == 0
    told = checked(call, "edited")
    assert told["status"] == "exploratory"
    assert told["deviations"] == [{"kind": "prompts", "text": "own.yaml is another text"}]
    Path("own.yaml").write_text(GAME)  # and back again
    assert call("resume", "s").code == 0 and checked(call)["deviations"] == []
    assert checked(call, "edited")["status"] == "exploratory"


def test_code_that_is_edited_is_another_study(call: Call) -> None:
    Path("own.py").write_text("def mine(history):\n    return True\n")
    Path("s.yaml").write_text(STUDY.replace('kind: "random:0.9"', "kind: own.py:mine"))
    assert call("--allow-code", "own.py", "register", "s.yaml", *PRIMARY, "--out", "r.yaml").code == 0
    Path("own.py").write_text("def mine(history):\n    return False\n")
    assert call("--allow-code", "own.py", "run", "s.yaml", "--registered", "r.yaml").code == 0
    told = checked(call)
    assert told["status"] == "exploratory" and kinds(told) == ["study"]


@pytest.mark.slow
def test_answers_that_were_computed_beforehand_are_refused(call: Call) -> None:
    Path("s.yaml").write_text(
        "{name: s, game: prisoners_dilemma, mechanism: {name: repetition, rounds: 2}, seating: unordered, seeds: 3,\n"
        "agent: {style: direct, params: {temperature: 0}},\n"
        "types: {kind: {model: scripted/first, tree: auto}, wild: 'random:0.3'}}"
    )
    assert call("more", "tree", "s.yaml", "--yes").code == 0
    time.sleep(1.1)  # registrations and runs state whole seconds
    registered(call)
    done = call("run", "s.yaml", "--registered", "r.yaml")
    assert done.code == 1 and "runs/trees/s: its answers were asked for from " in done.err, done
    assert not Path("runs/s").exists()
    Path("runs/trees/s").rename("runs/trees/old")
    assert call("more", "tree", "s.yaml", "--yes").code == 0
    assert call("run", "s.yaml", "--registered", "r.yaml", "--limit", "2").code == 1
    shutil.rmtree("runs/trees/s")
    Path("runs/trees/old").rename("runs/trees/s")
    for again in (("resume", "s"), ("run", "s.yaml")):
        done = call(*again)
        assert done.code == 1 and "the run is bound to a registration" in done.err, done


def test_runs_that_are_bound_to_the_same_registration_are_named(call: Call) -> None:
    registered(call)
    for name in ("first", "second"):
        assert call("run", "s.yaml", "--registered", "r.yaml", "--name", name).code == 0
    told = checked(call, "second")
    assert told["deviations"] == [] and [one.partition(" ")[0] for one in told["others"]] == ["first"]
    assert "Bound to the same registration too: first (created 2" in call("report", "second").out


def test_a_branch_of_a_registered_run_is_not_bound(call: Call) -> None:
    registered(call)
    call("run", "s.yaml", "--registered", "r.yaml")
    done = json.loads(call("more", "branch", "s", "--match", "0", "--at", "2", "--name", "b", "--json").out)
    assert done["label"] == "exploratory" and done["registered"][0]["run"] == "s"
    assert "registered" not in orjson.loads(Path("runs/b/run.json").read_bytes())
    told = checked(call, "b")
    assert told["status"] == "exploratory" and "was played without this registration" in told["reasons"][0]


def test_matches_that_are_taken_out_of_the_journal_or_the_tables(call: Call) -> None:
    import sqlite3

    registered(call)
    call("run", "s.yaml", "--registered", "r.yaml")
    whole = checked(call)["contrasts"]
    call("estimate", "s", "cooperation")
    table = Path("runs/s/matches.parquet")
    table.unlink()  # tables are made again from the journal
    assert checked(call)["contrasts"] == whole
    for wanted in ("DELETE FROM units WHERE unit < 2", "DELETE FROM plays WHERE unit = 3"):  # fmt: skip
        shutil.copytree("runs/s", "runs/cut")
        with sqlite3.connect("runs/cut/journal.db") as journal:
            journal.execute(wanted)
        journal.close()
        done = call("estimate", "cut", "cooperation")
        assert done.code == 1 and "journal.db" in done.err, (wanted, done)
        shutil.rmtree("runs/cut")


@pytest.mark.slow
def test_a_shared_run_that_was_changed(call: Call) -> None:
    """A shared copy keeps the looks and versions; its tables and its registration are sealed."""
    registered(call)
    assert call("run", "s.yaml", "--registered", "r.yaml", "--limit", "7").code == 1
    call("estimate", "s", "cooperation")
    assert call("resume", "s").code == 0
    assert call("export", "s", "--format", "shared", "--out", "copy").code == 0
    assert kinds(checked(call, "copy")) == ["looks"]
    asked = ("estimate", "copy", "cooperation", "--json")
    assert json.loads(call(*asked).out)["registered"][0]["deviations"][0]["kind"] == "looks"
    for file, new in (("run.json", b"{}"), ("matches.parquet", b"")):
        kept = Path("copy", file).read_bytes()
        Path("copy", file).write_bytes(new or Path("copy/decisions.parquet").read_bytes())
        assert call(*asked).code == 1
        Path("copy", file).write_bytes(kept)
    manifest: dict[str, Any] = orjson.loads(Path("copy/run.json").read_bytes())
    del manifest["checksum"]
    manifest["registered"]["level"] = 0.8
    Path("copy/run.json").write_bytes(manifest_bytes(manifest))
    done = call(*asked)
    assert done.code == 2 and "was changed after it was registered" in done.err


@pytest.mark.slow
def test_a_look_by_the_viewer_or_a_static_copy_is_recorded(call: Call) -> None:
    registered(call)
    for name, looked in (
        ("pages", lambda: answered({"asked": "first", "folder": "runs/pages"})),
        ("copied", lambda: call("view", "bundle", "copied", "--out", "b", "--no-report")),
    ):
        assert call("run", "s.yaml", "--registered", "r.yaml", "--name", name, "--limit", "5").code == 1
        looked()
        assert call("resume", name).code == 0
        assert kinds(checked(call, name)) == ["looks"], name
    assert "Everything else on this page is exploratory." in Path("b/index.html").read_text()


def test_seeds_that_are_raised_until_a_gate_decides_are_reported(call: Call) -> None:
    registered(call)
    call("run", "s.yaml", "--registered", "r.yaml")
    Path("gates.yaml").write_text("gates: [{name: a, measure: cooperation, where: {agent: kind}, at_least: 0.89}]")
    more = ("--until-decided", "--most-seeds", "12", "--json")
    told = json.loads(call("gate", "s", "--gates", "gates.yaml", *more).out)
    assert told["label"] == "exploratory"
    assert [one["kind"] for one in told["registered"][0]["deviations"]] == ["seeds"]


def test_an_import_cannot_be_bound(call: Call) -> None:
    """What was played elsewhere is read by `import`, which takes no registration."""
    registered(call)
    done = call("import", "x.csv", "--registered", "r.yaml")
    assert done.code == 2 and "--registered" in done.err
