"""Short names for models: ``models: {small: {model: "http://host:8000/v1#m"}}``, then ``model: small``.

Tables and charts have the short name; what is played, and the manifest, has the address.
"""

import re
from collections.abc import Mapping
from typing import Any

from ostrom.ground.errors import StudyError, UnknownName
from ostrom.studies.factors import merge

KEYS = ("model", "replicas", "params", "settings")
"""What a short name may stand for."""


def with_addresses(data: dict[str, Any], file: str) -> dict[str, Any]:
    """The content of a study with what each short name stands for in its place, beside the name."""
    names = _read(data.get("models"), file)
    if not names:
        return data
    data = {**data, "models": names}
    if isinstance(data.get("agent"), Mapping):
        data["agent"] = _agent(data["agent"], names, "agent", file)
    for part in ("types", "seats", "variants"):
        if isinstance(data.get(part), Mapping):
            data[part] = {key: _agent(one, names, f"{part}.{key}", file) for key, one in data[part].items()}
    if isinstance(data.get("vary"), Mapping):
        data["vary"] = dict(_factor(key, one, names, file) for key, one in data["vary"].items())
    return data


def _read(given: Any, file: str) -> dict[str, dict[str, Any]]:
    """The short names, each with what it stands for; refused where one could be taken for something else."""
    from ostrom.agents.strategies import strategies

    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise StudyError("must map short names to models", file=file, key="models", found=given)
    names: dict[str, dict[str, Any]] = {}
    for name, one in given.items():
        key = f"models.{name}"
        entry = _with_replicas({"model": one} if isinstance(one, str) else one, key, file)
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", str(name)):
            raise StudyError("a short name has letters, digits, '.', '_' and '-'", file=file, key=key)
        if name in strategies:
            raise StudyError("is the name of a strategy: choose another short name", file=file, key=key)
        if not isinstance(entry, Mapping) or not isinstance(entry.get("model"), str):
            raise StudyError("needs 'model': provider/model or a URL", file=file, key=key, found=one)
        if unknown := [field for field in entry if field not in KEYS]:
            raise StudyError(f"unknown key {unknown[0]!r}", file=file, key=key, allowed=KEYS)
        if "/" not in entry["model"]:
            raise StudyError(
                "must be provider/model or a URL, not another short name", file=file, key=f"{key}.model",
                found=entry["model"],
            )  # fmt: skip
        if same := next((other for other, known in names.items() if known == dict(entry)), None):
            raise StudyError(f"is the same model as {same}: one short name is enough", file=file, key=key)
        names[str(name)] = dict(entry)
    return names


def _with_replicas(entry: Any, key: str, file: str) -> Any:
    """An entry whose replicas, addresses of one model, are a setting of that model."""
    if not isinstance(entry, Mapping) or "replicas" not in entry:
        return entry
    urls, settings = entry["replicas"], entry.get("settings") or {}
    if not isinstance(urls, list) or not urls or not all(isinstance(url, str) for url in urls):
        raise StudyError("must be a list of addresses", file=file, key=f"{key}.replicas", found=urls)
    names = {model for url in urls if (model := url.partition("#")[2])}
    if "model" not in entry and len(names) != 1:
        raise StudyError(
            "must name one model, as in http://host:port/v1#model", file=file, key=f"{key}.replicas", found=urls
        )
    model = entry.get("model") or f"{urls[0].partition('#')[0]}#{names.pop()}"
    rest = {name: value for name, value in entry.items() if name != "replicas"}
    return rest | {"model": model, "settings": {**settings, "replicas": [url.partition("#")[0] for url in urls]}}


def _agent(fields: Any, names: Mapping[str, Any], key: str, file: str) -> Any:
    """The fields of an agent, a type or a seat; a type may be one word."""
    if isinstance(fields, str) and key.startswith("types."):
        return {**names[fields], "called": fields} if fields in names else fields
    if not isinstance(fields, Mapping) or not isinstance(fields.get("model"), str):
        return fields
    entry = _entry(fields["model"], names, f"{key}.model", file)
    own = {name: value for name, value in fields.items() if name != "model"}
    return merge(entry, own) if "called" in entry else fields


def _entry(model: str, names: Mapping[str, Any], key: str, file: str) -> dict[str, Any]:
    """What a value of ``model`` stands for: an address as it is, a short name with its address."""
    if model in names:
        return {**names[model], "called": model}
    if "/" not in model:
        raise UnknownName("model", model, names, " (write provider/model, a URL or a short name)").at(file, key)
    return {"model": model}


def _factor(name: str, levels: Any, names: Mapping[str, Any], file: str) -> tuple[str, Any]:
    """A factor; one that sets a model by short names becomes one whose levels have these names."""
    compound = isinstance(levels, Mapping) and set(levels) == {"set", "to"}
    path = str(levels["set"]) if compound else name
    values = levels["to"] if compound else levels
    where = f"vary.{name}"
    if path.rpartition(".")[2] == "model" and isinstance(values, list):
        entries = {str(value): _entry(str(value), names, where, file) for value in values}
        if any("called" in entry for entry in entries.values()):
            if len(entries) < len(values):
                raise StudyError("names a level twice", file=file, key=where, found=values)
            short = name if compound else name.rpartition(".")[2]
            return short, {label: _assigned(path, entry) for label, entry in entries.items()}
    if isinstance(levels, Mapping) and not compound:
        return name, {label: _compound(one, names, f"{where}.{label}", file) for label, one in levels.items()}
    return name, levels


def _compound(assigns: Any, names: Mapping[str, Any], where: str, file: str) -> Any:
    if not isinstance(assigns, Mapping):
        return assigns
    fields: dict[str, Any] = {}
    for path, value in assigns.items():
        if str(path).rpartition(".")[2] == "model" and isinstance(value, str):
            fields |= _assigned(str(path), _entry(value, names, f"{where}.{path}", file))
        else:
            fields[path] = value
    return fields


def _assigned(path: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a level sets: the model with its parameters, and its short name or none."""
    above = path.rpartition(".")[0]
    return {f"{above}.{field}": value for field, value in {"called": None, **entry}.items()}
