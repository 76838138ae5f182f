"""Levels of framing: every one is a text file or a value, and what was drawn is on record."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from ostrom.answers import Choice
from ostrom.framing import Framing, Library
from ostrom.framing.blocks import Labelling
from ostrom.games import build_game
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.protocol import Decision
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play
from ostrom.testing.check_memory import view_after

PROMPTS: list[str] = []


def first_option(request: Request) -> str:
    text = request.messages[0].content
    PROMPTS.append(text)
    named = re.search(r"Your \w+: (\w+), (\w+)", text)
    assert named is not None
    return f"[{named[1]}]"


@pytest.fixture(autouse=True)
def model() -> Iterator[None]:
    PROMPTS.clear()
    register("first", first_option)
    yield
    unregister("first")


def study(framing: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": "framed",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 4},
        "agent": {"model": "scripted/first", "style": "direct", "framing": framing},
        **more,
    }


def decisions(data: dict[str, Any], runs: Path) -> list[dict[str, Any]]:
    play(load_study(data), runs=runs)
    with open_run("framed", runs) as run:
        return list(run.rows.decisions())


def test_labels_are_drawn_once_for_a_match_and_recorded(tmp_path: Path) -> None:
    rows = decisions(study({"labels": "draw"}, seeds=30), tmp_path)
    by_match: dict[int, set[str]] = {}
    for row in rows:
        by_match.setdefault(row["match"], set()).add("".join(sorted(orjson.loads(row["options"]))))
        assert row["label"] in orjson.loads(row["options"])
    pairs = {"".join(sorted(pair)) for pair in ("JF", "QX", "RH", "YW", "TN", "PM")}
    assert all(len(used) == 1 and used <= pairs for used in by_match.values())
    assert len(set.union(*by_match.values())) > 3


def test_a_pool_of_ones_own_may_hold_words(tmp_path: Path) -> None:
    rows = decisions(study({"labels": "draw", "pool": [["blue", "green"]]}, seeds=2), tmp_path)
    assert {row["options"] for row in rows} == {'["blue","green"]'}


def test_a_pool_without_a_set_of_the_right_size_is_refused() -> None:
    with pytest.raises(StudyError, match="no set of 2 labels in the pool"):
        StudyPlan(load_study(study({"labels": "draw", "pool": ["ABC"]})))


@pytest.mark.parametrize("same", ["JJ", ["red", "red"]])
def test_a_set_of_a_pool_with_a_label_twice_is_refused(same: Any) -> None:
    with pytest.raises(StudyError, match="labels must differ from each other"):
        StudyPlan(load_study(study({"labels": "draw", "pool": ["JF", same]})))


def test_labels_that_are_the_same_are_refused() -> None:
    with pytest.raises(StudyError, match="labels must differ"):
        StudyPlan(load_study(study({"labels": "JJ"})))


def test_the_order_of_options_is_drawn_anew_every_round_and_recorded(tmp_path: Path) -> None:
    data = study({"labels": "JF", "order": "shuffled"}, mechanism={"name": "repetition", "rounds": 30})
    rows = decisions(data, tmp_path)
    orders = [tuple(orjson.loads(row["options"])) for row in rows if row["player"] == 1]
    assert set(orders) == {("J", "F"), ("F", "J")}
    # The model takes whatever is named first: the record says why it answered as it did.
    assert all(row["label"] == orjson.loads(row["options"])[0] for row in rows)


def test_the_same_reply_to_another_order_is_recorded_with_that_order(tmp_path: Path) -> None:
    register("same", lambda _: "[J]")
    data = study({"labels": "JF", "order": "shuffled"}, mechanism={"name": "repetition", "rounds": 12})
    data["agent"] |= {"model": "scripted/same", "constrain": "never"}
    rows = decisions(data, tmp_path)
    unregister("same")
    assert {row["label"] for row in rows} == {"J"}
    assert {row["options"] for row in rows} == {'["J","F"]', '["F","J"]'}


@pytest.mark.parametrize(
    ("framing", "mechanism", "words"),
    [
        ({"units": "dollars"}, {}, "you receive 3 dollars"),
        ({"story": "cooking"}, {}, "cooking show"),
        ({"story": "project"}, {}, "shared project"),
        ({"goal": "total"}, {}, "Your goal is to collect as many points"),
        ({"payoffs": "words", "history": "words"}, {}, "it is the second-best outcome for you"),
        ({"hint": "may_err"}, {}, "may slip now and then"),
        ({"hint": "will_defect_once", "labels": "JF"}, {}, "will choose F exactly once, and J in every"),
        ({}, {"told_rounds": True}, "There are exactly 4 rounds."),
        ({}, {}, "You do not know how many rounds"),
        ({}, {"told_continuation": 0.9}, "another one follows with a chance of 90 %"),
    ],
)
def test_every_level_changes_the_words(
    framing: dict[str, Any], mechanism: dict[str, Any], words: str, tmp_path: Path
) -> None:
    decisions(study(framing, mechanism={"name": "repetition", "rounds": 4, **mechanism}), tmp_path)
    assert all(words in text for text in PROMPTS if "You are Player 1" in text)


def test_a_story_with_a_misspelt_word_is_refused(tmp_path: Path) -> None:
    mine = tmp_path / "stories"
    mine.mkdir()
    (mine / "typo.txt").write_text("---\noptoin: route\n---\nText.\n")
    with pytest.raises(StudyError, match="optoin: unknown word"):
        Library(tmp_path).story("stories/typo.txt")


def test_a_hint_about_defection_is_refused_where_nothing_is_a_defection() -> None:
    with pytest.raises(StudyError, match=r"will_defect_once\.txt: could not be filled in"):
        StudyPlan(load_study(study({"hint": "will_defect_once"}, game="battle_of_the_sexes")))


@pytest.mark.parametrize(
    ("order", "places"), [("given", {(0, 1)}), ("reversed", {(1, 0)}), ("shuffled", {(0, 1), (1, 0)})]
)
def test_only_a_shuffled_order_is_drawn(order: Any, places: set[tuple[int, ...]]) -> None:
    game = build_game("prisoners_dilemma")
    labelling = Labelling(Framing(order=order), "direct", None)
    decision = Decision(0, "act", view_after(game, []), Choice(game.named_actions(0)))
    rng = np.random.default_rng(1)
    assert {labelling.order_of(decision, rng) for _ in range(20)} == places
    assert labelling.order_of(decision, None) in places
