"""`ostrom corpus` as people run it: play, score, select, stop, go on, and the same again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister

STUDY = """
name: talk
game: public_goods
mechanism: {name: repetition, rounds: 4}
agent: {memory: {name: window, k: 2}, style: reasoned}
types: {a: {model: scripted/ahead}, b: {model: scripted/back}}
seeds: 2
"""
SCORES = {"A good reputation": (9, 9, 8), "The risk": (1, 9, 9), "I copy": (2, 10, 7)}


def judge(request: Request) -> str:
    text = request.messages[0].content.rpartition("What it replied")[2]
    scores = next((s for words, s in SCORES.items() if words in text), (0, 0, 0))
    return json.dumps(dict(zip(("forward", "quality", "specificity"), scores, strict=True)))


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    calls = iter(range(10**6))
    register("ahead", lambda request: f"{next(calls)} A good reputation pays in the long-term.\n[A0]")
    register("back", lambda request: f"{next(calls)} I copy what the others did here.\n[A0]")
    register("judge", judge)
    register("broken", "no JSON")
    yield
    for name in ("ahead", "back", "judge", "broken"):
        unregister(name)


@pytest.fixture
def played(ostrom: Command, tmp_path: Path) -> Command:
    (tmp_path / "talk.yaml").write_text(STUDY)
    assert ostrom("run", "talk.yaml").returncode == 0
    return ostrom


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_the_three_arms_of_a_run(played: Command, tmp_path: Path) -> None:
    asked = ("corpus", "talk", "--judge", "scripted/judge", "--out")
    bound = json.loads(played(*asked, "f", "--dry-run", "--json").stdout)
    assert bound["scoring"][0]["due"] == 24 and not (tmp_path / "f").exists()
    done = json.loads(played(*asked, "f", "--json").stdout)
    assert (done["train"], done["val"], done["scored_now"]) == (23, 1, 24)
    assert [s["kept"] for s in done["stages"]] == [48, 24, 24, 24, 24, 24, 24]
    assert done["stages"][1]["reasons"] == {"no forward term": 24}
    row = rows(tmp_path / "f" / "train.jsonl")[0]
    assert row["weight"] == 0.72 and row["action"] == "contribute" and row["history_length"] == 2
    assert set(row["provenance"]) == {"run", "match", "step", "seat"}  # type: ignore[call-overload]
    assert row["messages"][-1]["content"].endswith("[A0]")  # type: ignore[index]
    again = played(*asked, "f")
    assert "0 replies scored now" in again.stderr and "already up to date" in again.stderr
    # Placebos come from another model here, so nobody matches: a shortfall, never filled.
    placebo = json.loads(played(*asked, "p", "--arm", "placebo", "--json").stdout)
    assert (
        placebo["matching"]["matched"] == 0
        and placebo["matching"]["shortfall"] == 24
        and placebo["scored_now"] == 24
    )
    assert rows(tmp_path / "p" / "train.jsonl") == []
    shuffled = json.loads(played(*asked, "s", "--arm", "shuffled", "--json").stdout)
    assert shuffled["scored_now"] == 0 and shuffled["train"] == done["train"]
    card = (tmp_path / "f" / "README.md").read_text()
    assert "24 training" not in card and "23 training and 1 validation" in card
    drops = rows(tmp_path / "f" / "drops.jsonl")
    assert len(drops) == 24 and {d["stage"] for d in drops} == {"prefilter"}


@pytest.mark.slow
def test_scores_that_are_missing_leave_no_corpus_and_are_asked_for_again(
    played: Command, tmp_path: Path
) -> None:
    asked = ("corpus", "talk", "--judge", "scripted/judge", "--out", "f")
    stopped = played(*asked, "--budget-calls", "5")
    assert stopped.returncode == 1 and not (tmp_path / "f").exists()
    assert "the corpus is not written" in stopped.stderr
    done = json.loads(played(*asked, "--budget-calls", "100", "--json").stdout)
    assert 0 < done["scored_now"] < 24 and done["train"] == 23  # what was scored before is not asked again
    broken = played("more", "corpus", "talk", "--judge", "scripted/broken", "--out", "b", "--retries", "0")
    assert broken.returncode == 1 and not (tmp_path / "b").exists()


@pytest.mark.slow
def test_two_judges_agree_or_not(played: Command) -> None:
    asked = (
        "corpus",
        "talk",
        "--judge",
        "scripted/judge",
        "--second-judge",
        "scripted/lexicon",
        "--out",
        "f",
    )
    done = json.loads(played(*asked, "--json").stdout)
    forward = next(row for row in done["agreement"] if row["score"] == "forward")
    assert forward["traces"] == 24 and forward["same"] == 0 and forward["within_one"] == 1
    assert done["train"] == 23
    strict = json.loads(played(*asked, "--specificity", "8", "--json").stdout)
    assert strict["train"] == 0 and strict["stages"][4]["reasons"] == {"specificity below 8": 24}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--arm", "backward"), "unknown arm 'backward'"),
        (("--forward", "3"), "--placebo-below must be at most --forward"),
        (("--judge", "scripted/nobody"), "unknown scripted model"),
    ],
)
def test_wrong_use_is_one_line(played: Command, more: tuple[str, ...], message: str) -> None:
    done = played("more", "corpus", "talk", "--out", "f", "--judge", "scripted/judge", *more)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_thresholds_shares_and_games_are_those_that_are_asked_for(played: Command) -> None:
    asked = ("corpus", "talk", "--judge", "scripted/judge", "--json", "--out")
    few = json.loads(played(*asked, "few", "--sample", "5", "--dry-run").stdout)
    assert few["scoring"][0]["due"] == 5
    half = json.loads(played(*asked, "half", "--held-out", "0.5").stdout)
    assert half["train"] + half["val"] == 24 and 6 <= half["val"] <= 18
    strict = json.loads(played(*asked, "strict", "--quality", "10").stdout)
    assert (strict["train"], strict["val"]) == (0, 0)
    without = json.loads(played(*asked, "without", "--leave-out", "public_goods").stdout)
    assert (without["train"], without["val"]) == (0, 0)
