"""Ways to cheat a registration: each is refused, or stands on the first screen of the report and in `--json`."""

import json
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from tests.cli.in_process import Call
from tests.features.registering.conftest import GAMES, PRIMARY, STUDY

from ostrom.analysis import registration as registrations
from ostrom.engine import journal as journals
from ostrom.engine.folder import manifest_bytes
from ostrom.ground.errors import ModelError, RequestRefused
from ostrom.models.base import Reply
from ostrom.models.providers import scripted


def registered(call: Call, study: str = "s.yaml", *more: str, out: str = "r.yaml") -> str:
    """The hash of a registration that is made now."""
    primary = PRIMARY if study == "s.yaml" else GAMES
    done = call("register", study, *primary, *more, "--out", out, "--json")
    assert done.code == 0, done.err
    return str(json.loads(done.out)["hash"])


def checked(call: Call, run: str = "s", file: str = "r.yaml") -> dict[str, Any]:
    done = call("register", "--check", file, run, "--json")
    assert done.code in (0, 1), done.err
    (told,) = json.loads(done.out)["registered"]
    assert (done.code == 0) == (told["complete"] and not told["reasons"] and not told["deviations"])
    return dict(told)


def kinds(told: dict[str, Any]) -> list[str]:
    return [one["kind"] for one in told["deviations"]]


def test_a_run_as_registered_is_confirmatory_without_a_deviation(call: Call) -> None:
    hashed = registered(call)
    assert call("run", "s.yaml", "--registered", "r.yaml").code == 0
    told = checked(call)
    assert (told["status"], told["hash"], told["deviations"], told["reasons"]) == ("confirmatory", hashed, [], [])
    assert [one["verdict"] for one in told["contrasts"]] == ["support"]
    assert call("resume", "s").code == 0 and checked(call)["status"] == "confirmatory"
    assert call("run", "s.yaml").code == 0 and checked(call)["deviations"] == []


def test_an_edited_file_is_refused(call: Call) -> None:
    registered(call)
    text = Path("r.yaml").read_text()
    for old, new in (
        ("level: 0.95", "level: 0.9"), ("direction: greater", "direction: less"), ("rounds: 10", "rounds: 11"),
        ("undecided: anything else", "undecided: never"), ("kind: confirmatory", "kind: exploratory"),
        ("    kind: random:0.9\n    wild: random:0.3", "    wild: random:0.3\n    kind: random:0.9"),
    ):  # fmt: skip
        assert old in text
        Path("r.yaml").write_text(text.replace(old, new))
        for command in (("register", "--check", "r.yaml"), ("run", "s.yaml", "--registered", "r.yaml")):
            done = call(*command)
            assert done.code == 2 and "r.yaml: was changed after it was registered" in done.err, done
            assert done.err.count("\n") == 1
    assert not Path("runs/s").exists()
    Path("r.yaml").write_text(f"# a comment and another line width change nothing\n{text}")
    assert call("register", "--check", "r.yaml").code == 0


def test_swapped_prompts_are_reported_and_refused_on_resume(call: Call) -> None:
    registered(call, "asked.yaml")
    assert call("run", "asked.yaml", "--registered", "r.yaml", "--limit", "3").code == 1
    file = "answers/choice_direct.txt"
    assert file in yaml.safe_load(Path("r.yaml").read_text())["prompts"]
    text = files("ostrom.framing.prompts").joinpath(file).read_text(encoding="utf-8")
    Path("own/answers").mkdir(parents=True)
    Path("own", file).write_text(f"{text}Be kind.\n")
    done = call("resume", "asked", "--prompts", "own")
    assert done.code == 1 and "prompts" in done.err and checked(call, "asked")["complete"] is False
    assert call("run", "asked.yaml", "--registered", "r.yaml", "--prompts", "own", "--name", "swapped").code == 0
    told = checked(call, "swapped")
    assert told["status"] == "exploratory" and "prompts" in kinds(told)
    assert "something else was played" in told["reasons"][0]
    assert call("register", "--check", "r.yaml", "--prompts", "own").code == 1


