"""A run on disk: its folder, its manifest and the lock that keeps a second process out."""

from __future__ import annotations

import fcntl
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from ostrom.engine.integrity import check_format
from ostrom.engine.journal import Journal
from ostrom.engine.manifest import identity, read, written
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import refuse_link, write_whole
from ostrom.ground.version import __version__

JOURNAL = "journal.db"
MANIFEST = "run.json"


class Folder:
    """Where a run lies: locks the folder, reads and writes the manifest, and is the only way to the journal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @property
    def journal(self) -> Path:
        """Where the journal lies."""
        return self.path / JOURNAL

    @property
    def exists(self) -> bool:
        """Whether a run lives here."""
        return (self.path / MANIFEST).exists()

    def lock(self) -> None:
        """Take the run for this process, or say who has it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # Do not follow a symbolic link: the folder may come from somebody else.
            handle = os.open(refuse_link(self.path / "lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written to ({error.strerror})") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
            os.close(handle)
            raise RunError(f"{self.path}: another process (pid {holder}) is playing this run") from None
        self._lock = handle
        with suppress(OSError):  # who holds the lock is a courtesy; on a full disk it stays untold
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)

    @property
    def being_played(self) -> bool:
        """Whether a process holds the lock of the run; asking never takes it, which would keep a player out."""
        path = self.path / "lock"
        try:
            there, holder = path.stat(), path.read_bytes()[:32].strip()
        except OSError:
            return False
        try:
            held = Path("/proc/locks").read_text().splitlines()
        except OSError:  # not on Linux: the process that took the lock last may still be there
            return holder.isdigit() and len(holder) < 10 and _is_alive(int(holder))
        mark = f"{os.major(there.st_dev):02x}:{os.minor(there.st_dev):02x}:{there.st_ino}"
        return any(" FLOCK " in line and mark in line.split() for line in held)

    def unlock(self) -> None:
        """Release the lock of the run."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def manifest(self) -> dict[str, Any]:
        """The manifest as written."""
        path = self.path / MANIFEST
        try:
            raw = path.read_bytes()
        except FileNotFoundError:
            raise RunError(f"{self.path}: there is no run here (no {MANIFEST})") from None
        except OSError as error:
            raise RunError(f"{path}: cannot be read: {error.strerror}") from None
        try:
            return read(raw, path)
        except RunError:
            # Earlier versions wrote another form of manifest: name the version instead of reporting a change.
            check_format(self.journal)
            raise

    def write_manifest(self, data: Mapping[str, Any]) -> None:
        """Write the manifest whole or not at all. The order of keys is kept: matches are numbered by it."""
        path = self.path / MANIFEST
        try:
            write_whole(path, written(data), sync=True)  # a journal without its manifest is refused
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror})") from None

    def open_journal(
        self, manifest: Mapping[str, Any] | None = None, *, create: bool = False, checked: bool = True
    ) -> Journal:
        """The journal of this run: the only way to it, so that none is read beside another study's manifest."""
        study = identity(manifest or self.manifest())
        return Journal(self.journal, create=create, identity=study, checked=checked)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def new_manifest(
    kind: str, study: Mapping[str, Any], prompts: Mapping[str, str], **more: Any
) -> dict[str, Any]:
    """What a run records about itself before it starts. No secrets, ever."""
    return {
        "kind": kind,
        "study": study,
        "prompts": prompts,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {
            "ostrom": __version__,
            "python": platform.python_version(),
            "platform": f"{sys.platform}-{platform.machine()}",
        },
        "git": _commit(),
        **more,
    }


def _commit() -> str | None:
    """The commit of the working directory, if it is a checkout: studies are usually versioned."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def differences(old: Any, new: Any, path: str = "") -> list[str]:
    """What changed between two studies, one line each.

    >>> differences({"rounds": 5, "seeds": 1}, {"rounds": 6, "seeds": 1})
    ['rounds: 5 -> 6']
    """
    if isinstance(old, dict) and isinstance(new, dict):
        lines = []
        if list(old) != list(new) and set(old) == set(new):
            lines.append(
                f"{path or 'study'}: the order {', '.join(map(str, old))} -> {', '.join(map(str, new))}"
            )
        for key in sorted(set(old) | set(new)):
            where = f"{path}.{key}" if path else str(key)
            if key not in old:
                lines.append(f"{where}: (absent) -> {_short(new[key])}")
            elif key not in new:
                lines.append(f"{where}: {_short(old[key])} -> (absent)")
            else:
                lines += differences(old[key], new[key], where)
        return lines
    return [] if old == new else [f"{path}: {_short(old)} -> {_short(new)}"]


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 60 else text[:57] + "..."


def check_name(name: str) -> str:
    """A run's name is a plain folder name."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise UsageError(f"run name {name!r}: use letters, digits, '.', '_' and '-' (at most 100)")
    return name
