"""The test server answers all that is asked in a game with talk."""

from __future__ import annotations

from pathlib import Path

import pytest

import ostrom
from ostrom.testing.server import LoopbackServer


@pytest.mark.parametrize("talk", ["after", {"private": True}])
@pytest.mark.parametrize("style", ["direct", "reasoned"])
def test_a_game_with_talk_is_played_against_the_server(talk: object, style: str, tmp_path: Path) -> None:
    with LoopbackServer() as server:
        study = {
            "name": "talk",
            "game": {"name": "common_pool", "n": 3},
            "mechanism": {"name": "repetition", "rounds": 2, "talk": talk},
            "types": {"loop": {"model": server.model}},
            "agent": {"style": style},
        }
        run = ostrom.play(study, runs=tmp_path, progress=False)
    assert set(run.matches["state"]) == {"done"}
    assert run.decisions["complaints"].sum() == 0
