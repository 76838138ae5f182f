"""Cover stories: files with words in a header and an opening paragraph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ostrom.framing.sandbox import Template
from ostrom.ground.errors import StudyError
from ostrom.ground.yaml import read_yaml


@dataclass(frozen=True)
class CoverStory:
    """A cover story: its words and its opening paragraph."""

    words: Mapping[str, str]
    opening: Template
    asked: frozenset[str]
    """The names that the opening asks for."""


def split(path: Path, text: str) -> tuple[dict[str, str], str]:
    """The YAML header between two lines of dashes, and the text below it."""
    if not text.startswith("---\n"):
        return {}, text
    header, _, body = text[4:].partition("\n---\n")
    words = read_yaml(header, str(path)) or {}
    if not isinstance(words, dict) or not all(isinstance(v, str) for pair in words.items() for v in pair):
        raise StudyError("its header must map names to texts", file=str(path))
    return words, body
