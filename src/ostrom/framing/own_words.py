"""What depends on the kind of a game when it is put into words.

Games by a rule have files of their own in games/, in place of lists of actions and tables of payoffs:

``games/NAME.txt`` tells the rules, ``games/NAME_STAGE.txt`` asks at a stage of a round, ``games/NAME_past.txt`` tells a
round of the past.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.answers import Form, Number
from ostrom.framing.config import Framing
from ostrom.framing.library import ENGLISH, Library
from ostrom.games.function import FunctionGame
from ostrom.games.game import Game
from ostrom.mechanisms.protocol import Decision

MEANINGLESS = "labels counterbalance order story payoffs rows wording meanings history chances hint".split()
"""Parts of a framing that are about named actions and tables of payoffs."""


def game_file(game: FunctionGame) -> str:
    """The rules of a game."""
    return f"games/{game.name}.txt"


def past_file(game: FunctionGame) -> str:
    """A round of the past."""
    return f"games/{game.name}_past.txt"


def stage_file(decision: Decision) -> str:
    """The question of a move at a stage of a round."""
    view = decision.view
    return f"games/{view.game.name}_{view.facts['stage']}.txt"


def answer_file(library: Library, form: Form, style: str) -> str:
    """How an answer in a form has to be given, in a style where that has words of its own."""
    name = type(form).__name__.lower()
    own = f"answers/{name}_{style}.txt"
    return own if library.has(own) else f"answers/{name}_direct.txt"


def named_options(
    game: Game, seat: int, order: Sequence[int], labels: Sequence[Sequence[str]]
) -> dict[str, str]:
    """The labels of a seat's actions in the order of naming; a game by a rule calls its options by their own names."""
    if isinstance(game, FunctionGame):
        return {}
    names = game.actions[seat]
    return {names[i]: labels[seat][i] for i in (order if len(names) == len(order) else range(len(names)))}


def common_names(
    library: Library, game: Game, names: Sequence[str], labels: Sequence[Sequence[str]]
) -> list[str]:
    """What the k-th action of every seat is called, for rules that speak of all seats at once."""
    named: list[str] = []
    if isinstance(game, FunctionGame):
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


def lacks_names(framing: Framing, game: Game) -> str | None:
    """What a framing calls the seats of a game, and the game has no words for; None: nothing."""
    if framing.names == "titles" and not game.words.titles:
        return "names: titles needs a game that carries titles"
    if framing.names == "other" and game.seats != 2:
        return f"names: other needs a game of two seats, this one has {game.seats}"
    return None


def lacks_meaning(framing: Framing, style: str, library: Library, game: FunctionGame) -> str | None:
    """What a framing says about named actions and tables, which a game by a rule does not have; None: nothing."""
    plain = Framing()
    for part in MEANINGLESS:
        if getattr(framing, part) != getattr(plain, part):
            return f"{part} has no meaning here: the game is told in words of its own (games/{game.name}.txt)"
    if style not in ("direct", "reasoned"):
        return f"style {style} needs a list of named actions, which the game does not have"
    for file in (game_file(game), past_file(game), *(f"games/{game.name}_{s}.txt" for s in game.stages)):
        if not library.has(file):
            spoken = f" in {library.language}" if library.language != ENGLISH else ""
            return f"the prompts{spoken} have no file {file}, which tells the game to a model"
    return None
