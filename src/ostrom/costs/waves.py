"""The number of waves of batches that a study needs: the longest chain of its calls that wait for each other."""

from dataclasses import dataclass
from typing import Any

from ostrom.agents.language import styles
from ostrom.costs.measured import asks, cell_of
from ostrom.costs.rehearsing import Extreme, alike_steps
from ostrom.engine.plan import Unit
from ostrom.ground.errors import UsageError
from ostrom.ground.words import how_many
from ostrom.memory import memories
from ostrom.models.batches import may_batch
from ostrom.studies.plan import StudyPlan
from ostrom.studies.prompts import answering_player, every_step, prepared

AT_ONCE = 20_000
"""Matches that are in play at once."""
MOST_WAVES = 48
"""The most waves if the user allows no other number: two days, if each takes an hour."""
HOURS, MOST_HOURS = 1.0, 24.0
"""What services say about one batch: most end within an hour, and all within a day."""
REHEARSED = 200
"""The most kinds of matches that are rehearsed; for others, an upper bound of their chain is computed."""


@dataclass(frozen=True, slots=True)
class Waves:
    """The number and the duration of waves, without those for unreadable and failed replies."""

    count: int
    hours: float
    most_hours: float

    def __str__(self) -> str:
        waves = how_many(self.count, "wave")
        return f"{waves}, about {_span(self.hours)}, at most {_span(self.most_hours)} (before retries)"


def check_batch(plan: StudyPlan, most: int | None) -> None:
    """Refuse models without a batch endpoint, and studies that need more waves than are allowed."""
    if unable := [model for model in plan.models if not may_batch(model)]:
        raise UsageError(f"--batch: {unable[0]} has no batch endpoint (OpenAI's, Anthropic's or a compatible one)")
    chains = Chains(plan)
    for index in filter(plan.replicates_in_shard, range(len(plan) // plan.study.seeds)):
        chains.add(plan.unit(index))
    waves = chains.waves()
    allowed = MOST_WAVES if most is None else most
    if waves.count > allowed:
        raise UsageError(
            f"--batch: {plan.name} takes {waves}, and {allowed} waves are allowed: play it without --batch, "
            f"or allow that with --batch-waves {waves.count}"
        )


class Chains:
    """Collects for each match the longest chain of calls that wait for each other, from its preparations on."""

    def __init__(self, plan: StudyPlan) -> None:
        self.plan = plan
        self._lengths: dict[tuple[Any, ...], int] = {}
        self._total_lengths: dict[int, int] = {}

    def waves(self, hours: float = HOURS) -> Waves:
        """Return the waves of all added units and their seeds; ``hours`` is the expected duration of one wave."""
        chains = self._total_lengths.values()
        calls = sum(chain * self.plan.replicates_in_shard(index) for index, chain in self._total_lengths.items())
        count = max(max(chains, default=0), -(-calls // AT_ONCE))
        return Waves(count, count * hours, count * MOST_HOURS)

    def add(self, unit: Unit) -> None:
        """Add a unit and the preparations that it needs."""
        waiting = [unit]
        while waiting:
            last = waiting[-1]
            missing = [need for need in last.needs if need not in self._total_lengths]
            if missing:
                waiting += [self.plan.unit(need) for need in missing]
                continue
            before = max((self._total_lengths[need] for need in last.needs), default=0)
            self._total_lengths[waiting.pop().index] = before + self._chain_length(last)

    def _chain_length(self, unit: Unit) -> int:
        key = (
            cell_of(unit),
            unit.kind,
            unit.game.name,
            tuple((self._calls(unit, place), str(seated.config.memory)) for place, seated in enumerate(unit.players)),
        )
        if key not in self._lengths:
            rehearse = len(self._lengths) < REHEARSED and not unit.mechanism.society
            self._lengths[key] = (self._rehearsed if rehearse else self._bound)(unit)
        return self._lengths[key]

    def _calls(self, unit: Unit, player: int) -> int:
        """Return the number of consecutive calls for one decision of a player, tools included; 0 without a model."""
        config = unit.players[player].config
        calls = styles.build(config.style).calls * (1 + (config.tool_limit.calls if config.tools else 0))
        return calls if asks(config) else 0

    def _bound(self, unit: Unit) -> int:
        """Return an upper bound of the length: all calls of the player with the most."""
        players = range(len(unit.players))
        decisions = [unit.mechanism.decisions_of(unit.game, player, len(players)) for player in players]
        return max(
            (decisions[player] * self._calls(unit, player) + self._notes(unit, player) for player in players), default=0
        )

    def _notes(self, unit: Unit, player: int) -> int:
        memory = memories.build(unit.players[player].config.memory)
        return memory.most_notes(unit.mechanism.longest_history(unit.game)) if self._calls(unit, player) else 0

    def _rehearsed(self, unit: Unit) -> int:
        """Return the length of the longest chain of some rehearsed matches, extrapolated to the last round."""
        rules = prepared(self.plan, unit)
        extremes = (alike_steps(rules, unit, Extreme(last=last)) for last in (False, True))
        chains = []
        for steps in (every_step(self.plan, unit), *extremes):
            chain = last = 0
            for step in steps:
                chain += max((self._calls(unit, answering_player(unit, decision)) for decision in step), default=0)
                last = max([last, *(decision.view.round for decision in step)])
            rounds = unit.mechanism.most_rounds(unit.game)
            chains.append(-(-chain * rounds // last) if 0 < last < rounds else chain)
        longest = max(chains)
        return longest + max(self._notes(unit, p) for p in range(len(unit.players))) if longest else 0


def _span(hours: float) -> str:
    """A duration in words.

    >>> _span(0.25), _span(6), _span(48)
    ('15 min', '6 h', '2 days')
    """
    if hours < 1:
        return f"{max(1, round(hours * 60))} min"
    return f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} days"
