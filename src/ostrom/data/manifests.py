"""Manifests of runs by key: differences between two runs, and whether they hold one study.

Runs of one study may have other models, seeds, budgets, titles and versions; everything else of the study, and every
prompt, is part of what ``study_hash`` stands for.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import orjson

from ostrom.engine.folder import FREE_TO_CHANGE, MAY_GROW
from ostrom.ground.values import flat

MOST_CHARACTERS = 60
"""The longest value shown, in characters."""
OTHER_LABS = (*FREE_TO_CHANGE, *MAY_GROW, "name", "seed", "stop")
"""Keys of a study that may differ between labs: they do not affect a match."""
SETTINGS = ("name", "model", "base_url")
"""Keys of a model's entry that repeat its name."""


def changes(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the keys of study, models, prompts and versions that differ, with both values.

    As many models under other names are one difference, and stand for each other in all others.
    """
    names = models_of(new), models_of(old)
    if names[0] != names[1] and len(names[0]) == len(names[1]):
        yield "models", shown(", ".join(names[0])), shown(", ".join(names[1]))
        new, old = _numbered(new), _numbered(old)
    for part in ("study", "models", "prompts", "versions"):
        first, second = (dict(flat(manifest.get(part) or {}, part)) for manifest in (new, old))
        for key in sorted(first.keys() | second.keys()):
            if first.get(key) != second.get(key):
                yield key.removeprefix("study."), shown(first.get(key, "-")), shown(second.get(key, "-"))


def _numbered(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest in which models are numbered instead of named."""
    names = _numbers(manifest)
    entries = {
        names[model]: {name: of for name, of in entry.items() if name not in SETTINGS}
        for model, entry in (manifest.get("models") or {}).items()
    }
    return {**manifest, "study": renamed(manifest.get("study") or {}, names), "models": entries}


def _numbers(manifest: Mapping[str, Any]) -> dict[str, str]:
    return {name: f"{{model {place}}}" for place, name in enumerate(models_of(manifest), 1)}


def models_of(manifest: Mapping[str, Any]) -> list[str]:
    """The models of a run, in order."""
    return list(manifest.get("models") or {})


def is_before_2(manifest: Mapping[str, Any]) -> bool:
    """Whether a run was begun by a version before 2.0."""
    return str((manifest.get("versions") or {}).get("ostrom", "")).startswith(("0.", "1."))


def study_keys(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return every key that affects play, with its value; models are numbered.

    >>> study_keys({"study": {"types": {"a/b": {"model": "a/b"}}, "seeds": 3}, "models": {"a/b": {}}})
    {'types.{model 1}.model': '{model 1}'}
    """
    study = {name: value for name, value in manifest["study"].items() if name not in OTHER_LABS}
    keys = dict(flat(renamed(study, _numbers(manifest)), ""))
    return keys | dict(flat(dict(manifest.get("prompts") or {}), "prompts"))


def settings_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what runs of one study may differ in: models and settings, seeds, versions, the day."""
    models = models_of(manifest)
    entries = {"models": _numbered(manifest)["models"]}
    grown = {name: manifest["study"].get(name) for name in (*MAY_GROW, "seed") if name in manifest["study"]}
    setting = {"day": str(manifest.get("created") or "")[:10], "versions": dict(manifest.get("versions") or {})}
    return {"model": ", ".join(models)} | dict(flat({**grown, **entries, **setting}, ""))


def study_hash(manifest: Mapping[str, Any], allowed: Sequence[str] = ()) -> str:
    """Return a hash of a run's study, without keys that may differ."""
    compared_keys = {key: of for key, of in study_keys(manifest).items() if not is_allowed(key, allowed)}
    return blake2b(orjson.dumps(compared_keys, option=orjson.OPT_SORT_KEYS, default=str), digest_size=12).hexdigest()


def is_allowed(key: str, allowed: Sequence[str]) -> bool:
    """Return whether a key, or a parent of it, is named.

    >>> is_allowed("agent.framing.units", ["agent.framing"]), is_allowed("agents", ["agent"])
    (True, False)
    """
    return any(key == name or key.startswith(f"{name}.") for name in allowed)


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Return data with models renamed in keys and texts, the longest name first."""
    if isinstance(value, Mapping):
        return {renamed(key, names): renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [renamed(inner, names) for inner in value]
    if isinstance(value, str):
        for name in sorted(names, key=len, reverse=True):
            value = value.replace(name, names[name])
    return value


def shown(value: Any) -> str:
    """Format a value for a table: one line of bounded length."""
    text = str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."
