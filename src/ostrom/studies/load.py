"""Loads a study from a file, a name or a mapping, with presets and changes of the command line.

``models`` gives models short names: ``models: {small: {model: "http://host:8000/v1#m"}}``, then ``model: small``.

Tables and charts have the short name; what is played, and the manifest, has the address.

Questions (``answers``) are checked: every name in them must exist, and none may average over a factor silently. A
question about a factor or a level that a preset or a change takes out is not asked. A name that no design of the file
has is a mistake, and so is a factor that a question neither fixes, shows, contrasts nor names.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from ostrom.analysis.estimate import MODEL
from ostrom.analysis.population import averaged_over
from ostrom.analysis.questions import StudyQuestion
from ostrom.analysis.units import as_text, says_what_counts
from ostrom.ground.errors import OstromError, StudyError, UnknownName, unknown_key
from ostrom.ground.python_files import bind_code_parts
from ostrom.ground.validation import validate
from ostrom.ground.yaml import read_yaml
from ostrom.studies.baselines import BASELINES, FROM, setting_of
from ostrom.studies.factors import RESERVED, Factor, Grid, merge, read_factors, set_path
from ostrom.studies.files import folder_of, mapping_at, read_study
from ostrom.studies.plan import with_files
from ostrom.studies.schema import StudyFile

MOST_CELLS = 20_000
"""The most cells searched for factors that vary within a question."""
COLUMNS = RESERVED | {"game", "mechanism", "model", "strategy", "agent_memory"}


def check_answers(study: StudyFile, raw: Mapping[str, Any], file: str) -> None:
    """Refuse questions with unknown names, and questions that pool a factor silently."""
    factors, stated = read_factors(study.vary, file), _written(raw, file)
    levels: dict[str, set[str]] = {}
    for factor in (*factors, *stated):
        levels.setdefault(factor.name, set()).update(as_text(level.label) for level in factor.levels)
    own_columns = {name for factor in (*factors, *stated) for name in (factor.name, *factor.traits)}
    grid = Grid(factors, study.only or (), file)
    for place, question in enumerate(study.answers):
        key = f"answers.{place}"
        try:
            columns = {*COLUMNS, *question.measure_object.columns, *_attributes(study), *_in_sql(question)}
        except OstromError as error:
            raise StudyError(str(error), file=file, key=f"{key}.measure") from None
        if question.measure_object.scale != "share" and question.d is None and question.judged:
            raise StudyError(
                f"{question.measure_object.name} is no share, so a question about it needs d, "
                "the smallest effect that matters",
                file=file, key=f"{key}.d",
            )  # fmt: skip
        _check_names(question, columns | own_columns, levels, file, key)
        absent = {*levels} - {factor.name for factor in factors}
        if absent & {name for name in question.named if name not in (*question.pools, *question.range)}:
            continue  # this design lacks what the question is about
        own = {factor.name for factor in stated}
        if silent := [name for name in pooled_factors(question, factors, grid) if name in own]:
            raise StudyError(
                f"averages over {', '.join(silent)}, which {'are' if len(silent) > 1 else 'is'} varied: fix it under "
                "where, show it under by, or name it under pools",
                file=file, key=key,
            )  # fmt: skip


def _written(raw: Mapping[str, Any], file: str) -> list[Factor]:
    """Return the factors of every design in a file: its own and those of its presets."""
    presets = raw.get("presets")
    designs = [raw, *(presets.values() if isinstance(presets, Mapping) else ())]
    factors: list[Factor] = []
    for vary in (design.get("vary") for design in designs if isinstance(design, Mapping)):
        if isinstance(vary, Mapping):
            with suppress(OstromError):  # an unreadable design is refused when it is requested
                factors += read_factors({name: of for name, of in vary.items() if of is not None}, file)
    return factors


def _in_sql(question: StudyQuestion) -> set[str]:
    """Return the words of a measure's SQL, some of which are columns of its rows."""
    values = question.measure_object.values
    return set(re.findall(r"\w+", values)) if isinstance(values, str) else set()


def _attributes(study: StudyFile) -> Iterator[str]:
    """Yield the columns that agents' attributes add."""
    for spec in (study.agent, *study.types.values(), *study.seats.values(), *study.variants.values()):
        if isinstance(spec, Mapping):
            yield from spec.get("attributes") or ()


