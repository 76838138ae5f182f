"""Reads user-written text files; errors are one line."""

import re
from pathlib import Path

from ostrom.ground.errors import StudyError

MAX_BYTES = 100_000_000


def read_text(path: Path, *, what: str, key: str | None = None) -> str:
    """The text of a UTF-8 file (with or without a byte order mark)."""
    try:
        if not path.exists():
            raise StudyError(f"no such {what} file", file=str(path), key=key)
        if not path.is_file():
            raise StudyError(f"is not a {what} file", file=str(path), key=key)
        if path.stat().st_size > MAX_BYTES:
            raise StudyError(f"is too large for a {what} (over {MAX_BYTES // 1_000_000} MB)", file=str(path), key=key)
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise StudyError(f"is not UTF-8 text (byte {error.start})", file=str(path), key=key) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise StudyError(f"cannot be read: {reason}", file=str(path), key=key) from None


def identifier(stem: str) -> str:
    """Return the name of a game in a file: the file's name as a Python identifier.

    >>> identifier("stag-hunt"), identifier("2x2")
    ('stag_hunt', 'game_2x2')
    """
    name = "".join(c if c.isalnum() else "_" for c in stem)
    return name if name.isidentifier() else f"game_{name}"


_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_FRACTION = re.compile(r"([+-]?\d+)/(\d+)", re.ASCII)


def rational(text: str) -> float | None:
    """Return the float of a decimal or a fraction; None if it is neither or not finite.

    >>> rational("1/4"), rational("-.5"), rational("1/0"), rational("1e999"), rational("one")
    (0.25, -0.5, None, None, None)
    """
    if _DECIMAL.fullmatch(text):
        value = float(text)
        return value if abs(value) < float("inf") else None
    fraction = _FRACTION.fullmatch(text)
    if fraction is None:
        return None
    try:
        return int(fraction[1]) / int(fraction[2])
    except (ZeroDivisionError, OverflowError, ValueError):
        return None  # ValueError: Python refuses integers of thousands of digits
