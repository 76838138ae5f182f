"""What the pages of a profile say, from figures made by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ostrom.analysis.estimate import Estimate
from ostrom.analysis.intervals import exactly
from ostrom.features.profile.battery import Battery, BatteryPart, ModelProfile, ProfileFigure, Taken
from ostrom.features.profile.pages import _cell, _firsts, _warnings, differences

GROUPED = ProfileFigure(name="Groups", measure="cooperation", by=("game",))
SINGLE = ProfileFigure(name="All", measure="cooperation")
PART = BatteryPart(name="one", title="One", study="own.yaml", figures=(GROUPED, SINGLE))


def sure(value: float, **key: str) -> Estimate:
    return Estimate(key, value, value, value, 4, "match", "exact", inference=exactly(value))


def profile(model: str, value: float, *notes: str) -> ModelProfile:
    groups = (sure(value, game="pd"), sure(value / 2, game="stag"))
    taken = [Taken(PART, GROUPED, groups, ()), Taken(PART, SINGLE, (sure(value),), ())]
    return ModelProfile(model, Path(), taken, list(notes))


def test_differences_are_those_to_the_first_model() -> None:
    rows, _ = differences([profile("a", 0.5), profile("b", 0.75), profile("c", 0.25)])
    told = [(row["model"], row["figure"], row["group"], row["difference"], row["verdict"]) for row in rows]
    assert told == [
        ("b", "Groups", "game: pd", 0.25, "higher"), ("b", "Groups", "game: stag", 0.125, "higher"),
        ("b", "All", "", 0.25, "higher"), ("c", "Groups", "game: pd", -0.25, "lower"),
        ("c", "Groups", "game: stag", -0.125, "lower"), ("c", "All", "", -0.25, "lower"),
    ]  # fmt: skip


def test_the_first_screen_has_the_figure_of_a_part_that_has_no_groups() -> None:
    assert [taken.figure.name for taken in _firsts(profile("a", 0.5))] == ["All"]


def test_a_note_names_the_models_that_it_is_about_unless_it_is_about_all() -> None:
    profiles = [profile("x/a", 0.5, "two is incomplete.", "three"), profile("x/b", 0.5, "three")]
    assert _warnings(profiles) == ["x/a: two is incomplete.", "three."]


@pytest.mark.parametrize(("value", "ends"), [(1.5, [100.0] * 3), (-0.5, [0.0] * 3), (0.25, [25.0] * 3)])
def test_a_bar_stays_within_its_cell(value: float, ends: list[float]) -> None:
    drawn = re.search(
        r'M([\d.-]+) 4H([\d.-]+)" stroke="[^v].*cx="([\d.-]+)"', _cell(sure(value), (0, 1), "a")
    )
    assert drawn is not None and [float(x) for x in drawn.groups()] == ends


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
