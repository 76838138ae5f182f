"""Small things that a user expects: failed matches asked again, a game left to its factor, names by their beginning."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.in_process import caller
from tests.people.served import small_study

from ostrom.analysis.estimate import estimate, require_any
from ostrom.analysis.measure import Measure
from ostrom.data.rundata import run_data
from ostrom.ground.errors import UsageError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.run import open_run

Call = Any


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    return caller(monkeypatch, tmp_path)


@pytest.fixture
def replies() -> Iterator[list[str]]:
    """What a model writes, the last text again and again."""
    texts = ["no idea"]

    def model(_: Request) -> str:
        return texts[0] if len(texts) == 1 else texts.pop(0)

    register("moody", model)
    yield texts
    unregister("moody")


def test_matches_that_failed_by_policy_are_asked_again_where_that_is_wanted(
    call: Call, tmp_path: Path, replies: list[str]
) -> None:
    study = {
        "name": "s", "game": "prisoners_dilemma", "types": {"m": {"model": "scripted/moody", "style": "direct"}},
        "seating": "self", "invalid": {"retries": 0, "policy": "fail"},
    }  # fmt: skip
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(study))
    done = call("run", "s.yaml")
    assert done.code == 1
    assert done.err.splitlines()[-1].endswith("ask failed matches again: ostrom resume runs/s --retry-failed")
    replies[:] = ["[A0]"]
    assert call("resume", "s").code == 1, "the same replies are read again"
    done = call("resume", "s", "--retry-failed")
    assert done.code == 0 and "--retry-failed" not in done.err


def test_a_closed_run_is_complete_and_names_what_it_left_out(call: Call, tmp_path: Path, replies: list[str]) -> None:
    study = {
        "name": "s", "game": "prisoners_dilemma", "types": {"m": {"model": "scripted/moody", "style": "direct"}},
        "seating": "self", "seeds": 4, "invalid": {"retries": 0, "policy": "fail"},
    }  # fmt: skip
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(study))
    assert call("run", "s.yaml", "--limit", "1").code == 1, "the reply cannot be read"
    for other in (["--retry-failed"], ["--dry-run"], ["--seeds", "6"], ["--limit", "1"]):
        refused = call("resume", "s", "--close", *other)
        assert refused.code == 2 and refused.err == f"ostrom: --close: plays no more; leave {other[0]} out\n"
    replies[:] = ["[A0]"]
    assert call("resume", "s", "--limit", "2").code == 1
    closed = call("resume", "s", "--close")
    assert closed.code == 1 and "1 of 4 matches done, 2 skipped;" in closed.err, "what failed stays failed"
    with open_run("s", tmp_path / "runs") as run:
        outcomes = [run.journal.outcome_of(unit) for unit in range(4)]
    assert [outcome and outcome[0] for outcome in outcomes] == ["failed", "done", "skipped", "skipped"]
    assert outcomes[3] and outcomes[3][1] == "the run was closed before it ended"
    again = call("resume", "s", "--retry-failed")
    assert again.code == 0 and "2 of 4 matches done, 2 skipped;" in again.err, "what was closed stays closed"


@pytest.mark.parametrize(
    "levels",
    [
        ["chicken", "stag_hunt"],
        {"set": "game", "to": ["chicken", {"name": "stag_hunt"}]},
        {"a": {"game": "chicken"}, "b": {"game": "stag_hunt"}},
    ],
)
def test_a_game_that_a_factor_gives_may_be_left_out(call: Call, tmp_path: Path, levels: Any) -> None:
    study = {"name": "v", "vary": {"game": levels}, "types": {"a": "tit_for_tat"}, "seating": "self"}
    (tmp_path / "v.yaml").write_text(yaml.safe_dump(study))
    done = call("run", "v.yaml")
    assert done.code == 0 and "2 of 2 matches done" in done.err
    with open_run("v", tmp_path / "runs") as run:
        games = {run.plan.unit(number).game.name for number in range(2)}
        assert games == {"chicken", "stag_hunt"}
    (tmp_path / "w.yaml").write_text(yaml.safe_dump({**study, "name": "w", "vary": {}}))
    assert "w.yaml: game: is missing" in call("validate", "w.yaml").err


def test_a_beginning_is_enough_to_be_told_a_name(call: Call, tmp_path: Path) -> None:
    (tmp_path / "v.yaml").write_text(
        yaml.safe_dump({"name": "v", "game": "chicken", "types": {"a": "tit_for_tat"}, "seating": "self"})
    )
    assert call("run", "v.yaml").code == 0
    assert "unknown measure 'coop' (did you mean cooperation or" in call("estimate", "v", "coop").err


def test_a_match_is_named_by_its_number(call: Call, tmp_path: Path) -> None:
    (tmp_path / "v.yaml").write_text(
        yaml.safe_dump({"name": "v", "game": "chicken", "types": {"a": "tit_for_tat"}, "seating": "self", "seeds": 3})
    )
    assert call("run", "v.yaml").code == 0
    assert ", match 2, " in call("transcript", "v", "2").out == call("transcript", "v", "--match", "2").out
    assert "name one match" in call("transcript", "v", "2", "--match", "1").err


def test_tables_become_data_frames_of_pandas(call: Call, tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    assert list(pl.DataFrame({"a": [1, None], "b": ["x", None]}).to_pandas().columns) == ["a", "b"]


def test_a_payment_file_for_nobody_says_so(call: Call, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(small_study()))
    assert call("pilot", "small.yaml", "--people", "2").code == 0
    first, second = (call("people", "small-pilot", "bonuses", "-o", name) for name in ("one.csv", "two.csv"))
    assert "2 people" in first.err and "the ledger has them" in first.err
    assert "nobody is owed anything that no earlier file has: two.csv has no rows" in second.err
    assert "ledger" not in second.err


def test_a_run_with_nothing_finished_says_that(call: Call, tmp_path: Path) -> None:
    study = {"name": "v", "game": "chicken", "types": {"a": "tit_for_tat"}, "seating": "self"}
    (tmp_path / "v.yaml").write_text(yaml.safe_dump(study))
    call("run", "v.yaml", "--limit", "0")
    done = call("estimate", "v", "cooperation")
    assert done.code == 2 and "cooperation: no match of v is finished (so far: 0 of 1 match" in done.err


def test_a_measure_that_gives_nothing_says_that(call: Call, tmp_path: Path) -> None:
    study = {"name": "v", "game": "chicken", "types": {"a": "tit_for_tat"}, "seating": "self"}
    (tmp_path / "v.yaml").write_text(yaml.safe_dump(study))
    assert call("run", "v.yaml").code == 0
    with open_run("v", tmp_path / "runs") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        empty = Measure("empty", "Empty", "number", "Nothing.", "SELECT match, player, NULL AS value FROM matches")
        with pytest.raises(UsageError, match=r"empty: gives no number \(NULL\) in all of its 2 rows"):
            require_any(estimate(data, empty), empty, [data])
