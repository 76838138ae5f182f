"""Verification of finished matches: they are replayed with the journaled replies, without any call.

A match is played again by agents made from the study: each prompt is written again and compared with the one that was
sent, each journaled reply is read again, and the result is compared with the journaled answer. So a prompt, a reply,
the name of a model or an answer that was altered alone is found. Checksums and this check are no signatures: if prompt,
reply, answer, scores and rows are altered so that they fit each other, the alteration is not found.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from ostrom.agents.base import Agent, DecisionContext
from ostrom.agents.config import AgentConfig
from ostrom.agents.language import AgentFactory, Invalidity, styles
from ostrom.agents.strategies import strategies
from ostrom.answers import Answer
from ostrom.engine.caller import call_key, journaled_params, model_key_part, prompt_of
from ostrom.engine.entries import Journaled, JournaledCall, Place
from ostrom.engine.match import LiveMatch, ReplayDiffers, same
from ostrom.engine.plan import Plan, Tally, Unit
from ostrom.engine.rows import Rows
from ostrom.ground.errors import RunError
from ostrom.ground.streams import Streams, key_of
from ostrom.ground.values import grouped
from ostrom.mechanisms.protocol import Decision
from ostrom.memory import memories
from ostrom.models.base import Abilities, Model, Reply, Request

TOOLS = "tool"
"""The prefix of sub-questions answered by tools, which are not called again."""


class Chain:
    """Replays the matches of a run against its journal."""

    def __init__(self, plan: Plan, rows: Rows, manifest: Mapping[str, Any]) -> None:
        self.plan, self.rows, self.journal = plan, rows, rows.journal
        self._before: Mapping[str, Any] | None = manifest.get("models_before")
        models = manifest.get("models") or {}
        self._descriptions = {
            name: [model_key_part(one) for one in (text, *(self._before or {}).get(name, ()))]
            for name, text in models.items()
        }
        self._models: dict[str, Model] = {name: _JournaledModel(name, text) for name, text in models.items()}
        self._served: Mapping[str, Sequence[str]] | None = manifest.get("served")
        self.unfollowed = self._refusal(manifest)
        """The reason why no match with a model can be replayed; None if such matches can be replayed."""
        self._loop = asyncio.new_event_loop()  # last, so that a refusal leaves nothing open

    def _refusal(self, manifest: Mapping[str, Any]) -> str | None:
        if dict(self.plan.prompts) != manifest["prompts"]:
            return "its prompt files are not those that it was played with"
        absent = sorted(set(self.plan.models) - self._models.keys())
        return f"run.json does not describe {', '.join(absent)}" if absent else None

    def close(self) -> None:
        """Close the event loop."""
        self._loop.close()

    def check_models(self) -> None:
        """Refuse calls of a model, or of a model version, that the manifest does not name."""
        for model, versions in self.journal.served().items():
            if self._models and model not in self._models and model not in self.plan.models:
                raise RunError(f"{self.journal.path}: holds calls of {model}, which run.json does not name")
            unknown = sorted(set(versions) - set((self._served or {}).get(model, ())))
            # A killed run could not record its versions.
            if unknown and self._served is not None and self.journal.was_closed:
                raise RunError(
                    f"{self.journal.path}: calls of {model} name the version {unknown[0]!r:.60}, run.json does not"
                )

    def follow(self, unit: Unit) -> bool:
        """Replay a finished match; raise an error at the first difference, return False if it cannot be replayed."""
        end = self.journal.outcome_of(unit.index)
        if end is None or end[0] != "done" or end[2] is None:
            return False
        if self.unfollowed is not None and any(seated.config.client for seated in unit.players):
            return False
        facts = [(self.journal.outcome_of(index) or end)[3] for index in unit.needs]
        mechanism = unit.mechanism.with_preparations(facts) if facts else unit.mechanism
        answers = self.rows.answers(unit)
        factory = _JournaledFactory(
            answers, self._models, self.plan.library, Invalidity(self.plan.retries, self.plan.policy, self.plan.refused)
        )
        match = LiveMatch(
            unit, mechanism.play(unit.game, unit.streams),
            factory([seated.config for seated in unit.players], unit.streams), _JournaledAnswers(unit, answers),
            _JournaledCalls(self, unit), Tally(), _ToolResults(answers), None,
            lambda config: factory.agent(config, unit.streams),
        )  # fmt: skip
        try:
            self._loop.run_until_complete(match.run())
        except ReplayDiffers as error:
            raise RunError(f"{self.journal.path}: {error} ({self.journal.played_by})") from None
        return True

    def keys(self, model: Model, prompt: bytes, request: Request, place: tuple[int, int, int, int, str]) -> set[bytes]:
        """Return the possible keys of a call: one for each description of its model."""
        if self._before is None:  # runs of 1.0 kept the last description alone
            return set()
        return {call_key(one, prompt, request, place) for one in self._descriptions[model.name]}


class _JournaledModel:
    """A placeholder for a model with the manifest's description; it is never called."""

    connections = 1

    def __init__(self, name: str, description: Mapping[str, Any]) -> None:
        self.name, self._description = name, description
        self.abilities = Abilities(**{**(description.get("abilities") or {}), "tools": True})

    async def complete(self, request: Request) -> Reply:  # noqa: ARG002
        raise AssertionError("a journaled model is never called")

    async def close(self) -> None:
        """Do nothing: a chain opens no connection."""

    def describe(self) -> Mapping[str, Any]:
        """The description of the model in the manifest."""
        return self._description


