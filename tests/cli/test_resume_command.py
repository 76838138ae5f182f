"""`ostrom resume RUN` goes on as the run was begun, and trusts no path that a stranger wrote."""

import json
import shlex
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

from ostrom.testing.server import LoopbackServer

STUDY = """
name: own
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 2}
agent: {style: direct}
seeds: 4
"""


@pytest.fixture
def ostrom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    (tmp_path / "own.yaml").write_text(STUDY)
    (tmp_path / "mine" / "goals").mkdir(parents=True)
    (tmp_path / "mine" / "goals" / "total.txt").write_text("Earn a lot.")
    return caller(monkeypatch, tmp_path)


def begun(ostrom: Call, server: LoopbackServer, *more: str) -> None:
    done = ostrom(
        "run", "own.yaml", "--model", server.model, "--budget-calls", "6", "--prompts", "mine",
        "--max-connections", "1", "--cache", "cache.db", *more,
    )  # fmt: skip
    assert done.code == 1 and "`ostrom resume runs/own`" in done.err, done.err


def test_a_run_goes_on_without_its_options_from_any_folder(
    ostrom: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LoopbackServer() as server:
        begun(ostrom, server)
        (tmp_path / "own.yaml").unlink()
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        stopped = ostrom("resume", str(tmp_path / "runs" / "own"), "--cache", "../cache.db")
        assert stopped.code == 1 and "budget" in stopped.err
        done = ostrom("resume", "own", "--runs", "../runs", "--budget-calls", "100", "--cache", "../cache.db", "--json")
        told = json.loads(done.out)
        assert done.code == 0 and told["complete"] and told["calls"] == 16, done.err
        more = ostrom("resume", str(tmp_path / "runs" / "own"), "--seeds", "5", "--cache", "../cache.db", "--json")
        assert json.loads(more.out)["matches"]["done"] == 5
    session = json.loads((tmp_path / "runs" / "own" / "session.json").read_text())
    assert session["max_connections"] == 1 and session["cache"] == str(tmp_path / "cache.db")
    assert set(session) == {
        "max_connections", "prices", "cache", "executor", "ray_address", "workers", "batch",
    }  # fmt: skip


def test_what_is_missing_or_changed_is_said(ostrom: Call, tmp_path: Path) -> None:
    with LoopbackServer() as server:
        begun(ostrom, server)
        (tmp_path / "mine").rename(tmp_path / "moved")
        again = ("resume", "own", "--budget-calls", "100", "--cache", "cache.db")
        done = ostrom(*again)
        assert done.code == 1 and "which is no folder now (ostrom resume --prompts DIR)" in done.err
        (tmp_path / "moved" / "goals" / "total.txt").write_text("Earn little.")
        done = ostrom(*again, "--prompts", "moved")
        assert done.code == 1 and "goals/total.txt was changed" in done.err
        (tmp_path / "moved" / "goals" / "total.txt").write_text("Earn a lot.")
        done = ostrom(*again, "--prompts", "moved")
        assert done.code == 0, done.err


def test_what_leads_out_of_the_run_folder_is_used_only_when_it_is_given(ostrom: Call, tmp_path: Path) -> None:
    with LoopbackServer() as server:
        begun(ostrom, server)
        file = tmp_path / "runs" / "own" / "session.json"
        written = json.loads(file.read_text())
        for name, value in (("cache", "/etc/passwd"), ("prices", "/etc/my prices"), ("ray_address", "evil:1")):
            session = {**written, "cache": None, "executor": "ray" if name == "ray_address" else "local", name: value}
            file.write_text(json.dumps(session))
            done = ostrom("resume", "own", "--budget-calls", "100")
            option = f"--{name.replace('_', '-')} {shlex.quote(value)}"
            assert done.code == 1 and f"ostrom resume runs/own {option}" in done.err, (name, done)
        file.write_text(json.dumps(written))
        done = ostrom("resume", "own", "--budget-calls", "100", "--cache", "own.db")
        assert done.code == 0 and (tmp_path / "own.db").exists(), done.err


@pytest.mark.parametrize("text", ["", "[]", "{", '{"prompts": 3}', "null"])
def test_a_damaged_session_is_one_line(ostrom: Call, tmp_path: Path, text: str) -> None:
    with LoopbackServer() as server:
        begun(ostrom, server)
    (tmp_path / "runs" / "own" / "session.json").write_text(text)
    done = ostrom("resume", "own")
    assert done.code == 1 and done.err.count("\n") == 1 and "session.json" in done.err, done


def test_no_secret_is_kept(ostrom: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTROM_API_KEY", "opensesame-0123456789")
    with LoopbackServer() as server:
        begun(ostrom, server, "--allow-key", "OSTROM_API_KEY=http://127.0.0.1:1")
    text = "".join(p.read_text() for p in (tmp_path / "runs" / "own").glob("*.json"))
    assert "opensesame" not in text and "OSTROM_API_KEY" not in text


def test_runs_that_are_not_of_a_study_name_their_own_command(ostrom: Call, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(STUDY + "types: {a: tit_for_tat}\n")
    assert ostrom("run", "own.yaml").code == 0
    assert ostrom("more", "branch", "own", "--match", "0", "--at", "2", "--name", "fork").code == 0
    done = ostrom("resume", "fork")
    assert done.code == 2 and "`ostrom more branch own`" in done.err
    assert "there is no such run" in ostrom("resume", "nothing").err
