"""The metadata of a GGUF file, read without any package: a training machine may have none for it.

Only the header is read. Sizes in it are checked against the file before anything is allocated.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any, BinaryIO

from ostrom.ground.errors import UsageError

_NUMBERS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_TEXT, _LIST = 8, 9
MOST_KEYS = 100_000


def gguf_metadata(path: Path, keys: Collection[str] | None = None) -> dict[str, Any]:
    """The values of these keys (or of all); keys that the file does not have are left out."""
    try:
        with path.open("rb") as file:
            return _read(file, path, keys)
    except (struct.error, UnicodeDecodeError, OverflowError, KeyError, EOFError) as error:
        raise UsageError(f"{path}: is no GGUF file that can be read ({type(error).__name__})") from None


def _read(file: BinaryIO, path: Path, keys: Collection[str] | None) -> dict[str, Any]:
    size = path.stat().st_size
    if file.read(4) != b"GGUF":
        raise UsageError(f"{path}: is no GGUF file")
    version, _, count = struct.unpack("<IQQ", file.read(20))
    if version not in (2, 3) or count > MOST_KEYS:
        raise UsageError(
            f"{path}: GGUF version {version} with {count} keys cannot be read (allowed: version 2, 3)"
        )

    def number(form: str) -> Any:
        return struct.unpack(form, _exactly(file, struct.calcsize(form)))[0]

    def text() -> str:
        length = number("<Q")
        if length > size:
            raise EOFError
        return _exactly(file, length).decode("utf-8")

    def value(kind: int) -> Any:
        if kind == _TEXT:
            return text()
        if kind == _LIST:
            inner, length = number("<I"), number("<Q")
            if length > size or inner == _LIST:
                raise EOFError
            return [value(inner) for _ in range(length)]
        return number(_NUMBERS[kind])

    found = {}
    for _ in range(count):
        key = text()
        got = value(number("<I"))
        if keys is None or key in keys:
            found[key] = got
        if keys is not None and len(found) == len(keys):
            break
    return found


def _exactly(file: BinaryIO, length: int) -> bytes:
    data = file.read(length)
    if len(data) != length:
        raise EOFError
    return data
