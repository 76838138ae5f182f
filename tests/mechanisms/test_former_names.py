"""Methods that a package overrides by their names of 1.0 are still the ones that are called."""

from typing import Any

import pytest

from ostrom.games.game import Game
from ostrom.mechanisms.base import FORMER, Mechanism


@pytest.mark.parametrize(
    ("base", "old", "new"), [(Game, "payoff_told", "stated_payoff"), *((Mechanism, *pair) for pair in FORMER.items())]
)
def test_a_package_of_1_0_is_heard(base: Any, old: str, new: str) -> None:
    assert hasattr(base, new) and not hasattr(base, old)
    theirs = type("Theirs", (base,), {old: lambda self, *words: "theirs"})
    later = type("Later", (theirs,), {})
    renamed = type("Renamed", (theirs,), {new: lambda self, *words: "renamed"})
    assert [getattr(kind, new)(None) for kind in (theirs, later, renamed)] == ["theirs", "theirs", "renamed"]
