"""Simulated participants, which go through the same visit as people.

Actions in a match are those of an agent (a strategy, or a model whose calls are journaled and paid for in the run).
Consent, quiz and questions are answered at random, from a stream of the participant: mostly right in the quiz, evenly
among the options elsewhere. A share of the participants drops out at a moment drawn beforehand: half of them leave by
the button, the others just stay away.

``host_plan`` connects the journal, the register and the host of a study, for people as well.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ostrom.agents.base import Agent, DecisionContext
from ostrom.agents.config import AgentConfig
from ostrom.answers import Answer, Choice
from ostrom.engine.folder import Folder, identity
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result, Runner
from ostrom.framing import PromptRenderer
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import read_plain, write_atomically
from ostrom.ground.streams import Streams, key_of
from ostrom.ground.values import grouped
from ostrom.mechanisms.protocol import Decision
from ostrom.people.host import Host, SeatedPerson
from ostrom.people.live_visit import LiveVisit, PendingQuestion
from ostrom.people.plan import PeoplePlan
from ostrom.people.questions import Questionnaire
from ostrom.people.register import FILE, Register
from ostrom.studies.checks import check_strategies
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import OpenModels, play_plan

Serve = Callable[[Host, Folder], Coroutine[Any, Any, None]]
"""Serves people until stopped: a web server, or simulated participants."""


def host_plan(
    plan: StudyPlan,
    serve: Serve,
    *,
    name: str,
    runs: str | Path = "runs",
    options: PlayOptions | None = None,
    open_models: OpenModels | None = None,
    test: bool = False,
    hosts: type[Host] = Host,
) -> Result:
    """Host a study with people in ``runs/<name>`` while ``serve`` runs; active visits are resumed."""
    if not isinstance(plan, PeoplePlan):
        raise UsageError(f"{plan.file}: has no section 'people'; `ostrom run` plays it")

    hosted: list[Host] = []

    async def begin(folder: Folder) -> None:
        run_identity = identity(folder.manifest())
        if folder.journal.exists():
            with folder.open_journal() as journal:
                plan.read_assignments(journal)
            if plan.book.visits and not (folder.path / FILE).exists():
                raise RunError(
                    f"{folder.path / FILE}: is missing, and {len(plan.book.visits)} people have come: without it "
                    "nobody can be told from somebody new and payments are forgotten (put back a copy of it)"
                )
        ignore_register(folder.path)
        plan.arrivals = host = hosts(
            plan,
            Register(folder.path, run_identity, create=True),
            title=plan.people.title or plan.study.title or plan.name,
            test=test,
        )
        hosted.append(host)

    async def watch(runner: Runner) -> None:
        (host,) = hosted
        await host.ready.wait()
        try:
            await serve(host, Folder(Path(runs) / name))
        finally:
            host.close()
            runner.stop("the server was stopped", interrupted=False)

    try:
        return play_plan(plan, name=name, runs=runs, options=options, watch=watch, open_models=open_models, begin=begin)
    finally:
        for host in hosted:
            host.register.close()


def ignore_register(folder: Path) -> None:
    """Add the register to the ``.gitignore`` of a run folder: it must not enter version control."""
    file = folder / ".gitignore"
    wanted = f"{FILE}*\n".encode()
    try:
        current = read_plain(file) if file.exists() or file.is_symlink() else b""
        if wanted not in current:
            write_atomically(file, current + wanted)
    except OSError as error:
        raise RunError(f"{file}: cannot be written ({error.strerror})") from None


RIGHT = 0.9
"""The chance of a correct answer in a quiz."""
SOURCE = "pilot"
PATIENCE = 3600.0
"""Seconds after which a participant who waits for news of the visit looks again."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """The simulated participants: their number, strategy or model, dropout rate and missed decisions."""

    people: int
    config: AgentConfig
    """The configuration by which they decide in a match."""
    dropout: float = 0.0
    miss: float = 0.0
    seed: int = 0
    at_once: int = 200


@dataclass(slots=True)
class SimulatedParticipant:
    """The random choices of one simulated participant."""

    chance: Streams
    last: int | None
    """The page or round (from 1) at which the participant drops out; None to stay to the end."""
    moment: int = 0


class PilotHost(Host):
    """A host whose participants are simulated."""

    crowd: Crowd
    participants: dict[int, SimulatedParticipant]
    """The simulated participants, by visit."""

    def missed(self, entry: PendingQuestion) -> None:
        """Let the time of a decision expire."""
        self.inbox.settle(entry, self._missed(entry))

    async def gone(self, live: LiveVisit) -> bool:
        """Count a page or round; return True if the participant drops out here."""
        who = self.participants[live.visit]
        who.moment += 1
        if who.moment != who.last:
            return False
        await self.leave(live, "departed" if who.chance.chance(2, 0, "dropout") < 0.5 else "timed_out")
        return True

    def seat(
        self,
        config: AgentConfig,
        renderer: PromptRenderer,
        others: Sequence[AgentConfig],
        agent: Callable[[AgentConfig], Agent],
    ) -> Agent:
        """Return the seat of a simulated person."""
        return _Simulated(self, config, renderer, others, agent)


class _Simulated(SeatedPerson):
    """A simulated person's seat: an agent computes the answer, and the participant submits it."""

    host: PilotHost

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        """Ask the participant, as a person would be asked."""
        if decision.view.mechanism == "visit" or self._stand_in is not None:
            return await super().answer(decision, context)
        if not hasattr(self, "_mind"):
            self._mind = self._agent(self.host.crowd.config)
        pending = asyncio.ensure_future(super().answer(decision, context))
        try:
            await self._send(await self._mind.answer(decision, context), context, pending)
            return await pending
        finally:
            pending.cancel()

    async def _send(self, answer: Answer, context: DecisionContext, pending: asyncio.Future[Answer]) -> None:
        """Submit the answer as soon as it is allowed; missed decisions are not submitted."""
        host = self.host
        live = host.visit_at(context.unit, context.player)
        entry = await _next(host, live, lambda: pending.done())
        if entry is None:
            return
        host.shown(entry)
        if entry.limit is not None and context.chance("miss") < host.crowd.miss:
            host.missed(entry)
        elif not await host.gone(live):
            await host.settle(live, entry, answer.value)