class _JournaledAgent:
    """An agent that answers from the journal: for people, external agents, trees and imported moves."""

    instant = True

    def __init__(self, answers: Mapping[Place, Journaled]) -> None:
        self._answers = answers

    def reply(self, decision: Decision, context: DecisionContext) -> Answer:
        """The journaled answer."""
        try:
            return self._answers[context.step, decision.player, ""][0]
        except KeyError:
            raise ReplayDiffers(f"step {context.step}: an answer is missing") from None

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        """Answer a decision from the journal, as a coroutine."""
        return self.reply(decision, context)


class _JournaledFactory(AgentFactory):
    """Builds the agents of a replayed match."""

    def __init__(self, answers: Mapping[Place, Journaled], *rest: Any) -> None:
        super().__init__(*rest)
        self._journaled = _JournaledAgent(answers)

    def __call__(self, configs: Sequence[AgentConfig], streams: Streams) -> list[Agent]:
        """One agent per player."""
        return [self.agent(config, streams) for config in configs]

    def agent(self, config: AgentConfig, streams: Streams) -> Agent:
        """The agent of one player."""
        return super().agent(config, streams) if _is_followed(config) else self._journaled


def _is_followed(config: AgentConfig) -> bool:
    """Return whether an agent is computed again: a script, or a model with all parts installed."""
    if not (config.strategy or config.client):
        return False
    parts = [strategies.build(config.strategy)] if config.strategy else [styles.build(config.style)]
    return not any(getattr(part, "absent", False) for part in (*parts, memories.build(config.memory)))


class _ToolResults(dict[Place, Journaled]):
    """Journaled answers that are not computed again: those a branch copied, and results of tools."""

    def __init__(self, answers: Mapping[Place, Journaled]) -> None:
        # A branch begins with answers of other players, which are not computed again.
        super().__init__({at: one for at, one in answers.items() if (one[0].facts or {}).get("copied")})
        self._answers = answers

    def get(self, place: Place, default: Any = None) -> Any:
        """Return the journaled result at a place, or the default."""
        if place[2].startswith(TOOLS) and place in self._answers:
            self[place] = self._answers[place]
        return super().get(place, default)


class _JournaledAnswers:
    """Compares the answers of a replayed match with those of the journal."""

    def __init__(self, unit: Unit, answers: Mapping[Place, Journaled]) -> None:
        self._unit, self._answers = unit, answers
        self._own = {player: _is_followed(seated.config) for player, seated in enumerate(unit.players)}

    def answer(
        self,
        unit: int,
        step: int,
        player: int,
        part: str,
        answer: Answer,
        complaints: int,
        question: str | None = None,  # noqa: ARG002
    ) -> None:
        """Refuse an answer that differs from the journal's."""
        journaled = self._answers.get((step, player, part))
        where = f"match {unit}, step {step}, player {player + 1}{part and f', {part}'}"
        if journaled is None:
            raise ReplayDiffers(f"{where}: its answer is missing")
        if not self._own.get(player):
            return
        for name in ("value", "reading", "probabilities", "note", "facts"):
            read, recorded = getattr(answer, name), getattr(journaled[0], name)
            if not same(_plain(read), _plain(recorded)):
                raise ReplayDiffers(
                    f"{where}: the {name} of its answer is {recorded!r:.60}, and read from its reply {read!r:.60}"
                )
        if complaints != journaled[1]:
            raise ReplayDiffers(f"{where}: {complaints} replies cannot be read, journaled are {journaled[1]}")

    async def flush(self) -> None:
        """Do nothing: a chain writes no entries."""


def _plain(value: Any) -> Any:
    """Return a value as the journal would return it."""
    return (
        orjson.loads(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))
        if isinstance(value, Mapping | list | tuple)
        else value
    )


class _JournaledCalls:
    """Answers calls with journaled replies, after checking that the prompts are the ones that were sent."""

    def __init__(self, chain: Chain, unit: Unit) -> None:
        self._chain, self._unit = chain, unit
        self._calls: dict[Place, list[JournaledCall]] = grouped(
            (call.place, call) for call in chain.journal.calls_of(unit.index)
        )

    def key(self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request) -> bytes:
        """Raise NotImplementedError: only a match with replies of an earlier attempt asks for keys."""
        raise NotImplementedError

    async def call(self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request) -> Reply:
        """Return the journaled reply to a request; a different request at this place is refused."""
        where = f"match {unit.index}, step {step}, player {player + 1}{part and f', {part}'}"
        prompt, params = prompt_of(request), _plain(journaled_params(request))
        messages, reply = orjson.loads(prompt), None
        for call in self._calls.get((step, player, part), ()):
            if call.messages != messages or not same(
                {**call.params, "kept_in_cache": None}, {**params, "kept_in_cache": None}
            ):
                differs = "prompt" if call.messages != messages else "parameters"
                raise ReplayDiffers(f"{where}: the {differs} of its call is not what the study asks")
            if call.model != model.name:
                raise ReplayDiffers(f"{where}: was asked of {call.model}, and the study asks {model.name}")
            keys = self._chain.keys(model, prompt, request, (unit.seed, key_of(unit.key), step, player, part))
            if keys and call.key not in keys:
                raise ReplayDiffers(f"{where}: the call does not fit the description of {model.name} in run.json")
            reply = call.reply or reply
        if reply is None:
            raise ReplayDiffers(f"{where}: its answer has no reply")
        return reply
