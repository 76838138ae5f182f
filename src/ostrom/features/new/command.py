"""`ostrom new`: a file or folder to begin with."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.output import say
from ostrom.ground.errors import UnknownName, UsageError


def _prompts(place: Path, paper: str | None) -> str:
    from ostrom.features.new.prompts import new_prompts

    return new_prompts(place, paper)


KINDS: dict[str, Callable[[Path, str | None], str]] = {"prompts": _prompts}
"""What can be made: a function of the new place and the paper, which returns what to do next."""


def new(
    kind: Annotated[str, typer.Argument(help="What: prompts.")],
    name: Annotated[str, typer.Argument(help="The name of the new file or folder, in the current one.")],
    paper: Annotated[
        str | None, typer.Option(help="The paper whose printed prompts the folder is for.")
    ] = None,
) -> Path:
    """Write a file to begin with: a study, a game, a memory, ...

    It is commented, valid and playable, in the current folder; nothing is overwritten.
    """
    if kind not in KINDS:
        raise UnknownName("kind", kind, KINDS)
    if not re.fullmatch(r"\w[\w.-]{0,99}", name):
        raise UsageError(f"NAME must be letters, digits, '-', '_' and '.' (found {name!r})")
    place = Path(name)
    if place.exists() or place.is_symlink():
        raise UsageError(f"{place} exists already: choose another name")
    say(KINDS[kind](place, paper))
    return place
