"""The commands of a page, as a reader would type them, and what stands in for what a reader has and tests have not."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from tests.replications.golden_runs import planner

from ostrom.answers import Record
from ostrom.answers.random_answers import random_answer
from ostrom.ground.streams import key_of
from ostrom.models.base import Request
from ostrom.models.providers.scripted import ScriptedModel

MARK = re.compile(r"<!-- not run: ([^>]{8,}) -->")
BLOCK = re.compile(r"^```\w*\n(.*?)^```|((?:^    +\S[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
REASONS = "We may gain together in the future, but the risk is real: the last round was bad, and trust returns slowly."
OPTIONAL = re.compile(r" \[(?=-|[A-Z])[^\]]*\]")


@dataclass(frozen=True)
class Block:
    """Commands that stand together, and why they are not run; empty where they are."""

    lines: tuple[str, ...]
    why_not: str


def blocks_of(page: Path) -> Iterator[Block]:
    """Fenced and indented blocks with commands, in the order of the page."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        if lines := tuple(_commands(found[1] or found[2])):
            before = text[: found.start()].rstrip().rpartition("\n")[2]
            yield Block(lines, "".join(MARK.findall(before)))


def _commands(block: str) -> Iterator[str]:
    lines = [line.strip() for line in re.sub(r"\\\n *", "", block).splitlines()]
    console = any(line.startswith("$ ") for line in lines)
    for line in lines:
        if console and not line.startswith("$ "):
            continue
        for part in re.split(r"; (?=ostrom )", line.removeprefix("$ ")):
            if re.match(r"ostrom [a-z-]", part):
                yield part.strip()


def words_of(command: str, names: dict[str, str]) -> list[str]:
    """The arguments of a command: what may be left out is, and names in capitals stand for names that exist."""
    plain = OPTIONAL.sub("", command).partition(" | ")[0].partition(" > ")[0]
    words = []
    for word in shlex.split(plain, comments=True)[1:]:
        key, equals, value = word.partition("=")
        words.append(names.get(word) or (f"{names[key]}={value}" if equals and key in names else word))
    return words


def stand_in(name: str, **_: object) -> ScriptedModel:
    """A model that answers whatever it is asked, the same whenever it is asked the same."""
    return ScriptedModel(name, _reply)


def _reply(request: Request) -> str:
    text, held = request.messages[-1].content, request.constraint
    rng = np.random.default_rng(key_of(text))
    if held is not None and held.choices:
        return held.choices[int(rng.integers(len(held.choices)))]
    if held is not None and held.schema:
        if any("enum" in part for part in held.schema.get("properties", {}).values()):
            return planner(request)
        return orjson.dumps(random_answer(Record("asked", held.schema), rng).value).decode()
    labels = sorted(set(re.findall(r"\[(\w{1,12})\]", text))) or ["A0"]
    return f"{REASONS}\n[{labels[int(rng.integers(len(labels)))]}]"
