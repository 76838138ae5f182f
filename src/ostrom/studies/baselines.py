"""Baselines of polar memories: the actions of the same agent in the same game with the same real rounds.

``agent.memory.from: RUN`` is replaced by the shares of actions of that run when a study is loaded, so that a run never
depends on another one once it has begun. Only tables at which one agent has all seats count, each by agent (model with
its adapter, or strategy), style, game and length of the window: a polar window of 80 rounds mirrors those who saw 80.
"""

from collections.abc import Mapping
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.memory import memories
from ostrom.memory.catalog.sanitized import Sanitized
from ostrom.memory.recent import Window

FROM = "from"
"""The key of a sanitized memory that names a run."""
BASELINES = "baselines"
"""The key that replaces it in the recorded study."""


def setting_of(config: AgentConfig, game: Game) -> dict[str, Any]:
    """Return the settings that a baseline must share with the memory that mirrors it."""
    memory = memories.build(config.memory)
    window = memory.k if isinstance(memory, Window) else memory.window if isinstance(memory, Sanitized) else None
    return {
        "agent": config.client or config.label,
        "style": config.style,
        "game": game.name,
        "params": dict(game.params),
        "window": None if memory.invents else window,
    }


def split_baselines(agent: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
    """Split an agent's fields into those without baselines, and the baselines."""
    memory = agent.get("memory")
    if not isinstance(memory, Mapping) or BASELINES not in memory:
        return agent, []
    return {**agent, "memory": {name: value for name, value in memory.items() if name != BASELINES}}, memory[BASELINES]


def with_shares(
    config: AgentConfig, baselines: list[dict[str, Any]], game: Game, file: str | None
) -> dict[str, Any] | None:
    """Return an agent's memory with the shares of its baseline; None if it needs none (mode ideal, X = window)."""
    memory = memories.build(config.memory)
    if not isinstance(memory, Sanitized) or memory.mode != "polar" or not memory.invents:
        return None
    wanted = {**setting_of(config, game), "window": memory.window}
    for one in baselines:
        if all(one[name] == value for name, value in wanted.items()):
            assert isinstance(config.memory, dict)
            return {**config.memory, "shares": {game.name: one["shares"]}}
    others = "; ".join(
        f"{one['agent']}, {one['style']}, {one['game']}, window {one['window']}" for one in baselines[:8]
    )
    raise StudyError(
        f"run {baselines[0]['run']} has no finished match of {wanted['agent']}, {config.style}, in {game.name} with a "
        f"window of {memory.window} real rounds and the same payoffs (it has {others}"
        f"{'; ...' if len(baselines) > 8 else ''})",
        file=file, key=f"agent.memory.{FROM}",
    )  # fmt: skip
