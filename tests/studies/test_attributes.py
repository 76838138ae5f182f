"""What is known of a model is a column: results can be grouped by it, tested for it and regressed on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostrom.analysis.estimate import estimate, trend
from ostrom.data.rundata import run_data
from ostrom.ground.errors import StudyError
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play


def study(**types: Any) -> dict[str, Any]:
    return {"name": "sizes", "game": "prisoners_dilemma", "types": types, "seeds": 2}


def test_attributes_are_columns_of_the_tables(tmp_path: Path) -> None:
    types = {
        "small": {"strategy": "cooperator", "attributes": {"size": 7, "thinking": False}},
        "large": {"strategy": "random:0.5", "attributes": {"size": 32.5, "thinking": True}},
        "unknown": {"strategy": "defector"},
    }
    play(load_study(study(**types)), runs=tmp_path)
    with open_run("sizes", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        decisions = data.records("SELECT DISTINCT agent, size, thinking FROM decisions ORDER BY agent")
        by_size = {e.key["size"]: e.value for e in estimate(data, "cooperation", ["size"])}
        (slope,) = trend(data, "cooperation", "size", where="size IS NOT NULL")
    assert decisions == [
        {"agent": "large", "size": 32.5, "thinking": True},
        {"agent": "small", "size": 7.0, "thinking": False},
        {"agent": "unknown", "size": None, "thinking": None},
    ]
    assert set(by_size) == {7.0, 32.5, None} and by_size[7.0] == 1 and by_size[None] == 0
    assert slope.value < 0


def test_attributes_describe_and_do_not_decide() -> None:
    types = {"a": {"strategy": "grim"}, "b": {"strategy": "grim", "attributes": {"size": 7}}}
    first, second = (config for config in StudyPlan(load_study(study(**types))).agents)
    assert first.identity == second.identity and second.attributes == {"size": 7}


@pytest.mark.parametrize("name", ["agent", "model", "Size", "seed"])
def test_an_attribute_needs_a_name_of_its_own(name: str) -> None:
    types = {"a": {"strategy": "grim", "attributes": {name: 1}}}
    with pytest.raises(StudyError, match=f"needs a name of its own.*{name}"):
        StudyPlan(load_study(study(**types)))
