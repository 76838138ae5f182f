"""Batteries: studies in order of importance, sized to a budget and played one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import orjson
from pydantic import Field, model_validator

from ostrom.costs.forecast import Forecast, forecast
from ostrom.engine.folder import Folder
from ostrom.engine.gate import Spending
from ostrom.engine.plan import Budget, Tally
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import read_plain, write_atomically
from ostrom.ground.validation import Declared
from ostrom.studies.factors import Factor
from ostrom.studies.files import builtin_names
from ostrom.studies.resolve import Resolved, resolve
from ostrom.studies.run import check_commands

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
Models = Sequence[str]
Play = Callable[[Resolved, Path], Result]


class Sized(Declared):
    """How a study is played: preset, changes, and the least and most seeds."""

    preset: str | None = None
    set: tuple[str, ...] = ()
    least: int = Field(default=1, ge=1, le=10_000)
    most: int = Field(default=10, ge=1, le=10_000)

    @model_validator(mode="after")
    def _ordered(self) -> Sized:
        if self.least > self.most:
            raise ValueError(f"least must not be more than most (found {self.least} and {self.most})")
        return self


class StudyPart(Sized):
    """One study of a battery."""

    name: str = Field(pattern=NAME)
    title: str
    about: str = ""
    study: str
    presets: dict[str, Sized] = Field(default_factory=dict)

    def for_preset(self, preset: str | None) -> Sized:
        """Return the size at a preset of the battery; the usual one if the part lacks that preset."""
        return self.presets.get(preset or "", self)

    def source(self, home: Path) -> str:
        """Return a built-in study by name, or a file beside the battery, which may come from a stranger."""
        if self.study in builtin_names():
            return self.study
        path = home / self.study
        if not path.resolve().is_relative_to(home.resolve()):
            raise UsageError(f"study: must be a built-in study or a file beside the battery (found {self.study!r})")
        return str(path) if self.study.endswith((".yaml", ".yml")) else self.study

    def resolved(self, models: Models, seeds: int, home: Path, preset: str | None, options: PlayOptions) -> Resolved:
        """The plan of the part for these models."""
        how = self.for_preset(preset)
        try:
            return resolve(
                self.source(home), preset=how.preset, changes=how.set, models=list(models), seeds=seeds, options=options
            )
        except UsageError as error:
            raise UsageError(f"battery part {self.name}: {error}") from None


P = TypeVar("P", bound=StudyPart)


@dataclass(frozen=True)
class SizedPart(Generic[P]):
    """A part with its number of seeds; 0 if the budget does not suffice."""

    part: P
    seeds: int
    costs: tuple[Forecast, ...]
    """The cost of one seed, by group of models."""

    def usd(self, seeds: int | None = None) -> float:
        """Return the likely cost for all models together."""
        return (self.seeds if seeds is None else seeds) * sum(cost.likely_usd or 0.0 for cost in self.costs)

    @property
    def hours(self) -> float:
        """Return the likely hours, one model after another."""
        return sum(cost.hours(self.seeds) for cost in self.costs if self.seeds)

    @property
    def calls(self) -> int:
        """Likely calls of all models together."""
        return self.seeds * sum(cost.likely_calls for cost in self.costs)

    @property
    def at_most(self) -> dict[str, float | None]:
        """Return the most calls and money for all models; None without a bound."""
        bounds = {name: [cost.at_most[name] for cost in self.costs] for name in ("calls", "usd")}
        return {
            name: None if None in parts else self.seeds * sum(filter(None, parts)) for name, parts in bounds.items()
        }

    @property
    def assumes(self) -> tuple[str, ...]:
        """Return the assumptions of the likely figures."""
        return tuple(dict.fromkeys(line for cost in self.costs for line in cost.assumes))


def with_sizes(
    parts: Sequence[P],
    groups: Sequence[Models],
    home: Path,
    preset: str | None,
    options: PlayOptions,
    check: Callable[[P, Sequence[Factor]], None] | None = None,
    *,
    dry_run: bool = False,
) -> list[SizedPart[P]]:
    """Return the parts with their seeds: the least size as far as the money goes, then all larger alike.

    Every group of models plays a run of its own. A dry run without a budget shows the whole battery.
    """

    def cost(part: P, models: Models) -> Forecast:
        resolved = part.resolved(models, 1, home, preset, replace(options, budget_usd=None))
        if check is not None:
            check(part, resolved.plan.factors)
        if not dry_run:
            check_commands(resolved.plan, options)
        return forecast(resolved.plan, options.rates)

    budget = options.budget_usd
    unsized = [SizedPart(part, 0, tuple(cost(part, models) for models in groups)) for part in parts]
    if unpriced := ", ".join(dict.fromkeys(name for one in unsized for of in one.costs for name in of.unpriced)):
        raise UsageError(f"no price is known for {unpriced}: give one with --prices FILE (0 where it is free)")
    unsized_usd = sum(one.usd(one.part.for_preset(preset).most) for one in unsized)
    if budget is None:
        if unsized_usd > 0 and not dry_run:
            raise UsageError(
                f"the whole battery likely costs {unsized_usd:.2f} USD: say with --budget-usd what may be spent"
            )
        budget = unsized_usd
    left, names = budget, set[str]()
    for one in unsized:
        least = one.usd(one.part.for_preset(preset).least)
        if least <= left + 1e-9:
            left -= least
            names.add(one.part.name)
    if not names:
        raise UsageError(f"--budget-usd {budget:g}: no part of the battery likely costs less than that")
    return _grown(unsized, names, budget, preset)


def _grown(parts: Sequence[SizedPart[P]], names: set[str], budget: float, preset: str | None) -> list[SizedPart[P]]:
    """Return the largest equal share of ``most`` for all parts that the budget allows."""

    def seeds(one: SizedPart[P], share: float) -> int:
        how = one.part.for_preset(preset)
        return max(how.least, int(share * how.most + 1e-9)) if one.part.name in names else 0

    def fits(share: float) -> bool:
        return sum(one.usd(seeds(one, share)) for one in parts) <= budget + 1e-9

    low, high = (1.0, 1.0) if fits(1.0) else (0.0, 1.0)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return [replace(one, seeds=seeds(one, low)) for one in parts]


@dataclass(frozen=True)
class BatteryRun:
    """A run of a battery: one part for one group of models."""

    title: str
    folder: Path
    group: str
    """The group of models: the model's name if each model has its own runs."""
    plan: Callable[[PlayOptions], Resolved]


