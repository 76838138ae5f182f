"""Commands, studies, prompts and other files that are wrong: each ends with one line and leaves nothing behind."""

import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.in_process import caller
from tests.golden.conftest import Golden
from tests.golden.normalise import normalised

from ostrom.features.words.lexicons import load_lexicons
from ostrom.framing.config import Framing
from ostrom.framing.history_renderer import HistoryRenderer
from ostrom.framing.library import Library
from ostrom.framing.payoffs import OwnPayoffs
from ostrom.games import build_game
from ostrom.games.nfg import parse_nfg
from ostrom.games.yaml_file import parse_yaml
from ostrom.ground.errors import StudyError

INPUTS = Path(__file__).with_name("refused")
BESIDE = INPUTS / "beside"
"""Files that the commands name."""


def test_commands(new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    home = new_home()
    shutil.copytree(BESIDE, home, dirs_exist_ok=True)
    (home / "large.yaml").touch()
    os.truncate(home / "large.yaml", 5 << 20)
    before = sorted(home.iterdir())
    call, lines = caller(monkeypatch, home), []
    for command in (INPUTS / "commands.txt").read_text().splitlines():
        done = call(*shlex.split(command))
        lines.append(f"$ ostrom {command}\n{done.err.rstrip()}")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), lines[-1]
        assert sorted(home.iterdir()) == before, lines[-1]
    golden(normalised("\n".join(lines) + "\n", home))


def test_studies(new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    home = new_home()
    call, lines = caller(monkeypatch, home), []
    for case, text in yaml.safe_load((INPUTS / "studies.yaml").read_text()).items():
        (home / "own.yaml").write_text(text)
        outcomes = {command: call(command, "own.yaml") for command in ("validate", "run")}
        refused = {command: done for command, done in outcomes.items() if done.code}
        (line,) = {done.err.rstrip() for done in refused.values()}
        lines.append(f"{case} ({' and '.join(refused)}): {line}")
        assert all((done.code, done.out, done.err.count("\n")) == (2, "", 1) for done in refused.values()), line
        assert not (home / "runs").exists(), "nothing is left behind"
    golden(normalised("\n".join(lines) + "\n", home))


READERS: dict[str, Callable[[str], object]] = {
    "game": lambda text: parse_yaml(text, file="own.yaml"),
    "nfg": lambda text: parse_nfg(text, file="own.yaml"),
    "lexicon": lambda _: load_lexicons(Path("own.yaml")),
}


@pytest.mark.parametrize("kind", READERS)
def test_files(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.chdir(tmp_path)
    lines = []
    for text in yaml.safe_load((INPUTS / f"{kind}.yaml").read_text()):
        Path("own.yaml").write_text(text)
        with pytest.raises(StudyError) as refused:
            READERS[kind](text)
        lines.append(f"{text!r:.100}\n    {refused.value}")
        assert str(refused.value).startswith("own.yaml: ") and "\n" not in str(refused.value), lines[-1]
        assert len(str(refused.value)) < 400, lines[-1]
    golden("\n".join(lines) + "\n")


def template_values() -> dict[str, Any]:
    """Values as prompt files are given them."""
    game = build_game("prisoners_dilemma")
    return {
        "game": game,
        "own": OwnPayoffs(game, 0, (0, 1), game.actions, ("You", "P2")),
        "amount": HistoryRenderer(Framing(), Library(), {}).amount,
        "options": ["a"],
        "words": {"a": "b"},
        "units": "points",
    }


def test_templates(new_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    """Ways out of a sandbox of Jinja, and syntax that is not listed."""
    home, lines = new_home(), []
    monkeypatch.chdir(home)
    (home / "goals").mkdir()
    (home / "goals" / "y.txt").write_text("{% macro m() %}x{% endmacro %}")
    for text in (INPUTS / "templates.txt").read_text().splitlines():
        (home / "goals" / "x.txt").write_text(f"One line.\n{text}")
        values = template_values()
        with pytest.raises(StudyError) as refused:
            Library(home).fill("goals/x.txt", values)
        lines.append(f"{text}\n    {str(refused.value).removeprefix(f'{home}/goals/x.txt: ')}")
        assert "\n" not in str(refused.value) and "0x" not in str(refused.value), lines[-1]
        assert not (home / "stolen").exists() and (values["words"], values["options"]) == ({"a": "b"}, ["a"]), text
    golden(normalised("\n".join(lines) + "\n", home))
