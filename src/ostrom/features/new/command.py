"""`ostrom new`: write a starter file or folder.

A folder of prompt files for the wording that a paper prints: our own words, and which printed block replaces them.

``wordings.yaml`` of a replication declares the files. Papers own what they print, so none of it is shipped: a reader
with the paper at hand puts each block in its place.
"""

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from ostrom.cli.output import Output, Remark
from ostrom.features.new.files import KINDS
from ostrom.framing.library import Library, text_of
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.ground.registry import replications
from ostrom.ground.validation import Declared, validate
from ostrom.ground.yaml import read_yaml

FILE = "wordings.yaml"


class PromptFile(Declared):
    """One prompt file of a wording."""

    block: str = Field(description="the printed block that belongs here")
    variables: dict[str, str] = Field(description="what the file may speak of, and what it is")
    ours: str | None = Field(default=None, description="the file whose words stand in place; by default its own")


class Wording(Declared):
    """The content of a ``wordings.yaml``."""

    source: str
    files: dict[str, PromptFile] = Field(min_length=1)


@cache
def wordings() -> dict[str, Wording]:
    """Return the papers whose printed prompts can be copied, by name."""
    declared = {}
    for name, package in replications().items():
        file = files(package).joinpath(FILE)
        if file.is_file():
            content = read_yaml(file.read_text(encoding="utf-8"), f"{name}/{FILE}")
            declared[name.replace("_", "-")] = validate(Wording, content, f"{name}/{FILE}")
    return declared


def new_prompts(place: Path, paper: str | None) -> str:
    """Write prompt files to edit, for a plain study or for a paper's printed prompts; returns what to do next."""
    if paper is None:
        return _own_words(place)
    name = paper.replace("_", "-")
    if name not in wordings():
        raise UnknownName("paper with printed prompts", paper, wordings())
    wording, library = wordings()[name], Library()
    for path, declared in wording.files.items():
        source, file = library.find(declared.ours or path), place / path
        if source is None:
            raise library.missing(declared.ours or path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(commented(text_of(source), declared), encoding="utf-8")
    return (
        f"{place}: {len(wording.files)} files in our own words. Put the printed ones in their place "
        f"({wording.source}): the comment of each file says which block it holds. Playable at any time: "
        f"ostrom replicate {name} --prompts {place} --model PROVIDER/MODEL"
    )


def _own_words(place: Path) -> str:
    """Write the prompt files that a plain study uses, each with a comment; returns what to do next."""
    from ostrom.features.new.files import filled
    from ostrom.studies.load import load_study
    from ostrom.studies.plan import StudyPlan

    study = read_yaml(filled("study.yaml", place.name, f"{place.name}.yaml"), "study.yaml")
    plan, library = StudyPlan(load_study(study, models=["openai/any"])), Library()
    for path in plan.prompts:
        source, file = library.find(path), place / path
        if source is not None:
            about = PromptFile(block=f"{path}: change the words; what stands in braces is filled in.", variables={})
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(commented(text_of(source), about), encoding="utf-8")
    return f"{place}: the prompt files of a plain study, in our words. Next: ostrom run STUDY --prompts {place}"


def commented(text: str, declared: PromptFile) -> str:
    """Put a comment above a prompt file, which is not part of the prompt; a header stays first.

    >>> print(commented("Go.", PromptFile(block="Figure 1.", variables={"round": "this round"})))
    {# Figure 1.
       round: this round #}
    Go.
    """
    about = "\n   ".join([declared.block, *(f"{name}: {what}" for name, what in declared.variables.items())])
    header, line, body = text.partition("\n---\n") if text.startswith("---\n") else ("", "", text)
    return f"{header}{line}{{# {about} #}}\n{body}"


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
        place = Path(name)
        if place.exists() or place.is_symlink():
            raise UsageError(f"{place} exists already: choose another name")
        message = new_prompts(place, paper or like)
    elif paper is not None:
        raise UsageError("--paper is for `ostrom new prompts`; begin with a built-in part with --like")
    else:
        from ostrom.features.new.files import write

        place, message = write(kind, plain, like)
    return Output({"kind": kind, "file": str(place)}, [Remark(message)])
