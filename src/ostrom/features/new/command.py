"""`ostrom new`: a file or folder to begin with."""

import re
from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.output import Output, Remark
from ostrom.features.new.files import KINDS
from ostrom.ground.errors import UnknownName, UsageError

ALL = (*KINDS, "prompts")


def new(
    kind: Annotated[str, typer.Argument(help=" | ".join(ALL))],
    name: Annotated[str, typer.Argument(help="The name of the new file or folder, in the current one.")],
    like: Annotated[
        str | None,
        typer.Option(
            metavar="BUILT-IN", help="Begin with a built-in one (`ostrom list studies`); of prompts: a paper."
        ),
    ] = None,
    paper: Annotated[
        str | None, typer.Option(help="prompts: the paper whose printed prompts the folder is for.")
    ] = None,
) -> object:
    """Write a file to begin with: a study, a game, a memory, ...

    It is commented, valid and playable, in the current folder; nothing is overwritten.
    """
    if kind not in ALL:
        if name in ALL:
            raise UsageError(f"the kind comes first: `ostrom new {name} {kind}`")
        raise UnknownName("kind", kind, ALL)
    plain = re.sub(r"\.(yaml|yml|py)$", "", name)
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,99}", plain):
        raise UsageError(f"NAME must be letters, digits, '-', '_' and '.' (found {name!r})")
    if kind == "prompts":
        from ostrom.features.new.prompts import new_prompts

        place = Path(name)
        if place.exists() or place.is_symlink():
            raise UsageError(f"{place} exists already: choose another name")
        said = new_prompts(place, paper or like)
    elif paper is not None:
        raise UsageError("--paper is for `ostrom new prompts`; begin with a built-in part with --like")
    else:
        from ostrom.features.new.files import write

        place, said = write(kind, plain, like)
    return Output({"kind": kind, "file": str(place)}, [Remark(said)])
