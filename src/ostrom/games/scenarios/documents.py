"""YAML text to a checked form; a complaint is one line with file, key, finding and rule."""

from __future__ import annotations

from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from ostrom.ground.errors import StudyError
from ostrom.ground.yaml import YAML_TROUBLE, check_depth, check_plain

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LONGEST_FINDING = 60

Form = TypeVar("Form", bound=BaseModel)


def parse(form: type[Form], text: str, file: str) -> Form:
    """Read YAML ``text`` into ``form`` or refuse it with a :class:`StudyError`."""
    data = _mapping(text, file)
    try:
        return form.model_validate(data)
    except ValidationError as refused:
        raise _explained(form, refused, file) from None


def _mapping(text: str, file: str) -> dict[Any, Any]:
    try:
        # YAML readers let the last of two equal keys win, which would hide a row that was pasted twice.
        check_depth(text, file, _LOADER)
        _refuse_duplicates(yaml.compose(text, Loader=_LOADER), "", file, set())
        data = yaml.load(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as broken:
        where = f"line {broken.problem_mark.line + 1}" if broken.problem_mark else None
        raise StudyError(f"is not valid YAML: {broken.problem}", file=file, key=where) from None
    except YAML_TROUBLE as broken:
        raise StudyError(f"is not valid YAML: {' '.join(str(broken).split())}", file=file) from None
    if not isinstance(data, dict):
        raise StudyError("must hold keys with values", file=file, found=_short(data))
    check_plain(data, file, numbers=False)
    return data


def _refuse_duplicates(node: Any, path: str, file: str, visited: set[int]) -> None:
    # An alias leads to a node that was seen before, possibly to one of its own parents.
    if id(node) in visited:
        return
    visited.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for position, child in enumerate(node.value):
            _refuse_duplicates(child, f"{path}[{position}]", file, visited)
    elif isinstance(node, yaml.MappingNode):
        seen = set()
        for key, child in node.value:
            name = str(key.value)
            here = f"{path}.{name}" if path else name
            if name in seen:
                raise StudyError(
                    f"is given twice, again on line {key.start_mark.line + 1}", file=file, key=here
                )
            seen.add(name)
            _refuse_duplicates(child, here, file, visited)


def _explained(form: type[BaseModel], refused: ValidationError, file: str) -> StudyError:
    first = refused.errors(include_url=False)[0]
    path = [str(part) for part in first["loc"]]
    key = ".".join(path) or None
    context = first.get("ctx", {})
    match first["type"]:
        case "missing":
            return StudyError("is missing", file=file, key=key)
        case "extra_forbidden":
            known = list(_known_keys(form, first["loc"][:-1]))
            return StudyError("unknown key", file=file, key=key, found=path[-1], allowed=known or None)
        case "value_error":
            return StudyError(str(context["error"]), file=file, key=key)
        case "literal_error":
            return StudyError(
                "unknown value", file=file, key=key, found=first["input"], allowed=[context["expected"]]
            )
        case _:
            problem = first["msg"][0].lower() + first["msg"][1:]
            return StudyError(problem, file=file, key=key, found=_short(first["input"]))


def _known_keys(form: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """The keys that the form allows at ``path``."""
    schema = form.model_json_schema(by_alias=True)
    here: dict[str, Any] = schema
    for part in path:
        here = _resolved(here.get("items", {}) if isinstance(part, int) else here["properties"][part], schema)
    return list(here.get("properties", {}))


def _resolved(part: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    for option in part.get("anyOf", [part]):
        if "$ref" in option:
            resolved: dict[str, Any] = schema["$defs"][option["$ref"].rsplit("/", 1)[1]]
            return resolved
        if option.get("type") in ("array", "object"):
            chosen: dict[str, Any] = option
            return chosen
    return part


def _short(found: object) -> object:
    text = str(found)
    return found if len(text) <= _LONGEST_FINDING else text[:_LONGEST_FINDING] + "..."
