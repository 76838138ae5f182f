"""Pilot a study with people: simulated participants through the same visit, into a run of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.engine.folder import Folder
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result
from ostrom.ground.errors import UsageError
from ostrom.people.host import Host
from ostrom.people.hosting import host_plan
from ostrom.people.plan import PeoplePlan
from ostrom.people.simulated import Crowd, PilotHost, simulate
from ostrom.studies.checks import check_strategies
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import OpenModels

Through = Callable[[PilotHost, Folder, Crowd, int], Coroutine[Any, Any, None]]
"""Leads a crowd through visits: through pages in a browser, say."""


def pilot_agent(plan: StudyPlan, model: str | None, strategy: str | None) -> AgentConfig:
    """How simulated participants decide in a match: as the people's type says, but by a model or a strategy."""
    if model is not None and strategy is not None:
        raise UsageError("--model and --strategy exclude each other")
    seats = (seated for cell in plan.tables() for seated in cell.seatings[0] if seated.config.person == "web")
    person = next(seats, None)
    if person is None:
        raise UsageError(f"{plan.file}: has no people to simulate; a type needs 'person: web'")
    told = person.config.model_dump(exclude_unset=True, exclude={"person"})
    if model is None:
        config = AgentConfig(strategy=strategy or "random")
        for cell in plan.tables():  # or matches fail one by one, and the pilot is one of nothing
            seated = [replace(s, config=config) if s.config.person == "web" else s for s in cell.seatings[0]]
            check_strategies(cell.game, cell.mechanism, [seated], plan.file)
        return config
    return AgentConfig.model_validate({"style": "direct", **told, "model": model})


def pilot(
    plan: StudyPlan,
    crowd: Crowd,
    *,
    name: str,
    runs: str | Path = "runs",
    options: PlayOptions | None = None,
    open_models: OpenModels | None = None,
    through: Through | None = None,
) -> tuple[Result, dict[str, Any]]:
    """Let a crowd through a study; says how their visits ended. ``through`` leads them another way than directly."""
    if not isinstance(plan, PeoplePlan):
        raise UsageError(f"{plan.file}: has no section 'people'; `ostrom run` plays it")
    if crowd.config.model is not None:
        plan.add_model(crowd.config.model, crowd.config.settings)
    told: dict[str, Any] = {}
    rounds = sum(int(getattr(plan.variant(0, key).mechanism, "rounds", 1)) for key in plan.people_of(0).order)

    async def serve(host: Host, folder: Folder) -> None:
        assert isinstance(host, PilotHost)
        moments = len(plan.people.visit) + rounds
        if through is None:
            await simulate(host, crowd, moments)
        else:
            await through(host, folder, crowd, moments)
        told.update(summary(host))

    result = host_plan(
        plan, serve, name=name, runs=runs, options=options, open_models=open_models, hosts=PilotHost
    )
    return result, told


def summary(host: Host) -> dict[str, Any]:
    """How visits ended, in all and by cell."""
    ends: Mapping[str, int] = Counter(str(live.end or "open") for live in host.live_visits.values())
    cells: dict[str, Counter[str]] = {}
    for live in host.live_visits.values():
        if live.cell is not None:
            of = cells.setdefault(host.plan.cell_name(live.cell), Counter())
            of["done" if live.end == "done" else "dropped out"] += 1
    return {
        "people": len(host.live_visits),
        "ends": dict(ends),
        "cells": {k: dict(v) for k, v in sorted(cells.items())},
    }
