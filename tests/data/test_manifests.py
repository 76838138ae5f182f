"""Manifests beside each other, and the looks at a run that is not complete: which count, and what is compared."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from ostrom.data.early_looks import (
    DECIDED,
    FILE,
    EarlyLook,
    counted_looks,
    early_looks,
    goes_on,
    record_early_look,
    seeds_missing,
    seeds_of,
)
from ostrom.data.manifests import MOST_CHARACTERS, changes, is_allowed, renamed, settings_of, shown, study_hash
from ostrom.ground.errors import RunError

RUN: dict[str, Any] = {
    "created": "2025-05-06T07:08:09Z",
    "study": {"name": "a", "game": "pd", "seeds": 3, "seed": 7, "agent": {"model": "p/long"}},
    "models": {"p/long": {"name": "p/long", "model": "long", "base_url": "http://h", "context": 5}},
    "prompts": {"ask": "1f"},
    "versions": {"ostrom": "1"},
}


def other(**parts: Any) -> dict[str, Any]:
    return {**RUN, **parts}


@pytest.mark.parametrize(
    ("new", "rows"),
    [
        (RUN, []),
        (other(prompts={"ask": "2f"}), [("prompts.ask", "2f", "1f")]),
        (other(versions={}), [("versions.ostrom", "-", "1")]),
        (other(study={**RUN["study"], "game": "x", "extra": 1}), [("extra", "1", "-"), ("game", "x", "pd")]),
        (
            other(study={**RUN["study"], "agent": {"model": "q/m"}}, models={"q/m": {"name": "q/m", "context": 5}}),
            [("models", "q/m", "p/long")],
        ),
        (
            other(study={**RUN["study"], "agent": {"model": "q/m"}}, models={"q/m": {"context": 6}}),
            [("models", "q/m", "p/long"), ("models.{model 1}.context", "6", "5")],
        ),
    ],
)  # fmt: skip
def test_manifests_differ_in_the_keys_that_are_listed(new: dict[str, Any], rows: list[tuple[str, str, str]]) -> None:
    assert list(changes(new, RUN)) == rows


def test_more_models_are_differences_key_by_key() -> None:
    more = other(models={**RUN["models"], "q/m": {"context": 6}})
    assert ("models.q/m.context", "6", "-") in list(changes(more, RUN))
    assert "models" not in {key for key, _, _ in changes(more, RUN)}


@pytest.mark.parametrize(
    ("study", "same"), [({"name": "b"}, True), ({"seed": 8}, True), ({"seeds": 4}, True), ({"game": "sh"}, False)]
)
def test_a_study_has_one_hash_whatever_its_name_and_seeds(study: dict[str, Any], same: bool) -> None:
    new = other(study={**RUN["study"], **study})
    assert (study_hash(new) == study_hash(RUN)) == same
    assert study_hash(new, ["game"]) == study_hash(RUN, ["game"])
    assert study_hash(other(prompts={"ask": "2f"})) != study_hash(RUN)


def test_settings_are_what_runs_of_one_study_may_have_otherwise() -> None:
    assert settings_of(RUN) == {
        "model": "p/long", "seeds": 3, "seed": 7, "models.{model 1}.context": 5, "day": "2025-05-06",
        "versions.ostrom": "1",
    }  # fmt: skip


def test_names_are_replaced_the_longest_first_and_values_are_cut() -> None:
    assert renamed(("p/m p/m-2", {"p/m": [1]}), {"p/m": "A", "p/m-2": "B"}) == ["A B", {"A": [1]}]
    assert [is_allowed(key, ["a.b"]) for key in ("a.b", "a.b.c", "a.bc", "a")] == [True, True, False, False]
    full = "x" * MOST_CHARACTERS
    assert (shown(full), shown(full + "y")) == (full, full + "...")


@pytest.mark.parametrize(
    ("seeds", "sample", "missing"),
    [(3, {"seeds": 5}, 2), (3, {"seeds": 3}, 0), (5, {"seeds": 3}, 0), (None, {"seeds": 4}, 3), (3, {}, 0),
     (3, None, 0), (3, {"seeds": "5"}, 0)],
)  # fmt: skip
def test_seeds_are_missing_up_to_those_registered(seeds: int | None, sample: Any, missing: int) -> None:
    manifest = {"study": {"seeds": seeds}, "registered": {"sample": sample}}
    assert (seeds_missing(manifest), seeds_of(manifest)) == (missing, seeds or 1)
    assert seeds_missing({"study": {"seeds": 3}}) == 0


def look(entries: int = 10, ended: int = 4, planned: int = 5) -> dict[str, Any]:
    return {"at": "2025-05-06T07:08:09Z", "entries": entries, "ended": ended, "failed": 0, "planned": planned}


@pytest.mark.parametrize(
    ("row", "entries", "counts"),
    [
        (look(), 10, True),
        (look(ended=5), 10, False),
        (look(ended=6), 10, False),
        (look(ended=5), 11, True),  # it was gone on with
    ],
)
def test_a_look_counts_where_playing_went_on_or_could_have(
    row: dict[str, Any], entries: int, counts: bool, tmp_path: Path
) -> None:
    (tmp_path / FILE).write_bytes(orjson.dumps(row) + b"\n")
    assert early_looks(tmp_path) == [EarlyLook(**row)]
    assert counted_looks(tmp_path, {"study": {}}, entries) == [EarlyLook(**row)] * counts
    shared = {"study": {}, "shared": {"looks": [look(1), look(2)]}}
    assert [each.entries for each in counted_looks(tmp_path, shared, 0)] == [1, 2]
    assert counted_looks(tmp_path, {"study": {}, "shared": {}}, 0) == []


@pytest.mark.parametrize(
    "wrong", [{**look(), "at": 3}, {**look(), "ended": True}, {**look(), "planned": "5"}, {"at": "x"}, [], 3]
)
def test_a_look_that_was_written_by_something_else_is_refused(wrong: object, tmp_path: Path) -> None:
    assert early_looks(tmp_path) == []
    (tmp_path / FILE).write_bytes(orjson.dumps(wrong) + b"\n")
    with pytest.raises(RunError, match=f"{FILE}: is not what ostrom writes there"):
        early_looks(tmp_path)
    (tmp_path / FILE).write_bytes(b"{")
    with pytest.raises(RunError, match=f"{FILE}: is not what ostrom writes there"):
        early_looks(tmp_path)


@pytest.mark.parametrize(
    ("text", "on"),
    [(None, True), ("[]", True), ("{", True), ("3", True), ('[{"stop": true}, {"stop": false}]', True),
     ('[{"stop": false}, {"stop": true}]', False)],
)  # fmt: skip
def test_a_sequential_design_goes_on_until_its_last_look_says_stop(text: str | None, on: bool, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / DECIDED).write_text(text)
    assert goes_on(tmp_path) == on


def test_parts_that_a_manifest_lacks_are_empty_and_keys_are_sorted() -> None:
    bare: dict[str, Any] = {"study": {}, "models": None, "prompts": None, "versions": None, "created": None}
    full = {**bare, "study": dict.fromkeys("hgfedcba", 1)}
    assert [key for key, _, _ in changes(full, bare)] == list("abcdefgh")
    assert study_hash(bare) == study_hash({"study": {}}) and settings_of(bare) == {"model": "", "day": ""}


@pytest.mark.parametrize(
    ("states", "manifest", "shard", "recorded"),
    [
        ("ddd", {}, None, (3, 0, 4)),
        ("dddd", {}, None, None),
        ("dddf", {}, None, (4, 1, 4)),  # it may be played again
        ("dddd", {"study": {"seeds": 1}, "registered": {"sample": {"seeds": 2}}}, None, (4, 0, 12)),
        ("dddd", {"study": {"stop": {"x": 1}}}, None, (4, 0, 5)),
        ("dddd", {}, "1/2", (4, 0, 8)),
        ("d", {"registered": None}, None, None),
    ],
)
def test_a_look_at_an_open_registered_run_is_recorded_once(
    states: str, manifest: dict[str, Any], shard: str | None, recorded: tuple[int, int, int] | None, tmp_path: Path
) -> None:
    class Planned:
        planned = 4

        def __len__(self) -> int:
            return 8

    plan: Any = Planned()
    plan.shard = shard
    ended = {unit: "failed" if state == "f" else "done" for unit, state in enumerate(states)}
    rows: Any = SimpleNamespace(plan=plan, journal=SimpleNamespace(states=lambda: ended, entries=9))
    for _ in range(2):
        record_early_look(tmp_path, rows, {"study": {}, "registered": {"sha": "x"}, **manifest})
    looks = [(each.ended, each.failed, each.planned) for each in early_looks(tmp_path)]
    assert looks == ([] if recorded is None else [recorded])