async def simulate(host: PilotHost, crowd: Crowd, moments: int) -> None:
    """Let all participants come and finish; return when all are gone.

    A participant who drops out does so within the first ``moments`` pages and rounds of a visit.
    """
    host.crowd, host.participants = crowd, {}
    slots = asyncio.Semaphore(crowd.at_once)

    async def come(number: int) -> None:
        async with slots:
            await _visit(host, number, moments)

    await asyncio.gather(*(come(number) for number in range(1, crowd.people + 1)))


def participant(crowd: Crowd, number: int, moments: int) -> SimulatedParticipant:
    """Return the random choices of participant ``number``."""
    chance = Streams(crowd.seed, key_of(f"participant {number}"))
    last = 1 + int(chance.chance(1, 0, "dropout") * moments)
    return SimulatedParticipant(chance, last if chance.chance(0, 0, "dropout") < crowd.dropout else None)


async def _visit(host: PilotHost, number: int, moments: int) -> None:
    live = await host.join(SOURCE, str(number), "", host.people.languages[0])
    who = host.participants[live.visit] = participant(host.crowd, number, moments)
    while live.end is None:
        entry = await _next(host, live, lambda: live.end is not None)
        if entry is None:
            continue
        if entry.unit % host.plan.stride:  # a match is under way: its seat answers
            await live.news(live.version, PATIENCE)
        elif not await host.gone(live):
            host.shown(entry)
            value, personal = answer_to(host, entry, who.chance.generator(entry.step, 0, "page"))
            await host.settle(live, entry, value, personal)


