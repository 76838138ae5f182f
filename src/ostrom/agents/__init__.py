"""Agents: how a player decides. Scripted strategies, language agents, people."""

from ostrom.agents.base import Agent, DecisionContext
from ostrom.agents.config import AgentConfig

__all__ = ["Agent", "AgentConfig", "DecisionContext"]
