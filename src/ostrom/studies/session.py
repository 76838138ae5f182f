"""The options that a run keeps beside it, so that `ostrom resume` needs few of them again.

Nothing here changes what is played, and nothing is secret. A run folder may come from a stranger, and whatever leads
out of it (a file of prices, a cache that is written to, the address of a cluster) is what they chose: it is never
used before the person names it again. Permissions to send keys are not kept at all.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from ostrom.engine.play_options import DECLARED, PlayOptions
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import refuse_link, write_whole

FILE = "session.json"
RECORDED = {name: declaration for name, declaration in DECLARED.items() if declaration.recorded}
LATER = {"batch"}
"""Options that runs of earlier versions did not have."""
EARLIER = {"prompts", "seal"}
"""What earlier versions wrote there too; the folder of prompts is in run.json, bound by the hashes of its files."""


def save_session(folder: Path, options: PlayOptions) -> None:
    """Keep how a run is played; where that cannot be written the run goes on without it."""
    with suppress(OSError, RunError):
        text = orjson.dumps(
            {name: _plain(getattr(options, name)) for name in RECORDED}, option=orjson.OPT_INDENT_2
        )
        write_whole(folder / FILE, text)


def _plain(value: Any) -> Any:
    """A value as the file holds it; paths are absolute, so that a run can be resumed from any folder."""
    if isinstance(value, Path):
        return str(value.resolve())
    return None if isinstance(value, dict) else value


def load_session(folder: Path, options: PlayOptions) -> PlayOptions:
    """How a run was played last, with what is stated now in its place."""
    file = folder / FILE
    try:
        data = orjson.loads(refuse_link(file).read_bytes())
    except FileNotFoundError:
        return options
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(f"{file}: cannot be read: {error} (repeat `ostrom run` with its options)") from None
    wrong = f"{file}: is not what ostrom writes there (repeat `ostrom run` with its options)"
    if not isinstance(data, dict) or not set(RECORDED) - LATER <= set(data) <= {*RECORDED, *EARLIER}:
        raise RunError(wrong)
    kept = {name: data.get(name) for name in RECORDED}
    stated = options.stated()
    try:
        recorded = PlayOptions(**{name: _checked(name, value) for name, value in kept.items()})
        recorded.check()
    except (TypeError, UsageError):
        raise RunError(wrong) from None
    foreign = {name: value for name, value in kept.items() if RECORDED[name].foreign and value is not None}
    if missing := {name: str(value) for name, value in foreign.items() if name not in stated}:
        words = " ".join(f"--{name.replace('_', '-')} {shlex.quote(v)}" for name, v in missing.items())
        raise RunError(
            f"{file}: names what lies outside the run folder, which is used only if you give it yourself: "
            f"ostrom resume {shlex.quote(str(folder))} {words}"
        )
    merged = replace(recorded, **stated)
    merged.check()
    return merged


def _checked(name: str, value: Any) -> Any:
    """A recorded value; refused where it is not of the type that is written there."""
    kind = RECORDED[name].kind
    if value is not None and type(value) is not (str if kind is Path else kind):
        raise TypeError(name)
    return value
