"""What is known of a model is a column: results can be grouped by it, tested for it and regressed on it."""

from typing import Any

import pytest

from ostrom.ground.errors import StudyError
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan


def study(**types: Any) -> dict[str, Any]:
    return {"name": "sizes", "game": "prisoners_dilemma", "types": types, "seeds": 2}


def test_attributes_describe_and_do_not_decide() -> None:
    types = {"a": {"strategy": "grim"}, "b": {"strategy": "grim", "attributes": {"size": 7}}}
    first, second = (config for config in StudyPlan(load_study(study(**types))).agents)
    assert first.identity == second.identity and second.attributes == {"size": 7}


@pytest.mark.parametrize("name", ["agent", "model", "Size", "seed"])
def test_an_attribute_needs_a_name_of_its_own(name: str) -> None:
    types = {"a": {"strategy": "grim", "attributes": {name: 1}}}
    with pytest.raises(StudyError, match=f"needs a name of its own.*{name}"):
        StudyPlan(load_study(study(**types)))