def play_jobs(
    jobs: Sequence[BatteryRun], play: Play, options: PlayOptions, tell: Callable[[str], None]
) -> tuple[list[tuple[BatteryRun, Result]], bool]:
    """Play jobs in order within one budget; return the results, and whether play was interrupted."""
    results: list[tuple[BatteryRun, Result]] = []
    budget = options.budget_usd or None
    usd = {job.folder: spent(job.folder, options)[0] for job in jobs} if budget else {}
    for job in jobs:
        tell(job.title)
        others = math.fsum(of for folder, of in usd.items() if folder != job.folder)
        limit = max(0.0, budget - others) if budget else None
        results.append((job, play(job.plan(replace(options, budget_usd=limit)), job.folder)))
        if budget:
            usd[job.folder] = spent(job.folder, options)[0]
        if results[-1][1].interrupted:
            return results, True
    return results, False


def spent(folder: Path, options: PlayOptions) -> tuple[float, int]:
    """Return the dollars and calls of a run so far; calls of unknown cost count at the upper estimate."""
    place = Folder(folder)
    if not (place.exists and any(part.journal.exists() for part in place.parts)):
        return 0.0, 0
    # The study need not be resolved again to add up its cost.
    with place.open_journal(place.manifest(), checked=False) as journal:
        sums, tally = journal.spent(), Tally()
        Spending(tally, Budget(usd=math.inf), options.rates, batch=bool(options.batch)).recount_from_journal(journal)
    return sums["usd"] + tally.assumed_usd, int(sums["calls"])


def recorded_seeds(record: Path, settings: Mapping[str, Any], seeds: Mapping[str, int]) -> dict[str, int]:
    """Return the seeds of every part, stored beside the runs: started parts are never reduced."""
    out = record.parent
    counts = dict(seeds)
    try:
        out.mkdir(parents=True, exist_ok=True)
        if record.exists() or record.is_symlink():
            old = orjson.loads(read_plain(record))
            if not isinstance(old, dict) or {key: old.get(key) for key in settings} != settings:
                raise RunError(f"{out}: was begun with another battery or preset (choose another --out)")
            before = old["seeds"] if isinstance(old.get("seeds"), dict) else {}
            counts = {name: max(n, int(before.get(name) or 0)) for name, n in seeds.items()}
        write_atomically(record, orjson.dumps({**settings, "seeds": counts}, option=orjson.OPT_INDENT_2))
    except orjson.JSONDecodeError:
        raise RunError(f"{record}: cannot be read (remove it, or choose another --out)") from None
    except OSError as error:
        raise RunError(f"{out}: cannot be written ({error.strerror or error})") from None
    return counts
