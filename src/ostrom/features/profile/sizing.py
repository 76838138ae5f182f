"""How large every part of a battery is played: as large as the budget allows, the same for all models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ostrom.analysis.estimate import pairs_of
from ostrom.engine.play_options import PlayOptions
from ostrom.features.profile.battery import Battery, BatteryPart, study_source
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.studies.factors import Factor
from ostrom.studies.forecast import Forecast, forecast
from ostrom.studies.resolve import Resolved, resolve


@dataclass(frozen=True)
class SizedPart:
    """A part with the number of seeds that it gets; 0 where the budget does not suffice for it."""

    part: BatteryPart
    seeds: int
    costs: tuple[Forecast, ...]
    """What one seed takes, by model."""

    def usd(self, seeds: int | None = None) -> float:
        """What it likely costs for all models together."""
        return (self.seeds if seeds is None else seeds) * sum(cost.likely_usd or 0.0 for cost in self.costs)

    @property
    def calls(self) -> int:
        """Calls of all models together."""
        return self.seeds * sum(cost.calls for cost in self.costs)


def resolved(
    part: BatteryPart, model: str, seeds: int, home: Path, preset: str | None, options: PlayOptions
) -> Resolved:
    """The plan of a part for one model."""
    how = part.at(preset)
    try:
        return resolve(
            study_source(part, home),
            preset=how.preset,
            changes=how.set,
            models=[model],
            seeds=seeds,
            options=options,
        )
    except UsageError as error:
        raise UsageError(f"battery part {part.name}: {error}") from None


def sized(
    battery: Battery,
    models: Sequence[str],
    home: Path,
    preset: str | None,
    options: PlayOptions,
) -> list[SizedPart]:
    """The parts with their seeds: each at least at its least size as far as the money goes, then all larger alike."""
    budget, parts = options.budget_usd, []
    for part in battery.parts:
        costs = []
        for model in models:
            found = resolved(part, model, 1, home, preset, replace(options, budget_usd=None))
            check_figures(part, found.plan.factors)
            costs.append(forecast(found.plan, options.rates))
        parts.append(SizedPart(part, 0, tuple(costs)))
    unpriced = list(dict.fromkeys(name for one in parts for cost in one.costs for name in cost.unpriced))
    if unpriced:
        raise UsageError(
            f"no price is known for {', '.join(unpriced)}: give one with --prices FILE (0 where it is free)"
        )
    whole = sum(one.usd(one.part.at(preset).most) for one in parts)
    if budget is None:
        if whole > 0:
            raise UsageError(
                f"the whole battery likely costs {whole:.2f} USD: say with --budget-usd what may be spent"
            )
        budget = 0.0
    left, kept = budget, set[str]()
    for one in parts:
        least = one.usd(one.part.at(preset).least)
        if least <= left + 1e-9:
            left -= least
            kept.add(one.part.name)
    if not kept:
        raise UsageError(f"--budget-usd {budget:g}: no part of the battery likely costs less than that")
    return _grown([one for one in parts if one.part.name in kept], parts, budget, preset)


def check_figures(part: BatteryPart, factors: Sequence[Factor]) -> None:
    """Refuse a figure that no match of the study can give, before anything is paid."""
    levels = {factor.name: [level.label for level in factor.levels] for factor in factors}
    for figure in part.figures:
        where = f"battery part {part.name}: figure {figure.name!r}"
        picked = figure.where if isinstance(figure.where, Mapping) else {}
        for column in levels.keys() & picked.keys():
            wanted = picked[column]
            known = [str(level) for level in levels[column]]
            for level in map(str, wanted if isinstance(wanted, list) else [wanted]):
                if level not in known:
                    raise UsageError(f"{where}: {UnknownName(f'level of {column}', level, known)}")
        if figure.contrast and figure.pair[0] in levels:
            try:
                pairs_of(levels[figure.pair[0]], *figure.pair)
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None
        if figure.over in levels and len(levels[figure.over]) < 2:
            raise UsageError(f"{where}: a slope over {figure.over} needs two levels of it or more")


def _grown(
    kept: Sequence[SizedPart], parts: Sequence[SizedPart], budget: float, preset: str | None
) -> list[SizedPart]:
    """The largest size, the same share of ``most`` for every part, that the budget allows."""

    def seeds(one: SizedPart, share: float) -> int:
        how = one.part.at(preset)
        return max(how.least, int(share * how.most + 1e-9))

    def fits(share: float) -> bool:
        return sum(one.usd(seeds(one, share)) for one in kept) <= budget + 1e-9

    low, high = 0.0, 1.0
    if fits(1.0):
        low = 1.0
    else:
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
    names = {one.part.name for one in kept}
    return [SizedPart(one.part, seeds(one, low) if one.part.name in names else 0, one.costs) for one in parts]
