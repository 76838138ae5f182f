"""Piatti et al. (2024), Cooperate or Collapse: how often a common stock survives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.analysis.published import number, published_rows
from ostrom.analysis.references import Games, Own, Published, Reference, doubts_in
from ostrom.data.rundata import RunData
from ostrom.mechanisms.talking import Talking

TALK = "talk"


class Commons(Reference):
    """The share of models that sustain the stock, and the highest survival rate of any."""

    name: ClassVar[str] = "commons"
    citation: ClassVar[str] = "Piatti et al. (2024), Cooperate or Collapse"
    columns: ClassVar[tuple[str, ...]] = ("arm", "measure")
    spread: ClassVar[str] = "none printed"
    protocol: ClassVar[Mapping[str, Any]] = {"mechanism.rounds": 12, "agent.params.temperature": 0}

    def published(self) -> Sequence[Published]:
        """What the sources at hand say."""
        return [
            Published(
                (row["arm"], row["measure"]),
                None,
                value,
                None,
                row["source"],
                row["status"],
                doubts_in(row["note"]),
            )
            for row in published_rows("commons")
            if (value := number(row["value"])) is not None
        ]

    def own(self, data: RunData, games: Games) -> Sequence[Own]:  # noqa: ARG002
        """The same figures of the matches with talk, all agents together."""
        found = self._survival(data)
        if not found:
            return []
        matches = sum(e.n for e in found)
        best = max(found, key=lambda e: e.value)
        sustained = sum(e.value > 1 - 1e-9 for e in found) / len(found)
        return [
            Own((TALK, "highest_survival"), None, best.value, best.low, best.high, None, best.n),
            Own((TALK, "sustained"), None, sustained, None, None, None, matches),
        ]

    def _survival(self, data: RunData) -> list[Estimate]:
        if TALK in data.factors:
            return list(estimate(data, "survival", ["agent"], where={TALK: TALK}))
        matches = data.records("SELECT DISTINCT match FROM matches")
        if not all(isinstance(data.unit(row["match"]).mechanism, Talking) for row in matches):
            return []  # the published figures are of players who talk
        return list(estimate(data, "survival", ["agent"]))

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """What is not compared, and what differs from the paper."""
        return [
            "Not compared: the paper's tables by model (survival, gain, efficiency, equality, over-use), "
            "which are in no source at hand. A model counts as sustaining the stock if it survives in all of"
            " its matches with talk.",
            "The paper's agents are prompted step by step, with reflection and a conversation led by a "
            "moderator; these are asked for a harvest and one message each month.",
        ]


REFERENCE = Commons
