"""What depends on the kind of a game when it is put into words.

Games by a rule have files of their own in games/, in place of lists of actions and tables of payoffs:

``games/NAME.txt`` tells the rules, ``games/NAME_STAGE.txt`` asks at a stage of a round, ``games/NAME_past.txt`` tells a
round of the past. A cover story is ``games/NAME.STORY.txt``; the other files have a variant for it where they need one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.answers import Form, Number
from ostrom.framing.config import Framing
from ostrom.framing.library import Library
from ostrom.framing.rules import FIRST
from ostrom.games.game import Game
from ostrom.mechanisms.protocol import Decision

NEUTRAL = "neutral"
OBSERVER, OBSERVER_PREDICTS = "games/_observer.txt", "games/_observer_predict.txt"
"""The rules of a game and a question of it as somebody reads them whom they do not address."""


def story_file(framing: Framing, game: Game | None) -> str:
    """The file that tells a cover story: one for all games with a table, one of its own for a game by a rule."""
    if game is not None and not game.has_table and framing.story != NEUTRAL:
        return f"games/{game.name}.{framing.story}.txt"
    return f"stories/{framing.story}.txt"


def stories_of(library: Library, game: Game) -> list[str]:
    """The cover stories that a game by a rule is told in."""
    begin = f"{game.name}."
    return [NEUTRAL, *(name.removeprefix(begin) for name in library.names("games") if name.startswith(begin))]


def game_file(game: Game) -> str:
    """The rules of a game."""
    return f"games/{game.name}.txt"


def past_file(library: Library, game: Game, story: str) -> str:
    """A round of the past."""
    return variant(library, f"games/{game.name}_past", story)


def stage_file(library: Library, decision: Decision, story: str) -> str:
    """The question of a move at a stage of a round."""
    view = decision.view
    return variant(library, f"games/{view.game.name}_{view.facts['stage']}", story)


def first_file(library: Library, decision: Decision, story: str) -> str:
    """The question of a style that asks before a move: its own for the stage that is foretold, or that of all games."""
    view = decision.view
    if view.facts.get("observer"):
        return OBSERVER_PREDICTS
    stage = view.facts["stage"]
    other = view.facts.get("target_stage", stage)
    own = variant(library, f"games/{view.game.name}_{other}_{decision.kind}", story)
    # The file of all games says that the other is asked the same.
    return own if library.has(own) or other != stage else f"games/_{decision.kind}.txt"


def variant(library: Library, file: str, story: str) -> str:
    """The file as a story tells it, where it has one of its own."""
    own = f"{file}.{story}.txt"
    return own if story != NEUTRAL and library.has(own) else f"{file}.txt"


def rule_question(library: Library, decision: Decision, story: str, values: Mapping[str, Any]) -> str:
    """The question of a move in a game by a rule, or of what a style asks before it."""
    facts = decision.view.facts
    asked = library.fill(stage_file(library, decision, story), values)
    if decision.kind in FIRST:
        asked = library.fill(first_file(library, decision, story), {**values, "question": asked})
    elif "belief" in facts or "computed" in facts:
        asked = library.fill("games/_expected.txt", {**values, "question": asked})
    if values.get("labelled"):
        asked = library.fill("games/_labels.txt", {**values, "question": asked})
    return asked


def answer_file(library: Library, form: Form, style: str) -> str:
    """How an answer in a form has to be given, in a style where that has words of its own."""
    name = type(form).__name__.lower()
    own = f"answers/{name}_{style}.txt"
    return own if library.has(own) else f"answers/{name}_direct.txt"


def common_names(
    library: Library, game: Game, names: Sequence[str], labels: Sequence[Sequence[str]]
) -> list[str]:
    """What the k-th action of every seat is called, for rules that speak of all seats at once."""
    named: list[str] = []
    if not game.has_table:
        return named
    for same in zip(*labels, strict=False):
        if len(set(same)) == 1:
            named.append(same[0])
        else:
            each = [{"label": label, "name": names[s]} for s, label in enumerate(same)]
            named.append(library.fill("common.txt", {"players": each}))
    return named


def number_range(form: Number) -> dict[str, Any]:
    """The bounds of an amount, for the instruction that asks for it."""
    return {"low": form.low, "high": form.high, "step": form.step, "decimals": form.amounts.decimals}
