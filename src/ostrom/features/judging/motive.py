"""The motives that a judge can label, read from a file that people can replace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ostrom.ground.errors import StudyError
from ostrom.ground.files import read_text_file
from ostrom.ground.yaml import in_words, read_yaml

SHIPPED = "motives.yaml"


@dataclass(frozen=True, slots=True)
class Motive:
    """One motive: its key in answers and tables, its title, and the definition that the judge reads."""

    name: str
    title: str
    definition: str

    def as_dict(self) -> dict[str, str]:
        """Plain data."""
        return {"name": self.name, "title": self.title, "definition": self.definition}


def load_motives(path: Path | None = None) -> tuple[Motive, ...]:
    """The shipped motives, or those of a file.

    >>> [motive.name for motive in load_motives()][:3]
    ['own_utility', 'equilibrium', 'social_welfare']
    """
    if path is None:
        name, text = SHIPPED, files("ostrom.features.judging").joinpath(SHIPPED).read_text("utf-8")
    else:
        name, text = str(path), read_text_file(path)
    data = read_yaml(text, name)
    listed = data.get("motives") if isinstance(data, dict) else None
    if not isinstance(listed, dict) or not listed:
        raise StudyError(
            f"must map names to {{title, definition}} (found {in_words(listed)})", file=name, key="motives"
        )
    return tuple(_motive(key, given, name) for key, given in listed.items())


def _motive(key: Any, given: Any, file: str) -> Motive:
    where = f"motives.{key}"
    if not isinstance(key, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", key):
        raise StudyError("a motive's name is made of small letters, digits and _", file=file, key=where)
    if not isinstance(given, dict) or set(given) != {"title", "definition"}:
        found = sorted(map(str, given)) if isinstance(given, dict) else given
        raise StudyError("needs a title and a definition, nothing else", file=file, key=where, found=found)
    for part, text in given.items():
        if not isinstance(text, str) or not text.strip():
            raise StudyError("must be a text", file=file, key=f"{where}.{part}", found=text)
    return Motive(key, " ".join(given["title"].split()), " ".join(given["definition"].split()))
