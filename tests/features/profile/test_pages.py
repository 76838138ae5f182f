"""What the pages of a profile say, from figures made by hand."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ostrom.analysis.estimate import Estimate
from ostrom.analysis.intervals import exactly
from ostrom.features.profile.battery import Battery, BatteryPart, ModelFigure, ModelProfile, ProfileFigure

GROUPED = ProfileFigure(name="Groups", measure="cooperation", by=("game",))
SINGLE = ProfileFigure(name="All", measure="cooperation")
PART = BatteryPart(name="one", title="One", study="own.yaml", figures=(GROUPED, SINGLE))


def sure(value: float, **key: str) -> Estimate:
    return Estimate(key, value, value, value, 4, "match", "exact", inference=exactly(value))


def profile(model: str, value: float, *notes: str) -> ModelProfile:
    groups = (sure(value, game="pd"), sure(value / 2, game="stag"))
    taken = [ModelFigure(PART, GROUPED, groups, ()), ModelFigure(PART, SINGLE, (sure(value),), ())]
    return ModelProfile(model, Path(), taken, list(notes))


@pytest.mark.parametrize(("level", "fits"), [(0.5, True), (0.49, False), (0.99, True), (1.0, False)])
def test_the_level_of_a_battery_lies_between_a_half_and_one(level: float, fits: bool) -> None:
    figure = {"measure": "cooperation", "name": "c"}
    data: dict[str, Any] = {
        "name": "b",
        "title": "B",
        "level": level,
        "parts": [{"name": "p", "title": "P", "study": "s", "figures": [figure]}],
    }
    if fits:
        assert Battery.model_validate(data).level == level
        data["parts"] *= 2
        with pytest.raises(ValidationError, match="two parts have the name 'p'"):
            Battery.model_validate(data)
    else:
        with pytest.raises(ValidationError, match="level"):
            Battery.model_validate(data)
