"""From a file, a name or a mapping to a study, with presets and changes from the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from ostrom.ground.errors import StudyError, UnknownName, nearest
from ostrom.ground.registry import NamedFiles, replication_files
from ostrom.ground.yaml import check_plain, in_words, read_yaml
from ostrom.studies.baselines import with_baselines
from ostrom.studies.paths import merge, put
from ostrom.studies.schema import StudyFile

Checked = TypeVar("Checked", bound=BaseModel)


def builtin_names() -> list[str]:
    """The studies that installed replications bring."""
    return sorted(_builtin())


def _builtin() -> NamedFiles:
    return replication_files("studies", ".yaml", "study")


def read_study(source: str | Path | Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The raw content of a study and what to call its source in messages."""
    if isinstance(source, Mapping):
        check_plain(source, "study")
        return deepcopy(dict(source)), "study"
    text = str(source)
    return _parse(_builtin().text(text), text), text


def parse_yaml(text: str, file: str) -> Any:
    """YAML as plain data, with the line in the error where it is wrong."""
    return read_yaml(text, file)


def _parse(text: str, file: str) -> dict[str, Any]:
    data = parse_yaml(text, file)
    if not isinstance(data, dict):
        raise StudyError(f"a study is a mapping of keys to values (found {in_words(data)})", file=file)
    return data


def load_study(
    source: str | Path | Mapping[str, Any],
    *,
    preset: str | None = None,
    changes: Sequence[str] = (),
    models: Sequence[str] = (),
    seeds: int | None = None,
    budget: Mapping[str, Any] | None = None,
) -> StudyFile:
    """A study with a preset and changes applied, checked from end to end."""
    data, file = merged(source, preset, changes)
    if models:
        data["types"] = {
            **_scripted(_mapping(data.get("types"), file, "types")),
            **{name: spec for m in models for name, spec in _asked(m, data.get("variants"), file)},
        }
    stop = _mapping(data.get("stop"), file, "stop")
    if stop and seeds is not None:
        raise StudyError(
            "a study with stop plays stop.at_least to stop.at_most seeds", file=file, key="--seeds"
        )
    if seeds is not None:
        data["seeds"] = seeds
    elif isinstance(stop.get("at_most"), int):
        data["seeds"] = stop["at_most"]
    if budget:
        data["budget"] = {**_mapping(data.get("budget"), file, "budget"), **budget}
    study = validate(StudyFile, with_baselines(data, file), file)
    if study.people is None:
        return study
    return study.model_copy(update={"people": study.people.with_files(folder_of(source), file)})


def folder_of(source: str | Path | Mapping[str, Any]) -> Path:
    """The folder that the files of a study lie in."""
    if isinstance(source, Mapping):
        return Path()
    known = _builtin().named(str(source))
    return Path(str(source if known is None else known)).parent


def merged(
    source: str | Path | Mapping[str, Any], preset: str | None, changes: Sequence[str]
) -> tuple[dict[str, Any], str]:
    """The content of a study with a preset and changes applied, and what to call its source."""
    raw, file = read_study(source)
    data = apply_preset(raw, preset, file)
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals or not path.strip():
            raise StudyError("write it as key=value", key="--set", found=change)
        try:
            put(data, path.strip(), parse_yaml(text, "--set"))
        except StudyError as error:
            raise StudyError(f"{error.key}: {error.problem}", key="--set", found=change) from None
    if isinstance(data.get("vary"), dict):  # --set vary.style=null takes a factor out
        data["vary"] = {name: levels for name, levels in data["vary"].items() if levels is not None}
    return data, file


def apply_preset(raw: Mapping[str, Any], preset: str | None, file: str) -> dict[str, Any]:
    """The study with one of its presets laid over it; its factors replace those of the same name.

    A factor or a type that the preset sets to null is left out.
    """
    data = dict(raw)
    presets = data.pop("presets", {}) or {}
    if not isinstance(presets, Mapping):
        raise StudyError("must map names to changes", file=file, key="presets", found=presets)
    if preset is None:
        return merge(data, {})
    if preset not in presets:
        raise UnknownName("preset", preset, presets)
    over = dict(_mapping(presets[preset], file, f"presets.{preset}"))
    own = _mapping(data.get("vary"), file, "vary")
    vary = {**own, **_mapping(over.pop("vary", None), file, f"presets.{preset}.vary")}
    merged = merge(data, over)
    merged["vary"] = {name: levels for name, levels in vary.items() if levels is not None}
    if isinstance(merged.get("types"), Mapping):
        merged["types"] = {name: spec for name, spec in merged["types"].items() if spec is not None}
    return merged


