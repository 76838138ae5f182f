"""One request as the outside service sees it, and one answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from chaos.outside.rules import need


@dataclass(frozen=True, slots=True)
class Asked:
    """A request."""

    method: str
    path: list[str]
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    key: str

    def is_json(self) -> None:
        """Refuse a body that does not say it is JSON."""
        kind = self.headers.get("content-type", "")
        need(kind.partition(";")[0] == "application/json", f"the content type is {kind!r}", 415)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response."""

    status: int
    body: bytes
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


def as_json(document: Any, status: int = 200, **headers: str) -> Answer:
    """A response with a JSON document."""
    return Answer(status, json.dumps(document).encode(), headers=headers)


def not_found(what: str) -> Answer:
    """There is no such thing, or not yet."""
    return as_json({"type": "error", "error": {"type": "not_found_error", "message": f"no {what}"}}, 404)
