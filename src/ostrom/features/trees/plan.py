"""Trees of a study: all answers of its precomputed agent types, computed before play.

A tree is a run of its own in ``runs/trees/NAME``: calls are journaled, limited, paid for and resumed as in every
other run. A study whose game, rules, agent or prompts differ from those of its tree is refused with the difference.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ostrom.agents.config import AgentConfig
from ostrom.agents.language import renderer_of, styles
from ostrom.agents.tree import Trees, tree_key
from ostrom.costs.derived import DerivedPlan
from ostrom.costs.forecast import CostSum, Forecast, PerCall, assumptions
from ostrom.costs.lengths import CHARACTERS_PER_TOKEN, reply_of
from ostrom.engine.folder import Folder
from ostrom.engine.plan import Budget, Plan, Seated, Unit
from ostrom.games.game import Game
from ostrom.games.yaml_file import game_to_mapping
from ostrom.ground.errors import GameError, RunError, StudyError
from ostrom.mechanisms.base import Mechanism, choice_of
from ostrom.mechanisms.fork import Walk
from ostrom.mechanisms.protocol import Decision, History, Round, View
from ostrom.memory import memories
from ostrom.studies.plan import StudyPlan
from ostrom.studies.prompts import prompts_of, refuse_other_prompts, with_answer_form
from ostrom.studies.run import changed

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
    """The other players, which prompts mention."""

    @property
    def model_config_asked(self) -> AgentConfig:
        """Return the configuration of the model that is asked for the answers."""
        return self.config.model_copy(update={"tree": None})

    @property
    def key(self) -> str:
        """Return the lookup key of the tree."""
        return tree_key(self.config, self.game, self.walk.seat, self.rules.name, self.walk.told)


class TreePlan(DerivedPlan):
    """All trees of a study with one name."""

    kind: ClassVar[str] = "tree"
    command: ClassVar[str] = "ostrom more tree"

    def __init__(self, plan: StudyPlan, name: str, budget: Budget | None = None, runs: str | Path = "runs") -> None:
        self.plan = plan
        self.seats = [seat for seat in tree_seats(plan) if tree_name(seat.config, plan) == name]
        super().__init__(
            name,
            Path(runs) / FOLDER,
            tuple(dict.fromkeys(str(seat.config.model) for seat in self.seats)),
            plan.library,
            retries=plan.retries,
            policy=plan.policy,
            refused=plan.refused,
            budget=budget or plan.budget,
        )
        self.file = plan.file

    @classmethod
    def load_answers_for(cls, plan: Plan, runs: Path) -> None:
        """Load the answers of the precomputed types of a study."""
        assert isinstance(plan, StudyPlan), "only a study has types with trees"
        plan.trees = load_trees(plan, runs)

    @property
    def nodes(self) -> int:
        """Return the number of answers in all trees."""
        return sum(seat.walk.nodes for seat in self.seats)

    def description(self) -> dict[str, Any]:
        """Return which model is asked for which tree, as plain data."""
        return {
            "trees": {
                str(number): {
                    "type": seat.name,
                    "seat": seat.walk.seat + 1,
                    "rounds": seat.walk.rounds,
                    "mechanism": seat.rules.name,
                    "told": dict(seat.walk.told),
                    "game": game_to_mapping(seat.game),
                    "agent": seat.model_config_asked.model_dump(mode="json", exclude={"called"}),
                }
                for number, seat in enumerate(self.seats, 1)
            }
        }

    def settings(self, model: str) -> Mapping[str, Any]:
        """Client settings of a model."""
        return next(seat.config.settings for seat in self.seats if seat.config.model == model)

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The prompt files that are used, with a hash of each."""
        return prompts_of(self)

    def question_units(self) -> Iterator[tuple[Unit, Iterable[AgentConfig]]]:
        """Yield the matches that the trees are for, with the agents that answer."""
        for seat in self.seats:
            yield Unit(-1, seat.key, 0, {}, seat.game, seat.rules, seat.players), [seat.model_config_asked]

    def __len__(self) -> int:
        return len(self.seats)

    def unit(self, index: int) -> Unit:
        """One tree."""
        seat = self.seats[index]
        players = (Seated(seat.name, seat.model_config_asked),) * seat.walk.players
        return Unit(index, seat.key, 0, {}, seat.game, seat.walk, players, kind="tree", seat=seat.walk.seat)

    def forecast(self, prices: Mapping[str, Any] | None = None, limit: int | None = None) -> Forecast:  # noqa: ARG002
        """Return the cost of all trees: one prompt of each level is counted for every history of the level."""
        total = CostSum(
            Forecast(cells=len(self), matches=len(self), decisions=self.nodes, retries_per_decision=self.retries),
            prices,
        )
        for seat in self.seats:
            config, walk, calls = seat.model_config_asked, seat.walk, styles.build(seat.config.style).calls
            renderer, memory = renderer_of(config, self.library), memories.build(config.memory)
            form = choice_of(seat.game.actions[walk.seat])
            payoffs, rounds, tokens_in = seat.game.payoff((0,) * seat.game.seats), list[Round](), 0.0
            for level in range(walk.rounds):
                view = View(seat.game, walk.seat, walk.name, level + 1, History(list(rounds)), walk.told)
                decision = with_answer_form(Decision(0, "act", view, form), config)
                tokens_in += (
                    walk.width**level
                    * calls
                    * len(renderer.prompt(decision, memory.show(view, _no_chance), None, config.facts).full_text)
                    / CHARACTERS_PER_TOKEN
                )
                rounds.append(Round(level + 1, (0,) * seat.game.seats, payoffs))
            n_calls = calls * walk.nodes
            total.add(str(config.model), n_calls, PerCall(tokens_in / n_calls, *reply_of(config, decision.form)))
        bound = total.finished()
        bound.likely_decisions, bound.assumes = bound.decisions, assumptions()
        return bound.with_waves(None)

    def known(self) -> int:
        """Return the number of stored answers; a folder with trees of another study is refused."""
        if not self.folder.exists:
            return 0
        _check_same_study(self.folder, self)
        with self.folder.open_journal() as journal:
            return sum(not part for index in range(len(self)) for _, _, part in journal.answers(index))


