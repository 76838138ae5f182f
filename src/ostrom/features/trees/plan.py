"""Trees of a study: all answers of its precomputed types, asked before anybody plays.

A tree is a run of its own in ``runs/trees/NAME``: calls are journaled, limited, paid for and resumed as in every
other run. A study whose game, rules, agent or prompts differ from those of its tree is refused with the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ostrom.agents.config import AgentConfig
from ostrom.agents.factory import renderer_of
from ostrom.agents.style import styles
from ostrom.agents.tree import Trees, tree_key
from ostrom.engine.folder import Folder
from ostrom.engine.plan import Budget, Seated, Unit
from ostrom.engine.runner import Options, Result
from ostrom.framing import Library
from ostrom.games.game import Game
from ostrom.games.yaml_file import game_to_mapping
from ostrom.ground.errors import GameError, RunError, StudyError
from ostrom.mechanisms.base import Mechanism, choice_of
from ostrom.mechanisms.protocol import Decision, History, Round, View
from ostrom.mechanisms.walk import Walk
from ostrom.memory import memories
from ostrom.models.base import Model
from ostrom.models.prices import price_of_calls
from ostrom.studies.forecast import CHARACTERS_PER_TOKEN, Forecast, reply_of
from ostrom.studies.plan import StudyPlan
from ostrom.studies.prompts import formed, prompts_of, refuse_other_prompts
from ostrom.studies.run import Watch, changed, play_plan

FOLDER = "trees"


@dataclass(frozen=True, slots=True)
class TreeSeat:
    """One tree: a type at a seat of a game."""

    name: str
    config: AgentConfig
    game: Game
    rules: Mechanism
    walk: Walk
    players: tuple[Seated, ...]
    """Who else plays, for the words of the prompts."""

    @property
    def asked(self) -> AgentConfig:
        """The model itself, as it is asked."""
        return self.config.model_copy(update={"tree": None})

    @property
    def key(self) -> str:
        """What it is looked up by."""
        return tree_key(self.config, self.game, self.walk.seat, self.rules.name, self.walk.told)


class TreePlan:
    """All trees of a study that bear one name."""

    def __init__(self, plan: StudyPlan, name: str, budget: Budget | None = None) -> None:
        self.plan, self.name = plan, name
        self.library: Library = plan.library
        self.file = plan.file
        self.retries, self.policy, self.refused = plan.retries, plan.policy, plan.refused
        self.budget = budget or plan.budget
        self.seats = [seat for seat in tree_seats(plan) if tree_name(seat.config, plan) == name]
        self.models = tuple(dict.fromkeys(str(seat.config.model) for seat in self.seats))

    @property
    def nodes(self) -> int:
        """How many answers there are in all."""
        return sum(seat.walk.nodes for seat in self.seats)

    def resolved(self) -> dict[str, Any]:
        """What is asked of whom, as plain data."""
        return {
            "kind": "tree",
            "name": self.name,
            "trees": {
                str(number): {
                    "type": seat.name,
                    "seat": seat.walk.seat + 1,
                    "rounds": seat.walk.rounds,
                    "mechanism": seat.rules.name,
                    "told": dict(seat.walk.told),
                    "game": game_to_mapping(seat.game),
                    "agent": seat.asked.model_dump(mode="json"),
                }
                for number, seat in enumerate(self.seats, 1)
            },
            "invalid": {"retries": self.retries, "policy": self.policy},
            "budget": {"calls": self.budget.calls, "tokens": self.budget.tokens, "usd": self.budget.usd},
        }

    def settings(self, model: str) -> Mapping[str, Any]:
        """Client settings of a model."""
        return next(seat.config.settings for seat in self.seats if seat.config.model == model)

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The prompt files that are used, with a hash of each."""
        return prompts_of(self)

    def asked(self) -> Iterator[tuple[Unit, Iterable[AgentConfig]]]:
        """The matches that the trees are for, with the agents that answer."""
        for seat in self.seats:
            yield Unit(-1, seat.key, 0, {}, seat.game, seat.rules, seat.players), [seat.asked]

    def __len__(self) -> int:
        return len(self.seats)

    def units(self) -> Iterator[Unit]:
        """Tree by tree."""
        return (self.unit(index) for index in range(len(self)))

    def unit(self, index: int) -> Unit:
        """One tree."""
        seat = self.seats[index]
        players = (Seated(seat.name, seat.asked),) * seat.walk.players
        return Unit(index, seat.key, 0, {}, seat.game, seat.walk, players, kind="tree", seat=seat.walk.seat)


