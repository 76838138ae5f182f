"""`ostrom new`: write a starter file or folder.

Files are templates in ``templates``, or a built-in part written out under a new name. A folder of prompt files is for
the wording that a paper prints: our own words, and which printed block replaces them. ``wordings.yaml`` of a
replication declares its files. Papers own what they print, so none of it is shipped: a reader with the paper at hand
puts each block in its place.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import Field

from ostrom.cli.output import Output, Remark
from ostrom.framing.library import Library, text_of
from ostrom.ground.errors import OstromError, UnknownName, UsageError
from ostrom.ground.registry import replications
from ostrom.ground.validation import Declared, validate
from ostrom.ground.yaml import read_yaml

SQL = """\
SELECT match, player, arg_max(cooperative::INTEGER, round) AS value FROM decisions
WHERE kind = 'act' AND cooperative IS NOT NULL GROUP BY match, player"""
EXAMPLE = {
    "TITLE": '"Cooperation in the last round"',
    "SCALE": "share",
    "DEFINITION": '"Whether a player\'s last action in a match is cooperative."',
    "VALUES": SQL,
}
"""The values that fill the template of a new measure."""


def filled(template: str, name: str, file: str, **more: str) -> str:
    """Fill a template's placeholders with the names."""
    words = {"NAME": name, "FILE": file, "IDENTIFIER": identifier(name), **more}
    text = files(__package__).joinpath("templates", template).read_text(encoding="utf-8")
    return re.sub(r"@([A-Z]+)@", lambda mark: words[mark[1]], text)


def identifier(name: str) -> str:
    """Convert a name to a Python identifier.

    >>> identifier("my-first.study"), identifier("2x2")
    ('my_first_study', '_2x2')
    """
    plain = re.sub(r"\W", "_", name)
    return plain if plain.isidentifier() else f"_{plain}"


def _study(template: str, name: str, like: str | None) -> dict[str, str]:
    """Return the files of a study: from a template, or a built-in study with its text files."""
    if like is None:
        return {f"{name}.yaml": filled(template, name, f"{name}.yaml")}
    from ostrom.ground.registry import replication_files
    from ostrom.studies.files import builtin_names, folder_of

    if like not in builtin_names():
        raise UnknownName("built-in study", like, builtin_names())
    text = replication_files("studies", ".yaml", "study").text(like)
    text = re.sub(r"(?m)^name: .*$", f"name: {name}", text, count=1)
    texts = {
        f"{name}-texts/{file.name}": file.read_text(encoding="utf-8")
        for file in sorted(folder_of(like).glob("texts/*"))
        if f"texts/{file.name}" in text
    }
    text = text.replace("texts/", f"{name}-texts/") if texts else text
    about = f"# The built-in study {like} under a name of your own. Check it with `ostrom validate {name}.yaml`.\n"
    return {f"{name}.yaml": about + text, **texts}


def game(name: str, like: str | None) -> dict[str, str]:
    """Return the file of a two-player game: from a template, or a built-in game's payoff table."""
    file = f"{name}.yaml"
    if like is None:
        return {file: filled("game.yaml", name, file)}
    import yaml

    from ostrom.games import build_game
    from ostrom.games.yaml_file import game_to_mapping

    built = build_game(like)
    if not built.has_table:
        raise UsageError(f"--like {like}: its payoffs follow from a rule and are in no table, which a game file holds")
    data = {k: v for k, v in game_to_mapping(built).items() if v} | {"name": identifier(name)}
    about = f"# The built-in game {like}: actions by seat, payoffs nested in their order. In a study: game: {file}\n"
    return {file: about + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)}


def memory(name: str, like: str | None) -> dict[str, str]:
    """Return the file of a memory: a function of the rounds, or a subclass of a built-in memory."""
    from ostrom.memory import memories

    if like is not None and not isinstance(memories.get(like), type):
        raise UsageError(f"--like {like}: is no class, so nothing can be built on it")
    file = f"{identifier(name)}.py"
    return {file: filled("memory.txt" if like is None else "memory_like.txt", name, file, LIKE=like or "")}


def strategy(name: str, like: str | None) -> dict[str, str]:
    """Return the file of a strategy: a function of the past, or one that calls a built-in strategy."""
    file = f"{identifier(name)}.py"
    if like is not None:
        from ostrom.agents.strategies import strategies

        if not strategies.build(like).needs_cooperation:
            raise UsageError(f"--like {like}: is about actions or amounts; take a strategy that speaks of cooperation")
    return {file: filled("strategy.txt" if like is None else "strategy_like.txt", name, file, LIKE=like or "")}


def measure(name: str, like: str | None) -> dict[str, str]:
    """Return the file of a measure: SQL from a template, or the declaration of a built-in measure."""
    file, words = f"{identifier(name)}.py", EXAMPLE
    if like is not None:
        from ostrom.analysis.measure import measures

        part = measures.named(like)
        if not isinstance(part.values, str):
            raise UsageError(f"--like {like}: is a function over a run, and no SQL that could be written out")
        words = {
            "TITLE": repr(part.title), "SCALE": part.scale, "DEFINITION": repr(part.definition), "VALUES": part.values,
        }  # fmt: skip
    return {file: filled("measure.txt", name, file, **words)}


def replication(name: str, like: str | None) -> dict[str, str]:
    """Return the files of a package with a paper's study, figures and claims."""
    if like is not None:
        raise UsageError("--like: a replication begins with an example of its own; leave --like out")
    return {
        f"{name}/{path}": text
        for path, text in read_yaml(filled("replication.yaml", name, name), "replication.yaml").items()
    }


KINDS: Mapping[str, Callable[[str, str | None], dict[str, str]]] = {
    "study": partial(_study, "study.yaml"),
    "game": game,
    "memory": memory,
    "strategy": strategy,
    "measure": measure,
    "people": partial(_study, "people.yaml"),
    "replication": replication,
}
NEXT = {
    "study": "ostrom run {file}",
    "game": "ostrom play {file}",
    "memory": "ostrom validate {file}; in a study: memory: {file}",
    "strategy": "ostrom play prisoners_dilemma --against {file}",
    "measure": "ostrom estimate RUN {file}",
    "people": "ostrom pilot {file}",
    "replication": "pip install -e {folder}, then ostrom run {folder}-main",
}
"""The command to run next, by kind of file."""


def write(kind: str, name: str, like: str | None) -> tuple[Path, str]:
    """Write the files of a kind; return their place and the next command. Nothing is overwritten."""
    parts = KINDS[kind](name, like)
    first = Path(next(iter(parts)))
    place = Path(first.parts[0])
    for path in (place, *map(Path, parts)):
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} exists already: choose another name")
    for file, text in parts.items():
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(text, encoding="utf-8")
    if kind in ("study", "people"):
        _try(first, parts)
    return place, f"{place}: written. Next: {NEXT[kind].format(file=first, folder=place)}"


def _try(file: Path, parts: Mapping[str, Any]) -> None:
    """Load a study that was just written; delete its files and raise UsageError if it cannot be loaded."""
    from ostrom.studies.load import load_study

    try:
        load_study(file)
    except OstromError as error:
        for path in parts:
            Path(path).unlink()
        raise UsageError(f"--like: this study needs files that lie beside it and are not copied ({error})") from None


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
            declared[name.replace("_", "-")] = validate(
                Wording, read_yaml(file.read_text(encoding="utf-8"), f"{name}/{FILE}"), f"{name}/{FILE}"
            )
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
        place, message = write(kind, plain, like)
    return Output({"kind": kind, "file": str(place)}, [Remark(message)])