def _check_names(
    question: StudyQuestion, columns: set[str], levels: Mapping[str, set[str]], file: str, key: str
) -> None:
    where = {} if isinstance(question.where, str) else question.where
    factor, wanted = question.pair
    ordered, order = question.ordered
    names = [("where", name) for name in where if not says_what_counts(question.measure_object, name)]
    names += [(name, of) for name, of in (("contrast", factor), ("over", question.over), ("order", ordered)) if of]
    names += [(part, name) for part in ("range", "by", "balance") for name in getattr(question, part)]
    for part, name in names:
        if name not in columns:
            raise StudyError(unknown_key(name, sorted(columns), "the columns"), file=file, key=f"{key}.{part}")
    named = [
        (name, as_text(one), f"where.{name}")
        for name, level in where.items()
        for one in (level if isinstance(level, list) else [level])
    ]
    for name, text, part in (*named, *((ordered, as_text(one), "order") for one in order)):
        if name in levels and MODEL not in text and text not in levels[name]:
            raise UnknownName("level", text, sorted(levels[name])).with_place(file, f"{key}.{part}")
    if factor in levels and MODEL not in wanted and not _pair(wanted, levels[factor]):
        raise StudyError(
            "must be two of its levels, 'a - b' or '* - b'", file=file, key=f"{key}.contrast", actual=wanted,
            allowed=sorted(levels[factor]),
        )  # fmt: skip


def _pair(wanted: str, levels: set[str]) -> bool:
    """Return whether a contrast names two levels, which may contain hyphens."""
    pieces = wanted.split("-")
    return any(
        second in levels and (first in levels or first == "*")
        for first, second in [
            ("-".join(pieces[:i]).strip(), "-".join(pieces[i:]).strip()) for i in range(1, len(pieces))
        ]
    )


def pooled_factors(question: StudyQuestion, factors: tuple[Factor, ...], grid: Grid) -> list[str]:
    """Return the factors that vary within a question's comparison without being named."""
    where = {} if isinstance(question.where, str) else question.where
    wanted = {
        name: {as_text(one) for one in (level if isinstance(level, list) else [level])} for name, level in where.items()
    }
    cells = [
        cell
        for cell in islice(_cells(factors, grid), MOST_CELLS)
        if all(cell[name] in levels for name, levels in wanted.items() if name in cell)
    ]
    columns = set(cells[0]) if cells else set()
    visible = {*question.by, *question.range, question.over, question.ordered[0], question.pair[0], *wanted} & columns
    return [*averaged_over(cells, [factor.name for factor in factors], visible, (*question.balance, *question.pools))]


def _cells(factors: tuple[Factor, ...], grid: Grid) -> Iterator[dict[str, str]]:
    """Yield every cell with its table columns."""
    traits = {name for factor in factors for name in factor.traits}
    for cell in grid:
        levels = {factor.name: factor.levels[at] for factor, at in zip(factors, cell, strict=True)}
        own = {name: value for level in levels.values() for name, value in level.traits.items()}
        yield {name: as_text(level.label) for name, level in levels.items()} | {n: as_text(own.get(n)) for n in traits}


KEYS = ("model", "replicas", "params", "settings")
"""The keys of a short name's entry."""


def with_addresses(data: dict[str, Any], file: str) -> dict[str, Any]:
    """Return a study in which short model names are replaced by their entries, with the name kept beside."""
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