def tree_name(config: AgentConfig, plan: StudyPlan) -> str:
    """The name of the tree of a type: that of the study where it says auto."""
    return plan.name if config.tree == "auto" else str(config.tree)


def tree_seats(plan: StudyPlan) -> list[TreeSeat]:
    """Every different tree of a study, in the order in which its cells name them."""
    found: dict[str, TreeSeat] = {}
    for cell in plan.tables():
        for players in cell.seatings:
            for place, seated in enumerate(players):
                if seated.config.tree is None:
                    continue
                if seated.observes:
                    raise StudyError(
                        "an observer has no tree", file=plan.file, key=f"types.{seated.name}.tree"
                    )
                seat = place % cell.game.seats
                _check(seated, cell.game, plan.file)
                try:
                    walk = Walk(cell.mechanism, cell.game, seat)
                except GameError as error:
                    raise StudyError(str(error), file=plan.file, key=f"types.{seated.name}.tree") from None
                made = TreeSeat(seated.name, seated.config, cell.game, cell.mechanism, walk, players)
                found.setdefault(made.key, made)
    return list(found.values())


def tree_names(plan: StudyPlan) -> list[str]:
    """The names of all trees of a study."""
    return list(dict.fromkeys(tree_name(seat.config, plan) for seat in tree_seats(plan)))


def _check(seated: Seated, game: Game, file: str | None) -> None:
    """A tree stands for a player who always does the same after the same past."""
    config, key = seated.config, f"types.{seated.name}"
    if config.framing.draws_labels or config.framing.order == "shuffled":
        raise StudyError(
            "a tree needs the same words in every match: labels that are drawn and options that are shuffled do not "
            "go with it", file=file, key=f"{key}.framing",
        )  # fmt: skip
    memory = memories.build(config.memory)
    past = History([Round(n, (0,) * game.seats, (0.0,) * game.seats) for n in (1, 2)])
    try:
        if not memory.takes_notes:
            memory.show(View(game, 0, "repetition", 3, past), _no_chance)
    except _Chance:
        pass
    else:
        if not memory.takes_notes:
            return
    raise StudyError(
        "a tree needs a memory without notes and without chance",
        file=file,
        key=f"{key}.memory",
        found=config.memory,
    )


class _Chance(Exception):
    """A memory that draws."""


def _no_chance(number: int, purpose: str) -> np.random.Generator:
    raise _Chance(f"{number} {purpose}")


def load_trees(plan: StudyPlan, runs: str | Path) -> Trees:
    """The answers of all trees of a study; refused where one is missing, incomplete or of another study."""
    trees: dict[str, Mapping[Any, Any]] = {}
    for name in tree_names(plan):
        made = TreePlan(plan, name)
        folder = Folder(Path(runs) / FOLDER / name)
        if not folder.exists:
            raise RunError(
                f"{folder.path}: there is no tree yet; `ostrom tree {plan.file}` asks its {made.nodes:,} answers"
            )
        _check_made_for(folder, made)
        journal = folder.open_journal()
        try:
            for index, seat in enumerate(made.seats):
                answers = journal.answers(index)
                known = {
                    moves: answers[step, player, ""][0]
                    for step, player, moves in seat.walk.places(seat.game)
                    if (step, player, "") in answers
                }
                if len(known) < seat.walk.nodes:
                    raise RunError(
                        f"{folder.path}: the tree is not complete ({len(known):,} of {seat.walk.nodes:,} answers of "
                        f"{seat.name} in game {seat.game.name}); `ostrom tree {plan.file}` goes on with it"
                    )
                trees[seat.key] = known
        finally:
            journal.close()
    return trees


