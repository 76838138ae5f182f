"""Commands named by a study: programs of its author, run only after the user has read and allowed them.

A study file or a run folder comes from strangers. So each command is shown, and runs only where the person gave it back
(``--allow-command COMMAND``, ``allow_command=`` in Python). What was allowed is kept with no run and holds for one
playing: a resumed run asks again. No shell reads a command, and its process sees none of the environment's keys.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from ostrom.ground.errors import StudyError, UsageError, short_repr
from ostrom.ground.process_groups import GroupGuard, parent_death_signal, signal_group
from ostrom.ground.terminal import escape_controls, one_line
from ostrom.models.grants import variables
from ostrom.models.redaction import redactor

MOST_WORDS, LONGEST_WORD, MOST_COMMANDS = 64, 1000, 16
PASSED_ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")
"""Environment variables that are passed to a process."""
GRACE = 2.0
"""Seconds that a process has to end after its input is closed, and again after being asked to end."""
LONGEST_LINE = 1 << 20
"""The longest line of a process, in bytes."""
MOST_STDERR, LAST_WORDS = 8000, 300
"""The bytes of stderr that are kept, and the characters of it in a message."""
_guard = GroupGuard()
_allowed: ContextVar[frozenset[tuple[str, ...]]] = ContextVar("_allowed", default=frozenset())


def checked(command: Any) -> list[str]:
    """Refuse a command that cannot be displayed faithfully, or is too long to be read.

    >>> checked(["python", "dice.py", "--sides", "6"])
    ['python', 'dice.py', '--sides', '6']
    """
    words = command if isinstance(command, list) and all(isinstance(word, str) for word in command) else []
    if not 1 <= len(words) <= MOST_WORDS or not words[0] or max(map(len, words)) > LONGEST_WORD:
        raise ValueError(
            f"command must be a list of a program and its arguments, at most {MOST_WORDS} texts of at most "
            f"{LONGEST_WORD} characters, found {short_repr(command)}"
        )
    for word in words:
        if word != escape_controls(word) or "\n" in word or "\t" in word:
            raise ValueError(
                f"command must be what is shown of it, without control characters or passwords, "
                f"found {short_repr(word)}"
            )
    return words


def refuse_keys(named: Iterable[tuple[str, Any]], file: str) -> None:
    """Refuse commands that contain an API key: a run stores them. Opening a run checks nothing."""
    for key, command in named:
        if any(word != without_keys(word) for word in command):
            raise StudyError(
                "command is kept with the run, so it must not hold a key of the environment", file=file, key=key
            )


def without_keys(text: str) -> str:
    """Return a text without API keys."""
    names = {name for name in os.environ if name.endswith(("_KEY", "_TOKEN", "_SECRET"))} | variables()
    return redactor(tuple(sorted(os.environ[name] for name in names if os.environ.get(name)))).clean(text)


def written(command: Sequence[str]) -> str:
    """Return a command on one line, in shell syntax.

    >>> written(["python", "my dice.py"])
    "python 'my dice.py'"
    """
    return shlex.join(command)


def allow_commands(named: Iterable[tuple[str, Any]], allowed: Sequence[str] | None, file: str) -> None:
    """Refuse commands that the user did not allow, showing each; allowed ones may then be started.

    ``named`` are the commands of a study with the keys that name them. Replaces what was allowed before.
    """
    commands: dict[tuple[str, ...], str] = {}
    for key, command in named:
        try:
            commands[tuple(checked(command))] = key
        except ValueError as error:
            raise StudyError(str(error), file=file, key=key) from None
    refuse_keys(((key, command) for command, key in commands.items()), file)
    permitted = {_read(text) for text in ([allowed] if isinstance(allowed, str) else allowed or ())}
    if len(commands) > MOST_COMMANDS:
        raise UsageError(f"{file}: names {len(commands)} commands (allowed: at most {MOST_COMMANDS})")
    if missing := {command: key for command, key in commands.items() if command not in permitted}:
        keys = ", ".join(dict.fromkeys(missing.values()))
        raise UsageError(f"{file}: {keys}: {_refusal(missing)}")
    for command, key in commands.items():
        if shutil.which(command[0]) is None:
            raise UsageError(f"{file}: {key}: there is no program {shlex.quote(command[0])} here")
    _allowed.set(frozenset(permitted))


def _refusal(commands: Iterable[Sequence[str]]) -> str:
    options = " ".join(f"--allow-command {shlex.quote(written(command))}" for command in commands)
    return f"a study cannot run programs by itself: read what it would run, then add {options}"


def _read(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--allow-command {text}: is no command ({error})") from None


async def start(command: Sequence[str], more: Mapping[str, str] = {}) -> Program:
    """Start an allowed command in the current folder, in a process group that ends with this process.

    Its environment holds the variables ``PASSED_ENVIRONMENT`` and ``more``, so no key.
    """
    if tuple(command) not in _allowed.get():
        raise UsageError(_refusal([command]))
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env={name: os.environ[name] for name in PASSED_ENVIRONMENT if name in os.environ} | {**more},
        start_new_session=True,
        preexec_fn=parent_death_signal(),
        limit=LONGEST_LINE,
    )
    program = Program(process)
    try:
        _guard.add(process.pid)
    except OSError:
        await program.end()
        raise
    return program


class Program:
    """A started command: its pipes, and the end of its stderr."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self.process, self.pid = process, process.pid
        self.stdin, self.stdout = process.stdin, process.stdout
        self._stderr, self._stderr_tail = process.stderr, b""
        self._reading = asyncio.create_task(self._read())

    async def last_words(self) -> str:
        """Return the end of its stderr as one line without keys; "" for nothing."""
        await asyncio.wait({self._reading}, timeout=GRACE)
        line = one_line(without_keys(self._stderr_tail.decode(errors="replace").strip()))
        end = line if len(line) <= LAST_WORDS else f"...{line[-LAST_WORDS:]}"
        return f" (stderr: {end})" if line else ""

    async def end(self, grace: float = GRACE) -> None:
        """End the process and its group: close its input, then ask it to end, then kill it."""
        self.stdin.close()
        try:
            for number in (0, signal.SIGTERM, signal.SIGKILL):
                signal_group(self.pid, number)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.process.wait(), grace)
                    signal_group(self.pid, signal.SIGKILL)
                    await asyncio.wait({self._reading}, timeout=grace)
                    return
        finally:
            signal_group(self.pid, signal.SIGKILL)  # its child processes, and after a cancellation
            _guard.remove(self.pid)
            self._reading.cancel()
            self.process._transport.close()  # type: ignore[attr-defined]  # else it waits for whoever holds its pipes

    async def _read(self) -> None:
        while chunk := await self._stderr.read(1 << 16):
            self._stderr_tail = (self._stderr_tail + chunk)[-MOST_STDERR:]
