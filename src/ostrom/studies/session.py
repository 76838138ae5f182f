"""How a run was played, kept beside it, so that `ostrom resume` needs no options again.

Nothing here changes what is played, and nothing is secret: paths of prompts, prices and cache, and limits. A run folder
may come from a stranger, and a path in it is what they chose; so the file carries a seal that only this person's
own key can make, and without it the paths are not used. Permissions to send keys are never kept.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import orjson

from ostrom.ground.errors import RunError
from ostrom.ground.files import refuse_link, write_whole

FILE = "session.json"
PATHS = ("prompts", "prices", "cache")
LATER = {"batch"}
"""Options that runs of earlier versions did not have."""


@dataclass(frozen=True)
class RunOptions:
    """The options of `ostrom run` that say how, not what."""

    prompts: str | None = None
    prices: str | None = None
    cache: str | None = None
    max_connections: int | None = None
    executor: str = "local"
    ray_address: str | None = None
    workers: int | None = None
    batch: bool | None = None

    @staticmethod
    def of(**given: Any) -> RunOptions:
        """What was given; paths are made absolute, so that a run can be resumed from any folder."""
        for name in PATHS:
            if given.get(name) is not None:
                given[name] = str(Path(given[name]).resolve())
        return RunOptions(**given)


def save_session(folder: Path, session: RunOptions) -> None:
    """Keep how a run is played; where that cannot be written the run goes on without it."""
    data = asdict(session)
    with suppress(OSError, RunError):
        text = orjson.dumps({**data, "seal": _seal(data, folder)}, option=orjson.OPT_INDENT_2)
        write_whole(folder / FILE, text)


def load_session(folder: Path, given: Collection[str] = ()) -> RunOptions:
    """How a run was played last; a path that somebody else wrote down is refused unless it is given anew."""
    file = folder / FILE
    try:
        data = orjson.loads(refuse_link(file).read_bytes())
    except FileNotFoundError:
        return RunOptions()
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(f"{file}: cannot be read: {error} (repeat `ostrom run` with its options)") from None
    names = {field.name for field in fields(RunOptions)}
    whole = isinstance(data, dict) and names - LATER <= set(data) - {"seal"} <= names and "seal" in data
    if not whole or not _well_typed(data):
        raise RunError(f"{file}: is not what ostrom writes there (repeat `ostrom run` with its options)")
    seal = data.pop("seal")
    if not hmac.compare_digest(seal.encode(), _seal(data, folder).encode()):
        for name in (*PATHS, "ray_address"):
            if data[name] is not None and name not in given:
                option = f"--{name.replace('_', '-')}"
                raise RunError(
                    f"{file}: names {data[name]!r} for {option}, but was not written here by you "
                    f"(if you want that, give {option} yourself)"
                )
    return RunOptions(**data)


def _well_typed(data: dict[str, Any]) -> bool:
    texts = all(isinstance(data[name], str | None) for name in (*PATHS, "ray_address"))
    numbers = all(
        data[name] is None or (type(data[name]) is int and data[name] >= 1)
        for name in ("max_connections", "workers")
    )
    return (
        texts
        and numbers
        and type(data.get("batch")) in (bool, type(None))
        and data["executor"] in ("local", "ray")
        and isinstance(data["seal"], str)
    )


def _seal(data: dict[str, Any], folder: Path) -> str:
    """A seal over the options and the place of the run."""
    text = orjson.dumps([str(folder.resolve()), data], option=orjson.OPT_SORT_KEYS)
    return hmac.new(_key(), text, hashlib.sha256).hexdigest()


def _key() -> bytes:
    """A key of this person's own, made at first use."""
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "ostrom"
    file = home / "seal.key"
    try:
        found = file.read_bytes()
        if len(found) >= 32:
            return found
    except OSError:
        pass
    made = secrets.token_bytes(32)
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.write(made)
    except FileExistsError:
        return file.read_bytes()  # another command made it at the same moment
    except OSError:
        return made  # no place to keep it: what is sealed with it counts in this process alone
    return made
