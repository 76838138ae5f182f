"""Prompt files: reading them, their variables, translations, and cover stories.

Marks stand in a text for values that are put in later. ``answers/reasons.txt`` translates why a reply could not be
read. A cover story has words in a header and an opening paragraph.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import Any, TypeAlias

from jinja2 import nodes

from ostrom.framing.sandbox import Template
from ostrom.ground.errors import StudyError
from ostrom.ground.yaml import read_yaml

MOST_BYTES = 1_000_000


def read_prompt(path: Path, within: Path | None = None) -> bytes:
    """Return the content of a prompt file; refused if it is no file, too large, or outside a stranger's folder."""
    try:
        real = path.resolve(strict=True)
        if within is not None and not real.is_relative_to(within.resolve()):
            raise StudyError("leads out of the folder of prompts", file=str(path), actual=str(real))
        facts = real.stat()
        if not S_ISREG(facts.st_mode):
            raise StudyError("is not a plain file", file=str(path))
        if facts.st_size > MOST_BYTES:
            raise StudyError(f"is larger than {MOST_BYTES:,} bytes", file=str(path), actual=facts.st_size)
        return real.read_bytes()
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except RuntimeError:  # Python up to 3.12 raises this for circular links
        raise StudyError("cannot be read: its symbolic links form a circle", file=str(path)) from None


def text_of(path: Path, within: Path | None = None) -> str:
    """The text of a prompt file; one that is not UTF-8 is refused."""
    try:
        return read_prompt(path, within).decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise StudyError("is not a text file in UTF-8", file=str(path)) from None


@lru_cache(maxsize=512)
def included_files(tree: nodes.Template) -> tuple[str, ...]:
    """Return the files that a template includes; their names are never computed."""
    named = [getattr(node, "template", None) for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport))]
    return tuple(str(name.value) for name in named if isinstance(name, nodes.Const))


@lru_cache(maxsize=512)
def asks_for(tree: nodes.Template) -> tuple[str, ...]:
    """Return the names that a template reads, its own ones included."""
    return tuple(sorted({n.name for n in tree.find_all(nodes.Name) if n.ctx == "load"}))


def only_writes_down(tree: nodes.Template, names: frozenset[str]) -> bool:
    """Return whether a template only prints these values, or tests whether they are there."""
    used = sum(n.name in names and n.ctx == "load" for n in tree.find_all(nodes.Name))
    printed = sum(_is_one_of(names, child) for output in tree.find_all(nodes.Output) for child in output.nodes)
    tested = sum(_is_one_of(names, t.node) and t.name == "none" for t in tree.find_all(nodes.Test))
    tested += sum(_is_one_of(names, case.test) for case in tree.find_all(nodes.If))
    return used == printed + tested


def _is_one_of(names: frozenset[str], node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name in names


_MARKS = re.compile("\ue000(\\w+)\ue001")


def mark(name: str) -> str:
    """Return a placeholder for a value put in later; no shipped text holds its first and last characters."""
    return f"\ue000{name}\ue001"


def split_marks(text: str) -> list[str]:
    """Split a text at placeholders: every second piece is a name."""
    return _MARKS.split(text)


def put_in(pieces: list[str], holes: Mapping[str, Any]) -> str:
    """Put values into placeholders; inserted text is not searched again.

    >>> put_in(["Round ", "round", "."], {"round": 7})
    'Round 7.'
    """
    if len(pieces) == 1:
        return pieces[0]
    filled = pieces.copy()
    for place in range(1, len(pieces), 2):
        filled[place] = str(holes[pieces[place]])
    return "".join(filled).strip("\n")


Reason: TypeAlias = tuple[re.Pattern[str], str]
"""A reader's message with holes, and its translation."""


def read_reasons(text: str, file: str) -> list[Reason]:
    """Parse the lines ``ENGLISH = TRANSLATION`` of a file; ``{}`` stands for anything, in order.

    >>> read = read_reasons("the percentages sum to {}, not 100 = {}!\\n{} = unlesbar", "reasons.txt")
    >>> translated("the percentages sum to 90, not 100", read), translated("no label", read)
    ('90!', 'unlesbar')
    """
    reasons = []
    for line in filter(None, map(str.strip, text.splitlines())):
        english, separator, other = line.partition(" = ")
        if not separator or other.count("{}") > english.count("{}"):
            raise StudyError("is no line ENGLISH = TRANSLATION", file=file, actual=line[:80])
        reasons.append((re.compile("(.*?)".join(map(re.escape, english.split("{}")))), other))
    if not reasons or not reasons[-1][0].fullmatch(""):
        raise StudyError("must end with a line {} = TRANSLATION for all other reasons", file=file)
    return reasons


def translated(reason: str, reasons: Sequence[Reason]) -> str:
    """Return the translation of the first line that fits."""
    for english, other in reasons:
        fits = english.fullmatch(reason.replace("\n", " "))
        if fits is not None:
            first, *rest = other.split("{}")
            return first + "".join(part for pair in zip(fits.groups(), rest, strict=False) for part in pair)
    raise AssertionError("the last line fits everything")


@dataclass(frozen=True)
class CoverStory:
    """A cover story: its words and its opening paragraph."""

    words: Mapping[str, str]
    opening: Template
    asked: frozenset[str]
    """The names that the opening uses."""


def split(path: Path, text: str) -> tuple[dict[str, str], str]:
    """Split a file into its YAML header and the text below it."""
    if not text.startswith("---\n"):
        return {}, text
    header, _, body = text[4:].partition("\n---\n")
    words = read_yaml(header, str(path)) or {}
    if not isinstance(words, dict) or not all(isinstance(v, str) for pair in words.items() for v in pair):
        raise StudyError("its header must map names to texts", file=str(path))
    return words, body
