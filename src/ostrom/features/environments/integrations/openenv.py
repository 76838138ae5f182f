"""A study as an environment of OpenEnv: every connection plays matches of its own, one question at a time."""

import hmac
from itertools import count
from threading import Lock
from typing import Any

from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment as OpenEnvironment
from openenv.core.env_server.types import Action, ConcurrencyConfig, EnvironmentMetadata, Observation, State
from pydantic import Field

from ostrom.features.environments.environment import Environment, Episode, OutsideQuestion
from ostrom.ground.errors import UsageError
from ostrom.ground.version import __version__
from ostrom.models.base import Reply

IDLE = 3600.0
"""Seconds without a message after which a session is closed."""
LONGEST_ANSWER = 1_000_000
"""The longest answer, in characters."""
MOST_LISTED = 1000
"""The most tasks in one list; any task can be requested by index."""
SPLIT = "matches"


class AnswerAction(Action):
    """The answer to a question."""

    text: str = Field(max_length=LONGEST_ANSWER)
    cut: bool = Field(default=False, description="whether the text was cut at a limit of tokens")


class QuestionObservation(Observation):
    """A question to one player or, at the end, the rewards."""

    match: int
    player: int | None = Field(default=None, description="who is asked, from 1")
    agent: str | None = None
    policy: str | None = Field(default=None, description="the NAME of outside/NAME")
    messages: list[dict[str, str]] = Field(default_factory=list)
    form: dict[str, Any] = Field(default_factory=dict, description="choices, a schema, or nothing: free text")
    rewards: dict[int, float] = Field(default_factory=dict, description="at the end: the score by player")
    reason: str | None = Field(default=None, description="why the match has no scores")


class EpisodeState(State):
    """The progress of an episode."""

    match: int | None = None
    seed: int | None = None
    cell: dict[str, Any] = Field(default_factory=dict)


class MatchOrder:
    """The order of an environment's matches, shared by all sessions."""

    def __init__(self, environment: Environment) -> None:
        self.environment, self._numbers, self._lock = environment, count(), Lock()

    def match(self, index: int | None) -> int:
        """Return the match of a task by index; without an index the next match, starting over after the last."""
        matches = self.environment.matches
        if index is None:
            with self._lock:
                index = next(self._numbers) % len(matches)
        if not 0 <= index < len(matches):
            raise IndexError(f"index {index}: there are {len(matches)} matches, numbered from 0")
        return matches[index]


