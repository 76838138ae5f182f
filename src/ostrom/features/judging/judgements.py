"""The motives that a judge can label, read from a file that people can replace, and judged corpora of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from ostrom.ground.errors import RunError, StudyError
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


JUDGED = "judged.parquet"


def motive_column(name: str) -> str:
    """The column that says whether a motive was labelled."""
    return f"motive_{name}"


@dataclass(frozen=True)
class JudgedCorpus:
    """One judged corpus: who judged, which motives, and one row per decision and judge."""

    name: str
    judges: tuple[str, ...]
    motives: tuple[Motive, ...]
    rows: tuple[Mapping[str, Any], ...]

    @property
    def titles(self) -> dict[str, str]:
        """What the motives are called."""
        return {motive.name: motive.title for motive in self.motives}

    def judged(self, judge: str | None = None) -> list[Mapping[str, Any]]:
        """The rows with labels, of one judge or of all."""
        return [
            row for row in self.rows if row["judged"] == "done" and (judge is None or row["judge"] == judge)
        ]

    @property
    def failed(self) -> int:
        """Judgements without labels."""
        return sum(row["judged"] != "done" for row in self.rows)

    @property
    def self_judged(self) -> int:
        """Judgements by the model that played."""
        return sum(bool(row["self_judged"]) for row in self.judged())


def corpus_notes(corpus: JudgedCorpus) -> list[str]:
    """What has to be known about a corpus before its shares are read."""
    judged = corpus.judged()
    notes = [f"{corpus.name}: {len(judged)} judgements by {' and '.join(corpus.judges)}."]
    if corpus.failed:
        notes.append(
            f"{corpus.name}: {corpus.failed} judgements have no labels; judging again asks for them."
        )
    if corpus.self_judged:
        notes.append(
            f"{corpus.name}: {corpus.self_judged} of {len(judged)} judgements are by the model that played."
        )
    return notes


def corpus_of(study: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> JudgedCorpus:
    """A corpus from what its manifest says and its rows."""
    return JudgedCorpus(
        str(study["name"]),
        tuple(judge["name"] for judge in study["judges"]),
        tuple(Motive(**motive) for motive in study["motives"]),
        tuple(rows),
    )


def judged_corpora(run: Path) -> list[JudgedCorpus]:
    """The judged corpora that lie beside a run, by name."""
    return [read_judged(path.parent) for path in sorted(run.glob(f"judge-*/{JUDGED}"))]


def read_judged(folder: Path) -> JudgedCorpus:
    """One judged corpus from its folder."""
    from ostrom.data.tables import import_polars

    try:
        study = orjson.loads((folder / "run.json").read_bytes())["study"]
        rows = import_polars().read_parquet(folder / JUDGED).to_dicts()
        return corpus_of(study, rows)
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise RunError(f"{folder}: is no judged corpus that can be read: {error}") from None
