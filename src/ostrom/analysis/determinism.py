"""Matches without sampling error: with another seed they would end the same way."""

from collections.abc import Callable
from typing import Any, NoReturn

from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.data.rundata import RunData
from ostrom.engine.plan import Unit
from ostrom.ground.errors import OstromError, UsageError
from ostrom.memory import memories

STAND_IN = "cooperator"
ALONE = frozenset({"cooperator", "defector", "alternator"})
"""Strategies whose moves do not depend on other players."""
MOST_TRIED = 50
"""The most units of a study that are tested."""


class Determinism:
    """Decides for the matches of a run whether chance affects them.

    A match is deterministic if all its players are scripted and playing it through draws nothing at all: no
    move, no memory, no noise, no length. That is tried once for all matches that differ in their seed alone.
    """

    def __init__(self, unit_of: Callable[[int], Unit]) -> None:
        self.unit_of = unit_of
        self._cache: dict[str, bool] = {}

    def __call__(self, match: int) -> bool:
        return self._once(match, "", plays_without_chance)

    def own_moves(self, match: int, player: int) -> bool:
        """Return whether a player's moves (from 1) are the same whatever the others do, models included."""
        return self._once(match, f"{player} ", lambda unit: _moves_alone(unit, player - 1))

    def _once(self, match: int, question: str, decide: Callable[[Unit], bool]) -> bool:
        """Return the decision about a match, made once for all matches that differ in their seed alone."""
        try:
            unit = self.unit_of(match)
        except UsageError:  # tables without a study
            return False
        if question + unit.key not in self._cache:
            self._cache[question + unit.key] = decide(unit)
        return self._cache[question + unit.key]


class ChanceUsed(Exception):
    """Raised when a random number is drawn."""


class DrawRefused:
    """Random streams, and a decision context, that refuse every draw."""

    step = player = since = 0
    origin = None

    def _drawn(self, *_: Any, **__: Any) -> NoReturn:
        raise ChanceUsed

    generator = chance = for_round = base_key = draw = at = about = root = _drawn


def plays_without_chance(unit: Unit) -> bool:
    """Return whether a unit plays to its end with every random draw refused.

    Matches that need designs made before them count as random, as do those that cannot be played here.
    """
    return (
        not unit.needs
        and all(player.config.strategy is not None for player in unit.players)
        and not draws_anything(unit)
    )


def draws_anything(unit: Unit) -> bool:
    """Return whether scripts, mechanism or prompts of a unit draw; models are replaced by cooperators.

    What cannot be played here counts as drawing.
    """
    models = [player.config for player in unit.players if player.config.strategy is None]
    return (
        any("shuffled" in (config.framing.order, config.framing.rows) for config in models)
        or _played(unit, STAND_IN) is None
    )


def _moves_alone(unit: Unit, player: int) -> bool:
    """Return whether a player moves the same against cooperators and against defectors."""
    config = unit.players[player].config if player < len(unit.players) else None
    if unit.needs or config is None or not (isinstance(config.strategy, str) and config.strategy in ALONE):
        return False
    kind, soft = _played(unit, STAND_IN), _played(unit, "defector")
    return kind is not None and soft is not None and kind.get(player) == soft.get(player)


def _played(unit: Unit, stand_in: str) -> dict[int, list[Any]] | None:
    """Return each player's replies with a strategy in place of models; None if anything is drawn."""
    nothing: Any = DrawRefused()
    replies: dict[int, list[Any]] = {}
    try:
        agents = [
            ScriptedAgent(
                strategies.build(player.config.strategy or stand_in),
                None if player.config.memory == "full" else memories.build(player.config.memory),
            )
            for player in unit.players
        ]
        play = unit.mechanism.play(unit.game, nothing)
        decisions = next(play)
        while True:
            answers = [agents[d.player].reply(d, nothing) for d in decisions]
            for decision, reply in zip(decisions, answers, strict=True):
                replies.setdefault(decision.player, []).append(reply)
            decisions = play.send(answers)
    except StopIteration:
        return replies
    except (ChanceUsed, OstromError):
        return None


def seeds_shared(run: RunData) -> bool:
    """Return whether a seed fixes draws shared by two cells: as the study declares, or as its matches show.

    Chance is drawn by seed and cell, so cells share nothing, unless they go on from the same past (forks).
    """
    declared = run.study.get("seeds_shared")
    if declared is not None:
        return bool(declared)
    try:
        return run.unit(0).origin is not None
    except (OstromError, IndexError):  # tables without a study
        return False


def draws_in_common(run: RunData) -> bool:
    """Return whether runs of the same study share random draws in the same cell and seed.

    It does where scripts, the mechanism or the words draw anything; a model's own sampling alone is drawn anew.
    """
    declared = run.study.get("seeds_shared")
    if declared is not None or run.manifest.get("imported"):
        return bool(declared)
    try:
        return any(draws_anything(run.unit(index)) for index in range(min(run.planned, MOST_TRIED)))
    except (OstromError, IndexError):
        return False
