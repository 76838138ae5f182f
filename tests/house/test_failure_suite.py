"""The failure suite itself: a thin slice of it, so that it cannot rot between its full runs."""

import importlib
import json
import os
import random
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from chaos import damage, fuzz
from chaos.__main__ import PARTS, main, write
from chaos.finding import Finding
from chaos.fuzz import TARGETS
from chaos.fuzzing.watch import Target, Tried, attempt, feed_range, watched
from chaos.played import side_by_side

from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import StudyError
from ostrom.studies.load import load_study
from ostrom.studies.run import play


@pytest.mark.parametrize("name", TARGETS)
def test_no_reader_crashes_on_inputs_nobody_meant(name: str) -> None:
    first = random.Random(name).randrange(10**6)  # other inputs than those that a full run begins with
    tried = feed_range(TARGETS[name], 10**7 + first, 10**7 + first + 15)
    assert tried.inputs == 15 and not tried.crashes


def test_a_full_run_feeds_a_million_inputs() -> None:
    assert sum(target.inputs for target in TARGETS.values()) >= 1_000_000


def refuse(_: object) -> None:
    raise StudyError("no")


def crash(_: object) -> None:
    raise KeyError("x")


def talk(_: object) -> None:
    raise ValueError("one\ntwo")


def loop(_: object) -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("feed", "outcome"),
    [(lambda _: None, None), (refuse, "^$"), (crash, "KeyError"), (talk, "ValueError"), (loop, "more than")],
)
def test_the_watch_tells_refusals_from_crashes_and_hangs(
    feed: object, outcome: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.fuzzing.watch.SECONDS", 0.05)
    with watched():
        found = attempt(Target("t", 1, lambda rng: rng.random(), feed), 0)  # type: ignore[arg-type]
    assert found is None if outcome is None else found is not None and re.search(outcome, found)


def test_the_same_number_draws_the_same_input() -> None:
    for target in TARGETS.values():
        draws = [repr(target.draw(random.Random(5))) for _ in range(2)]
        assert draws[0] == draws[1]


def test_every_part_of_the_suite_can_be_run() -> None:
    for name in PARTS:
        assert callable(importlib.import_module(f"chaos.{name}").run)


def test_only_full_runs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "results.json"
    found = [Finding("two", "check", 50, "held")]
    monkeypatch.setattr("chaos.__main__.side_by_side", lambda names, *_: [(name, (found, 1.5)) for name in names])
    monkeypatch.setattr("chaos.__main__.write", partial(write, results=results))
    for more in (["--short"], ["--seed", "3"], ["--short", "--seed", "4"]):
        monkeypatch.setattr("sys.argv", ["chaos", "two", *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        assert results.exists() == (more != ["--short"])
    kept = json.loads(results.read_text())["two"]
    assert (kept["seed"], kept["tried"]) == (3, 50)


def ending(name: str, short: bool, seed: int) -> tuple[list[Finding], float]:
    """A part that ends its process, and others that do not."""
    if name == "two":
        os._exit(1)
    return [Finding(name, "check", seed, "held")], 1.0


def test_parts_that_end_their_process_are_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaos.played.played", ending)
    whole = [name for name, (found, _) in side_by_side(["clock", "disk"], True, 3, 2) if found[0].verdict == "held"]
    assert whole == ["clock", "disk"]
    ((name, (found, _)),) = side_by_side(["two"], True, 3, 2)
    assert (name, found[0].verdict) == ("two", "FAILED")


def test_another_seed_feeds_other_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []
    monkeypatch.setattr(fuzz, "TARGETS", {"t": Target("t", 100, lambda rng: rng.random(), lambda _: None)})
    monkeypatch.setattr(fuzz, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))

    def feed(name: str, start: int, stop: int) -> Tried:
        fed.extend(range(start, stop))
        return Tried(len(name))

    monkeypatch.setattr(fuzz, "batch", feed)
    for seed in (0, 1):
        assert [f.verdict for f in fuzz.run(True, seed)] == ["held"]
    assert sorted(fed) == [*range(20), *range(1_000_000, 1_000_020)]


def test_an_unnoticed_change_of_a_journal_is_found_out(tmp_path: Path) -> None:
    play(
        load_study({**damage.study("x/y"), "types": {"tft": "tit_for_tat", "d": "defector"}}),
        name="run",
        runs=tmp_path,
        options=PlayOptions(arrays=False),
    )
    sample = damage.taken(tmp_path / "run" / "journal.db", tmp_path)
    short = sample.rows - type(sample.rows)([next(iter(sample.rows))])

    def judged(rows: object) -> Finding:
        return damage.tried("as it is", [("whole", sample.files)], tmp_path, lambda found: found == rows)

    assert judged(sample.rows).verdict == "held"
    assert judged(short).verdict == "FAILED"
