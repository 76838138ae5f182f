"""Strict reading of a JSON file that somebody else wrote."""

from __future__ import annotations

from pathlib import Path

from ostrom.plain_yaml import read_json
from ostrom.whole_files import read_text_file


def load_json(path: Path) -> object:
    """Decoded content; repeated keys and NaN or Infinity are refused because they hide wrong numbers."""
    content: object = read_json(read_text_file(path), str(path))
    return content
