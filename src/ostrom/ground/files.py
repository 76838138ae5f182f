"""Atomic reads and writes of files, never through a symbolic link that a stranger left."""

import os
import sys
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from stat import S_ISLNK, S_ISREG

from ostrom.ground.errors import RunError, StudyError

MOST_BYTES = 16 << 20
"""The largest file of a run that is read at once, in bytes: parsed JSON takes twenty times as much memory."""


def read_text_file(path: str | Path) -> str:
    """Return the text of a UTF-8 file without its byte order mark; errors are one line."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise StudyError("is not UTF-8 text", file=str(path)) from None
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror or error}", file=str(path)) from None


def read_plain(path: Path, most: int = MOST_BYTES) -> bytes:
    """Read a file that a stranger may have placed: links are not followed, pipes and devices not waited for."""
    # Non-blocking: whatever replaced the file after the check must not block the reader.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    with os.fdopen(os.open(require_regular_file(path), flags), "rb") as file:
        facts = os.fstat(file.fileno())
        _require_plain(path, facts.st_mode)
        if facts.st_size > most or len(data := file.read(most + 1)) > most:
            raise RunError(f"{path}: has more than {most:,} bytes, which no such file of a run has")
        return data


def require_regular_file(path: Path) -> Path:
    """Return the path; a link, pipe, device or folder in its place is refused."""
    with suppress(FileNotFoundError, NotADirectoryError):
        _require_plain(path, path.lstat().st_mode)
    return path


def _require_plain(path: Path, mode: int) -> None:
    if not S_ISREG(mode):
        kind = "is a symbolic link" if S_ISLNK(mode) else "is no plain file"
        raise RunError(f"{path}: {kind}; a run is kept in plain files and folders (remove it)")


def content_hash(data: bytes) -> str:
    """Return the hash that identifies a file's content."""
    return blake2b(data, digest_size=16).hexdigest()


def cache_folder(part: str) -> Path:
    """Return the folder of a cache: in OSTROM_CACHE, else in the user's cache folder."""
    if own := os.environ.get("OSTROM_CACHE"):
        return Path(own).expanduser() / part
    local = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    return Path(local or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ostrom" / part


def write_atomically(path: Path, data: bytes, *, sync: bool = False, mode: int = 0o644) -> None:
    """Write a temporary file and move it into place; a link at either place is replaced, never followed."""
    draft = draft_of(path)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())
    draft.replace(path)


def draft_of(path: Path) -> Path:
    """Return the path of the temporary file; a leftover is removed first."""
    draft = path.with_name(f".{path.name}.tmp")
    with suppress(FileNotFoundError):
        draft.unlink()
    return draft


def refuse_link(path: Path) -> Path:
    """Return the path of a folder; a link is refused, because its content is elsewhere."""
    if path.is_symlink():
        raise RunError(f"{path}: is a symbolic link; a run is kept in plain files and folders (remove the link)")
    return path
