"""Agents: scripted strategies, language agents and people."""

from ostrom.agents.base import Agent, DecisionContext
from ostrom.agents.config import AgentConfig

__all__ = ["Agent", "AgentConfig", "DecisionContext"]
