"""What more seeds of a run take: calls and money, by what its matches took so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ostrom.costs.forecast import forecast
from ostrom.costs.measured import measured_of
from ostrom.engine.folder import kind_of
from ostrom.engine.plan import Budget
from ostrom.ground.words import how_many
from ostrom.studies.extensions import plan_class
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run


@dataclass(frozen=True, slots=True)
class SeedPrice:
    """What some seeds likely take."""

    seeds: float
    matches: float
    calls: float
    tokens: float
    usd: float | None
    """None where a price is not known."""
    hours: float = 0.0

    def times(self, many: float) -> SeedPrice:
        """What so many times as many seeds take."""
        usd = None if self.usd is None else many * self.usd
        return SeedPrice(
            many * self.seeds, many * self.matches, many * self.calls, many * self.tokens, usd, many * self.hours
        )  # fmt: skip

    def plus(self, other: SeedPrice) -> SeedPrice:
        """What these seeds take in two runs; the number of seeds is that of each."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return SeedPrice(
            max(self.seeds, other.seeds), self.matches + other.matches, self.calls + other.calls,
            self.tokens + other.tokens, usd, self.hours + other.hours,
        )  # fmt: skip

    def affordable(self, budget: Budget) -> float:
        """How many times this fits into a budget; inf where nothing bounds it, or a price is not known."""
        parts = ((budget.calls, self.calls), (budget.tokens, self.tokens), (budget.usd, self.usd))
        return min((bound / of for bound, of in parts if bound is not None and of), default=float("inf"))

    @property
    def words(self) -> str:
        """The price without the seeds: ``240 calls, 0.12 USD, 0.4 hours``."""
        money = "price unknown" if self.usd is None else f"{self.usd:.2f} USD"
        calls = how_many(round(self.calls), "call")
        return f"{calls}, {money}, {self.hours:.2g} hours" if self.calls else "no calls"

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        rounded = {name: round(of) for name, of in asdict(self).items() if name not in ("usd", "hours")}
        return {**rounded, "usd": self.usd, "hours": self.hours}


def seed_price(run: str | Path, runs: str | Path = "runs", prices: Mapping[str, Any] | None = None) -> SeedPrice | None:
    """What one more seed of a run likely takes; None where no seeds can be added (shared or imported, people)."""
    with open_run(run, runs) as opened:
        plan, manifest = opened.plan, opened.manifest
        elsewhere = plan_class(kind_of(manifest), str(opened.folder.path)).resume_hint(manifest)
        if elsewhere is not None or manifest.get("shared") is not None or plan.study.people is not None:
            return None
        one_seed = StudyPlan(plan.study.model_copy(update={"seeds": 1}), plan.library, plan.file)
        cost = forecast(one_seed, prices, measured_of(opened))
    return SeedPrice(
        1,
        cost.matches,
        cost.likely_calls,
        cost.likely_tokens_in + cost.likely_tokens_out,
        cost.likely_usd,
        cost.busy_seconds / cost.connections / 3600,
    )
