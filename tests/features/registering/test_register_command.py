"""`ostrom register`: what it writes, what it refuses, and where outputs say confirmatory or exploratory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.in_process import Call, caller

import ostrom
from ostrom.analysis.estimate import Estimate
from ostrom.analysis.registered import verdict
from ostrom.analysis.registration import RegisteredContrast, Registration, read_contrast
from ostrom.data.early_looks import DECIDED, EarlyLook, goes_on
from ostrom.engine.folder import manifest_bytes
from ostrom.features.registering import pages
from ostrom.ground.errors import UsageError
from ostrom.models.providers import scripted

STUDY = """\
name: s
title: "Kind <b>or</b> *wild*?"
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 10}
types: {kind: "random:0.9", wild: "random:0.3"}
vary: {game: [prisoners_dilemma, stag_hunt]}
seeds: 6
"""
OPEN = """\
name: open
game: prisoners_dilemma
agent: {style: direct}
vary: {game: [prisoners_dilemma, stag_hunt]}
seeds: 2
"""
PRIMARY = ("--primary", "cooperation: agent kind - wild > 0")
GAMES = ("--primary", "cooperation: game prisoners_dilemma - stag_hunt != 0")


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    (tmp_path / "s.yaml").write_text(STUDY)
    (tmp_path / "open.yaml").write_text(OPEN)
    scripted.register("new", "[A0]")
    yield caller(monkeypatch, tmp_path)
    scripted.unregister("new")


def content(file: str = "registration.yaml") -> dict[str, Any]:
    return dict(yaml.safe_load(Path(file).read_text()))


def test_a_contrast_is_read_as_people_state_it() -> None:
    one = read_contrast("cooperation: history_length 80 - 2 < 0", "--primary", 0.05)
    assert one.query.pair == ("history_length", "80 - 2") and one.direction == "less" and one.smallest == 0.05
    assert one.words == "cooperation, history_length: 80 - 2 < 0"
    assert read_contrast("cooperation: history_length 80 - 2 <0", "--primary", 0.05) == one
    two = read_contrast("delay:3: k=a-b != 0 where game=x,y and agent=z", "--primary", None)
    assert (two.measure, two.query.pair) == ("delay:3", ("k", "a-b"))
    assert two.where == {"game": ["x", "y"], "agent": ["z"]} and two.direction == "different"
    for text, said in (
        ("cooperation", "must be"), ("cooperation: k 80 - 2", "must be"), ("cooperation: k 80 < 0", "FACTOR=A-B"),
        ("cooperation: k 80 - 2 < 0.1", "must compare with 0"), ("cooperation: k * - 2 < 0", "FACTOR=A-B"),
        ("cooperation: k 80 - 2 < 0 where game", "COLUMN=LEVEL"),
        ("cooperation: k 80 - 2 < 0 where a=1 and a=2", "a column once"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=r"--primary") as caught:
            read_contrast(text, "--primary", None)
        assert said in str(caught.value)


def estimate(low: float | None, high: float | None) -> Estimate:
    return Estimate({}, 0.0 if low is None or high is None else (low + high) / 2, low, high, 9, "match", "t")


@pytest.mark.parametrize(
    ("direction", "support", "within", "answer"),
    [
        ("less", (-0.3, -0.1), (-0.29, -0.11), "support"),
        ("less", (0.1, 0.3), (0.11, 0.29), "contradiction"),
        ("greater", (0.1, 0.3), (0.11, 0.29), "support"),
        ("greater", (-0.3, -0.1), (-0.29, -0.11), "contradiction"),
        ("different", (-0.3, -0.1), (-0.29, -0.11), "support"),
        ("different", (0.1, 0.3), (0.11, 0.29), "support"),
        ("less", (-0.3, 0.1), (-0.2, 0.09), "undecided"),
        ("less", (-0.3, 0.0), (-0.2, -0.01), "undecided"),
        ("greater", (0.0, 0.3), (0.01, 0.2), "undecided"),
        ("different", (-0.3, 0.0), (-0.2, -0.01), "undecided"),
        # A difference that is surely there and surely too small to matter is no support.
        ("less", (-0.045, -0.01), (-0.04, -0.02), "absence"),
        ("less", (-0.06, 0.03), (-0.049, 0.02), "absence"),
        ("less", (-0.06, 0.06), (-0.05, 0.05), "undecided"),
        ("less", (-0.06, 0.06), (-0.06, 0.04), "undecided"),
        ("less", (-0.06, 0.06), (-0.04, 0.06), "undecided"),
        ("greater", (None, None), (None, None), "undecided"),
    ],
)
def test_what_counts_as_support_absence_and_undecided(
    direction: Any, support: Any, within: Any, answer: str
) -> None:
    one = RegisteredContrast(
        measure="cooperation", contrast="k=a-b", where={}, direction=direction, smallest=0.05
    )
    assert verdict(one, estimate(*support), estimate(*within)) == answer
    if answer == "absence":  # without a smallest effect there is no absence
        free = one.model_copy(update={"smallest": None})
        assert verdict(free, estimate(*support), None) != "absence"


@pytest.mark.slow
def test_everything_is_written_out_with_its_power(call: Call) -> None:
    more = (
        "--secondary",
        "score: game prisoners_dilemma - stag_hunt < 0 where agent=kind",
        "--smallest",
        "0.2",
    )
    done = call("register", "s.yaml", *PRIMARY, *GAMES, *more, "--level", "0.9", "--seeds", "5")
    assert done.code == 0, done.err
    told = content()
    assert set(told) == set(Registration.model_fields) and done.out.startswith(f"hash: {told['hash']}\n")
    assert told["sample"]["seeds"] == told["study"]["seeds"] == 5 and told["stated"]["seeds"] == 5
    first, second = told["sample"]["power"]
    assert first["effect"] == 0.2 and first["level"] == second["level"] == 0.95 and 0 <= first["power"] <= 1
    assert first["assumed"]["baseline"] == 0.5 and first["n"] == 10
    assert (
        "two one-sided tests at 0.05 each" in told["decisions"]["absence"]
        and "0.9 interval" in told["decisions"]["absence"]
    )
    assert told["secondary"][0]["where"] == {"agent": ["kind"]}
    assert told["exclusions"]["unreadable answers"] == "3 retries, then fail"
    page, text = Path("registration.html").read_text(), Path("registration.md").read_text()
    for shown in (page, text):
        assert (
            told["hash"] in shown and "No tool can see runs and registrations that were thrown away" in shown
        )
        assert "<b>or" not in shown and "Power " in shown
    assert "Kind &lt;b&gt;or&lt;/b&gt; *wild*?" in page and r"Kind &lt;b&gt;or&lt;/b&gt; \*wild\*?" in text
    again = call("register", "s.yaml", *PRIMARY)
    assert again.code == 2 and "registration.yaml: is there already" in again.err
    facts = json.loads(call("validate", "registration.yaml", "--json").out)
    assert (facts["kind"], facts["hash"]) == ("registration", told["hash"])
    assert content()["hash"] == told["hash"]


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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("register",), "--primary is needed"),
        (("register", *PRIMARY), "name a study"),
        (("register", "s.yaml", *PRIMARY, "--played", "s"), "name a study"),
        (("register", "s.yaml", "--primary", "cooperation: agent kind - mild > 0"), "mild"),
        (("register", "s.yaml", "--primary", "cooperation: nothing a - b > 0"), "nothing"),
        (("register", "s.yaml", "--primary", "kindness: agent kind - wild > 0"), "kindness"),
        (("register", "s.yaml", *PRIMARY, "--smallest", "0"), "--smallest must be a number above 0"),
        (("register", "s.yaml", *PRIMARY, "--smallest", "nan"), "--smallest must be a number above 0"),
        (("register", "s.yaml", *PRIMARY, "--level", "0.5"), "--level must lie between 0.8 and 1"),
        (("register", "s.yaml", *PRIMARY, "--out", "r.json"), "must end in .yaml"),
        (("register", "s.yaml", *PRIMARY, "--out", "no/r.yaml"), "there is no folder no"),
        (("register", "s.yaml", *PRIMARY, "--stop", "5"), "--stop: must be a mapping"),
        (("register", "s.yaml", *PRIMARY, "--stop", "{width: 0.1}"), "at_most"),
        (
            ("register", "s.yaml", *PRIMARY, "--stop", "{width: 0.1, at_most: 9}", "--seeds", "3"),
            "exclude each other",
        ),
        (("register", "open.yaml", *GAMES, "--eligible", " "), "--eligible must say in words"),
        (
            ("register", "open.yaml", *GAMES, "--eligible", "x", "--model", "scripted/new"),
            "exclude each other",
        ),
        (("register", "--check", "none.yaml"), "none.yaml: cannot be read"),
        (("register", "--check", "s.yaml"), "s.yaml"),
        (("register", "--check", "list.yaml"), "list.yaml: must be a registration"),
        (("register", "--check", "large.yaml"), "a registration has at most"),
        (("register", "--check", "s.yaml", *PRIMARY), "and no --primary"),
        (
            ("register", "repeated-games-people", *PRIMARY),
            "is a study with people; a registration is that of",
        ),
        (("run", "s.yaml", "--registered", "list.yaml"), "list.yaml: must be a registration"),
        (
            (
                "register",
                "s.yaml",
                "--primary",
                "total_gain: agent kind - wild > 0",
                "--stop",
                "{width: 1, at_most: 9}",
            ),
            "has no declared bounds",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(call: Call, given: tuple[str, ...], said: str) -> None:
    Path("list.yaml").write_text("[1, 2]")
    Path("large.yaml").write_text("")
    os.truncate("large.yaml", 5 << 20)
    done = call(*given)
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1, done
    assert not Path("registration.yaml").exists() and not Path("runs").exists()


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
def test_every_output_says_what_it_is(call: Call) -> None:
    call("register", "s.yaml", *PRIMARY)
    call("run", "s.yaml", "--registered", "registration.yaml")
    Path("gates.yaml").write_text("gates: [{name: a, measure: cooperation, at_least: 0}]")
    call("run", "s.yaml", "--name", "free")
    for command in (
        ("test", "s", "cooperation", "--factor", "agent"),
        ("gate", "s", "--gates", "gates.yaml"),
        ("compare", "s", "free"),
        ("report", "s"),
        ("estimate", "s", "cooperation"),
        ("estimate", "s", "free", "cooperation", "--contrast", "agent=kind-wild"),
    ):
        told = json.loads(call(*command, "--json").out)
        (one,) = told["registered"]
        assert (told["label"], one["status"], one["run"]) == ("exploratory", "confirmatory", "s"), command
        assert one["contrasts"][0]["verdict"] == "support" and "thrown away" in one["limits"]
        shown = call(*command).out
        assert "Confirmatory, no deviation found" in shown
        if command[0] != "report":
            assert "what follows is exploratory:" in shown and "registered contrasts" in shown
    rows = call("estimate", "s", "cooperation", "--contrast", "agent=kind-wild", "--csv").out.splitlines()
    assert rows[0].endswith(",label") and rows[1].endswith(",confirmatory")
    page = Path("runs/s/report/index.html").read_text()
    at = [
        page.index(text)
        for text in ("Confirmatory, no deviation found", "support <small>primary", "is exploratory")
    ]
    assert at == sorted(at) and at[-1] < page.index("<details")
    for command in (
        ("estimate", "free", "cooperation"),
        ("gate", "free", "--gates", "gates.yaml"),
        ("report", "free"),
    ):
        assert "registered" not in json.loads(call(*command, "--json").out)
    assert "exploratory" not in Path("runs/free/report/index.html").read_text()
    reference = json.loads(call("register", "--check", "registration.yaml", "--json").out)
    assert reference["study_here"] == []


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
    assert (
        one["status"] == "exploratory"
        and "one model was registered by a rule" in one["deviations"][0]["text"]
    )


@pytest.mark.slow
def test_a_stopping_rule_is_judged_by_bounds_that_know_of_looks(call: Call) -> None:
    rule = "{width: 0.4, at_least: 5, at_most: 40, every: 5}"
    assert call("register", "s.yaml", *PRIMARY, "--smallest", "0.1", "--stop", rule).code == 0
    told = content()
    assert told["sample"]["interval"] == "anytime" and told["sample"]["seeds"] == 40
    assert (
        told["study"]["stop"]["contrast"] == "agent=kind - wild" and "5 to 40 seeds" in told["sample"]["stop"]
    )
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
        (
            {"hash": kept["registered"]["hash"], "created": kept["created"]},
            "registered.registration: is missing",
        ),
    ):
        path.write_bytes(manifest_bytes({**kept, "registered": broken}))
        done = call("estimate", "s", "cooperation")
        assert done.code in (1, 2) and said in done.err and done.err.count("\n") == 1, done
    path.write_bytes(manifest_bytes({**kept, "created": "long ago"}))
    done = call("estimate", "s", "cooperation")
    assert done.code == 1 and "run.json: created: time data" in done.err and done.err.count("\n") == 1, done


def test_a_look_after_which_nothing_was_open_counts_only_where_playing_went_on() -> None:
    assert EarlyLook("2026-01-01T00:00:00Z", 10, 7, 0, 8).open
    assert not EarlyLook("2026-01-01T00:00:00Z", 10, 8, 1, 8).open


@pytest.mark.parametrize(
    ("kept", "open_"),
    [(None, True), ("", True), ("[]", True), ("[7]", True), ('[{"stop": false}]', True), ('[{"stop": true}]', False),
     ('[{"stop": false}, {"stop": true}]', False)],
)  # fmt: skip
def test_a_design_with_looks_goes_on_until_one_of_them_says_stop(
    kept: str | None, open_: bool, tmp_path: Path
) -> None:
    if kept is not None:
        (tmp_path / DECIDED).write_text(kept)
    assert goes_on(tmp_path) is open_
