"""A study as Python states it, with the options of `ostrom run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import orjson

from ostrom.api.objects import model_name, plain
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import UsageError
from ostrom.studies.forecast import Forecast, forecast
from ostrom.studies.measured import measure
from ostrom.studies.plan import StudyPlan
from ostrom.studies.resolve import resolve


@dataclass(frozen=True, repr=False)
class Study:
    """A study that was checked from end to end and can be played."""

    plan: StudyPlan
    options: PlayOptions = field(default_factory=PlayOptions)
    """Its prompts, prices and budget, with which it is played."""
    given: Mapping[str, Any] | None = None
    """What ``ostrom.study`` was given, so that ``ostrom.play`` can state it again with a budget."""

    @property
    def name(self) -> str:
        """The name of the study, and of its run unless another is given."""
        return self.plan.name

    @property
    def factors(self) -> dict[str, list[Any]]:
        """What varies, and its levels."""
        return {factor.name: [level.label for level in factor.levels] for factor in self.plan.factors}

    def forecast(self, like: str | Path | None = None, runs: str | Path = "runs") -> Forecast:
        """What it takes to play: matches, calls, tokens, money; ``like`` is a run with replies of that length."""
        return forecast(self.plan, self.options.rates, None if like is None else measure(like, runs))

    def __repr__(self) -> str:
        varied = ", ".join(f"{name} ({len(levels)})" for name, levels in self.factors.items()) or "nothing"
        return f"<Study {self.name}: {len(self.plan)} matches, varies {varied}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(', '.join(map(str, levels)))}</td></tr>"
            for name, levels in self.factors.items()
        )
        return f"<b>{escape(self.name)}</b>: {len(self.plan)} matches<table>{rows}</table>"


def study(
    source: str | Path | Mapping[str, Any],
    *,
    preset: str | None = None,
    models: Sequence[Any] = (),
    set: Mapping[str, Any] | Sequence[str] | None = None,
    vary: Mapping[str, Any] | None = None,
    seeds: int | None = None,
    budget_usd: float | None = None,
    budget_calls: int | None = None,
    budget_tokens: int | None = None,
    prompts: str | Path | None = None,
    prices: str | Path | None = None,
) -> Study:
    """A built-in study, a study file or a mapping, with the changes that `ostrom run` takes.

    ``vary={"agent.memory": ["window:2", "window:80"]}`` adds a factor ``memory``; a name without a dot is a factor
    as study files write it. In place of names stand objects too: a game as ``ostrom.game`` makes it, a NumPy array, a
    Nashpy or pygambit game; a strategy as a function of the past or an Axelrod player; a model as an async function.

    >>> study("pd-tournament", preset="smoke").name
    'pd-tournament'
    """
    given = {
        "source": source, "preset": preset, "models": models, "set": set, "vary": vary, "seeds": seeds,
        "budget_usd": budget_usd, "budget_calls": budget_calls, "budget_tokens": budget_tokens, "prompts": prompts,
        "prices": prices,
    }  # fmt: skip
    found = resolve(
        plain(source) if isinstance(source, Mapping) else source,
        preset=preset,
        changes=[*_changes(plain(set)), *_factors(plain(vary or {}))],
        models=[model_name(model) for model in models],
        seeds=seeds,
        options=PlayOptions(
            budget_usd=budget_usd,
            budget_calls=budget_calls,
            budget_tokens=budget_tokens,
            prompts=None if prompts is None else Path(prompts),
            prices=None if prices is None else Path(prices),
        ),
    )
    return Study(found.plan, found.options, given)


def _changes(given: Mapping[str, Any] | Sequence[str] | None) -> list[str]:
    if given is None:
        return []
    if isinstance(given, str):
        raise UsageError(f"set: must be a mapping or a list of KEY=VALUE (found {given!r})")
    if isinstance(given, Mapping):
        return [_written(key, value) for key, value in given.items()]
    return list(given)


def _factors(vary: Mapping[str, Any]) -> list[str]:
    made = []
    for key, levels in vary.items():
        if "." in key:
            name = key.rpartition(".")[2]
            made.append(_written(f"vary.{name}", {"set": key, "to": list(levels)}))
        else:
            made.append(_written(f"vary.{key}", levels))
    return made


def _written(key: str, value: Any) -> str:
    """A change as the command line writes it; JSON is YAML too."""
    try:
        return f"{key}={orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()}"
    except TypeError as error:
        raise UsageError(f"{key}: cannot be written in a study file ({error})") from None
