"""`ostrom corpus` as people run it: play, score, select, stop, go on, and the same again."""

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


@pytest.mark.slow
def test_scores_that_are_missing_leave_no_corpus_and_are_asked_for_again(played: Command, tmp_path: Path) -> None:
    asked = ("corpus", "talk", "--judge", "scripted/judge", "--out", "f")
    stopped = played(*asked, "--budget-calls", "5")
    assert stopped.returncode == 1 and not (tmp_path / "f").exists()
    assert "the corpus is not written" in stopped.stderr
    done = json.loads(played(*asked, "--budget-calls", "100", "--json").stdout)
    assert 0 < done["scored_now"] < 24 and done["train"] == 23  # what was scored before is not asked again
    broken = played("more", "corpus", "talk", "--judge", "scripted/broken", "--out", "b", "--retries", "0")
    assert broken.returncode == 1 and not (tmp_path / "b").exists()


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
def test_two_judges_must_agree_and_a_share_is_held_out(played: Command) -> None:
    arguments = ("corpus", "talk", "--judge", "scripted/judge", "--json", "--out")
    both = json.loads(played(*arguments, "f", "--second-judge", "scripted/lexicon").stdout)
    forward = next(row for row in both["agreement"] if row["score"] == "forward")
    assert forward["traces"] == 24 and forward["same"] == 0 and forward["within_one"] == 1
    half = json.loads(played(*arguments, "half", "--held-out", "0.5").stdout)
    assert half["train"] + half["val"] == 24 and 6 <= half["val"] <= 18
