"""Builds the agents of a match from their configurations."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ostrom.agents.base import Agent, PersonAgentFactory
from ostrom.agents.config import AgentConfig
from ostrom.agents.language import Invalidity, LanguageAgent
from ostrom.agents.person import Person
from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.agents.tree import TreeAgent, Trees
from ostrom.framing import Library, PromptRenderer
from ostrom.ground.errors import StudyError, UnknownName
from ostrom.ground.streams import Streams
from ostrom.memory import memories
from ostrom.models.base import Model


class AgentFactory:
    """Makes agents for the matches of a run: shared models and prompts, everything else new per match."""

    def __init__(
        self,
        models: Mapping[str, Model],
        library: Library,
        invalidity: Invalidity,
        people: PersonAgentFactory | None = None,
        trees: Trees | None = None,
    ) -> None:
        self.models, self.library, self.invalidity, self.people = models, library, invalidity, people
        self.trees: Trees = trees or {}

    def __call__(self, configs: Sequence[AgentConfig], streams: Streams) -> list[Agent]:
        """One agent per player; labels that are drawn are drawn once for the whole match."""
        return [
            self._person(config, [*configs[:place], *configs[place + 1 :]], streams)
            if config.person == "web"
            else self.agent(config, streams)
            for place, config in enumerate(configs)
        ]

    def _person(self, config: AgentConfig, others: Sequence[AgentConfig], streams: Streams) -> Agent:
        if self.people is None:
            raise StudyError("people in the browser play through `ostrom serve STUDY`", key="agent.person")
        return self.people.seat(
            config, self.renderer(config, streams), others, lambda other: self.agent(other, streams)
        )

    def agent(self, config: AgentConfig, streams: Streams) -> Agent:
        """The agent of one player."""
        if config.strategy is not None:
            memory = None if config.memory == "full" else memories.build(config.memory, key="agent.memory")
            return ScriptedAgent(strategies.build(config.strategy, key="agent.strategy"), memory)
        if config.recorded is not None:
            raise StudyError(f"{config.recorded} was imported: its moves are on record, it cannot play on")
        renderer = self.renderer(config, streams)
        if config.tree is not None:
            return TreeAgent(config, self.trees)
        if config.person:
            return Person(config, renderer)
        assert config.client is not None
        return LanguageAgent(config, self.models[config.client], self.invalidity, renderer)

    def renderer(self, config: AgentConfig, streams: Streams) -> PromptRenderer:
        """The prompt renderer of one player in one match."""
        return renderer_of(
            config,
            self.library,
            streams.about(0, 0, "labels") if config.framing.draws_labels else None,
            lambda seat: streams.about(0, seat, "rows"),
        )


def renderer_of(
    config: AgentConfig,
    library: Library,
    draw_labels: np.random.Generator | None = None,
    draw_rows: Callable[[int], np.random.Generator] | None = None,
) -> PromptRenderer:
    """The words of a configuration, with what is drawn for a match where it is one."""
    return PromptRenderer(
        config.framing,
        library_for(config, library),
        config.style,
        config.persona,
        draw_labels,
        draw_rows,
        system=config.system,
        persona_in=config.persona_in,
    )


def library_for(config: AgentConfig, library: Library) -> Library:
    """The prompt files that a configuration is told in: its prompt set, in its language."""
    return library.of(config.prompts).spoken(config.framing.language)


def check_told(config: AgentConfig, library: Library) -> None:
    """Refuse one word as a persona or system prompt that no file bears: it is a name mistyped, not a text."""
    for key, kind, told in (
        ("persona", "personas", config.persona),
        ("system", "systems", config.system),
    ):
        if told is not None and not library.has(f"{kind}/{told}.txt") and not told.strip().count(" "):
            unknown = UnknownName(f"{key} (or write it out in words)", told, library.names(kind))
            raise unknown.at(None, f"agent.{key}")
