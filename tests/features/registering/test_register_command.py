"""`ostrom register`: what it writes, what it refuses, and where outputs say confirmatory or exploratory."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.in_process import Call, caller
from tests.features.registering.conftest import GAMES, PRIMARY
from tests.features.registering.conftest import STUDY as PLAIN

import ostrom
from ostrom.analysis.estimate import Estimate
from ostrom.analysis.registration import Registration
from ostrom.engine.folder import manifest_bytes
from ostrom.features.registering import pages
from ostrom.ground.errors import UsageError
from ostrom.models.providers import scripted

STUDY = PLAIN.replace("name: s\n", 'name: s\ntitle: "Kind <b>or</b> *wild*?"\n')
OPEN = """\
name: open
game: prisoners_dilemma
agent: {style: direct}
vary: {game: [prisoners_dilemma, stag_hunt]}
seeds: 2
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    (tmp_path / "s.yaml").write_text(STUDY)
    (tmp_path / "open.yaml").write_text(OPEN)
    scripted.register("new", "[A0]")
    yield caller(monkeypatch, tmp_path)
    scripted.unregister("new")


def content(file: str = "registration.yaml") -> dict[str, Any]:
    return dict(yaml.safe_load(Path(file).read_text()))


def estimate(low: float | None, high: float | None) -> Estimate:
    return Estimate({}, 0.0 if low is None or high is None else (low + high) / 2, low, high, 9, "match", "t")


def test_pages_have_no_line_that_a_stranger_wrote(call: Call) -> None:
    """A registration that fits its hash can still hold any text."""
    call("register", "s.yaml", *PRIMARY)
    told = content()
    evil = "</td><script>alert(1)</script> [x](javascript:1)\n# heading | `code`"
    told["exclusions"] = {evil: evil}
    told["earlier"], told["eligible"], told["multiplicity"] = [evil], evil, evil
    told["sample"]["note"] = evil
    told["sample"]["power"] = [{"contrast": evil, "power": evil}]
    made = Registration.model_validate(told)
    for shown in (pages.html(made), pages.markdown(made)):
        assert "<script" not in shown
    assert not any(line.startswith("# heading") for line in pages.markdown(made).splitlines())


@pytest.mark.slow
def test_every_missing_field_is_named(call: Call) -> None:
    call("register", "s.yaml", *PRIMARY)
    told = content()
    for field in told:
        Path("part.yaml").write_text(yaml.safe_dump({k: v for k, v in told.items() if k != field}))
        done = call("register", "--check", "part.yaml")
        assert done.code == 2 and done.err == f"ostrom: part.yaml: {field}: is missing\n"
    Path("part.yaml").write_text(yaml.safe_dump({**told, "created": "2026-13-01T00:00:00Z"}))
    done = call("register", "--check", "part.yaml")
    assert done.code == 2 and "created: must be a time such as" in done.err


@pytest.mark.slow
def test_a_rule_in_place_of_a_model(call: Call) -> None:
    done = call("register", "open.yaml", *GAMES, "--eligible", "first model of NEW released after 2026-12-01")
    assert done.code == 0, done.err
    told = content()
    assert told["eligible"].startswith("first model") and told["models"] == []
    assert told["study"]["types"] == {"{eligible}": {"model": "{eligible}"}}
    assert call("register", "--check", "registration.yaml").code == 0
    assert call("run", "open.yaml", "--registered", "registration.yaml").code == 2  # it names no model
    asked = ("run", "open.yaml", "--registered", "registration.yaml", "--model", "scripted/new")
    assert call(*asked).code == 0
    done = call("register", "--check", "registration.yaml", "open", "--json")
    (one,) = json.loads(done.out)["registered"]
    assert done.code == 0 and one["deviations"] == [], one
    scripted.register("newer", "[A0]")
    assert call(*asked, "--model", "scripted/newer", "--name", "two").code == 0
    (one,) = json.loads(call("register", "--check", "registration.yaml", "two", "--json").out)["registered"]
    scripted.unregister("newer")
    assert one["status"] == "exploratory" and "one model was registered by a rule" in one["deviations"][0]["text"]


