"""Branches: play on from a round of a finished match, with something changed, as a new run."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import orjson
from pydantic import Field

from ostrom.agents.config import AgentConfig
from ostrom.engine.plan import Budget, PlanSource, Seated, Unit
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.validation import validate
from ostrom.ground.yaml import read_yaml
from ostrom.mechanisms import Mechanism
from ostrom.mechanisms.fork import Branched
from ostrom.mechanisms.protocol import Round
from ostrom.mechanisms.settlement import settled_rounds
from ostrom.models.base import Model
from ostrom.studies.checks import check_memory
from ostrom.studies.factors import Factor, Level, overlap, set_path
from ostrom.studies.fork import ForkPlan, ForkPoint, Origin, copy_answers, point_of
from ostrom.studies.load import split_change
from ostrom.studies.plan import StudyPlan, read_base
from ostrom.studies.run import Run, Watch, play_plan

ROUNDS = "mechanism.rounds"
WAYS = ("strategy", "model", "person", "mcp")


class BranchOf(Origin):
    """The match and round that a branch starts from, and its changes."""

    kind: Literal["branch"] = "branch"
    changes: dict[str, Any] = Field(default_factory=dict)
    seat: int | None = Field(default=None, description="the only seat whose agent is changed")
    seeds: int = 1


class BranchPlan(ForkPlan):
    """The replicates of one branch.

    The first continues with the random numbers of the parent's match, so that only the changes make a difference;
    the others draw their own random numbers from the branching round on.
    """

    kind: ClassVar[str] = "branch"
    command: ClassVar[str] = "ostrom more branch"
    origin: BranchOf

    @classmethod
    def read(cls, source: PlanSource) -> Self:
        """Read the plan of a branch from its manifest, which names the run and the match that it starts from."""
        return cls(read_base(source), validate(BranchOf, dict(source.manifest["parent"]), source.file, "parent"))

    def __init__(self, base: StudyPlan, origin: BranchOf, budget: Budget | None = None) -> None:
        super().__init__(base, origin, budget)
        self.origin = origin
        self.file = "--set"
        parent, changes, seat = self.parent, origin.changes, origin.seat
        if seat is not None and not 1 <= seat <= len(parent.players):
            raise UsageError(f"--seat {seat}: the match has players 1 to {len(parent.players)}")
        if seat is not None and not any(path != ROUNDS for path in changes):
            raise UsageError(f"--seat {seat}: no agent is changed")
        changed = [
            self._changed(seated, changes) if seat in (None, player) else seated
            for player, seated in enumerate(parent.players, 1)
        ]
        self._players = _named(parent.players, changed, changes)
        label = described(changes, seat)
        self._cell_labels = {**relabelled(parent.cell, base.factors, changes, seat is None), "branch": label}
        self._rules = self.rules(0, {})
        self._ready(origin.seeds, Factor("branch", (Level(label, {}),)))

    def _changed(self, seated: Seated, changes: Mapping[str, Any]) -> Seated:
        config = self._build_agent(orjson.dumps(changed_agent(seated.config, changes)).decode())
        check_memory(config, self.parent.game, self.file)
        return replace(seated, config=config)

    def rules(self, index: int, changes: Mapping[str, Any]) -> Mechanism:  # noqa: ARG002
        """Return the rules of the parent match with the number of rounds that the branch sets, if it sets one."""
        own = {ROUNDS.partition(".")[2]: self.origin.changes[ROUNDS]} if ROUNDS in self.origin.changes else {}
        rules, given = self.base.rules(self.origin.match, {**own, **changes}), self.origin.given
        return Branched(rules if given is None else rules.with_preparations(given), self.origin.step)

    def unit(self, index: int) -> Unit:
        """Return the replicate with this index."""
        parent = self.parent
        return replace(
            parent,
            index=self._within(index),
            key=parent.key if index == 0 else f"{parent.key}#branch{index}",
            seed=parent.seed + index,
            cell=self._cell_labels,
            mechanism=self._rules,
            players=self._players,
            needs=(),
            origin=parent.streams,
            since=self.origin.round,
            earlier=parent.before(self.origin.step, self.origin.round),
        )


def _named(before: Sequence[Seated], after: Sequence[Seated], changes: Mapping[str, Any]) -> tuple[Seated, ...]:
    """Return the players; the name of a changed one states the change: ``tft (memory=window:2)``."""
    how = described({path: to for path, to in changes.items() if path != ROUNDS}, None)
    return tuple(
        new if new.config == old.config else replace(new, name=f"{new.name} ({how})")
        for old, new in zip(before, after, strict=True)
    )


@dataclass(frozen=True)
class BranchResult:
    """The result of a branch and its folder."""

    result: Result
    folder: Path
    origin: BranchOf


def branch(
    run: Run,
    match: int,
    at: int,
    changes: Sequence[str] = (),
    *,
    seat: int | None = None,
    seeds: int = 1,
    name: str | None = None,
    runs: str | Path = "runs",
    budget: Budget | None = None,
    options: PlayOptions | None = None,
    watch: Watch | None = None,
    open_models: Callable[[str, Mapping[str, Any]], Model] | None = None,
) -> BranchResult:
    """Play on from round ``at`` of a finished match as a new run, or go on with that run."""
    point = point_of(run, match)
    read = read_changes(changes)
    origin = BranchOf(
        run=run.name, match=match, round=at, step=_step(run, point, match, at, read), given=point.given,
        of=run.manifest.get("parent"), changes=read, seat=seat, seeds=seeds,
    )  # fmt: skip
    plan = BranchPlan(run.plan, origin, budget)
    prefix = point.before(origin.step)
    _reach(plan, prefix, origin)
    label = name or f"branch-{run.name}-m{match}-r{at}-{_digest(origin)}"
    result = play_plan(
        plan,
        name=label,
        runs=runs,
        options=options,
        watch=watch,
        open_models=open_models,
        begin=lambda folder: copy_answers(folder, dict.fromkeys(range(seeds), prefix)),
    )
    return BranchResult(result, Path(runs) / label, origin)


def _step(run: Run, point: ForkPoint, match: int, at: int, changes: Mapping[str, Any]) -> int:
    """Return the step at which round ``at`` begins; the round after the last counts if more rounds are to follow."""
    more = at == point.rounds + 1 and ROUNDS in changes
    step = point.step_of(at) if at >= 1 else None
    if step is not None or more:
        return len(point.steps) if step is None else step
    raise UsageError(
        f"--at {at}: match {match} of {run.name} has rounds 1 to {point.rounds} "
        f"(to play on after the last, also set {ROUNDS})"
    )


def _reach(plan: BranchPlan, prefix: Mapping[Any, Any], origin: BranchOf) -> None:
    """Refuse a branch whose changed rules do not reach the branching point with the parent's answers."""
    unit = plan.unit(0)
    play, reached = unit.mechanism.play(unit.game, unit.streams), False
    with suppress(StopIteration):
        due = next(play)
        for step in range(origin.step):
            due = play.send([prefix[step, d.player, ""][0] for d in due])
        reached = any(d.view.round >= origin.round for d in due)
    if not reached:
        raise UsageError(f"--at {origin.round}: with these changes the match ends before round {origin.round}")


