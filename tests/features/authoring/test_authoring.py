"""Stories by a model: written for a table, read by another model, kept only if it reads what the table says."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.features.authoring.plan import Authoring
from ostrom.games.scenarios import load_scenario, shipped_scenario
from ostrom.games.scenarios.proof import prove
from ostrom.games.scenarios.schema import NARRATIVE_WORDS
from ostrom.ground.errors import OstromError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan

STORY = " ".join(["The mill pays as long as it smokes, and the town lives on the mill;"] * 6)
SHORT = "Too short a story to be kept, although it is long enough to pass for an answer of the right form here."


def author(request: Request) -> str:
    text = request.messages[0].content
    assert "CLEAN, REGULATE, CAMPAIGN, SUPPORT_GREEN" in text and "nobody gains" in text
    story = SHORT if "Currency Devaluation" in text else STORY
    return orjson.dumps({"title": "Smoke over the mill", "narrative": story}).decode()


def reader(request: Request) -> str:
    """Finds the tragedy stable, wherever it stands."""
    text = request.messages[0].content
    assert STORY[:60] in text or SHORT[:60] in text
    assert not re.search(r"\d+\.\d", text)  # no payoffs
    first = re.search(r"The first: (.*?)\. The second", text)
    assert first is not None
    place = "first" if first[1].startswith("POLLUTE") else "second"
    return orjson.dumps({"stable": place, "reason": "The mill must smoke."}).decode()


@pytest.fixture
def models() -> Iterator[None]:
    register("author", author)
    register("reader", reader)
    yield
    unregister("author")
    unregister("reader")


@pytest.mark.usefixtures("models")
def test_stories_are_written_proved_filtered_and_never_read_by_their_author(ostrom: Any, tmp_path: Path) -> None:
    names = "debt_crisis,currency_devaluation,water_crisis"
    options = ("--model", "scripted/author", "--names", names, "--copies", "2", "--runs", str(tmp_path))
    folder = tmp_path / "mill"
    done = ostrom("more", "author", str(folder), *options, "--reader", "scripted/reader", "--json")
    told = json.loads(done.stdout)
    assert (told["stories"], told["kept"], told["calls"]) == (6, 2, 12)
    why = {story["name"]: story["why"] for story in told["written"]}
    assert why["debt_crisis_1"] is None and why["debt_crisis_2"] is None  # the pair is swapped in the second copy
    assert "words" in why["currency_devaluation_1"] and "the reader finds" in why["water_crisis_1"]
    kept = sorted(path.name for path in folder.glob("*.yaml"))
    assert kept == ["cast.yaml", "debt_crisis_1.yaml", "debt_crisis_2.yaml"]
    made, base = load_scenario(folder / "debt_crisis_1.yaml"), shipped_scenario("commons", "debt_crisis")
    assert prove(made).holds and made.payoffs == base.payoffs and made.narrative == STORY
    assert made.author == "scripted/author"
    # The same command asks nothing anew; the author may neither read nor play its stories.
    again = json.loads(ostrom("more", "author", str(folder), *options, "--reader", "scripted/reader", "--json").stdout)
    assert again["kept"] == 2 and again["calls"] in (0, 12)
    refused = ostrom("more", "author", str(folder), *options, "--reader", "scripted/author")
    assert refused.returncode == 2 and "another model has to read them" in refused.stderr


@pytest.mark.usefixtures("models")
def test_a_model_does_not_play_what_it_wrote(ostrom: Any, tmp_path: Path) -> None:
    options = ("--model", "scripted/author", "--reader", "scripted/reader", "--names", "debt_crisis")
    assert ostrom("more", "author", str(tmp_path / "mill"), *options, "--runs", str(tmp_path)).returncode == 0
    scenario = str(tmp_path / "mill" / "debt_crisis_1.yaml")
    study = {"name": "x", "game": scenario, "agent": {"framing": {"story": "scenario", "labels": "actions"}}}
    assert StudyPlan(load_study({**study, "types": {"r": "scripted/reader"}})).cells == 1
    with pytest.raises(OstromError, match="does not play what it wrote"):
        StudyPlan(load_study({**study, "types": {"a": "scripted/author"}}))


def test_a_story_is_kept_by_its_length_and_by_what_the_reader_finds() -> None:
    scenario = shipped_scenario("commons", "debt_crisis")
    assert scenario.claim == "tragedy"
    plain, swapped = Authoring(scenario), Authoring(scenario, swapped=True)
    low, high = NARRATIVE_WORDS

    def kept(rules: Authoring, words: int, stable: str) -> tuple[bool, str]:
        return rules.verdict({"narrative": "word " * words, "stable": stable})

    assert kept(plain, low, "second") == kept(plain, high, "second") == (True, "") == kept(swapped, low, "first")
    for words in (low - 1, high + 1):
        assert kept(plain, words, "second") == (False, f"has {words} words (from {low} to {high} are allowed)")
    assert kept(plain, low, "first") == (False, "the reader finds first, the table says second")
    assert kept(swapped, low, "second") == (False, "the reader finds second, the table says first")
