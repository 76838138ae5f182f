"""Manoranjan & Gaikwad (2026), When Personas Override Payoffs: rates of profiles and their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ostrom.analysis.measures.personas_profiles import played
from ostrom.analysis.measures.personas_rates import MEASURES, rates
from ostrom.analysis.rundata import RunData
from ostrom.studies.compare.figures import Games, Own, Published, Reference, doubts_in
from ostrom.studies.reference import number, reference_rows

TYPES = ("all", "economic", "environmental")


class Personas(Reference):
    """Shares of played profiles in per cent."""

    name: ClassVar[str] = "personas"
    citation: ClassVar[str] = "Manoranjan & Gaikwad (2026), When Personas Override Payoffs"
    columns: ClassVar[tuple[str, ...]] = ("payoffs", "persona", "scenarios", "measure")
    spread: ClassVar[str] = "none printed"
    protocol: ClassVar[Mapping[str, Any]] = {
        "agent.params.temperature": 0.2,
        "agent.params.top_p": 0.9,
        "agent.params.max_tokens": 256,
        "seeds": 5,
    }

    def published(self) -> Sequence[Published]:
        """The printed rates; printed differences are arithmetic on them."""
        return [
            Published(
                (row["payoffs"], row["persona"], row["scenario_type"], row["metric"]),
                row["model"],
                value,
                None,
                row["table"],
                "verified",
                doubts_in(row["note"]),
            )
            for row in reference_rows("personas")
            if row["metric"] in MEASURES
            and row["persona"] in ("yes", "no")
            and row["payoffs"] in ("hidden", "visible")
            and (value := number(row["value_pct"])) is not None
        ]

    def own(self, data: RunData, games: Games) -> Sequence[Own]:
        """The same rates of the run, with intervals that resample scenarios."""
        if not {"persona", "payoffs"} <= set(data.factors):
            return []
        decisions = data.records(
            "SELECT * FROM decisions WHERE kind = 'act' AND state = 'done' ORDER BY match, step"
        )
        profiles = played(decisions, games.of)
        found = []
        for measure in MEASURES:
            for rate in rates(profiles, measure, types=[t for t in TYPES if t == "all" or _has(profiles, t)]):
                if rate.estimate is None:
                    continue
                key = rate.key
                ci = rate.clustered
                found.append(
                    Own(
                        (str(key["payoffs"]), str(key["persona"]), rate.scenario_type, measure),
                        str(key["agent"]),
                        100 * rate.estimate,
                        None if ci is None else 100 * ci.low,
                        None if ci is None else 100 * ci.high,
                        None,
                        rate.n,
                    )
                )
        return found

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """Stories and payoff tables are our own writing."""
        return [
            "Scenarios carry the paper's subtype names; their stories and payoff tables are Ostrom's own."
        ]


def _has(profiles: Sequence[Any], kind: str) -> bool:
    return any(p.scenario_class == kind for p in profiles)


REFERENCE = Personas
