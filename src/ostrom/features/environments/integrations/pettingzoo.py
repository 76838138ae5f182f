"""A study as a PettingZoo environment: each agent is a player that observes a text and answers with a text."""

from collections.abc import Sequence
from itertools import count
from typing import Any

import gymnasium
from pettingzoo import AECEnv

from ostrom.features.environments.environment import Environment, Episode, OutsideQuestion, outside_players
from ostrom.ground.errors import UsageError


class AnyText(gymnasium.Space[str]):
    """The space of all texts; samples come from ``mask`` (the choices of a question), else they are single letters."""

    def sample(self, mask: Any = None, probability: Any = None) -> str:  # noqa: ARG002
        """Draw one of the texts in ``mask``, or a single letter if there is none."""
        options = list(mask or "abcdefghijklmnopqrstuvwxyz")
        return str(options[int(self.np_random.integers(len(options)))])

    def contains(self, x: Any) -> bool:
        """Return whether a value is a text."""
        return isinstance(x, str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText)

    __hash__ = gymnasium.Space.__hash__


class StudyAEC(AECEnv):
    """Plays matches of an environment, one question at a time; the rewards come at the end of a match.

    The observation has the last message as ``text``; ``infos[agent]`` has all ``messages``, the ``form`` and, where the
    answer is a choice, the choices as ``action_mask``.
    """

    metadata = {"name": "ostrom_v1", "is_parallelizable": False, "render_modes": []}  # noqa: RUF012
    render_mode = None

    def __init__(self, environment: Environment) -> None:
        super().__init__()
        self.environment = environment
        numbers = {number for match in environment.matches for number in outside_players(environment.plan.unit(match))}
        self.possible_agents = [_name(number) for number in sorted(numbers)]
        self.agents: list[str] = []
        self._space = AnyText()
        self._observed = gymnasium.spaces.Dict({"text": AnyText()})
        self._order = count()
        self._episode: Episode | None = None
        self._question: OutsideQuestion | None = None

    def observation_space(self, agent: str) -> gymnasium.spaces.Dict:  # noqa: ARG002
        """Return the space of an agent's observations: a text."""
        return self._observed

    def action_space(self, agent: str) -> AnyText:  # noqa: ARG002
        """Return the space of actions: any text."""
        return self._space

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a match: number ``options["match"]``, the one that ``seed`` selects, or the next."""
        matches = self.environment.matches
        if seed is not None:
            self._order = count(seed)
            self._space.seed(seed)
        match = (options or {}).get("match")
        if match is not None and match not in matches:
            raise UsageError(f"match {match}: nobody answers from outside in it (such matches: {_some(matches)})")
        self.close()
        self._episode = self.environment.episode(matches[next(self._order) % len(matches)] if match is None else match)
        self.agents = [_name(number) for number in self._episode.players]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._texts = dict.fromkeys(self.agents, "")
        self.agent_selection = self.agents[0]
        self._go_on()

    def observe(self, agent: str) -> dict[str, str]:
        """Return the last message to an agent, as ``text``."""
        return {"text": self._texts[agent]}

    def step(self, action: str | None) -> None:
        """Answer for the selected agent."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        assert self._question is not None
        self._question.answer(str(action))
        self._cumulative_rewards[agent] = 0.0
        self._go_on()
        self._accumulate_rewards()

    def close(self) -> None:
        """Leave the match that is under way; the environment stays open."""
        if self._episode is not None:
            self._episode.close()

    def _go_on(self) -> None:
        assert self._episode is not None
        self._question = question = next(self._episode, None)
        if question is not None:
            self.agent_selection = agent = _name(question.player)
            self._texts[agent] = question.messages[-1]["content"]
            choices = question.form.get("choices")
            mask = {} if choices is None else {"action_mask": choices}
            self.infos[agent] = {"messages": question.messages, "form": question.form, **mask}
            return
        done = self._episode.state == "done"
        self.rewards = {_name(n): self._episode.rewards.get(n, 0.0) for n in self._episode.players}
        ended = self.terminations if done else self.truncations
        for agent in self.agents:
            ended[agent] = True
            self.infos[agent] = {} if done else {"reason": self._episode.reason}


def _some(matches: Sequence[int]) -> str:
    return f"{', '.join(map(str, matches[:10]))}{', ...' if len(matches) > 10 else ''}"


def _name(player: int) -> str:
    return f"player_{player}"
