"""Every measure over every kind of kept run: how many values, their mean and range, or why there are none."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.golden.conftest import RUNS, Golden, place, with_slow
from tests.golden.normalise import normalised

from ostrom.analysis.measure import measures
from ostrom.analysis.units import observations
from ostrom.api import open_run
from ostrom.ground.errors import OstromError

QUICK = ("amounts", "society")
"""Runs that differ most; `make test-all` reads all."""


WITH_TABLES = [name for name in RUNS if name not in ("trees", "stories")]


@pytest.mark.parametrize("name", with_slow(WITH_TABLES, set(RUNS) - set(QUICK)))
def test_measures(name: str, new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    parts = ("parts.1-of-2", "parts.2-of-2") if name == "parts" else ()
    home = place(new_home(), (name, *parts))
    monkeypatch.chdir(home)
    lines = []
    with open_run(f"runs/{name}").data() as data:
        for measure in map(measures.named, measures.names()):
            try:
                values = [row.value for row in observations(data, measure).rows]
            except OstromError as error:
                lines.append(f"{measure.name}: {str(error).splitlines()[0][:60]}")
                continue
            if values:
                figures = " ".join(f"{value:.6g}" for value in (sum(values) / len(values), min(values), max(values)))
                lines.append(f"{measure.name}: {len(values)} values, {figures}")
            else:
                lines.append(f"{measure.name}: no values")
    golden(normalised("\n".join(lines) + "\n", home))