def tree_name(config: AgentConfig, plan: StudyPlan) -> str:
    """The name of the tree of a type: that of the study where it says auto."""
    return plan.name if config.tree == "auto" else str(config.tree)


def tree_seats(plan: StudyPlan) -> list[TreeSeat]:
    """Return every distinct tree of a study, in the order of its cells."""
    seats: dict[str, TreeSeat] = {}
    for cell, players in ((table, players) for table in plan.tables() for players in table.seatings):
        for place, seated in enumerate(players):
            if seated.config.tree is None:
                continue
            if seated.observes:
                raise StudyError("an observer has no tree", file=plan.file, key=f"types.{seated.key}.tree")
            _check(seated, cell.game, plan.file)
            try:
                walk = Walk(cell.mechanism, cell.game, place % cell.game.seats)
            except GameError as error:
                raise StudyError(str(error), file=plan.file, key=f"types.{seated.key}.tree") from None
            tree_seat = TreeSeat(seated.key, seated.config, cell.game, cell.mechanism, walk, players)
            seats.setdefault(tree_seat.key, tree_seat)
    return list(seats.values())


def tree_names(plan: StudyPlan) -> list[str]:
    """The names of all trees of a study."""
    return list(dict.fromkeys(tree_name(seat.config, plan) for seat in tree_seats(plan)))


def _check(seated: Seated, game: Game, file: str | None) -> None:
    """Refuse a player whose answer to the same history can vary: a tree has one answer for each history."""
    config, key = seated.config, f"types.{seated.key}"
    if config.framing.draws_labels or config.framing.order == "shuffled":
        raise StudyError(
            "a tree needs the same words in every match: labels that are drawn and options that are shuffled do not "
            "go with it", file=file, key=f"{key}.framing",
        )  # fmt: skip
    memory = memories.build(config.memory)
    past = History([Round(n, (0,) * game.seats, (0.0,) * game.seats) for n in (1, 2)])
    if not memory.takes_notes:
        with suppress(_Chance):
            memory.show(View(game, 0, "repetition", 3, past), _no_chance)
            return
    raise StudyError(
        "a tree needs a memory without notes and without chance", file=file, key=f"{key}.memory", actual=config.memory
    )


class _Chance(Exception):
    """Raised when a memory draws random numbers."""


def _no_chance(number: int, purpose: str) -> np.random.Generator:
    raise _Chance(f"{number} {purpose}")


def load_trees(plan: StudyPlan, runs: str | Path) -> Trees:
    """The answers of all trees of a study; refused where one is missing, incomplete or of another study."""
    trees: dict[str, Mapping[Any, Any]] = {}
    for name in tree_names(plan):
        tree = TreePlan(plan, name, runs=runs)
        folder = tree.folder
        if not folder.exists:
            raise RunError(
                f"{folder.path}: there is no tree yet; `ostrom more tree {plan.file}` asks its {tree.nodes:,} answers"
            )
        _check_same_study(folder, tree)
        _refuse_older(folder, plan)
        with folder.open_journal() as journal:
            for index, seat in enumerate(tree.seats):
                answers = journal.answers(index)
                node_answers = {
                    moves: answers[step, player, ""][0]
                    for step, player, moves in seat.walk.places(seat.game)
                    if (step, player, "") in answers
                }
                if len(node_answers) < seat.walk.nodes:
                    raise RunError(
                        f"{folder.path}: the tree is not complete ({len(node_answers):,} of {seat.walk.nodes:,} "
                        f"answers of {seat.name} in game {seat.game.name}); `ostrom more tree {plan.file}` "
                        "goes on with it"
                    )
                trees[seat.key] = node_answers
    return trees


def _refuse_older(folder: Folder, plan: StudyPlan) -> None:
    """Refuse answers that are older than the registration of the run."""
    if plan.registered is None:
        return
    begun, registered = (datetime.fromisoformat(str(of["created"])) for of in (folder.manifest(), plan.registered))
    if begun < registered:
        raise RunError(
            f"{folder.path}: its answers were asked for from {begun:%Y-%m-%dT%H:%M:%SZ} on, and the run is bound to a "
            f"registration of {registered:%Y-%m-%dT%H:%M:%SZ} (move the folder away, `ostrom more tree {plan.file}` "
            "asks anew)"
        )


def _check_same_study(folder: Folder, plan: TreePlan) -> None:
    """Refuse a tree whose game, rules, agent or prompts are not those of the study now."""
    manifest, so = folder.manifest(), "give the new tree a name of its own: tree: NAME"
    if differs := changed(manifest["study"], plan.resolved()):
        more = f"; and {len(differs) - 3} more" if len(differs) > 3 else ""
        raise RunError(f"{folder.path}: the tree was made for another study: {'; '.join(differs[:3])}{more} ({so})")
    refuse_other_prompts(manifest["prompts"], plan.prompts, str(folder.path), so)