def _read(models: Any, file: str) -> dict[str, dict[str, Any]]:
    """Return the short names with their entries; ambiguous names are refused."""
    from ostrom.agents.strategies import strategies

    if models is None:
        return {}
    if not isinstance(models, Mapping):
        raise StudyError("must map short names to models", file=file, key="models", actual=models)
    names: dict[str, dict[str, Any]] = {}
    for name, one in models.items():
        key = f"models.{name}"
        entry = _with_replicas({"model": one} if isinstance(one, str) else one, key, file)
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", str(name)):
            raise StudyError("a short name has letters, digits, '.', '_' and '-'", file=file, key=key)
        if name in strategies:
            raise StudyError("is the name of a strategy: choose another short name", file=file, key=key)
        if not isinstance(entry, Mapping) or not isinstance(entry.get("model"), str):
            raise StudyError("needs 'model': provider/model or a URL", file=file, key=key, actual=one)
        if unknown := [field for field in entry if field not in KEYS]:
            raise StudyError(f"unknown key {unknown[0]!r}", file=file, key=key, allowed=KEYS)
        if "/" not in entry["model"]:
            raise StudyError(
                "must be provider/model or a URL, not another short name", file=file, key=f"{key}.model",
                actual=entry["model"],
            )  # fmt: skip
        if same := next((other for other, earlier in names.items() if earlier == dict(entry)), None):
            raise StudyError(f"is the same model as {same}: one short name is enough", file=file, key=key)
        names[str(name)] = dict(entry)
    return names


def _with_replicas(entry: Any, key: str, file: str) -> Any:
    """Return an entry whose replicas (addresses of one model) are a setting of that model."""
    if not isinstance(entry, Mapping) or "replicas" not in entry:
        return entry
    urls, settings = entry["replicas"], entry.get("settings") or {}
    if not isinstance(urls, list) or not urls or not all(isinstance(url, str) for url in urls):
        raise StudyError("must be a list of addresses", file=file, key=f"{key}.replicas", actual=urls)
    names = {model for url in urls if (model := url.partition("#")[2])}
    if "model" not in entry and len(names) != 1:
        raise StudyError(
            "must name one model, as in http://host:port/v1#model", file=file, key=f"{key}.replicas", actual=urls
        )
    model = entry.get("model") or f"{urls[0].partition('#')[0]}#{names.pop()}"
    return {name: value for name, value in entry.items() if name != "replicas"} | {
        "model": model,
        "settings": {**settings, "replicas": [url.partition("#")[0] for url in urls]},
    }


def _agent(fields: Any, names: Mapping[str, Any], key: str, file: str) -> Any:
    """Return the fields of an agent, a type or a seat; a type may be one word."""
    if isinstance(fields, str) and key.startswith("types."):
        return {**names[fields], "called": fields} if fields in names else fields
    if not isinstance(fields, Mapping) or not isinstance(fields.get("model"), str):
        return fields
    entry = _entry(fields["model"], names, f"{key}.model", file)
    return merge(entry, {**fields, "model": entry["model"]}) if "called" in entry else fields


def _entry(model: str, names: Mapping[str, Any], key: str, file: str) -> dict[str, Any]:
    """Return the entry of a ``model`` value: an address itself, or a short name with its address."""
    if model in names:
        return {**names[model], "called": model}
    if "/" not in model:
        raise UnknownName("model", model, names, " (write provider/model, a URL or a short name)").with_place(file, key)
    return {"model": model}


def _factor(name: str, levels: Any, names: Mapping[str, Any], file: str) -> tuple[str, Any]:
    """Return a factor; one that sets a model by short names gets levels with these names."""
    compound = isinstance(levels, Mapping) and set(levels) == {"set", "to"}
    path, values = (str(levels["set"]), levels["to"]) if compound else (name, levels)
    where = f"vary.{name}"
    if path.rpartition(".")[2] == "model" and isinstance(values, list):
        entries = {str(value): _entry(str(value), names, where, file) for value in values}
        if any("called" in entry for entry in entries.values()):
            if len(entries) < len(values):
                raise StudyError("names a level twice", file=file, key=where, actual=values)
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
        model = str(path).rpartition(".")[2] == "model" and isinstance(value, str)
        fields |= _assigned(str(path), _entry(value, names, f"{where}.{path}", file)) if model else {path: value}
    return fields


