"""Studies that tests of registrations register, in a folder of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

from ostrom.models.providers import scripted

STUDY = """\
name: s
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 10}
types: {kind: "random:0.9", wild: "random:0.3"}
vary: {game: [prisoners_dilemma, stag_hunt]}
seeds: 6
"""
ASKED = """\
name: asked
game: prisoners_dilemma
agent: {style: direct}
types: {a: scripted/first, b: scripted/second}
vary: {game: [prisoners_dilemma, stag_hunt]}
invalid: {retries: 0, policy: uniform}
seeds: 2
"""
PRIMARY = ("--primary", "cooperation: agent kind - wild > 0")
GAMES = ("--primary", "cooperation: game prisoners_dilemma - stag_hunt != 0")


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    (tmp_path / "s.yaml").write_text(STUDY)
    (tmp_path / "asked.yaml").write_text(ASKED)
    for name in ("first", "second", "other"):
        scripted.register(name, "[A0]")
    yield caller(monkeypatch, tmp_path)
    for name in ("first", "second", "other"):
        scripted.unregister(name)