def _mapping(value: Any, file: str, key: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise StudyError("must map names to changes", file=file, key=key, found=value)
    return value


def presets_of(source: str | Path | Mapping[str, Any]) -> list[str]:
    """The names of a study's presets."""
    data, file = read_study(source)
    return sorted(str(name) for name in _mapping(data.get("presets"), file, "presets"))


def _asked(model: str, variants: Any, file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The types that a model on the command line stands for: itself, and each variant of the study."""
    yield model, {"model": model}
    for name, over in _mapping(variants, file, "variants").items():
        if over is not None:
            yield f"{model} {name}", {"model": model, **_mapping(over, file, f"variants.{name}")}


def _scripted(types: Mapping[str, Any]) -> dict[str, Any]:
    """The types that need no model stay when models are named on the command line."""
    return {
        name: spec
        for name, spec in types.items()
        if (isinstance(spec, str) and "/" not in spec) or (isinstance(spec, Mapping) and "strategy" in spec)
    }


def validate(schema: type[Checked], data: Any, file: str, prefix: str = "") -> Checked:
    """Check data against a schema; the first problem becomes one clear line."""
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        raise problem(error, schema, file, prefix) from None


def problem(error: ValidationError, schema: type[BaseModel], file: str, prefix: str = "") -> StudyError:
    """The first problem of a failed check, in one line."""
    found_all = error.errors(include_url=False)
    first = found_all[0]
    path = [str(p) for p in first["loc"] if not _is_branch(p)]
    key = ".".join(filter(None, [prefix, *path]))
    allowed: Iterable[str] | None = None
    found = first.get("input")
    text = _plain_words(first)
    if first["type"] == "extra_forbidden":
        allowed, found = sorted(_fields_at(schema, path[:-1])), None
        text = "there is no such key"
        if near := nearest(path[-1], allowed):
            text += f", did you mean {near!r}?"
    elif first["type"] == "missing":
        text, found = "is missing", None
    elif first["type"] == "value_error":
        found = None
    elif first["type"] == "literal_error":
        allowed = [part.strip(" '") for part in first["ctx"]["expected"].replace(" or ", ", ").split(",")]
        near = nearest(found, allowed) if isinstance(found, str) else None
        text = "is none of the allowed words" + (f", did you mean {near!r}?" if near else "")
    else:  # a union is refused once for every kind of value that it takes
        same = [e for e in found_all if e["input"] is first["input"] and e["type"] in _KINDS]
        kinds = list(dict.fromkeys(_KINDS[e["type"]] for e in same))
        if len(kinds) > 1:
            text = f"must be {' or '.join(kinds)}"
    if isinstance(found, dict | list) and len(str(found)) > 80:
        found = None
    return StudyError(text, file=file, key=key or None, found=found, allowed=allowed)


_KINDS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of at most 64 bits",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
}
"""What pydantic wanted, in the words of somebody who writes YAML."""


def _plain_words(error: Any) -> str:
    kind, said, bounds = error["type"], str(error["msg"]), error.get("ctx") or {}
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}"
    for name, words in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")):
        if name in bounds:
            return f"must be {words} {bounds[name]}"
    if kind == "string_pattern_mismatch":
        return f"must be letters, digits, '.', '_' and '-', as in {bounds.get('pattern')}"
    return said.removeprefix("Value error, ").replace("Input should be", "must be")


def _is_branch(part: int | str) -> bool:
    """Pydantic names the branch of a union in a path; a user did not write it."""
    return isinstance(part, str) and ("[" in part or part in ("str", "dict", "list", "int", "float"))


def _fields_at(schema: type[BaseModel], path: Sequence[str]) -> list[str]:
    """The keys that are allowed at a place; those at the top where no model stands there."""
    here: Any = schema
    for step in path:
        if step.isdigit():  # a place in a list: the list was looked into already
            continue
        field = here.model_fields.get(step)
        inner = None if field is None else _model_in(field.annotation)
        if inner is None:
            return list(here.model_fields) if step is path[0] else []
        here = inner
    return list(here.model_fields)


def _model_in(annotation: Any) -> Any:
    """The model that a field holds, also inside a list or beside null."""
    if hasattr(annotation, "model_fields"):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part)) is not None), None)
