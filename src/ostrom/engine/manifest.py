"""``run.json``: its shape, its checksum, and the identity of the study that binds a journal to it.

A run may go on with a higher budget, more seeds, another title or another version of the package; none of this is
part of the identity. Everything else of the study decides what is played, so a journal keeps the identity of the
study that it was begun for and is refused beside any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from ostrom.ground.errors import RunError

FREE_TO_CHANGE = ("budget", "report", "title", "about", "citation")
"""Parts of a study that may change between sessions of one run: they change nothing that is played."""
MAY_GROW = ("seeds", "samples")
"""Numbers that may grow between sessions: more of them only append matches."""
MAY_BE_DECIDED = ("refused",)
"""Policies that may change from ``fail`` to another one: ``fail`` puts no answer in place of a missing one."""

_CHECKSUM = re.compile(rb',\n  "checksum": "([0-9a-f]{32})"\n}\n\Z')


class ImportedPart(BaseModel):
    """What a manifest says about imported matches; only the digest decides anything."""

    model_config = ConfigDict(extra="allow", strict=True)

    digest: str


class Manifest(BaseModel):
    """The shape of ``run.json``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: str | None = None
    study: dict[str, Any]
    prompts: dict[str, str]
    created: str
    versions: dict[str, str]
    git: str | None
    prompts_folder: str | None = None
    prompts_home: str | None = None
    parent: dict[str, Any] | None = None
    imported: ImportedPart | None = None
    models: dict[str, dict[str, Any]] | None = None
    loop: str | None = None


def written(data: Mapping[str, Any]) -> bytes:
    """A manifest as a file: readable JSON whose last key is the checksum of everything before it."""
    body = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
    return body[:-2] + f',\n  "checksum": "{_digest(body)}"\n}}\n'.encode()


def read(raw: bytes, path: Path) -> dict[str, Any]:
    """The manifest in a file; one that was changed in any byte or has a wrong shape is refused."""
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise RunError(f"{path}: cannot be read: {error}") from None
    if not isinstance(data, dict) or "study" not in data:
        raise RunError(f"{path}: is not the manifest of a run")
    found = _CHECKSUM.search(raw)
    if found is None or _digest(raw[: found.start()] + b"\n}") != found[1].decode():
        raise RunError(
            f"{path}: {'its checksum is missing' if found is None else 'does not fit its checksum'}: it was changed "
            "after it was written (restore it from a copy; to change a study, run the study file again)"
        )
    del data["checksum"]
    try:
        Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        shown = repr(first.get("input"))
        found_text = f" (found {shown if len(shown) <= 80 else shown[:77] + '...'})"
        raise RunError(
            f"{path}: {key}: {first['msg']}{'' if first['type'] == 'missing' else found_text}"
        ) from None
    return data


def kind_of(manifest: Mapping[str, Any]) -> str:
    """The kind of plan that a run was played by. Manifests of version 0.1 do not name it; their keys tell it.

    >>> kind_of({"study": {"game": "chicken"}}), kind_of({"study": {"kind": "tree"}})
    ('study', 'tree')
    """
    content: Mapping[str, Any] = manifest["study"]
    if manifest.get("kind"):
        return str(manifest["kind"])
    if manifest.get("parent"):
        return str(manifest["parent"].get("kind"))
    if manifest.get("imported"):
        return "imported"
    if "game" not in content and "kind" in content:
        return str(content["kind"])
    return "study" if content.get("people") is None else "people"


def identity(manifest: Mapping[str, Any]) -> str:
    """A hash of everything in a manifest that decides what is played, in its order: matches are numbered by it.

    >>> study = {"game": "chicken", "seeds": 2, "budget": {"calls": 5}}
    >>> one, other = {"study": study, "prompts": "p"}, {"study": {**study, "seeds": 3}, "prompts": "p"}
    >>> identity(one) == identity(other), identity(one) == identity({"study": study, "prompts": "q"})
    (True, False)
    """
    parent, imported = manifest.get("parent"), manifest.get("imported")
    content = [
        _fixed(manifest["study"]),
        manifest.get("prompts"),
        None if parent is None else _fixed(parent),
        None if imported is None else imported["digest"],
    ]
    return _digest(orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS))


def _fixed(part: Mapping[str, Any]) -> dict[str, Any]:
    free = {*FREE_TO_CHANGE, *MAY_GROW, *MAY_BE_DECIDED}
    return {key: value for key, value in part.items() if key not in free}


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
