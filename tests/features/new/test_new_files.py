"""`ostrom new`: every kind of file is commented, valid and played as it is written."""

import json
import sys
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller
from tests.replications.packages import install

from ostrom.features.new.command import KINDS
from ostrom.ground import python_files
from ostrom.ground.registry import refresh
from ostrom.testing.server import LoopbackServer

STUDY = (
    "{name: s, game: GAME, mechanism: {name: repetition, rounds: 4}, "
    "types: {a: TYPE, b: random}, agent: {memory: MEMORY}}"
)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    monkeypatch.setattr(python_files, "_MODULES", {})
    monkeypatch.setattr(python_files, "_ALLOWED", set())
    return caller(monkeypatch, tmp_path)


def played(call: Call, game: str = "chicken", kind: str = "grim", memory: str = "full") -> None:
    Path("s.yaml").write_text(STUDY.replace("GAME", game).replace("TYPE", kind).replace("MEMORY", memory))
    done = call("run", "s.yaml")
    assert done.code == 0, done.err


def test_a_game(call: Call) -> None:
    assert call("new", "game", "lake").code == 0 and call("validate", "lake.yaml").code == 0
    assert call("play", "lake.yaml", "--rounds", "1", keys="A0\n").code == 0
    played(call, game="lake.yaml")
    assert call("new", "game", "bird", "--like", "chicken").code == 0
    shown = [json.loads(call("show", "game", name, "--json").out) for name in ("bird.yaml", "chicken")]
    assert shown[0]["name"] == "bird" and shown[0]["equilibria"] == shown[1]["equilibria"]
    assert "follow from a rule" in call("new", "game", "pool", "--like", "common_pool").err


@pytest.mark.parametrize("like", [None, "window", "retrieval", "forgetting"])
def test_a_memory(call: Call, like: str | None) -> None:
    assert call("new", "memory", "my-own", *(["--like", like] if like else [])).code == 0
    assert "my_own.py:my_own" in call("validate", "my_own.py").out
    spec = {None: "my_own.py", "forgetting": "{name: my_own.py, rate: 0.5}"}.get(like, "{name: my_own.py, k: 1}")
    played(call, memory=spec)


@pytest.mark.parametrize("like", [None, "tit_for_tat", "grim", "generous_tit_for_tat"])
def test_a_strategy(call: Call, like: str | None) -> None:
    assert call("new", "strategy", "mine", *(["--like", like] if like else [])).code == 0
    assert "mine.py:mine" in call("validate", "mine.py").out
    played(call, kind="mine.py")
    assert call("play", "prisoners_dilemma", "--against", "mine.py", "--rounds", "1", keys="A0\n").code == 0


@pytest.mark.parametrize("like", [None, "first_defection"])
def test_a_measure(call: Call, like: str | None) -> None:
    assert call("new", "measure", "mine", *(["--like", like] if like else [])).code == 0
    assert "mine.py:mine" in call("validate", "mine.py").out
    played(call)
    own = json.loads(call("estimate", "s", "mine.py", "--by", "agent", "--json").out)["estimates"]
    assert len(own) == 2
    if like:
        theirs = json.loads(call("estimate", "s", like, "--by", "agent", "--json").out)["estimates"]
        assert [row["value"] for row in own] == [row["value"] for row in theirs]


@pytest.mark.slow
def test_prompts_in_our_words(call: Call) -> None:
    assert call("new", "prompts", "words").code == 0 and list(Path("words").rglob("*.txt"))
    with LoopbackServer() as server:
        call("new", "study", "mine")
        options = ("--preset", "smoke", "--model", server.model)
        assert call("run", "mine.yaml", *options, "--name", "ours").code == 0
        ours = sorted(str(body["messages"]) for body in server.bodies())
        server.requests.clear()
        assert call("run", "mine.yaml", *options, "--name", "own", "--prompts", "words").code == 0
        assert sorted(str(body["messages"]) for body in server.bodies()) == ours
        file = next(iter(Path("words").rglob("*choice*.txt")), next(iter(Path("words").rglob("*.txt"))))
        file.write_text(file.read_text() + "Think of the lake.")
        server.requests.clear()
        assert call("run", "mine.yaml", *options, "--name", "lake", "--prompts", "words").code == 0
        assert "Think of the lake." in str(server.bodies())


@pytest.mark.parametrize("kind", [*KINDS, "prompts"])
def test_nothing_is_overwritten(call: Call, kind: str) -> None:
    assert call("new", kind, "one").code == 0
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    done = call("new", kind, "one")
    assert done.code == 2 and "exists already: choose another name" in done.err
    assert before == {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


@pytest.mark.slow
def test_figures_without_a_needed_column_are_one_line(call: Call, tmp_path: Path) -> None:
    assert call("new", "replication", "seventh").code == 0
    package = Path("seventh")
    files = {str(p.relative_to(package)): p.read_text() for p in package.rglob("seventh/**/*") if p.is_file()}
    files["seventh/reference.csv"] = "game,measure,model,value,table\nstag_hunt,cooperation,A,0.7,Table 1\n"
    site = install(tmp_path / "site", "seventh", files, "[ostrom.replications]\nseventh = seventh\n")
    sys.path.insert(0, str(site))
    refresh()
    try:
        assert call("run", "seventh-main", "--preset", "smoke").code == 0
        done = call("compare", "seventh-main")
    finally:
        sys.path.remove(str(site))
        refresh()
    assert done.code == 2 and "seventh/reference.csv: status: lacks a column" in done.err
