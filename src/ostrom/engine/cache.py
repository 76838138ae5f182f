"""A cache of replies across runs, for those who ask for it. Errors and cut replies are never kept."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from ostrom.engine.entries import dump, load
from ostrom.ground.errors import RunError
from ostrom.models.base import Reply, Request, Usage

_CANONICAL = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def settled(description: Mapping[str, Any]) -> orjson.Fragment:
    """What a model's description adds to every key, written down once.

    How a client connects (its timeouts, its number of connections) decides nothing and is left out.
    """
    told = {k: v for k, v in description.items() if k != "client"}
    return orjson.Fragment(orjson.dumps(told, option=_CANONICAL, default=str))


def prompt_of(request: Request) -> bytes:
    """The messages of a request as they are journaled and hashed: a JSON list of [role, content] pairs."""
    return orjson.dumps([[m.role, m.content] for m in request.messages])


def call_key(
    model: orjson.Fragment, prompt: bytes, request: Request, replicate: tuple[int, int, int, int, str]
) -> bytes:
    """A hash of everything that decides a reply: endpoint, parameters, messages, constraint, and the place.

    The replicate is (seed, match key, step, player, part): two draws of the same prompt in different places
    are different draws and never share a reply.
    """
    constraint = request.constraint
    data = orjson.dumps(
        [
            model,
            orjson.Fragment(prompt),
            request.params,
            None if constraint is None else [constraint.choices, constraint.schema],
            request.top_logprobs,
            [str(r) for r in replicate],
        ],
        option=_CANONICAL,
        default=str,
    )
    return hashlib.blake2b(data, digest_size=16).digest()


class Cache:
    """Replies by key in one SQLite file that many runs share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30)
        except (sqlite3.Error, OSError) as error:
            raise RunError(f"{path}: the cache cannot be opened: {error}") from None
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, reply TEXT) WITHOUT ROWID"
            )
        except (sqlite3.Error, OSError) as error:
            self._db.close()
            raise RunError(f"{path}: the cache cannot be opened: {error}") from None

    async def get(self, key: bytes) -> Reply | None:
        """A kept reply. To be waited for, because a cache may lie on another machine."""
        row = self._db.execute("SELECT reply FROM replies WHERE key=?", (key,)).fetchone()
        if row is None:
            return None
        data = load(row[0])
        return Reply(**{**data, "usage": Usage(**data["usage"])})

    def put(self, key: bytes, reply: Reply) -> None:
        """Keep a whole reply; a cut or filtered one is not kept."""
        if reply.finish != "stop":
            return
        usage = reply.usage
        data = {
            "text": reply.text,
            "reasoning": reply.reasoning,
            "reasoning_kind": reply.reasoning_kind,
            "finish": reply.finish,
            "usage": {
                "input": usage.input,
                "output": usage.output,
                "cached": usage.cached,
                "reasoning": usage.reasoning,
            },
            "logprobs": None if reply.logprobs is None else dict(reply.logprobs),
            "model": reply.model,
        }
        with self._db:
            self._db.execute("INSERT OR IGNORE INTO replies VALUES (?,?)", (key, dump(data)))

    def close(self) -> None:
        """Close the file."""
        self._db.close()
