"""Framings and styles on games by a rule: stories, labels, wordings, hints, and what is refused in one line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostrom.answers import Answer, Choice, Form, Number, read
from ostrom.framing import Framing, Library, Prompt, PromptRenderer
from ostrom.framing.rules import lacks_names
from ostrom.games import build_game
from ostrom.ground.errors import OstromError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.catalog.none import NoMechanism
from ostrom.mechanisms.protocol import Decision
from ostrom.memory import MemoryView
from ostrom.models.base import Reply, Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

LIBRARY = Library()
SAID = {"labels": "JF", "order": "reversed"}
REPETITION = {"name": "repetition", "rounds": 2}
Played = Callable[[dict[str, Any]], list[dict[str, Any]]]


def reply_decision(game: str = "ultimatum", offer: int = 30) -> Decision:
    """The decision of whoever answers an offer."""
    rules = NoMechanism().play(build_game(game), Streams(0, 0))
    next(rules)
    return rules.send([Answer(offer)])[0]


def prompt(framing: dict[str, Any], style: str = "direct", seed: int = 0) -> tuple[Prompt, Form]:
    decision = reply_decision()
    renderer = PromptRenderer(Framing(**framing), LIBRARY, style, None, np.random.default_rng(seed))
    return renderer.prompt(decision, MemoryView(), np.random.default_rng(seed), {}), decision.form


def test_named_options_are_shown_and_read_by_declared_labels() -> None:
    shown, form = prompt({"labels": ["yes", "no"]})
    assert dict(shown.labels) == {"accept": "yes", "reject": "no"}
    assert "yes stands for accept and no stands for reject" in shown.text
    assert shown.instruction.endswith("[yes] or [no].") and shown.facts["order"] == ["yes", "no"]
    assert read(form, "[no]", shown.labels) == Answer("reject", "exact")
    assert not isinstance(read(form, "[reject]", shown.labels), Answer)


def test_by_default_options_bear_their_own_names_and_need_no_key() -> None:
    for framing in ({}, {"labels": "actions"}):
        shown, _ = prompt(framing)
        assert dict(shown.labels) == {"accept": "accept", "reject": "reject"} and "stands for" not in shown.text


def test_options_are_named_in_the_declared_order_and_labels_are_drawn_per_match() -> None:
    assert list(prompt(SAID)[0].labels.items()) == [("reject", "F"), ("accept", "J")]
    orders = {tuple(prompt({"order": "shuffled"}, seed=seed)[0].labels) for seed in range(20)}
    meant = {prompt({"labels": "JF", "counterbalance": True}, seed=seed)[0].labels["accept"] for seed in range(20)}
    drawn = {prompt({"labels": "draw"}, seed=seed)[0].labels["accept"] for seed in range(40)}
    assert len(orders) == 2 and meant == {"J", "F"} and len(drawn) > 2


class _model:
    """A scripted model for as long as a test needs it."""

    def __init__(self, answer: Callable[[Request], str | Reply]) -> None:
        self.answer = answer

    def __enter__(self) -> None:
        register("ruled", self.answer)

    def __exit__(self, *_: object) -> None:
        unregister("ruled")


@pytest.fixture
def played(tmp_path: Path) -> Played:
    """Plays one match of the scripted model with itself; its decisions."""

    def run_of(more: dict[str, Any]) -> list[dict[str, Any]]:
        agent = {"model": "scripted/ruled", **more.get("agent", {})}
        play(load_study({"name": "x", "mechanism": "none", "seeds": 1, **more, "agent": agent}), runs=tmp_path)
        with open_run(more.get("name", "x"), tmp_path) as run:
            return list(run.rows.decisions())

    return run_of


def test_a_story_is_a_factor_and_its_files_are_those_of_the_run(played: Played, tmp_path: Path) -> None:
    with _model(lambda _: "[10]"):
        rows = played({"game": "dictator", "vary": {"agent.framing.story": ["neutral", "bonus"]}})
    with open_run("x", tmp_path) as run:
        prompts = set(run.manifest["prompts"])
    assert [row["story"] for row in rows] == ["neutral", "bonus"]
    assert {"games/dictator.txt", "games/dictator.bonus.txt", "games/dictator_give.bonus.txt"} <= prompts


def test_a_story_of_ones_own_is_one_file(tmp_path: Path) -> None:
    folder = tmp_path / "prompts" / "games"
    folder.mkdir(parents=True)
    text = "---\nplayer: heir\n---\nAn estate of {{ amount(params.stake) }} is {{ names[0] }}'s to divide."
    (folder / "dictator.estate.txt").write_text(text, encoding="utf-8")
    decision = next(NoMechanism().play(build_game("dictator"), Streams(0, 0)))[0]
    renderer = PromptRenderer(Framing(story="estate"), Library(tmp_path / "prompts"), "direct")
    told = renderer.prompt(decision, MemoryView(), None, {}).text
    assert told.startswith("An estate of 100 points is Player 1's") and "The other heir is Player 2" in told
    (folder / "dictator.estate.txt").write_text("---\nplaier: heir\n---\nAn estate.", encoding="utf-8")
    with pytest.raises(OstromError, match="unknown word"):
        PromptRenderer(Framing(story="estate"), Library(tmp_path / "prompts"), "direct").with_titles(decision)


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    ("dictator", {"framing": {"payoffs": "rows"}}, "payoffs has no meaning here: there is no table of payoffs"),
    ("dictator", {"framing": {"rows": "sorted"}}, "rows has no meaning here"),
    ("dictator", {"framing": {"history": "words"}}, "told by games/dictator_past.txt"),
    ("dictator", {"framing": {"meanings": True}}, "meanings has no meaning here"),
    ("dictator", {"framing": {"labels": "JF"}}, "labels is about named options, and all its stages ask for amounts"),
    ("dictator", {"framing": {"order": "reversed"}}, "order is about named options"),
    ("dictator", {"style": "logprob"}, "style logprob is about named options"),
    ("dictator", {"style": "social"}, "style social predicts who decides at the same time, and in this game nobody"),
    ("centipede", {"style": "social"}, "nobody does"),
    ("dictator", {"framing": {"story": "lake"}}, "file games/dictator.lake.txt (allowed: neutral, bonus)"),
    ("dictator", {"framing": {"story": "../x"}}, "unknown prompt in stories/"),
    ("prisoners_dilemma", {"framing": {"story": "lake"}}, "no story 'lake' of it; told in it: common_pool"),
    ("ultimatum", {"framing": {"labels": "JFQ"}}, "labels: 3 labels for 2 actions at the stage reply"),
    ("ultimatum", {"framing": {"counterbalance": True}}, "counterbalance needs labels"),
    ("ultimatum", {"framing": {"hint": "equilibrium"}}, "hint equilibrium speaks of"),
    ("colonel_blotto", {"style": "logprob"}, "at most 12 options, the stage divide has 28"),
    ("ultimatum", {"framing": {"language": "de"}},
     "game ultimatum: it is not told in de: there is no file languages/de/games/ultimatum.txt"),
]  # fmt: skip


@pytest.mark.parametrize(("game", "agent", "says"), REFUSED, ids=lambda part: str(part)[:40])
def test_what_has_no_meaning_is_refused_before_anything_is_asked(game: Any, agent: Any, says: str) -> None:
    study = {"name": "x", "game": game, "mechanism": "none", "agent": {"model": "scripted/ruled", **agent}}
    with pytest.raises(OstromError) as error:
        StudyPlan(load_study(study))
    assert says in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("names", "game", "lacks"),
    [
        ("titles", "prisoners_dilemma", "names: titles needs a game that carries titles"),
        ("titles", "scenario:commons/debt_crisis", None),
        ("other", "prisoners_dilemma", None),
        ("other", {"name": "public_goods", "n": 3}, "names: other needs a game of two seats, this one has 3"),
        ("other", {"name": "public_goods", "n": 4}, "names: other needs a game of two seats, this one has 4"),
    ],
)
def test_names_that_a_game_has_no_words_for(names: str, game: Any, lacks: str | None) -> None:
    assert lacks_names(Framing(names=names), build_game(game)) == lacks


def test_logprob_compares_named_options_and_asks_amounts_directly(played: Played) -> None:
    def answer(request: Request) -> str | Reply:
        if request.top_logprobs:
            return Reply("J", logprobs={"J": -0.1, "F": -2.4})
        return "[30]"

    with _model(answer):
        offer, said = played(
            {"game": "ultimatum", "agent": {"style": "logprob", "constrain": "never", "params": {"temperature": 1.0}}}
        )
    assert (offer["amount"], offer["probabilities"]) == (30.0, None)
    assert (said["action"], said["label"], said["options"]) == ("accept", "J", '["J","F"]')
    assert said["probabilities"].startswith('{"accept":0.90')


@pytest.mark.parametrize("conversation", ["prompt", "dialogue"])
def test_social_predicts_the_amounts_of_those_who_decide_at_the_same_time(conversation: str, played: Played) -> None:
    seen: list[str] = []

    def answer(request: Request) -> str:
        seen.append(request.messages[-1].content)
        return "[7]" if "Do not answer that yet" in seen[-1] else "[20]"

    with _model(answer):
        rows = played({"game": {"name": "common_pool", "n": 3}, "mechanism": REPETITION,
                      "agent": {"style": "social", "constrain": "never", "conversation": conversation}})  # fmt: skip
    first = [row for row in rows if row["round"] == 1 and row["player"] == 1]
    assert [(r["kind"], r["target"], r["answer"]) for r in first if r["kind"] != "act"] == [
        ("predict2", 2, "7"), ("predict3", 3, "7"),
    ]  # fmt: skip
    chosen = [text for text in seen if "Given that, which answer is best for you?" in text]
    assert all("You expect Player" in text and "to answer 7 and Player" in text for text in chosen)
    assert len(chosen) == sum(row["kind"] == "act" for row in rows) and {r["amount"] for r in rows} >= {20.0}


def test_social_asks_about_another_stage_in_words_of_its_own(played: Played) -> None:
    seen: list[str] = []

    def answer(request: Request) -> str:
        seen.append(request.messages[-1].content)
        return "[40]"

    with _model(answer):
        played({"game": {"name": "ultimatum", "strategy_method": True},
               "agent": {"style": "social", "constrain": "never"}})  # fmt: skip
    asked = "".join(seen)
    assert "smallest part of the 100 points that Player 2 will accept?" in asked
    assert "How many of the 100 points will Player 1 offer?" in asked


def test_best_response_computes_first_and_is_told_its_result(played: Played) -> None:
    seen: list[str] = []

    def answer(request: Request) -> str:
        seen.append(request.messages[-1].content)
        return ("[reject]" if "compute first" in seen[-1] else "[accept]") if "[accept]" in seen[-1] else "[5]"

    with _model(answer):
        rows = played({"game": "ultimatum", "agent": {"style": "best_response", "constrain": "never"}})
    assert [(r["kind"], r["answer"]) for r in rows] == [
        ("act", "5"), ("best_response", "5"), ("act", "accept"), ("best_response", "reject"),
    ]  # fmt: skip
    assert "You have computed that 5 gives you most" in seen[1]
    assert "You have computed that reject gives you most" in seen[3]


def test_labels_stay_the_same_in_a_dialogue(played: Played) -> None:
    seen: list[str] = []

    def answer(request: Request) -> str:
        seen.append("\n".join(message.content for message in request.messages))
        return "[J]" if "[J]" in request.messages[-1].content else "[10]"

    with _model(answer):
        agent = {"framing": {"labels": "JF"}, "constrain": "never", "conversation": "dialogue"}
        rows = played({"game": "ultimatum", "mechanism": REPETITION, "agent": agent})
    assert [row["action"] for row in rows] == ["10", "accept"] * 2
    assert seen[-1].count("J stands for accept") == 2 and "\n[J]\n" in seen[-1]


def test_forms_are_told_apart_by_their_options() -> None:
    game = build_game("alternating_offers")
    labels = PromptRenderer(Framing(labels="JF"), LIBRARY, "direct").labelling.of_rule(game)
    assert labels.names(Number(0, 100), 0) == () and labels.names(Choice(("reject", "accept")), 0) == (
        "accept",
        "reject",
    )
    assert labels.labels_for(("accept", "reject")) == {"accept": "J", "reject": "F"}
