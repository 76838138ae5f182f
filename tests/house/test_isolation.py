"""What a test registers or installs is unknown to the tests after it; these run in their order."""

from pathlib import Path

import pytest
from tests.replications.packages import OWN_FOLDERS, install

from ostrom.agents.strategies import strategies
from ostrom.games import games
from ostrom.ground.registry import refresh


def test_a_part_is_registered_and_a_package_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    games.add("left_behind", games.get("chicken"))
    points = "[ostrom.replications]\nsixth = sixth_paper\n"
    monkeypatch.syspath_prepend(install(tmp_path / "site", "sixth-paper", OWN_FOLDERS, points))
    refresh()
    assert "left_behind" in games and {"ferry"} <= set(games) and "waits_once" in strategies


def test_both_are_gone() -> None:
    assert not {"left_behind", "ferry"} & set(games) and "waits_once" not in strategies
