"""Early looks at a registered run: whoever knows results could stop, continue or discard by them.

Every look adds a line to ``early_looks.jsonl`` in the folder of the run. It is a record, not a lock: a copy of the
folder, or a file that was removed, leaves no trace, and a registration says so.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from ostrom.engine.folder import Folder
from ostrom.engine.rows import Rows
from ostrom.ground.errors import RunError
from ostrom.ground.files import read_plain, require_regular_file

FILE = "early_looks.jsonl"
DECIDED = "looks.json"
"""The file in which a sequential design records its own looks."""


@dataclass(frozen=True)
class EarlyLook:
    """One look: its time, the number of journal entries, and how many planned matches had ended."""

    at: str
    entries: int
    ended: int
    failed: int
    planned: int

    @property
    def open(self) -> bool:
        """Return whether matches were still to be played; failed ones may be played again."""
        return self.ended < self.planned


def record_early_look(folder: Path, rows: Rows, manifest: Mapping[str, Any]) -> None:
    """Record a look at an incomplete registered run; a look at a state already seen is not recorded."""
    if not manifest.get("registered"):
        return
    states = rows.journal.states()
    # For a shard, the other shards count as open.
    planned = rows.plan.planned if rows.plan.shard is None else len(rows.plan)
    planned += bool(manifest["study"].get("stop")) and goes_on(folder)
    planned += len(rows.plan) // seeds_of(manifest) * seeds_missing(manifest)
    failed = sum(state == "failed" for state in states.values())
    entries = rows.journal.entries
    if len(states) - failed >= planned or any(look.entries == entries for look in early_looks(folder)):
        return
    line = orjson.dumps(
        asdict(EarlyLook(datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), entries, len(states), failed, planned))
    )
    path = folder / FILE
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        with os.fdopen(os.open(require_regular_file(path), flags, 0o644), "ab") as file:
            file.write(line + b"\n")
    except OSError as error:
        raise RunError(
            f"{path}: cannot be written ({error.strerror}): the run is registered and not complete, so looking at it "
            "is recorded there"
        ) from None


def seeds_of(manifest: Mapping[str, Any]) -> int:
    """How many seeds a run has."""
    return int(manifest["study"].get("seeds") or 1)


def seeds_missing(manifest: Mapping[str, Any]) -> int:
    """Return how many of the registered seeds a run lacks."""
    wanted = ((manifest.get("registered") or {}).get("sample") or {}).get("seeds")
    return max(wanted - seeds_of(manifest), 0) if isinstance(wanted, int) else 0


def counted_looks(folder: Path, manifest: Mapping[str, Any], entries: int) -> list[EarlyLook]:
    """Return the looks at a run and its shards after which play continued or could have."""
    shared = manifest.get("shared")
    if shared is not None:
        return [_look(row) for row in shared.get("looks") or ()]
    places = dict.fromkeys((folder, *(part.path for part in Folder(folder).shards(manifest))))
    looks = [look for place in places for look in early_looks(place)]
    return [look for look in looks if look.open or look.entries < entries]


def early_looks(folder: Path) -> list[EarlyLook]:
    """Return the recorded looks, oldest first."""
    path = folder / FILE
    try:
        lines = read_plain(path).splitlines()
    except FileNotFoundError:
        return []
    try:
        return [_look(orjson.loads(line)) for line in lines]
    except (orjson.JSONDecodeError, TypeError, KeyError):
        raise RunError(f"{path}: is not what ostrom writes there (put back the file of this run)") from None


def _look(row: Mapping[str, Any]) -> EarlyLook:
    values = {one.name: row[one.name] for one in fields(EarlyLook)}
    if any(type(value) is not (str if name == "at" else int) for name, value in values.items()):
        raise TypeError("values")
    return EarlyLook(**values)


def goes_on(folder: Path) -> bool:
    """Return whether a sequential design has not stopped, so that more matches follow."""
    try:
        return not orjson.loads(read_plain(folder / DECIDED))[-1]["stop"]
    except (OSError, orjson.JSONDecodeError, LookupError, TypeError):
        return True
