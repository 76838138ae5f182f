"""The local executor: all matches in this process, on one event loop."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Mapping
from typing import Any

from ostrom.agents.factory import AgentFactory
from ostrom.agents.language import Invalidity
from ostrom.engine.cache import Cache
from ostrom.engine.caller import Caller
from ostrom.engine.executors.base import (
    Assignment,
    Session,
    UnitEnd,
    UnitPlayer,
    matches_at_once,
    most_calls,
)
from ostrom.engine.gate import RunGate
from ostrom.engine.play_options import PlayOptions
from ostrom.framing import Library
from ostrom.ground.errors import RunError
from ostrom.models.base import Model

OWN_FILES = 48
"""Files that a run needs besides connections: journal, logs, prompts, packages that are imported on the way."""
WANTED_FILES = 4096


class LocalExecutor:
    """Plays units with the models that were opened in this process."""

    def __init__(self, models: Mapping[str, Model], library: Library, options: PlayOptions) -> None:
        self.models, self.library, self.options = models, library, options
        self.described: Mapping[str, Mapping[str, Any]] = {
            name: dict(model.describe()) for name, model in models.items()
        }
        self._stopping = asyncio.Event()
        self._halt: Callable[[], None] = self._stopping.set
        self._cache: Cache | None = None

    async def open(self) -> None:
        """Open the cache; the models are open."""
        self._left = connections_left() if self.models else 0
        if self.options.cache is not None:
            self._cache = Cache(self.options.cache)

    async def start(self, session: Session) -> None:
        """Set up the gate, the caller and the agents' company."""
        plan = session.plan
        self._journal = session.journal
        self._gate = gate = self._make_gate(session)
        self._halt = gate.stop
        caller = self._make_caller(session, gate)
        ceilings = [getattr(model, "most_connections", None) for model in self.models.values()]
        for model, ceiling in zip(self.models.values(), ceilings, strict=True):
            most = most_calls(model.connections, ceiling, self.options.max_connections)
            most = max(1, min(most, self._left // len(self.models)))
            self._open_gate(gate, model, most)
            caller.open(model)
        rule = Invalidity(plan.retries, plan.policy, plan.refused)
        agent_factory = AgentFactory(self.models, self.library, rule, plan.arrivals, plan.trees)
        self._player = UnitPlayer(agent_factory, session.journal, caller, session.tally)
        self._seats = max(1, plan.unit(0).game.seats) if len(plan) else 1
        self._in_process = all(ceiling is not None for ceiling in ceilings)

    def _make_gate(self, session: Session) -> RunGate:
        return RunGate(session.tally, session.plan.budget, self._stopping)

    def _open_gate(self, gate: RunGate, model: Model, most: int) -> None:
        gate.open(model.name, self.options.start_connections or model.connections, most)

    def _make_caller(self, session: Session, gate: RunGate) -> Caller:
        return Caller(
            session.journal,
            session.tally,
            gate,
            self._stopping,
            self.options.retry,
            self._cache,
            self.options.rates,
        )

    def capacity(self) -> int:
        """As many matches as keep all places taken that there are by now."""
        gate = self._gate
        return matches_at_once(gate.most if self._in_process else gate.places, self._in_process, self._seats)

    async def play(self, assignment: Assignment) -> UnitEnd:
        """Play one unit."""
        known, replies = assignment.known(self._journal)
        return await self._player.play(assignment.unit, assignment.facts, known, replies)

    async def models_to_abort(self) -> set[str]:
        """The models that fail steadily."""
        return self._gate.models_to_abort(self.options.retry.tries)

    def give_up(self, model: str, why: str) -> None:
        """Close the gate to a model."""
        self._gate.give_up(model, why)

    def stop(self) -> None:
        """Begin no more calls."""
        self._halt()

    async def close(self) -> None:
        """Close the cache. The models are closed by the code that opened them."""
        if self._cache is not None:
            self._cache.close()


def connections_left() -> int:
    """Connections that may be open at a time; the soft limit is raised first, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return WANTED_FILES
    most = WANTED_FILES if hard == resource.RLIM_INFINITY else min(WANTED_FILES, hard)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    if soft <= OWN_FILES:
        raise RunError(
            f"only {soft} files may be open at a time, and a run with models needs more than {OWN_FILES}: "
            "raise the limit (ulimit -n 1024) and run again"
        )
    return soft - OWN_FILES