def _assigned(path: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a level sets: the model with parameters, and its short name or none."""
    above = path.rpartition(".")[0]
    return {f"{above}.{field}": value for field, value in {"called": None, **entry}.items()}


WITH_CODE = ("game", "mechanism", "agent", "types", "seats", "variants", "vary")
"""Keys of a study that may name Python files."""


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
    data = with_addresses(with_options(data, file, models, seeds, budget), file)
    study = validate(
        StudyFile, {key: with_baselines(value, key, file) for key, value in _with_game(data).items()}, file
    )
    if study.answers:
        check_answers(study, read_study(source)[0], file)
    return with_files(study, folder_of(source), file)


def _with_game(data: dict[str, Any]) -> dict[str, Any]:
    """Return a study whose missing game is the first level of ``vary.game``."""
    levels = (data.get("vary") or {}).get("game") if isinstance(data.get("vary"), Mapping) else None
    if isinstance(levels, Mapping):
        levels = levels.get("to") if levels.get("set") == "game" else list(levels.values())
    if "game" in data or not isinstance(levels, list) or not levels:
        return data
    return {**data, "game": levels[0].get("game", levels[0]) if isinstance(levels[0], Mapping) else levels[0]}


def with_options(
    data: dict[str, Any],
    file: str,
    models: Sequence[str] = (),
    seeds: int | None = None,
    budget: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a study with the models, seeds and budget of the command line."""
    if models:
        data["types"] = {
            **_scripted(mapping_at(data.get("types"), file, "types"), data.get("models") or ()),
            **dict(_agent_types(models, data.get("variants"), file)),
        }
    stop = mapping_at(data.get("stop"), file, "stop")
    if stop and seeds is not None:
        raise StudyError("a study with stop plays stop.at_least to stop.at_most seeds", file=file, key="--seeds")
    if seeds is not None:
        data["seeds"] = seeds
    elif isinstance(stop.get("at_most"), int):
        data["seeds"] = stop["at_most"]
    if budget:
        data["budget"] = {**mapping_at(data.get("budget"), file, "budget"), **budget}
    return data


def merged(
    source: str | Path | Mapping[str, Any], preset: str | None, changes: Sequence[str]
) -> tuple[dict[str, Any], str]:
    """The content of a study with a preset and changes applied, and the name of its source for messages."""
    raw, file = read_study(source)
    data = apply_preset(raw, preset, file)
    for change in changes:
        path, text = split_change(change)
        try:
            set_path(data, path, read_yaml(text, "--set"))
        except StudyError as error:
            raise StudyError(f"{error.key}: {error.problem}", key="--set", actual=change) from None
    if isinstance(data.get("vary"), dict):  # --set vary.style=null removes a factor
        data["vary"] = {name: levels for name, levels in data["vary"].items() if levels is not None}
    folder = folder_of(source)
    return {k: bind_code_parts(v, folder, file, k) if k in WITH_CODE else v for k, v in data.items()}, file


def split_change(change: str) -> tuple[str, str]:
    """Split ``key=value`` of the command line into path and text.

    >>> split_change("mechanism.rounds=5")
    ('mechanism.rounds', '5')
    """
    path, equals, text = change.partition("=")
    if not equals or not path.strip():
        raise StudyError("write it as key=value", key="--set", actual=change)
    return path.strip(), text


def apply_preset(raw: Mapping[str, Any], preset: str | None, file: str) -> dict[str, Any]:
    """Return the study with one of its presets applied; its factors replace those of the same name.

    A factor or a type that the preset sets to null is left out. A key may be a path, as for ``--set``.
    """
    data = dict(raw)
    stated = mapping_at(data.pop("presets", None) or {}, file, "presets")
    presets = {str(name): changes for name, changes in stated.items()}  # YAML reads 1 as a number
    if preset is None:
        return merge(data, {})
    if preset not in presets:
        raise UnknownName("preset", preset, presets)
    over = dict(mapping_at(presets[preset], file, f"presets.{preset}"))
    dotted = {path: over.pop(path) for path in list(over) if isinstance(path, str) and "." in path}
    vary = {
        **mapping_at(data.get("vary"), file, "vary"),
        **mapping_at(over.pop("vary", None), file, f"presets.{preset}.vary"),
    }
    merged = merge(data, over)
    merged["vary"] = {name: levels for name, levels in vary.items() if levels is not None}
    if isinstance(merged.get("types"), Mapping):
        merged["types"] = {name: spec for name, spec in merged["types"].items() if spec is not None}
    for path, value in dotted.items():
        try:
            set_path(merged, path, value)
        except StudyError as error:
            raise StudyError(f"{error.key}: {error.problem}", file=file, key=f"presets.{preset}.{path}") from None
    return merged


def _agent_types(models: Sequence[str], variants: Any, file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the types for models of the command line: themselves, and the study's variants of them."""
    over = {
        name: dict(mapping_at(spec, file, f"variants.{name}"))
        for name, spec in mapping_at(variants, file, "variants").items()
        if spec is not None
    }
    of = {name: _varied(spec.pop("of", None), models, f"variants.{name}.of", file) for name, spec in over.items()}
    for model in models:
        yield model, {"model": model}
        for name, spec in over.items():
            if model in of[name]:
                yield f"{model} {name}", {"model": model, **spec}


def _varied(of: Any, models: Sequence[str], key: str, file: str) -> Sequence[str]:
    """Return the models with a variant: all, the first one, or those in a list."""
    if of is None:
        return models
    chosen = models[:1] if of == "first" else [of] if isinstance(of, str) else of
    if not isinstance(chosen, list | tuple) or not {*map(str, chosen)} <= {*models}:
        raise StudyError(
            f"must be 'first' or models that are named (allowed: {', '.join(models)})", file=file, key=key, actual=of
        )
    return chosen


def _scripted(types: Mapping[str, Any], models: Collection[str]) -> dict[str, Any]:
    """Return the types without a model, which stay when models are named on the command line."""
    return {
        name: spec
        for name, spec in types.items()
        if (isinstance(spec, str) and "/" not in spec and spec not in models)
        or (isinstance(spec, Mapping) and "strategy" in spec)
    }


def with_baselines(value: Any, path: str, file: str) -> Any:
    """Return a part of a study in which every ``memory.from: RUN`` is replaced by the actions of that run."""
    if isinstance(value, list):
        return [with_baselines(one, path, file) for one in value]
    if not isinstance(value, Mapping):
        return value
    fields: dict[str, Any] = {}
    for key, inner in value.items():
        text = str(key)
        if (text == FROM and path.rpartition(".")[2] == "memory") or text.endswith(f"memory.{FROM}"):
            fields[text.removesuffix(FROM) + BASELINES] = _baselines(inner, f"{path}.{text}", file)
        else:
            fields[key] = with_baselines(inner, f"{path}.{text}", file)
    return fields


def _baselines(run: Any, key: str, file: str) -> list[dict[str, Any]]:
    """Return the frequency of each action combination in a run's finished matches, by agent and game."""
    from ostrom.data.rundata import run_data
    from ostrom.memory.catalog.sanitized import text_of
    from ostrom.studies.run import open_run

    if not isinstance(run, str) or not run.strip():
        raise StudyError("must be a run: its name or folder", file=file, key=key, actual=run)
    groups: list[tuple[dict[str, Any], Counter[str]]] = []
    with open_run(run, Path("runs")) as opened, run_data(opened.rows, opened.folder.path, opened.manifest) as data:
        rows = data.records(
            "SELECT match, round, list(action ORDER BY seat) AS actions FROM decisions "
            "WHERE kind = 'act' AND state = 'done' AND unit = 'match' AND action IS NOT NULL AND seat IS NOT NULL "
            "GROUP BY match, round ORDER BY match, round"
        )
        counts: dict[int, Counter[str] | None] = {}
        for row in rows:
            unit = opened.plan.unit(row["match"])
            if row["match"] not in counts:
                seated = [setting_of(player.config, unit.game) for player in unit.players if not player.observes]
                alike = all(one == seated[0] for one in seated) and seated[0]["window"] is not None
                if alike and seated[0] not in (who for who, _ in groups):
                    groups.append((seated[0], Counter()))
                counts[row["match"]] = next((of for who, of in groups if who == seated[0]), None) if alike else None
            times = counts[row["match"]]
            if times is not None and len(row["actions"]) == unit.game.seats:
                times[text_of(unit.game, list(map(unit.game.index, range(unit.game.seats), row["actions"])))] += 1
    if not any(times for _, times in groups):
        raise StudyError(
            "the run has no finished match in which one agent has all seats and a window of real rounds",
            file=file, key=key, actual=run,
        )  # fmt: skip
    return [
        {**who, "run": run, "shares": {text: round(n / times.total(), 6) for text, n in sorted(times.items())}}
        for who, times in groups
        if times
    ]
