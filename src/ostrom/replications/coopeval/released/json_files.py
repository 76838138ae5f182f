"""Strict reading of a JSON file that somebody else wrote."""

from __future__ import annotations

from pathlib import Path

from ostrom.ground.files import read_text_file
from ostrom.ground.yaml import read_json


def load_json(path: Path) -> object:
    """Decoded content; repeated keys and NaN or Infinity are refused because they hide wrong numbers."""
    content: object = read_json(read_text_file(path), str(path))
    return content