def test_dropped_matches_are_counted(call: Call) -> None:
    answers: list[str | ModelError] = [RequestRefused("no", status=400), "nonsense", *["[A0]"] * 1000]
    replies = iter(answers)
    scripted.register("first", lambda request: next(replies))
    registered(call, "asked.yaml")
    assert call("run", "asked.yaml", "--registered", "r.yaml").code == 1
    told = checked(call, "asked")
    texts = {one["kind"]: one["text"] for one in told["deviations"]}
    assert texts["matches"] == "1 of 8 are left out (1 failed)"
    assert texts["policy"] == "1 answer by policy in place of a model's own"
    assert told["complete"] and told["status"] == "confirmatory"


def test_an_estimate_of_chosen_matches_is_exploratory(call: Call) -> None:
    registered(call)
    call("run", "s.yaml", "--registered", "r.yaml")
    asked = ("estimate", "s", "cooperation", "--json")

    def label(*more: str) -> str:
        return str(json.loads(call(*asked, *more).out)["label"])

    assert label("--contrast", "agent=kind-wild") == "confirmatory"
    assert label("--contrast", "agent=wild-kind") == "exploratory"
    assert label("--contrast", "agent=kind-wild", "--where", "game=stag_hunt") == "exploratory"
    assert label("--contrast", "agent=kind-wild", "--by", "game") == "exploratory"
    assert label("--contrast", "agent=kind-wild", "--balance", "game") == "exploratory"
    assert label("--contrast", "agent=kind-wild", "--level", "0.9") == "exploratory"
    assert label() == "exploratory"
    score = call("estimate", "s", "score", "--contrast", "agent=kind-wild", "--json")
    assert json.loads(score.out)["label"] == "exploratory"


