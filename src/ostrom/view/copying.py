"""One decision as text or as JSON, piece by piece: all words of its prompts, replies and reasoning."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from ostrom.features.transcript.transcript import tried
from ostrom.view.said import FACTS, TEXTS, piece_of, prompt_of

PIECE = 256_000
"""Bytes of a text that are read at a time."""


def whole_of(connection: sqlite3.Connection, call: int, name: str) -> Iterator[str]:
    """One text of a call from its beginning to its end."""
    if name.startswith("prompt."):
        yield piece_of(connection, call, name, 0, 1 << 40).text
        return
    start, rest = 0, 1
    while rest:
        found = piece_of(connection, call, name, start, PIECE)
        yield found.text
        start, rest = found.end, found.rest


def calls_of(
    connection: sqlite3.Connection, head: Mapping[str, Any]
) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """The tries at calls for a decision, each with the names of the texts that it has."""
    there = ", ".join(f"{name} IS NOT NULL" for name in TEXTS)
    query = f"SELECT {', '.join(FACTS)}, {there} FROM calls WHERE unit=? AND step=? AND player=? ORDER BY id"
    values = (head["match"], head["step"], head["player"] - 1)
    for row in connection.execute(query, values).fetchall():
        facts = {**dict(zip(FACTS, row, strict=False)), "player": head["player"]}
        yield facts, [name for name, has in zip(TEXTS, row[len(FACTS) :], strict=True) if has]


def as_json(connection: sqlite3.Connection, head: Mapping[str, Any]) -> Iterator[str]:
    """What a decision is, and its calls with all messages that were sent."""
    yield orjson.dumps(head).decode()[:-1] + ',"calls":['
    for i, (facts, names) in enumerate(calls_of(connection, head)):
        yield ("," if i else "") + orjson.dumps(facts).decode()[:-1]
        for name in names:
            yield f',"{name}":"'
            for part in whole_of(connection, facts["id"], name):
                yield orjson.dumps(part).decode()[1:-1]
            yield '"'
        messages = [
            {"role": role, "content": content} for role, content in prompt_of(connection, facts["id"])
        ]
        yield ',"messages":' + orjson.dumps(messages).decode() + "}"
    yield "]}\n"


def as_text(connection: sqlite3.Connection, head: Mapping[str, Any]) -> Iterator[str]:
    """The same for people."""
    yield f"match {head['match']}, step {head['step']}, player {head['player']} ({head['agent']})\n"
    for facts, names in calls_of(connection, head):
        for role, content in prompt_of(connection, facts["id"]):
            yield f"\n--- {role}\n{content}\n"
        yield f"\n--- {facts['model']}, {tried(facts)}\n"
        if "reasoning" in names:
            yield "<reasoning>\n"
            yield from whole_of(connection, facts["id"], "reasoning")
            yield "\n</reasoning>\n"
        for name in ("reply", "error"):
            if name in names:
                yield from whole_of(connection, facts["id"], name)
                yield "\n"
                break
    for answer in head["answers"]:
        yield f"\n=> {answer['stage'] or answer['kind']}: {answer['said']} ({answer['reading']})\n"
