"""Memories, strategies and games in Python files beside a study: bound by a hash, never run to read a run."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import Call, caller

import ostrom
from ostrom.agents.strategies import strategies
from ostrom.ground import python_files
from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.registry import Registry
from ostrom.memory import memories
from ostrom.testing.server import LoopbackServer

CODE = '''
from ostrom.games import build_game


def recent(rounds, k=2):
    """The last k rounds."""
    return rounds[-k:]


def told(view, rng):
    return f"You have met {view.round - 1} times before."


def made_up(rounds):
    return [1]


def kind(past):
    return len(past) == 0 or past.cooperated(-1)


def own_game(T=5):
    return build_game({"name": "prisoners_dilemma", "T": T})
'''
STUDY = """
name: s
game: chicken
mechanism: {name: repetition, rounds: 4}
types: {a: code.py:kind, b: random}
seating: unordered
vary:
  agent.memory: [code.py:recent, "code.py:recent:k=1", full]
"""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    monkeypatch.setattr(python_files, "_MODULES", {})
    monkeypatch.setattr(python_files, "_ALLOWED", set())
    python_files.allow_code(tmp_path / "code.py")
    (tmp_path / "code.py").write_text(CODE)
    (tmp_path / "s.yaml").write_text(STUDY)
    return caller(monkeypatch, tmp_path)


@pytest.mark.slow
def test_a_run_is_read_without_the_file_and_goes_on_with_it(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call("validate", "s.yaml").code == 0 and call("run", "s.yaml").code == 0
    (tmp_path / "code.py").write_text("raise SystemExit('run')")
    monkeypatch.setattr(python_files, "_MODULES", {})  # as another process has it
    rows = json.loads(call("estimate", "s", "cooperation", "--by", "memory", "--mean-over-agents", "--json").out)[
        "estimates"
    ]
    assert [row["memory"] for row in rows] == ["code.py:recent", "code.py:recent:k=1", "full"]
    for words in (["report", "s"], ["transcript", "s"], ["export", "s", "--format", "csv"]):
        assert call(*words).code == 0, words
    done = call("resume", "s", "--seeds", "2")
    assert done.code == 2 and "is not the file that the run was begun with" in done.err and "SystemExit" not in done.err
    (tmp_path / "code.py").write_text(CODE + "# changed\n")
    assert "holds another study" in call("run", "s.yaml").err
    (tmp_path / "code.py").unlink()
    assert "code.py: was a Python file beside the study and is gone" in call("resume", "s").err
    (tmp_path / "code.py").write_text(CODE)
    assert call("resume", "s", "--seeds", "2").code == 0
    branched = call("more", "branch", "s", "--match", "0", "--at", "2")
    assert branched.code == 0, branched.err


def test_a_file_that_was_changed_is_run_again_and_another_of_its_name_is_not_taken(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside, texts = tmp_path / "beside", ("x = 1\n", "x = 2\n", "x = 2\n")
    beside.mkdir()
    python_files.allow_code(beside / "code.py")
    for text in texts:
        (beside / "code.py").write_text(text)
        python_files.run_file("code.py", beside, "s.yaml", "")  # and not the one in the working directory
    assert [module.x for module in python_files._MODULES.values()] == [1, 2]


def test_a_run_goes_on_from_any_folder(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("run", "s.yaml", "--limit", "2").code == 1
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = call("resume", str(tmp_path / "runs/s"))
    assert done.code == 0, done.err


def test_playing_on_without_the_code_is_refused(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("run", "s.yaml").code == 0
    monkeypatch.setattr(python_files, "_MODULES", {})
    done = call("more", "branch", "s", "--match", "0", "--at", "2")
    assert done.code != 0 and "its Python code is not here" in done.err


def test_code_in_a_run_folder_is_never_run(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "runs" / "s"
    inside.mkdir(parents=True)
    (inside / "code.py").write_text(CODE)
    python_files.allow_code(inside / "code.py")
    (tmp_path / "s.yaml").write_text(STUDY.replace("code.py", "runs/s/code.py"))
    assert call("run", "s.yaml").code == 0
    monkeypatch.setattr(python_files, "_MODULES", {})
    done = call("resume", "s", "--seeds", "2")
    assert done.code == 2 and "code that lies in a run folder is never run" in done.err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("code.py:recent,", "code.py:recnt,", ["has no 'recnt'", "allowed:", "recent"]),
        ("code.py:recent,", "cde.py:recent,", ["there is no such Python file", "cde.py"]),
        ("recent:k=1", "recent:j=1", ["unknown key 'j'", "allowed: k"]),
        ("recent:k=1", "recent:1", ["name the parameters", "FILE.py:NAME:k=3"]),
        ("code.py:recent,", "code.py:made_up,", ["must return some of the rounds that it is given"]),
        ("chicken", "code.py:kind", ["game"]),
    ],
)
def test_what_is_wrong_is_one_line(call: Call, tmp_path: Path, old: str, new: str, said: list[str]) -> None:
    (tmp_path / "s.yaml").write_text(STUDY.replace(old, new, 1))
    done = call("run", "s.yaml")
    assert done.code != 0 and "Traceback" not in done.err
    assert all(words in done.err for words in said), done.err


def test_an_error_in_the_file_names_its_line(call: Call, tmp_path: Path) -> None:
    for text, said in (
        ("\n1 / 0\n", "code.py: line 2: ZeroDivisionError"),
        ("\n\nx = = 1", "code.py: line 3: SyntaxError"),
    ):
        (tmp_path / "code.py").write_text(text)
        done = call("validate", "s.yaml")
        assert done.code == 2 and said in done.err and done.err.count("\n") == 1, done.err


def test_a_memory_may_be_words_and_a_game_may_be_code(call: Call, tmp_path: Path) -> None:
    with LoopbackServer() as server:
        types = f'{{m: {{model: "{server.model}", style: direct}}}}'
        text = STUDY.replace("{a: code.py:kind, b: random}", types).replace(
            "game: chicken", "game: {name: code.py:own_game, T: 5.5}"
        )
        (tmp_path / "s.yaml").write_text(text.partition("vary:")[0] + "agent: {memory: code.py:told}\n")
        done = call("run", "s.yaml")
        assert done.code == 0, done.err
        assert any("You have met 3 times before." in str(body["messages"]) for body in server.bodies())


def test_functions_of_a_script_are_memories_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen: list[int] = []

    def last(rounds: list[Any], k: int = 1) -> list[Any]:
        seen.append(len(rounds))
        return rounds[-k:]

    def kind(past: Any) -> bool:
        return len(past) < 2

    study = {
        "name": "f",
        "game": "chicken",
        "mechanism": {"name": "repetition", "rounds": 4},
        "types": {"a": kind},
        "vary": {"agent.memory": [last, {"name": last, "k": 2}, "full"]},
    }
    run = ostrom.play(study, progress=False)
    assert max(seen) == 3
    shares = dict(run.estimate("cooperation", by=["memory"]).select("memory", "value").iter_rows())
    assert sorted(shares.values()) == [0.5, 0.5, 1.0]  # with a window of one round it never sees two
    registries: tuple[Registry[Any], ...] = (memories, strategies)
    for registry in registries:
        for name in [name for name in registry if python_files.is_code(name)]:
            registry.remove(name)
    again = ostrom.open_run("f")
    assert again.estimate("cooperation")["n"][0] == 3
    with pytest.raises(UsageError, match="was Python code of a script"):
        ostrom.commands.resume("f")
    with pytest.raises(StudyError, match="its Python code is not here"):
        memories.build({"name": "last_0a1b2c"}).show(None, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("command", [("validate", "s.yaml"), ("run", "s.yaml"), ("run", "s.yaml", "--dry-run")])
def test_code_that_a_study_names_runs_only_where_it_is_allowed(
    command: tuple[str, ...], call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "code.py").write_text(f"open({str(ran)!r}, 'w').close()\n{CODE}")
    monkeypatch.setattr(python_files, "_ALLOWED", set())
    refused = call(*command)
    assert refused.code == 2 and "--allow-code" in refused.err and "code.py is Python code" in refused.err
    assert not ran.exists() and not (tmp_path / "runs").exists()
    assert call("--allow-code", "code.py", *command).code == 0 and ran.exists()


def test_a_run_goes_on_with_code_only_where_it_is_allowed_again(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("run", "s.yaml", "--limit", "1").code == 1
    for name, empty in (("_MODULES", {}), ("_ALLOWED", set[Path]())):
        monkeypatch.setattr(python_files, name, empty)
    assert "--allow-code" in call("resume", "s").err
    assert call("--allow-code", "code.py", "resume", "s").code == 0
