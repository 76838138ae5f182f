"""The model clients of a study: one per model, or one per variant of a model where the provider has variants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.ground.errors import StudyError
from ostrom.models import common_settings


def clients_of(configs: Iterable[AgentConfig]) -> dict[str, dict[str, Any]]:
    """The settings of every client by its name; agents of one model must agree in what its variants share."""
    found: dict[str, dict[str, Any]] = {}
    common: dict[str, dict[str, Any]] = {}
    for config in configs:
        if config.model is None or config.client is None or config.tree is not None:
            continue
        shared = common_settings(config.model, config.settings)
        if common.setdefault(config.model, shared) != shared:
            raise StudyError(f"model {config.model} is given two different settings", key="agent.settings")
        found.setdefault(config.client, config.settings)
    return found
