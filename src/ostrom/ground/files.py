"""Files that are read and written whole or not at all, and never written through a link left in the folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ostrom.ground.errors import RunError, StudyError


def read_text_file(path: str | Path) -> str:
    """The text of a UTF-8 file without its byte order mark, or one line that says why there is none."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise StudyError("is not UTF-8 text", file=str(path)) from None
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror or error}", file=str(path)) from None


def write_whole(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Write a file beside its place and move it there; a link at either place is replaced, never followed."""
    draft = draft_of(path)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())
    draft.replace(path)


def draft_of(path: Path) -> Path:
    """Where a file is written before it takes its place; whatever was left there is removed first."""
    draft = path.with_name(f".{path.name}.tmp")
    with suppress(FileNotFoundError):
        draft.unlink()
    return draft


def refuse_link(path: Path) -> Path:
    """The path itself; one that is a link is refused, because what is written to it would go elsewhere."""
    if path.is_symlink():
        raise RunError(
            f"{path}: is a symbolic link; a run is kept in plain files and folders (remove the link)"
        )
    return path
