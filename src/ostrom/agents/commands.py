"""Commands that a study names: programs of whoever wrote it, which run only as a person has read and allowed them.

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
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from ostrom.ground.errors import StudyError, UsageError, brief
from ostrom.ground.terminal import visible
from ostrom.models.grants import variables
from ostrom.models.redaction import redactor
from ostrom.models.serving.keeper import parent_death_signal

MOST_WORDS, LONGEST_WORD, MOST_COMMANDS = 64, 1000, 16
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")
"""Variables of the environment that a process gets."""
GRACE = 2.0
"""Seconds that a process has to end by itself once its input is closed, and again once it is asked to end."""
LONGEST_LINE = 1 << 20
"""Bytes of one line that a process may write."""
_allowed: ContextVar[frozenset[tuple[str, ...]]] = ContextVar("_allowed", default=frozenset())


def checked(command: Any) -> list[str]:
    """Refuse a command that cannot be shown as it is, or that is too long to be read.

    >>> checked(["python", "dice.py", "--sides", "6"])
    ['python', 'dice.py', '--sides', '6']
    """
    words = command if isinstance(command, list) and all(isinstance(word, str) for word in command) else []
    if not 1 <= len(words) <= MOST_WORDS or not words[0] or max(map(len, words)) > LONGEST_WORD:
        raise ValueError(
            f"command must be a list of a program and its arguments, at most {MOST_WORDS} texts of at most "
            f"{LONGEST_WORD} characters, found {brief(command)}"
        )
    for word in words:
        if word != visible(word) or "\n" in word or "\t" in word:
            raise ValueError(
                f"command must be what is shown of it, without control characters or passwords, found {brief(word)}"
            )
        if word != without_keys(word):
            raise ValueError("command is kept with the run, so it must not hold a key of the environment")
    return words


def without_keys(text: str) -> str:
    """A text in which no key of the environment stands."""
    names = {name for name in os.environ if name.endswith(("_KEY", "_TOKEN", "_SECRET"))} | variables()
    return redactor(tuple(sorted(os.environ[name] for name in names if os.environ.get(name)))).clean(text)


def written(command: Sequence[str]) -> str:
    """A command on one line, as a shell would read it.

    >>> written(["python", "my dice.py"])
    "python 'my dice.py'"
    """
    return shlex.join(command)


def allow_commands(named: Iterable[tuple[str, Any]], allowed: Sequence[str] | None, file: str) -> None:
    """Refuse commands that the person did not allow, each shown; from here on those that were allowed may be started.

    ``named`` are the commands of a study with the keys that name them. Replaces what was allowed before.
    """
    commands: dict[tuple[str, ...], str] = {}
    for key, command in named:
        try:
            commands[tuple(checked(command))] = key
        except ValueError as error:
            raise StudyError(str(error), file=file, key=key) from None
    given = {_read(text) for text in ([allowed] if isinstance(allowed, str) else allowed or ())}
    if len(commands) > MOST_COMMANDS:
        raise UsageError(f"{file}: names {len(commands)} commands (allowed: at most {MOST_COMMANDS})")
    if missing := {command: key for command, key in commands.items() if command not in given}:
        keys = ", ".join(dict.fromkeys(missing.values()))
        raise UsageError(f"{file}: {keys}: {_refusal(missing)}")
    for command, key in commands.items():
        if shutil.which(command[0]) is None:
            raise UsageError(f"{file}: {key}: there is no program {shlex.quote(command[0])} here")
    _allowed.set(frozenset(given))


def _refusal(commands: Iterable[Sequence[str]]) -> str:
    options = " ".join(f"--allow-command {shlex.quote(written(command))}" for command in commands)
    return f"a study cannot run programs by itself: read what it would run, then add {options}"


def _read(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--allow-command {text}: is no command ({error})") from None


async def start(command: Sequence[str], more: Mapping[str, str] = {}) -> Process:
    """Start an allowed command in the current folder: a process group of its own, which ends with this process.

    Its environment says where programs and files lie, and ``more``; it holds no key.
    """
    if tuple(command) not in _allowed.get():
        raise UsageError(_refusal([command]))
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={name: os.environ[name] for name in KEPT if name in os.environ} | {**more},
        start_new_session=True,
        preexec_fn=parent_death_signal(),
        limit=LONGEST_LINE,
    )


async def end(process: Process, grace: float = GRACE) -> None:
    """End a process and its group: close its input, then ask it to end, then kill it."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        for number in (0, signal.SIGTERM, signal.SIGKILL):
            signal_group(process, number)
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), grace)
                return
    finally:
        signal_group(process, signal.SIGKILL)  # what it started, and where this task was cancelled
        process._transport.close()  # type: ignore[attr-defined]  # else it waits for whoever holds its pipes


def signal_group(process: Process, number: int) -> None:
    """Send a signal to a process and all that it started."""
    with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
        os.killpg(process.pid, number)
