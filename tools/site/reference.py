"""Pages of the reference, from the docstrings and registries of the package itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from importlib import import_module
from importlib.resources import files
from typing import Any, get_args

from pydantic import BaseModel

from ostrom.ground.commands import command_line_name, every_command
from ostrom.ground.registry import replications
from ostrom.reports.exhibits.declared import exhibits_of

CATALOGUES = {
    "games": ("ostrom.games", "games", "Games"),
    "strategies": ("ostrom.agents.strategies", "strategies", "Strategies"),
    "mechanisms": ("ostrom.mechanisms", "mechanisms", "Mechanisms"),
    "memories": ("ostrom.memory", "memories", "Memories"),
    "measures": ("ostrom.analysis.measure", "measures", "Measures"),
}
FILES = {
    "An agent of a study": "ostrom.agents.config:AgentConfig",
    "People of a study": "ostrom.people.schema:People",
    "A study": "ostrom.studies.schema:StudyFile",
    "A file of gates": "ostrom.features.gates.gates:GateFile",
    "A mapping": "ostrom.features.importing.mapping:Mapping",
    "A battery": "ostrom.features.profile.battery:Battery",
    "replicate.yaml": "ostrom.features.replicate.papers:PaperPlan",
    "claims.yaml": "ostrom.analysis.claims:ClaimsFile",
    "exhibits.yaml": "ostrom.reports.exhibits.declared:Exhibits",
}
"""Files that users write, and the model that checks each; the models that it holds follow it."""
PYTHON = ("study", "play", "play_async", "open_run", "game", "Study", "Run", "Measure", "Game", "Strategy")


def pages() -> dict[str, str]:
    """Every page by its name."""
    catalogues = {name: _catalogue(name) for name in CATALOGUES}
    written = {"commands": _commands(), "keys": _keys(), "prompts": _prompts(), "python": _python()}
    return {**written, "exhibits": _exhibits(), **catalogues}


def _first(doc: str | None) -> str:
    return inspect.cleandoc(doc or "").partition("\n\n")[0].replace("\n", " ")


def _commands() -> str:
    parts = [
        "# Commands",
        "",
        "Every command, as `ostrom COMMAND --help` prints it; `ostrom.commands` has the same as functions.",
        "",
    ]
    for _, (*groups, command) in sorted(every_command().items()):
        said = command_line_name(
            " ".join(
                [*(f"{group.name} RUN" if group.params else str(group.name) for group in groups), str(command.name)]
            )
        )
        parts += [
            f"## ostrom {said}",
            "",
            inspect.cleandoc(command.help or ""),
            "",
            "| parameter | default | meaning |",
            "|---|---|---|",
        ]
        for parameter in command.params:
            flags = ", ".join(f"`{flag}`" for flag in (*parameter.opts, *parameter.secondary_opts))
            flags = flags if parameter.param_type_name == "option" else f"`{str(parameter.name).upper()}`"
            default = "" if parameter.default in (None, False, ()) or parameter.required else f"`{parameter.default}`"
            parts.append(f"| {flags} | {_cell(default)} | {_cell(parameter.help or '')} |")
        parts.append("")
    return "\n".join(parts)


def _prompts() -> str:
    """What the package itself says of its prompt files; braces and angle brackets are text."""
    return files("ostrom.framing").joinpath("prompts", "README.md").read_text(encoding="utf-8")


def _keys() -> str:
    parts = ["# Keys of files", "", "Every key that a file may have, as the models that check it state it."]
    shown: set[type] = set()
    for title, place in FILES.items():
        module, _, name = place.partition(":")
        parts += ["", f"## {title}"]
        waiting: list[type[BaseModel]] = [getattr(import_module(module), name)]
        while waiting:
            model = waiting.pop(0)
            if model in shown:
                continue
            shown.add(model)
            parts += ["", _plain(_first(model.__doc__)), "", "| key | default | meaning |", "|---|---|---|"]
            for key, field in model.model_fields.items():
                default = "required" if field.is_required() else _default(field.get_default(call_default_factory=True))
                parts.append(
                    f"| `{field.alias or key}` | {_cell(default)} | {_cell(_plain(field.description or ''))} |"
                )
                waiting += _models_in(field.annotation)
    return "\n".join([*parts, ""])


def _default(value: Any) -> str:
    return "" if value is None or value in ("", [], {}, ()) or isinstance(value, BaseModel) else f"`{value}`"


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def _python() -> str:
    parts = ["# Python", "", "What `import ostrom` offers; [Ostrom from Python](../python.md) shows it at work.", ""]
    for name in PYTHON:
        part = getattr(import_module("ostrom"), name)
        parts += _described(f"ostrom.{name}", part, "##")
        if inspect.isclass(part):
            for key, method in vars(part).items():
                if not key.startswith("_") and (callable(method) or isinstance(method, property)):
                    parts += _described(f"{name}.{key}", method.fget if isinstance(method, property) else method, "###")
    return "\n".join(parts)


def _exhibits() -> str:
    parts = [
        "# Exhibits",
        "",
        "What each paper prints, in its order, and which study gives ours; `ostrom report RUN --as-paper` writes them.",
    ]
    for name in replications():
        if exhibits := exhibits_of(name):
            parts += ["", f"## {name}", "", "| exhibit | what | study | remarks |", "|---|---|---|---|"]
        for one in exhibits:
            remark = one.note or (f"Not given: {one.without}" if one.without else "")
            cells = (one.name, one.title, ", ".join(one.study), remark)
            parts.append(f"| {' | '.join(_cell(_plain(cell)) for cell in cells)} |")
    return "\n".join([*parts, ""])


def _described(name: str, part: Any, level: str) -> list[str]:
    try:
        signature = re.sub(r"<[^>]* at 0x[0-9a-f]+>", "...", str(inspect.signature(part)))
    except (TypeError, ValueError):
        signature = ""
    doc = inspect.cleandoc(part.__doc__ or "")
    text, mark, example = doc.partition(">>>")
    code = ["```pycon", f"{mark}{example}".rstrip(), "```", ""] if mark else []
    return [
        f"{level} {name}",
        "",
        "```python",
        f"{name.rpartition('.')[2]}{signature}",
        "```",
        "",
        _plain(text),
        "",
        *code,
    ]


def _catalogue(kind: str) -> str:
    module, attribute, title = CATALOGUES[kind]
    registry: Any = getattr(import_module(module), attribute)
    parts = [
        f"# {title}",
        "",
        f"Found by name; `ostrom list {kind}` prints the same.",
        "",
        "| name | what | parameters | source |",
        "|---|---|---|---|",
    ]
    for name in registry.names():
        part = registry.get(name)
        what = getattr(part, "definition", None) or _first(part.__doc__)
        source = str(getattr(part, "citation", None) or "")
        cells = (_plain(what), ", ".join(_parameters(part)), _plain(source))
        parts.append(f"| `{name}` | {' | '.join(map(_cell, cells))} |")
    return "\n".join([*parts, ""])


def _parameters(part: Any) -> Iterable[str]:
    if not callable(part):
        return
    for parameter in inspect.signature(part).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            empty = parameter.default is parameter.empty
            yield f"`{parameter.name}`" if empty else f"`{parameter.name}={parameter.default}`"


def _plain(text: str) -> str:
    """Docstrings write code between two backticks, Markdown between one; angle brackets are text."""
    return text.replace("``", "`").replace("<", "&lt;").rstrip()


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