class StudyEnvironment(OpenEnvironment):
    """One session: ``reset`` begins a match, ``step`` answers the question that is open."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, order: MatchOrder) -> None:
        super().__init__()
        self._order = order
        self._episode: Episode | None = None
        self._question: OutsideQuestion | None = None
        self._state = EpisodeState()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str | None = None,
        index: int | None = None,
        **_: Any,
    ) -> QuestionObservation:
        """Start the match with this ``index`` (or ``seed``), else the next one."""
        return self._seen(next(self._begin(seed, episode_id, split, index), None))

    async def reset_async(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        split: str | None = None,
        index: int | None = None,
        **_: Any,
    ) -> QuestionObservation:
        """Begin the match of a task as ``reset`` does, without blocking other sessions."""
        return self._seen(await anext(self._begin(seed, episode_id, split, index), None))

    def step(self, action: AnswerAction, timeout_s: float | None = None, **_: Any) -> QuestionObservation:  # noqa: ARG002
        """Answer the open question; return the next question or, at the end, the rewards."""
        return self._seen(next(self._answer(action), None))

    async def step_async(
        self,
        action: AnswerAction,
        timeout_s: float | None = None,  # noqa: ARG002
        **_: Any,
    ) -> QuestionObservation:
        """Answer the open question as ``step`` does, without blocking other sessions."""
        return self._seen(await anext(self._answer(action), None))

    @property
    def state(self) -> EpisodeState:
        """Return the current match and the number of answers so far."""
        return self._state

    def close(self) -> None:
        """Leave the match that is under way."""
        if self._episode is not None:
            self._episode.close()

    def get_metadata(self) -> EnvironmentMetadata:
        """Return the study's name and description."""
        study = self._order.environment.plan.study
        return EnvironmentMetadata(name=study.name, description=study.title or study.name, version=__version__)

    # -- tasks ---------------------------------------------------------------------------------------

    def list_splits(self) -> list[str]:
        """Return the only split, which holds all matches."""
        return [SPLIT]

    def num_tasks(self, split: str) -> int:
        """Return the number of matches with an outside player."""
        return len(self._of(split))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return one task: the match at this index, its seed and its cell."""
        self._of(split)
        unit = self._order.environment.plan.unit(self._order.match(index))
        return {"index": index, "match": unit.index, "seed": unit.seed, "cell": dict(unit.cell)}

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Return the first tasks, at most ``MOST_LISTED``."""
        return self.get_task_range(split)

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """Return the tasks of a range of indices, at most ``MOST_LISTED``."""
        return [self.get_task(split, index) for index in range(self.num_tasks(split))[start:stop][:MOST_LISTED]]

    def _of(self, split: str) -> tuple[int, ...]:
        if split != SPLIT:
            raise ValueError(f"there is no split {split!r} (allowed: {SPLIT})")
        return self._order.environment.matches

    # -- episodes ------------------------------------------------------------------------------------

    def _begin(self, seed: int | None, id_: str | None, split: str | None, index: int | None) -> Episode:
        self._of(split or SPLIT)
        self.close()
        match = self._order.match(seed if index is None else index)
        self._episode = episode = self._order.environment.episode(match)
        self._state = EpisodeState(episode_id=id_, match=match, seed=episode.seed, cell=episode.cell)
        return episode

    def _answer(self, action: AnswerAction) -> Episode:
        if self._episode is None or self._question is None:
            raise UsageError("there is no open question: reset first")
        self._question.answer(Reply(action.text, finish="length" if action.cut else "stop"))
        self._state.step_count += 1
        return self._episode

    def _seen(self, question: OutsideQuestion | None) -> QuestionObservation:
        episode, self._question = self._episode, question
        assert episode is not None
        if question is not None:
            return QuestionObservation(
                match=episode.match, player=question.player, agent=question.agent, policy=question.policy,
                messages=question.messages, form=dict(question.form),
            )  # fmt: skip
        rewards = episode.rewards
        return QuestionObservation(
            match=episode.match,
            done=True,
            reward=sum(rewards.values()) / len(rewards) if rewards else None,
            rewards=rewards,
            reason=episode.reason,
        )


class RequestGuard:
    """Middleware that refuses requests with a foreign host name, from other web sites, or with a wrong password."""

    def __init__(self, app: Any, hosts: set[str] | None, password: str | None) -> None:
        self.app, self.hosts, self.password = app, hosts, password

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan" or self._allowed(scope["headers"]):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b"refused\n"})

    def _allowed(self, headers: list[tuple[bytes, bytes]]) -> bool:
        fields = {name.lower(): value.decode("latin-1") for name, value in headers}
        if b"origin" in fields or (self.hosts is not None and fields.get(b"host", "").lower() not in self.hosts):
            return False
        return self.password is None or hmac.compare_digest(
            fields.get(b"authorization", "").encode(), f"Bearer {self.password}".encode()
        )


def application(
    environment: Environment, sessions: int, *, hosts: set[str] | None = None, password: str | None = None
) -> RequestGuard:
    """Build the server of an environment; each connection is a session of its own."""
    order = MatchOrder(environment)
    app = create_fastapi_app(
        lambda: StudyEnvironment(order),
        AnswerAction,
        QuestionObservation,
        concurrency_config=ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=IDLE),
        env_name=environment.plan.name,
        state_cls=EpisodeState,
        mode="production",  # without /reset and /step over HTTP, which would start a match for each request
    )
    return RequestGuard(app, hosts, password)
