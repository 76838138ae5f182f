"""Commands of a study: shown as they are, run only where a person gave them back, without our keys, and ended."""

import asyncio
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ostrom.agents.commands import allow_commands, checked, start
from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.process_groups import GroupGuard

DICE = ["sh", "my dice.py", "--sides", "6"]
OTHER = ["sh", "x"]


def test_a_command_runs_only_where_it_was_given_back_word_for_word() -> None:
    with pytest.raises(UsageError) as refused:
        allow_commands([("agent.tools", DICE), ("types.b.mcp", OTHER)], None, "s.yaml")
    line = str(refused.value)
    assert line.startswith("s.yaml: agent.tools, types.b.mcp: ") and "\n" not in line
    words = shlex.split(line)
    given = [words[place + 1] for place, word in enumerate(words) if word == "--allow-command"]
    assert [shlex.split(text) for text in given] == [DICE, OTHER]  # what is shown can be pasted
    allow_commands([("agent.tools", DICE), ("types.b.mcp", OTHER)], given, "s.yaml")
    for other in ("sh my dice.py --sides 6", "sh 'my dice.py' --sides 7", "sh", "''"):
        with pytest.raises(UsageError, match="read what it would run"):
            allow_commands([("agent.tools", DICE)], [other], "s.yaml")
    with pytest.raises(UsageError, match="is no command"):
        allow_commands([("agent.tools", DICE)], ["sh 'my"], "s.yaml")


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("python dice.py", "list of a program"),
        ([], "list of a program"),
        ([""], "list of a program"),
        (["python", 6], "list of a program"),
        (["a"] * 65, "at most 64 texts"),
        (["a", "b" * 1001], "at most 1000 characters"),
        (["python", "\x1b[2Jdice.py"], r"found '\\x1b\[2Jdice.py'"),
        (["python", "dice\u202eyp.ecid"], "control characters"),
        (["python", "a\nb"], "control characters"),
        (["python", "a\tb"], "control characters"),
        (["fetch", "http://me:secret@example.org"], "passwords"),
    ],
)
def test_a_command_that_cannot_be_shown_as_it_is_is_refused(command: Any, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        checked(command)
    with pytest.raises(OstromError, match=line) as refused:
        allow_commands([("agent.tools", command)], None, "s.yaml")
    assert "\x1b" not in str(refused.value) and "\u202e" not in str(refused.value)


@pytest.mark.parametrize("variable", ["LAB_KEY", "LAB_TOKEN", "LAB_SECRET"])
def test_a_command_with_a_key_is_not_played_and_says_no_key(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["sh", "--key", "open-sesame-open"]
    monkeypatch.setenv(variable, "open-sesame-open")
    with pytest.raises(OstromError, match=r"s\.yaml: agent\.mcp: .* must not hold a key") as refused:
        allow_commands([("agent.mcp", command)], [shlex.join(command)], "s.yaml")
    assert "sesame" not in str(refused.value)
    assert checked(command) == command  # a run that somebody else made can be opened


def test_a_program_that_is_not_here_is_said_before_play() -> None:
    with pytest.raises(UsageError, match="there is no program no-such-program here"):
        allow_commands([("agent.tools", ["no-such-program"])], ["no-such-program"], "s.yaml")


def test_a_study_names_few_commands() -> None:
    with pytest.raises(UsageError, match="names 17 commands"):
        allow_commands([("agent.tools", ["a", str(n)]) for n in range(17)], None, "s.yaml")
    allowed = [f"true {n}" for n in range(16)]
    allow_commands([("agent.tools", text.split()) for text in allowed], allowed, "s.yaml")


def test_nothing_starts_that_was_not_allowed() -> None:
    allow_commands([], ["sleep 1"], "s.yaml")
    with pytest.raises(UsageError, match="--allow-command 'sleep 2'"):
        asyncio.run(start(["sleep", "2"]))


def python(tmp_path: Path, code: str) -> list[str]:
    file = tmp_path / "program.py"
    file.write_text(code)
    return [sys.executable, str(file)]


def test_a_process_finds_no_key_in_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "opensesame")
    monkeypatch.setenv("LAB_SECRET", "opensesame")
    command = python(tmp_path, "import os; print(sorted(os.environ))")

    async def read() -> str:
        allow_commands([("agent.tools", command)], [shlex.join(command)], "s.yaml")
        program = await start(command, {"OSTROM_SEAT_TOKEN": "t"})
        line = await program.stdout.readline()
        await program.end()
        return line.decode()

    line = asyncio.run(read())
    assert "PATH" in line and "OSTROM_SEAT_TOKEN" in line
    assert "OPENAI_API_KEY" not in line and "LAB_SECRET" not in line


PARENT = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
"""


@pytest.mark.parametrize("then", ["time.sleep(600)", "sys.stdin.read()"], ids=["stubborn", "obedient"])
def test_a_process_that_does_not_end_is_killed_with_all_that_it_started(then: str, tmp_path: Path) -> None:
    command = python(tmp_path, PARENT + then)

    async def run() -> list[int]:
        allow_commands([("agent.tools", command)], [shlex.join(command)], "s.yaml")
        program = await start(command)
        child = int(await program.stdout.readline())
        await program.end(grace=0.1)
        return [program.pid, child]

    for pid in asyncio.run(run()):
        assert _gone(pid)


KILLED = """
import asyncio, os, shlex, signal, sys
from ostrom.agents.commands import allow_commands, start

async def main():
    command = sys.argv[1:]
    allow_commands([("agent.tools", command)], [shlex.join(command)], "s.yaml")
    program = await start(command)
    print(program.pid, int(await program.stdout.readline()), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def test_what_a_command_started_ends_when_ostrom_is_killed(tmp_path: Path) -> None:
    command = python(tmp_path, PARENT + "time.sleep(600)")
    killed = subprocess.run([sys.executable, "-c", KILLED, *command], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    for pid in map(int, killed.stdout.split()):
        assert _gone(pid)


def test_a_guard_that_was_killed_is_replaced_and_knows_the_same_groups() -> None:
    sleeping = [subprocess.Popen(["sleep", "600"], start_new_session=True) for _ in range(3)]
    guard = GroupGuard()
    guard.add(sleeping[0].pid)
    assert guard._process is not None
    guard._process.kill()
    guard._process.wait()
    for one in sleeping[1:]:
        guard.add(one.pid)
    guard.remove(sleeping[2].pid)
    guard.close()
    assert [one.wait() for one in sleeping[:2]] == [-signal.SIGKILL] * 2
    assert sleeping[2].poll() is None
    sleeping[2].kill()
    sleeping[2].wait()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print('no dice: open-sesame-open\x1b[2J', file=sys.stderr)", " (stderr: no dice: [key]\\x1b[2J)"),
        ("sys.stderr.write('x' * 10**6 + '\\nthe end')", " (stderr: ..." + "x" * 292 + " the end)"),
        ("pass", ""),
    ],
    ids=["key", "long", "silent"],
)
def test_the_last_words_of_a_process_are_one_line_without_keys(
    code: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "open-sesame-open")
    command = python(tmp_path, f"import sys; {code}; sys.exit(3)")

    async def read() -> str:
        allow_commands([("agent.tools", command)], [shlex.join(command)], "s.yaml")
        program = await start(command)
        await program.process.wait()
        said = await program.last_words()
        await program.end()
        return said

    assert asyncio.run(read()) == words


def _gone(pid: int) -> bool:
    """Whether a process has ended, or is about to: nobody may be left to reap it."""
    for _ in range(6000):
        with suppress(OSError):
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z":
                time.sleep(0.05)
                continue
            return True
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
