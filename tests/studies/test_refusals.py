"""Studies that cannot be played are refused in one line that names the key."""

from typing import Any

import pytest

import ostrom
from ostrom.ground.errors import OstromError, UsageError
from ostrom.mechanisms.catalog.none import NoMechanism
from ostrom.studies.load import load_study

STUDY: dict[str, Any] = {"name": "s", "game": "prisoners_dilemma", "types": {"a": "random"}}
URL = {"model": "openai/gpt-test"}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"models": ["m"]}, "models: must map short names to models"),
        ({"models": {"a b": "openai/x"}}, "models.a b: a short name has letters, digits, '.', '_' and '-'"),
        ({"models": {"-a": "openai/x"}}, "a short name has letters, digits"),
        ({"models": {"tit_for_tat": "openai/x"}}, "models.tit_for_tat: is the name of a strategy"),
        ({"models": {"m": {}}}, "models.m: needs 'model': provider/model or a URL"),
        ({"models": {"m": 3}}, "models.m: needs 'model': provider/model or a URL (found 3)"),
        ({"models": {"m": {**URL, "modle": 1}}}, "models.m: unknown key 'modle'"),
        ({"presets": [1]}, "presets: must map names to changes"),
        ({"invalid": {"policy": "wrong"}}, "invalid.policy: there is no such policy (found 'wrong'; allowed: fail,"),
    ],
)
def test_short_names_and_presets_that_cannot_be(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(OstromError) as caught:
        load_study({**STUDY, **changes})
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_preset_that_is_not_there_is_named_beside_the_others() -> None:
    study = {**STUDY, "presets": {"small": {"seeds": 2}, "none": None}}
    assert load_study(study, preset="small").seeds == 2 and load_study(study).seeds == load_study(STUDY).seeds
    with pytest.raises(OstromError, match=r"unknown preset 'smal' \(did you mean small\?"):
        load_study(study, preset="smal")


def test_objects_in_place_of_names_must_be_objects() -> None:
    with pytest.raises(UsageError, match=r"^NoMechanism: give a mechanism as an object, NoMechanism\(\.\.\.\)$"):
        ostrom.study({**STUDY, "mechanism": NoMechanism})
    with pytest.raises(AttributeError, match=r"ostrom has no command 'no_such' \(see ostrom.commands.names\(\)\)"):
        ostrom.commands.no_such  # noqa: B018