@pytest.mark.slow
def test_a_stopping_rule_is_judged_by_bounds_that_know_of_looks(call: Call) -> None:
    rule = "{width: 0.4, at_least: 5, at_most: 40, every: 5}"
    assert call("register", "s.yaml", *PRIMARY, "--smallest", "0.1", "--stop", rule).code == 0
    told = content()
    assert told["sample"]["interval"] == "anytime" and told["sample"]["seeds"] == 40
    assert told["study"]["stop"]["contrast"] == "agent=kind - wild" and "5 to 40 seeds" in told["sample"]["stop"]
    assert "At most 40 seeds: " in Path("registration.md").read_text()
    asked = ("run", "s.yaml", "--registered", "registration.yaml")
    assert call(*asked, "--limit", "10").code == 1
    call("estimate", "s", "cooperation")
    assert call(*asked).code == 0
    (one,) = json.loads(call("register", "--check", "registration.yaml", "s", "--json").out)["registered"]
    assert one["complete"] and one["contrasts"][0]["estimate"]["method"] == "betting"
    assert [of["kind"] for of in one["deviations"]] == ["looks"], one["deviations"]
    asked_now = call("estimate", "s", "cooperation", "--contrast", "agent=kind - wild", "--json")
    assert json.loads(asked_now.out)["label"] == "exploratory"  # its interval knows nothing of the looks
    # A session that was killed between looks: all that is planned so far was played, and the rule goes on.
    looks = json.loads(Path("runs/s/looks.json").read_bytes())
    Path("runs/s/looks.json").write_text(json.dumps([*looks[:-1], {**looks[-1], "stop": False}]))
    call("estimate", "s", "cooperation")
    (one,) = json.loads(call("register", "--check", "registration.yaml", "s", "--json").out)["registered"]
    assert not one["complete"] and "2 looks before it was complete" in one["deviations"][-1]["text"]
    assert one["contrasts"][0]["estimate"] is None


def test_python_binds_a_run_as_the_command_does(call: Call) -> None:
    made = ostrom.commands.register("s.yaml", primary=[PRIMARY[1]])
    run = ostrom.play("s.yaml", registered="registration.yaml", progress=False)
    told = ostrom.commands.register("s", check="registration.yaml")
    assert told["registered"][0]["status"] == "confirmatory" and told["hash"] == made["hash"]
    assert ostrom.commands.estimate([str(run.path), "cooperation"])["label"] == "exploratory"
    with pytest.raises(UsageError, match="registered: give this to"):
        ostrom.play(ostrom.study("s.yaml"), registered="registration.yaml", name="other", progress=False)


def test_a_manifest_with_a_broken_registration_is_refused_in_one_line(call: Call) -> None:
    call("register", "s.yaml", *PRIMARY)
    call("run", "s.yaml", "--registered", "registration.yaml")
    path = Path("runs/s/run.json")
    kept = json.loads(path.read_bytes())
    del kept["checksum"]
    for broken, said in (
        ({"hash": kept["registered"]["hash"], "created": "yesterday"}, "registered.created"),
        ({"hash": 5, "created": kept["created"]}, "registered.hash"),
        ({"hash": kept["registered"]["hash"], "created": kept["created"]}, "registered.registration: is missing"),
    ):
        path.write_bytes(manifest_bytes({**kept, "registered": broken}))
        done = call("estimate", "s", "cooperation")
        assert done.code in (1, 2) and said in done.err and done.err.count("\n") == 1, done
    path.write_bytes(manifest_bytes({**kept, "created": "long ago"}))
    done = call("estimate", "s", "cooperation")
    assert done.code == 1 and "run.json: created: time data" in done.err and done.err.count("\n") == 1, done