def _check_made_for(folder: Folder, plan: TreePlan) -> None:
    """Refuse a tree whose game, rules, agent or prompts are not those of the study now."""
    manifest = folder.manifest()
    so = "give the new tree a name of its own: tree: NAME"
    differs = changed(manifest["study"], plan.resolved())
    if differs:
        more = f"; and {len(differs) - 3} more" if len(differs) > 3 else ""
        raise RunError(
            f"{folder.path}: the tree was made for another study: {'; '.join(differs[:3])}{more} ({so})"
        )
    refuse_other_prompts(manifest.get("prompts"), plan.prompts, str(folder.path), so)


def known_nodes(plan: TreePlan, folder: Folder) -> int:
    """How many answers a tree has by now; refused where the folder holds the tree of another study."""
    if not folder.exists:
        return 0
    _check_made_for(folder, plan)
    journal = folder.open_journal()
    try:
        return sum(not part for index in range(len(plan)) for _, _, part in journal.answers(index))
    finally:
        journal.close()


def make_tree(
    plan: TreePlan,
    *,
    runs: str | Path = "runs",
    options: Options | None = None,
    watch: Watch | None = None,
    open_models: Callable[[str, Mapping[str, Any]], Model] | None = None,
) -> Result:
    """Ask all answers of a tree, or go on asking."""
    return play_plan(
        plan,  # type: ignore[arg-type]  # a plan of its own kind; it has all that playing asks for
        name=plan.name,
        runs=Path(runs) / FOLDER,
        options=options,
        watch=watch,
        open_models=open_models,
    )


def forecast_tree(plan: TreePlan, prices: Mapping[str, Any] | None = None) -> Forecast:
    """What a tree takes: one prompt of every level is written, and counted as often as the level has histories."""
    total = Forecast(
        cells=len(plan), matches=len(plan), decisions=plan.nodes, retries_per_decision=plan.retries
    )
    unpriced, unbounded = dict[str, None](), dict[str, None]()
    usd, likely_usd, most_out = 0.0, 0.0, 0
    for seat in plan.seats:
        config, walk, calls = seat.asked, seat.walk, styles.build(seat.config.style).calls
        renderer, memory = (
            renderer_of(config, plan.library),
            memories.build(config.memory),
        )
        form = choice_of(seat.game.actions[walk.seat])
        payoffs, rounds, tokens_in = seat.game.payoff((0,) * seat.game.seats), list[Round](), 0.0
        for level in range(walk.rounds):
            view = View(seat.game, walk.seat, walk.name, level + 1, History(list(rounds)), walk.told)
            decision = formed(Decision(0, "act", view, form), config)
            text = renderer.prompt(decision, memory.show(view, _no_chance), None, config.facts).whole
            tokens_in += walk.width**level * calls * len(text) / CHARACTERS_PER_TOKEN
            rounds.append(Round(level + 1, (0,) * seat.game.seats, payoffs))
        likely, most = reply_of(config, decision.form)
        made = calls * walk.nodes
        total.calls += round(made)
        total.tokens_in += round(tokens_in)
        total.likely_tokens_out += round(made * likely)
        most_out += round(made * (likely if most is None else most))
        model = str(config.model)
        if most is None:
            unbounded[model] = None
        costs = [
            price_of_calls(model, made, tokens_in / made, out, prices) for out in (most or likely, likely)
        ]
        if costs[0] is None or costs[1] is None:
            unpriced[model] = None
        else:
            usd, likely_usd = usd + costs[0], likely_usd + costs[1]
    total.unpriced, total.unbounded = tuple(unpriced), tuple(unbounded)
    total.tokens_out = None if unbounded else most_out
    total.usd = None if unpriced or unbounded else usd
    total.likely_usd = None if unpriced else likely_usd
    return total
