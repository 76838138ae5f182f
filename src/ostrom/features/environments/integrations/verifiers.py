"""A study as a ``verifiers`` 0.4 environment: a task is a match, an agent is a player, its score is the reward.

``verifiers`` finds it by the name of the package ``ostrom_verifiers``. Every question is a run of the player's agent on
the messages of the study, so each trace is one prompt and one reply, rewarded with the score of the match.
"""

import asyncio
import ssl
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import httpx
import verifiers.v1 as vf
from pydantic import Field, create_model
from verifiers.v1.dialects.chat import message_to_wire

from ostrom.api import Study, study
from ostrom.features.environments.environment import Environment, OutsideQuestion, outside_matches
from ostrom.ground.errors import RunError, UsageError
from ostrom.models.base import Reply

MOST_PLAYERS = 32
"""The most outside players in one match: ``verifiers`` declares its agents in advance."""


class StudyTasksetConfig(vf.TasksetConfig):
    """Which study is played, with the options of `ostrom run`."""

    study: str = ""
    """A study file or the name of a built-in study; there is no default."""
    preset: str | None = None
    models: list[str] = Field(default_factory=lambda: ["outside/policy"])
    """Models of the study; give an empty list where its types name ``outside/NAME`` themselves."""
    set: list[str] = Field(default_factory=list)
    """Changes, as ``key=value``."""
    seeds: int | None = None
    run: str | None = None
    """The run that stores the matches; None stores nothing."""
    runs: str = "runs"


class StudyData(vf.TaskData):
    """A match of the study: its number, seed and cell."""

    match: int
    seed: int
    cell: dict[str, Any]


class StudyTask(vf.Task[StudyData, vf.State, vf.TaskConfig]):
    """A match; its score is recorded by the environment."""


class StudyTaskset(vf.Taskset[StudyTask, StudyTasksetConfig]):
    """The matches of a study that have an outside player: one for every seed, cell and seating."""

    @cached_property
    def study(self) -> Study:
        """Load and check the study."""
        config = self.config
        if not config.study:
            raise UsageError("--env.taskset.study: give a study file or the name of a built-in study")
        return study(config.study, preset=config.preset, models=config.models, set=config.set, seeds=config.seeds)

    def load(self) -> Iterator[StudyTask]:
        """Yield one task for every match with an outside player."""
        plan = self.study.plan
        for match in outside_matches(plan):
            unit = plan.unit(match)
            yield StudyTask(
                StudyData(id=str(match), name=unit.key, match=match, seed=unit.seed, cell=dict(unit.cell)),
                self.config.task,
            )


class OneCallConfig(vf.HarnessConfig):
    """Settings of ``OneCall``: none beyond the base class."""


class OneCall(vf.Harness[OneCallConfig]):
    """Sends the messages of a task as one request from this process: no program, no tools."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """Return the TLS context; it is cached because reading the certificates takes longer than a call."""
        return ssl.create_default_context()

    async def launch(
        self,
        ctx: Any,
        trace: Any,  # noqa: ARG002
        runtime: Any,  # noqa: ARG002
        endpoint: str,
        secret: str,
        mcp_urls: Any,  # noqa: ARG002
        data: Any,
    ) -> Any:
        """Send the request to the model through the server that records the trace."""
        system, prompt = self.resolve_prompt(data)
        rules = [{"role": "system", "content": system}] if system else []
        async with httpx.AsyncClient(timeout=None, trust_env=False, verify=self.tls) as client:
            reply = await client.post(
                f"{endpoint}/chat/completions",
                headers={"authorization": f"Bearer {secret}"},
                json={"model": ctx.model, "messages": [*rules, *map(message_to_wire, prompt)]},
            )
        return vf.ProgramResult(int(reply.is_error), "", reply.text if reply.is_error else "")


_PLAYERS: Any = {
    f"player{number}": (vf.AgentConfig, vf.AgentConfig(runtime=vf.SubprocessConfig()))
    for number in range(1, MOST_PLAYERS + 1)
}
StudyEnvConfig = create_model("StudyEnvConfig", __base__=vf.EnvConfig, **_PLAYERS)
"""An agent for every player: all are the policy under training unless one is given another model."""


class StudyEnv(vf.Env[StudyEnvConfig]):
    """Plays a match: its questions go to the agents, its scores come back as their rewards."""

    async def start(self) -> None:
        """Load the study and start its environment."""
        config = self.taskset.config
        self.environment = await asyncio.to_thread(Environment, self.taskset.study, name=config.run, runs=config.runs)

    async def stop(self) -> None:
        """Close the study, if it was opened."""
        if hasattr(self, "environment"):
            await asyncio.to_thread(self.environment.close)

    async def run(self, task: Any, agents: Any) -> None:
        """Play the match of a task."""
        episode = self.environment.episode(task.data.match)
        if max(episode.players) > MOST_PLAYERS:
            raise UsageError(f"match {episode.match}: at most {MOST_PLAYERS} players may answer from outside")
        traces: list[tuple[int, Any]] = []

        async def answer(question: OutsideQuestion) -> None:
            trace = await getattr(agents, f"player{question.player}").run(
                vf.Task(vf.TaskData(idx=task.data.idx, prompt=question.messages))
            )
            if not trace.ok or not trace.assistant_messages:
                why = trace.last_error.message if trace.last_error else "the agent gave no reply"
                raise RunError(f"match {episode.match}, player {question.player}: {why}")
            traces.append((question.player, trace))
            question.answer(
                Reply(trace.assistant_messages[-1].content or "", finish="length" if trace.is_truncated else "stop")
            )

        try:
            async with asyncio.TaskGroup() as group:
                async for question in episode:
                    group.create_task(answer(question))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        finally:
            episode.close()
        if episode.state != "done":
            raise RunError(f"match {episode.match}: {episode.state}: {episode.reason}")
        rewards = episode.rewards
        for player, trace in traces:
            if player in rewards:
                trace.record_reward("score", rewards[player])
