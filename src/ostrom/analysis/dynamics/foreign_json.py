"""Strict reading of a JSON file that somebody else wrote."""

from __future__ import annotations

import json
from pathlib import Path

from ostrom.errors import StudyError


def load_json(path: Path) -> object:
    """Decoded content; repeated keys and NaN or Infinity are refused because they hide wrong numbers."""
    file = str(path)

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        content = dict(pairs)
        if len(content) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise StudyError("the key stands twice in one object", file=file, key=twice)
        return content

    def constant(name: str) -> object:
        raise StudyError("not a finite number", file=file, found=name)

    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror or error}", file=file) from None
    except UnicodeDecodeError:
        raise StudyError("is not UTF-8 text", file=file) from None
    try:
        content: object = json.loads(text, object_pairs_hook=unique, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise StudyError(f"is not JSON: {error.msg} at line {error.lineno}", file=file) from None
    except RecursionError:
        raise StudyError("is nested too deeply", file=file) from None
    return content