async def _next(host: PilotHost, live: LiveVisit, over: Callable[[], bool]) -> PendingQuestion | None:
    """Wait for the next open question of a visit; None as soon as ``over`` is true."""
    while not over():
        since = live.version
        if (entry := host.now_at(live)) is not None and not entry.answer.done():
            return entry
        await live.news(since, PATIENCE)
    return None


def answer_to(host: Host, entry: PendingQuestion, rng: np.random.Generator) -> tuple[Any, list[tuple[str, str]]]:
    """Return a random answer to a page of a visit, and its personal parts."""
    form, sheet = entry.decision.form, host.sheet(entry.decision, host.people.languages[0])
    if sheet is not None:
        return filled_in(sheet, rng)
    assert isinstance(form, Choice)
    return ("agree" if "agree" in form.options else form.options[0]), []


def filled_in(sheet: Questionnaire, rng: np.random.Generator) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return random answers to the questions of a sheet, with personal ones in a separate list."""
    value: dict[str, Any] = {}
    personal: list[tuple[str, str]] = []
    for name, question in sheet.named():
        if question.options:
            drawn = question.options[int(rng.integers(len(question.options)))]
            answer: Any = question.answer if question.answer is not None and rng.random() < RIGHT else drawn
        elif question.number is not None:
            answer = int(rng.integers(question.number.low, min(question.number.high, question.number.low + 60) + 1))
        elif question.optional:
            continue
        else:
            answer = "simulated"
        if question.kept_apart:
            personal.append((name, str(answer)))
        else:
            value[name] = answer
    return value, personal


def pilot_agent(plan: StudyPlan, model: str | None, strategy: str | None) -> AgentConfig:
    """Return how simulated participants decide: the people's type with a model or strategy in its place."""
    if model is not None and strategy is not None:
        raise UsageError("--model and --strategy exclude each other")
    person = next(
        (seated for cell in plan.tables() for seated in cell.seatings[0] if seated.config.person == "web"), None
    )
    if person is None:
        raise UsageError(f"{plan.file}: has no people to simulate; a type needs 'person: web'")
    own_settings = person.config.model_dump(exclude_unset=True, exclude={"person"})
    if model is None:
        config = AgentConfig(strategy=strategy or "random")
        for cell in plan.tables():  # otherwise matches would fail one by one, and the pilot would show nothing
            seated = [replace(s, config=config) if s.config.person == "web" else s for s in cell.seatings[0]]
            check_strategies(cell.game, cell.mechanism, [seated], plan.file)
        return config
    return AgentConfig.model_validate({"style": "direct", **own_settings, "model": model})


def pilot(
    plan: StudyPlan,
    crowd: Crowd,
    *,
    name: str,
    runs: str | Path = "runs",
    options: PlayOptions | None = None,
    open_models: OpenModels | None = None,
) -> tuple[Result, dict[str, Any]]:
    """Run simulated participants through a study; return the run's result, and how the visits ended."""
    if not isinstance(plan, PeoplePlan):
        raise UsageError(f"{plan.file}: has no section 'people'; `ostrom run` plays it")
    if crowd.config.model is not None:
        plan.add_model(crowd.config.model, crowd.config.settings)
    ends: dict[str, Any] = {}
    rounds = sum(int(getattr(plan.variant(0, key).mechanism, "rounds", 1)) for key in plan.people_of(0).order)

    async def serve(host: Host, _: Folder) -> None:
        assert isinstance(host, PilotHost)
        await simulate(host, crowd, len(plan.people.visit) + rounds)
        ends.update(summary(host))

    return host_plan(plan, serve, name=name, runs=runs, options=options, open_models=open_models, hosts=PilotHost), ends


def summary(host: Host) -> dict[str, Any]:
    """Return how visits ended, in total and by cell."""
    visits = host.live_visits.values()
    cells = grouped(
        (host.plan.cell_name(live.cell), "done" if live.end == "done" else "dropped out")
        for live in visits
        if live.cell is not None
    )
    return {
        "people": len(visits),
        "ends": dict(Counter(str(live.end or "open") for live in visits)),
        "cells": {cell: dict(Counter(ends)) for cell, ends in sorted(cells.items())},
    }
