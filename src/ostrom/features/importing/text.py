"""The bytes of a foreign file as text: UTF-8, UTF-16 with its mark, or the encoding that a mapping names."""

from __future__ import annotations

import codecs
from pathlib import Path

from ostrom.ground.errors import StudyError

MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def read_bytes(path: Path) -> bytes:
    """The content of a file, or one line that says why there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise StudyError("there is no such file", file=str(path)) from None
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror or error}", file=str(path)) from None


def decoded(data: bytes, file: str, encoding: str | None = None) -> str:
    """Text without NUL bytes; the line of the first byte that is no text is named."""
    marked = next((name for mark, name in MARKS if data.startswith(mark)), None)
    name = marked or encoding or "utf-8"
    if marked is None and encoding is None and b"\0" in data[:4]:
        raise StudyError(
            "holds a NUL character (UTF-16 without its mark? say encoding: utf-16-le)",
            file=file,
            key="line 1",
        )
    try:
        text = data.decode(name)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StudyError(
            f"is not {name} text; say the encoding in the mapping, for example encoding: latin-1",
            file=file, key=f"line {line}", found=data[error.start : error.start + 4],
        ) from None  # fmt: skip
    place = text.find("\0")
    if place >= 0:
        raise StudyError("holds a NUL character", file=file, key=f"line {text.count(chr(10), 0, place) + 1}")
    return text