def test_a_resume_under_another_version_is_found(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    registered(call)
    assert call("run", "s.yaml", "--registered", "r.yaml", "--limit", "3").code == 1
    monkeypatch.setattr(journals, "__version__", "9.9")
    assert call("resume", "s").code == 0
    told = checked(call)
    assert kinds(told) == ["versions"] and "9.9 played too" in told["deviations"][0]["text"]


def test_a_run_that_was_played_cannot_be_bound(call: Call) -> None:
    assert call("run", "s.yaml").code == 0
    registered(call)
    assert "s (created " in Path("r.yaml").read_text()
    done = call("run", "s.yaml", "--registered", "r.yaml")
    assert done.code == 1 and "was begun without a registration" in done.err
    told = checked(call)
    assert told["status"] == "exploratory" and "was played without this registration" in told["reasons"][0]
    assert call("register", "--played", "s", *PRIMARY, "--out", "after.yaml").code == 0
    told = checked(call, file="after.yaml")
    assert told["status"] == "exploratory" and told["contrasts"][0]["verdict"] == "support"
    done = call("run", "s.yaml", "--registered", "after.yaml", "--name", "again")
    assert done.code == 2 and "after.yaml: is exploratory: it was made for the run s" in done.err


def test_a_registration_that_is_dated_later_than_its_run_is_refused_or_exploratory(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = "2099-01-01T00:00:00Z"
    with monkeypatch.context() as patch:
        patch.setattr("ostrom.features.registering.plan.now", lambda: later)
        registered(call)
    done = call("run", "s.yaml", "--registered", "r.yaml")
    assert done.code == 2 and "r.yaml: is dated 2099-01-01T00:00:00Z" in done.err
    assert not Path("runs/s").exists()
    with monkeypatch.context() as patch:  # a clock that was set back between registering and playing
        patch.setattr(registrations, "now", lambda: later)
        assert call("run", "s.yaml", "--registered", "r.yaml").code == 0
    told = checked(call)
    assert told["status"] == "exploratory" and "s before the registration was made" in told["reasons"][0]


def test_a_call_that_is_older_than_the_registration_is_seen_in_the_journal(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest says that the run began later; the sealed times of its calls do not."""
    registered(call, "asked.yaml")
    with monkeypatch.context() as patch:
        patch.setattr("ostrom.models.pending_call.time.time", lambda: 1_000_000.0)
        patch.setattr("ostrom.engine.caller.time.time", lambda: 1_000_000.0)
        assert call("run", "asked.yaml", "--registered", "r.yaml").code == 0
    told = checked(call, "asked")
    assert told["status"] == "exploratory" and "before the registration was made" in told["reasons"][0]


def test_answers_of_an_old_cache_are_not_taken(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("ostrom.engine.caller.time.time", lambda: 1_000_000.0)
        assert call("run", "asked.yaml", "--name", "before", "--cache", "cache.db").code == 0
    registered(call, "asked.yaml")
    again = json.loads(call("run", "asked.yaml", "--name", "free", "--cache", "cache.db", "--json").out)
    assert again["calls"] == 0
    asked = ("run", "asked.yaml", "--registered", "r.yaml", "--cache", "cache.db", "--json")
    bound = json.loads(call(*asked).out)
    assert bound["calls"] == 16 and checked(call, "asked")["deviations"] == []
    # What arrived after the registration may be taken, and is reported: it is another run's.
    second = json.loads(call(*asked, "--name", "second").out)
    assert second["calls"] == 0
    (told,) = checked(call, "second")["deviations"]
    assert told == {"kind": "cache", "text": "16 replies from a cache, so from another run"}
    # Going on without the option does not loosen what the run is bound to.
    with monkeypatch.context() as patch:
        patch.setattr("ostrom.engine.caller.time.time", lambda: 1_000_000.0)
        call("run", "asked.yaml", "--name", "old", "--seeds", "3", "--cache", "old.db")
    call(*asked[:4], "--name", "on", "--limit", "1")
    assert json.loads(call("run", "asked.yaml", "--name", "on", "--cache", "old.db", "--json").out)["calls"] == 16
    assert checked(call, "on")["deviations"] == []


def test_more_seeds_are_reported_and_not_tested(call: Call) -> None:
    registered(call)
    call("run", "s.yaml", "--registered", "r.yaml")
    before = checked(call)["contrasts"][0]["estimate"]
    assert call("resume", "s", "--seeds", "9").code == 0
    told = checked(call)
    assert kinds(told) == ["seeds"] and told["deviations"][0]["text"].startswith("6 registered, 9 in the run")
    assert told["contrasts"][0]["estimate"] == before and before["n"] == 24
    asked = json.loads(call("estimate", "s", "cooperation", "--contrast", "agent=kind-wild", "--json").out)
    assert asked["label"] == "exploratory" and asked["estimates"][0]["n"] == 36


def test_fewer_seeds_are_reported(call: Call) -> None:
    registered(call)
    assert call("run", "s.yaml", "--registered", "r.yaml", "--seeds", "5").code == 0
    told = checked(call)
    assert kinds(told) == ["seeds"] and told["deviations"][0]["text"] == "6 registered, 5 in the run"
    assert told["status"] == "confirmatory"


def test_a_look_before_the_end_is_recorded(call: Call) -> None:
    registered(call)
    done = call("run", "s.yaml", "--registered", "r.yaml", "--limit", "7")
    assert "results are not shown" in done.err and "cooperation" not in done.out
    told = checked(call)
    assert told["contrasts"][0]["verdict"] == "not judged" and kinds(told) == ["matches"]
    assert not Path("runs/s/early_looks.jsonl").exists()
    for _ in range(2):
        asked = json.loads(call("estimate", "s", "cooperation", "--contrast", "agent=kind-wild", "--json").out)
        assert asked["label"] == "exploratory"
    assert len(Path("runs/s/early_looks.jsonl").read_text().splitlines()) == 1
    call("resume", "s", "--limit", "3")
    assert call("export", "s", "--format", "csv").code == 0
    assert call("resume", "s").code == 0
    call("estimate", "s", "cooperation")
    (told,) = checked(call)["deviations"]
    assert told["text"] == "2 looks before it was complete (after 7 of 24 matches, 10 of 24 matches)"
    page = Path("runs/s/report")
    assert call("report", "s").code == 0
    assert "Deviation (looks): 2 looks before it was complete" in (page / "index.html").read_text()
    Path("runs/s/early_looks.jsonl").write_text('{"at": 1}\n')
    done = call("report", "s")
    assert done.code == 1 and "early_looks.jsonl: is not what ostrom writes there" in done.err


def test_a_look_counts_where_matches_that_had_failed_are_played_again(call: Call) -> None:
    answers: list[str | ModelError] = [RequestRefused("no", status=400), *["[A0]"] * 1000]
    replies = iter(answers)
    scripted.register("first", lambda request: next(replies))
    registered(call, "asked.yaml")
    assert call("run", "asked.yaml", "--registered", "r.yaml").code == 1
    assert call("estimate", "asked", "cooperation").code == 0
    assert kinds(checked(call, "asked")) == ["matches"]
    assert call("resume", "asked").code == 0
    assert kinds(checked(call, "asked")) == ["looks"]


def test_another_model_is_not_what_was_registered(call: Call) -> None:
    registered(call, "asked.yaml")
    done = call("run", "asked.yaml", "--registered", "r.yaml", "--model", "scripted/other")
    assert done.code == 0, done.err
    told = checked(call, "asked")
    assert told["status"] == "exploratory" and kinds(told)[0] == "models"
    assert told["deviations"][0]["text"] == "scripted/first and scripted/second registered, scripted/other played"


def test_another_snapshot_behind_the_same_name_is_found_where_the_server_says_it(call: Call) -> None:
    replies = iter([Reply("[A0]", model="m-1")] * 3 + [Reply("[A0]", model="m-2")] * 100)
    scripted.register("first", lambda request: next(replies))
    registered(call, "asked.yaml")
    assert call("run", "asked.yaml", "--registered", "r.yaml").code == 0
    told = checked(call, "asked")
    assert kinds(told) == ["snapshots"]
    assert told["deviations"][0]["text"] == "scripted/first answered as m-1 (3 replies) and m-2 (5 replies)"


def test_changed_parameters_are_named(call: Call) -> None:
    registered(call)
    assert call("run", "s.yaml", "--registered", "r.yaml", "--set", "mechanism.rounds=12").code == 0
    told = checked(call)
    assert told["deviations"] == [{"kind": "study", "text": "mechanism.rounds: 10 -> 12"}]
    assert told["status"] == "exploratory" and "(study)" in told["reasons"][0]
    Path("s.yaml").write_text(STUDY.replace("rounds: 10", "rounds: 12"))
    done = call("register", "--check", "r.yaml")
    assert done.code == 1 and "study here: mechanism.rounds: 10 -> 12" in done.out


def test_a_copied_folder_goes_with_no_other_registration(call: Call) -> None:
    first = registered(call)
    call("run", "s.yaml", "--registered", "r.yaml")
    second = registered(call, "s.yaml", "--secondary", "score: agent kind - wild > 0", out="other.yaml")
    assert first != second
    done = call("run", "s.yaml", "--registered", "other.yaml")
    assert done.code == 1 and f"is bound to the registration {first[:16]}" in done.err
    shutil.copytree("runs/s", "runs/copy")
    path = Path("runs/copy/run.json")
    kept = orjson.loads(path.read_bytes())
    del kept["checksum"]
    other = yaml.safe_load(Path("other.yaml").read_text())
    for content in (other, None):
        path.write_bytes(manifest_bytes({**kept, "registered": content}))
        done = call("estimate", "copy", "cooperation")
        assert done.code == 1 and "belongs to another study than run.json beside it" in done.err
    # The content of the registration, under the hash that the journal keeps.
    path.write_bytes(manifest_bytes({**kept, "registered": {**other, "hash": first}}))
    done = call("estimate", "copy", "cooperation")
    assert done.code == 2 and "was changed after it was registered" in done.err


def test_shards_are_bound_together(call: Call) -> None:
    registered(call)
    registered(call, "s.yaml", "--secondary", "score: agent kind - wild > 0", out="other.yaml")
    for shard in ("1/2", "2/2"):
        done = call("run", "s.yaml", "--registered", "r.yaml", "--shard", shard)
        assert done.code == 0 and "results are not shown" in done.err
    assert checked(call, "s.1-of-2")["complete"] is False
    assert call("join", "whole", "s.1-of-2", "s.2-of-2").code == 0
    told = checked(call, "whole")
    assert (told["status"], told["complete"], told["deviations"]) == ("confirmatory", True, [])
    call("estimate", "s.1-of-2", "cooperation")
    (look,) = checked(call, "whole")["deviations"]
    assert look["text"] == "1 look before it was complete (after 12 of 24 matches)"
    shutil.rmtree("runs/s.2-of-2")
    assert call("run", "s.yaml", "--registered", "other.yaml", "--shard", "2/2").code == 0
    done = call("join", "mixed", "s.1-of-2", "s.2-of-2")
    assert done.code == 1 and "is bound to another registration, or to none" in done.err
