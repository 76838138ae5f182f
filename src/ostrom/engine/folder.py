"""A run on disk: its folder, its manifest and the lock that keeps a second process out.

The manifest (``run.json``) binds a journal to the identity of a study. A run may go on with a higher budget, more
seeds, another title or another version of the package; none of this is part of the identity. Everything else of the
study decides what is played, so a journal keeps the identity of the study that it was begun for and is refused beside
any other.
"""

import fcntl
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from ostrom.engine.integrity import check_format
from ostrom.engine.journal import Journal
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import plain, read_plain, write_whole
from ostrom.ground.version import __version__

FREE_TO_CHANGE = ("budget", "report", "title", "about", "citation")
"""Parts of a study that may change between sessions of one run: they change nothing that is played."""
MAY_GROW = ("seeds", "samples")
"""Numbers that may grow between sessions: more of them only append matches."""
MAY_BE_DECIDED = ("refused",)
"""Policies that may change from ``fail`` to another one: ``fail`` puts no answer in place of a missing one."""

_CHECKSUM = re.compile(rb',\n  "checksum": "([0-9a-f]{32})"\n}\n\Z')


class ImportedPart(BaseModel):
    """What a manifest says about imported matches; only the digest decides anything."""

    model_config = ConfigDict(extra="allow", strict=True)

    digest: str


class Manifest(BaseModel):
    """The shape of ``run.json``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: str | None = None
    study: dict[str, Any]
    prompts: dict[str, str]
    created: str
    versions: dict[str, str]
    git: str | None
    prompts_folder: str | None = None
    prompts_home: str | None = None
    code_home: str | None = None
    """The folder of the Python files that the study names."""
    parent: dict[str, Any] | None = None
    imported: ImportedPart | None = None
    models: dict[str, dict[str, Any]] | None = None
    loop: str | None = None


def manifest_bytes(data: Mapping[str, Any]) -> bytes:
    """A manifest as a file: readable JSON whose last key is the checksum of everything before it."""
    body = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
    return body[:-2] + f',\n  "checksum": "{_digest(body)}"\n}}\n'.encode()


def read_manifest(raw: bytes, path: Path) -> dict[str, Any]:
    """The manifest in a file; one that was changed in any byte or has a wrong shape is refused."""
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise RunError(f"{path}: cannot be read: {error}") from None
    if not isinstance(data, dict) or "study" not in data:
        raise RunError(f"{path}: is not the manifest of a run")
    found = _CHECKSUM.search(raw)
    if found is None or _digest(raw[: found.start()] + b"\n}") != found[1].decode():
        raise RunError(
            f"{path}: {'its checksum is missing' if found is None else 'does not fit its checksum'}: it was changed "
            "after it was written (restore it from a copy; to change a study, run the study file again)"
        )
    del data["checksum"]
    try:
        Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        shown = repr(first.get("input"))
        found_text = f" (found {shown if len(shown) <= 80 else shown[:77] + '...'})"
        raise RunError(
            f"{path}: {key}: {first['msg']}{'' if first['type'] == 'missing' else found_text}"
        ) from None
    return data


def kind_of(manifest: Mapping[str, Any]) -> str:
    """The kind of plan that a run was played by. Manifests of version 0.1 do not name it; their keys tell it.

    >>> kind_of({"study": {"game": "chicken"}}), kind_of({"study": {"kind": "tree"}})
    ('study', 'tree')
    """
    content: Mapping[str, Any] = manifest["study"]
    if manifest.get("kind"):
        return str(manifest["kind"])
    if manifest.get("parent"):
        return str(manifest["parent"].get("kind"))
    if manifest.get("imported"):
        return "imported"
    if "game" not in content and "kind" in content:
        return str(content["kind"])
    return "study" if content.get("people") is None else "people"


def identity(manifest: Mapping[str, Any]) -> str:
    """A hash of everything in a manifest that decides what is played, in its order: matches are numbered by it.

    >>> study = {"game": "chicken", "seeds": 2, "budget": {"calls": 5}}
    >>> one, other = {"study": study, "prompts": "p"}, {"study": {**study, "seeds": 3}, "prompts": "p"}
    >>> identity(one) == identity(other), identity(one) == identity({"study": study, "prompts": "q"})
    (True, False)
    """
    parent, imported = manifest.get("parent"), manifest.get("imported")
    content = [
        _fixed(manifest["study"]),
        manifest.get("prompts"),
        None if parent is None else _fixed(parent),
        None if imported is None else imported["digest"],
    ]
    return _digest(orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS))


def _fixed(part: Mapping[str, Any]) -> dict[str, Any]:
    free = {*FREE_TO_CHANGE, *MAY_GROW, *MAY_BE_DECIDED}
    return {key: value for key, value in part.items() if key not in free}


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


JOURNAL = "journal.db"
MANIFEST = "run.json"
MOST_LOCK = 64
"""Bytes that a lock may have."""


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
            # Do not follow a symbolic link nor wait for a pipe: the folder may come from somebody else.
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            handle = os.open(plain(self.path / "lock"), flags, 0o644)
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
            there, holder = path.lstat(), read_plain(path, MOST_LOCK).strip()
        except (OSError, RunError):
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
            raw = read_plain(path)
        except FileNotFoundError:
            raise RunError(f"{self.path}: there is no run here (no {MANIFEST})") from None
        except OSError as error:
            raise RunError(f"{path}: cannot be read: {error.strerror}") from None
        try:
            return read_manifest(raw, path)
        except RunError:
            # Earlier versions wrote another form of manifest: name the version instead of reporting a change.
            check_format(self.journal)
            raise

    def write_manifest(self, data: Mapping[str, Any]) -> None:
        """Write the manifest whole or not at all. The order of keys is kept: matches are numbered by it."""
        path = self.path / MANIFEST
        try:
            write_whole(path, manifest_bytes(data), sync=True)  # a journal without its manifest is refused
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