def _digest(origin: BranchOf) -> str:
    return hashlib.blake2b(
        orjson.dumps([origin.changes, origin.seat], option=orjson.OPT_SORT_KEYS), digest_size=3
    ).hexdigest()


def read_changes(texts: Sequence[str]) -> dict[str, Any]:
    """Parse ``key=value`` texts into changes by full path.

    >>> read_changes(["memory=window:2", "rounds=20"])
    {'agent.memory': 'window:2', 'mechanism.rounds': 20}
    """
    return {_full(path): read_yaml(value, "--set") for path, value in map(split_change, texts)}


def _full(path: str) -> str:
    if path in ("rounds", ROUNDS):
        return ROUNDS
    bare = path.removeprefix("agent.")
    if bare.split(".")[0] not in AgentConfig.model_fields:
        raise StudyError(
            "cannot be changed in a branch",
            key="--set",
            actual=path,
            allowed=[f"agent.{name}" for name in AgentConfig.model_fields] + [ROUNDS],
        )
    return f"agent.{bare}"


def changed_agent(config: AgentConfig, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of an agent after changes, as plain data.

    A new strategy, model, person or mcp entry replaces whichever of these was set, and removes the client settings,
    which were made for the old model.
    """
    data: dict[str, Any] = config.model_dump(mode="json", exclude_unset=True)
    fields = {path.removeprefix("agent."): to for path, to in changes.items() if path.startswith("agent.")}
    for field, value in fields.items():
        if field in WAYS:
            data = {key: of for key, of in data.items() if key not in (*WAYS, "settings")}
        set_path(data, field, value)
    return data


def relabelled(
    labels: Mapping[str, Any], factors: Sequence[Factor], changes: Mapping[str, Any], everywhere: bool
) -> dict[str, Any]:
    """Return a cell's labels after changes: the label of an overridden factor becomes the new value, or None.

    It becomes the new value only where exactly the factor's field was changed for all players.
    """
    result = dict(labels)
    for factor in factors:
        for path, value in changes.items():
            kinds = {type(level.label) for level in factor.levels}
            if touched := {own for own in factor.paths if overlap(_bare(own), path)}:
                result[factor.name] = value if everywhere and touched == {path} and type(value) in kinds else None
    return result


def _bare(path: str) -> str:
    """Return the field of an agent that a path sets, without the part that says which agent."""
    first, _, rest = path.partition(".")
    return f"agent.{rest.partition('.')[2]}".removesuffix(".") if first in ("types", "seats") else path


def described(changes: Mapping[str, Any], seat: int | None) -> str:
    """Describe changes in a few words.

    >>> described({"agent.memory": "window:2"}, 1)
    'memory=window:2 at seat 1'
    """
    text = ", ".join(f"{path.removeprefix('agent.')}={value}" for path, value in changes.items())
    return "no change" if not changes else text if seat is None else f"{text} at seat {seat}"


@dataclass(frozen=True, slots=True)
class Continuation:
    """One player's cooperation rate before the branch, after it in the parent match, and after it in the branch.

    In a game without a cooperative action it is the payoff per round instead (``measure_of``); rounds lost because the
    game ended early (a stock that collapsed) count as rounds with payoff 0, as they do in the score.
    """

    player: int
    agent: str
    before: float | None
    parent: float | None
    branch: float | None
    change: float | None
    replicates: int


def continuations(parent: Run, child: Run, origin: BranchOf) -> list[Continuation]:
    """Return one row per player; the value of the branch is the mean over its finished replicates."""
    game = point_of(parent, origin.match).unit.game
    parent_rounds = _rounds(parent, origin.match)
    finished = [index for index, state in sorted(child.journal.states().items()) if state == "done"]
    own = [_rounds(child, index) for index in finished]
    rows = []
    for player, seated in enumerate(child.plan.unit(0).players):
        before = _mean(game, parent_rounds, player, 1, origin.round)
        then = _mean(game, parent_rounds, player, origin.round, None)
        shares = (_mean(game, rounds, player, origin.round, None) for rounds in own)
        valid = [share for share in shares if share is not None]
        now = sum(valid) / len(valid) if valid else None
        change = None if now is None or then is None else now - then
        rows.append(Continuation(player + 1, seated.name, before, then, now, change, len(valid)))
    return rows


def _rounds(run: Run, match: int) -> Sequence[Round]:
    """Return the rounds of a match; empty if its replay has no outcome."""
    _, outcome, _ = run.rows.replayed(run.plan.unit(match))
    return () if outcome is None else outcome.rounds


def measure_of(game: Game) -> str:
    """Return the compared measure: cooperation, or payoff per round in a game without a cooperative action."""
    return "payoff per round" if all(action is None for action in game.cooperative) else "cooperation"


def _mean(game: Game, rounds: Sequence[Round], player: int, first: int, end: int | None) -> float | None:
    """Return a player's mean of ``measure_of`` from round ``first`` until before ``end``; None if no round counts."""
    own = [one for one in settled_rounds(game, rounds) if one.player == player and first <= one.number < (end or inf)]
    paid = measure_of(game) != "cooperation"
    acted = (None if one.action is None else game.cooperates(one.seat, one.action) for one in own)
    values = [float(value) for value in ([one.payoff for one in own] if paid else acted) if value is not None]
    return sum(values) / len(values) if values else None
