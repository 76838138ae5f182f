"""Parts of a battery: what they cost together, and what each may spend of one budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.costs import battery
from ostrom.costs.battery import BatteryRun, SizedPart, StudyPart, play_jobs
from ostrom.costs.forecast import Forecast
from ostrom.engine.play_options import PlayOptions

SEED = Forecast(calls=10, usd_with_retries=2.0, likely_usd=1.0, likely_calls=8, assumes=("a",))


def test_a_part_costs_its_seeds_times_all_models() -> None:
    part = SizedPart(StudyPart(name="p", title="P", study="memory"), 3, (SEED, SEED))
    assert (part.usd(), part.usd(1), part.calls, part.assumes) == (6.0, 2.0, 48, ("a",))
    assert part.at_most == {"calls": 60, "usd": 12.0}
    unknown = replace(part, costs=(SEED, replace(SEED, usd_with_retries=None)))
    assert unknown.at_most == {"calls": 60, "usd": None}


def test_a_run_may_spend_what_the_others_left_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    paid, limits = {"a": 3.0, "b": 1.0}, list[float | None]()
    monkeypatch.setattr(battery, "spent", lambda folder, _: (paid[folder.name], 1))

    def plan(options: PlayOptions) -> Any:
        limits.append(options.budget_usd)

    def play(_: Any, folder: Path) -> Any:
        paid[folder.name] += 2.0
        return SimpleNamespace(interrupted=False)

    jobs = [BatteryRun(name, Path(name), "m", plan) for name in paid]
    play_jobs(jobs, play, PlayOptions(budget_usd=10.0), lambda _: None)
    assert limits == [10.0 - 1.0, 10.0 - 5.0]  # what a run has spent itself is in its own limit
    play_jobs(jobs, play, PlayOptions(), lambda _: None)
    assert limits[2:] == [None, None]
