"""A run as a dataset folder: Parquet tables, a card for readers, and Croissant metadata for programs.

``datasets.load_dataset(PATH)`` loads the decisions, ``load_dataset(PATH, "matches")`` another table.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from ostrom.data.tables import TYPES, factor_types, frames, import_polars, people_columns, write_frames
from ostrom.ground.errors import UsageError
from ostrom.ground.files import draft_of, write_atomically
from ostrom.ground.version import __version__
from ostrom.studies.run import Run

TEXTS = ("reply", "reasoning", "logprobs")
"""Columns of the calls table that hold text written by a model."""
KINDS = {int: "sc:Integer", float: "sc:Float", bool: "sc:Boolean", str: "sc:Text"}
ABOUT = {
    "decisions": "One row per decision.",
    "rounds": "One row per player and settled round, asked or not.",
    "matches": "One row per match and player.",
    "calls": "One row per try at a call of a model.",
    "visits": "One row per person who took part.",
}

COLUMNS = {
    "run": "the run",
    "match": "number of the match in the run",
    "unit": "what was played: match, preparation, ...",
    "seed": "seed of the replicate",
    "generation": "number of the generation, from 0",
    "game": "the game",
    "mechanism": "the rules around the game",
    "state": "done, skipped, failed or open",
    "reason": "why a match did not end as planned",
    "step": "number of the step in the match, from 0",
    "round": "number of the round, from 1",
    "meeting": "number of the meeting, from 1: populations meet several times in a generation",
    "at_table": "the first player of those who met in the round; empty for who met nobody, or all neighbours",
    "what": "chose, bound, delegated, idle, not reached, unmet, missed or void",
    "paid": "the part of the payoff that an agreement or a fine made",
    "weight": "what the round weighs in the score: weighted payoffs sum to it",
    "player": "number of the player in the match, from 1",
    "seat": "seat in the game, from 1",
    "role": "name of the seat",
    "agent": "name of the agent: its type, and what its seat changes",
    "agent_id": "hash of the whole configuration of the agent",
    "model": "the language model",
    "strategy": "the scripted strategy",
    "agent_memory": "which part of the past the agent is shown",
    "agent_style": "how the agent is asked to answer",
    "opponents": "names of the other players",
    "kind": "what was asked: act, predict, vote, sign, note, ...",
    "target": "the player whom the question is about",
    "answer": "the answer as given",
    "action": "the action that was carried out",
    "label": "the label that was shown for the action",
    "options": "all labels in the order shown",
    "cooperative": "whether the action is the cooperative one",
    "payoff": "what the round paid",
    "expected": "exact expected payoff where all odds are known",
    "probabilities": "stated or measured odds of the options",
    "p_cooperate": "stated or measured chance of cooperating",
    "reading": "how the answer was read",
    "invalid": "whether a policy put the answer there",
    "missed": "whether nobody answered in time",
    "complaints": "unreadable replies before the answer",
    "policies": "answers that a policy put there",
    "missed_decisions": "decisions that nobody answered in time",
    "refusals": "calls that were declined",
    "note": "a note on the answer",
    "rationale": "reasons that were asked for",
    "copied": "whether the answer was copied from another run",
    "rounds_played": "how many rounds were played",
    "score": "mean payoff per round, discounted where the rules discount",
    "total": "sum of the payoffs of all rounds",
    "stage": "stage of the round",
    "amount": "the amount that was chosen",
    "least": "the least amount that was allowed",
    "most": "the largest amount that was allowed",
    "theory": "the amount that theory says",
    "as_theory": "whether the answer is what theory says",
    "expected_score": "exact expected payoff of a one-shot match",
    "cooperation": "share of cooperative actions",
    "facts": "what else came to pass, as JSON",
    "id": "number of the call",
    "part": "which question within the decision",
    "try": "number of the try",
    "at": "when the call was made (Unix time)",
    "params": "parameters of the call, as JSON",
    "prompt": "the messages that were sent, as JSON",
    "reply": "what the model wrote",
    "reasoning": "reasoning that the server returned apart from the reply",
    "reasoning_kind": "whether the reasoning is whole, a summary or hidden",
    "finish": "why the reply ended",
    "tokens_in": "tokens of the prompt",
    "tokens_out": "tokens of the reply",
    "tokens_cached": "tokens of the prompt that the server had cached",
    "tokens_reasoning": "tokens of the reasoning",
    "usd": "price of the call in US dollars",
    "logprobs": "log-probabilities, as JSON",
    "version": "version of the model that the server named",
    "latency": "seconds the call took",
    "source": "live or cache",
    "error": "what went wrong",
    "status": "HTTP status",
    "visit": "number of the visit",
    "person": "random code of the person",
    "excluded": "whether the analysis leaves the person out",
    "shown": "milliseconds from the start of the visit until the question was shown",
    "answered": "milliseconds from the start of the visit until the answer",
    "served": "who played with the person",
    "assigned": "who was planned to play with the person",
    "interrupted": "whether the connection was lost meanwhile",
}
"""The meaning of each column of the tables, for the dataset card."""


def write_dataset(
    run: Run, out: Path, *, texts: bool = False, visits: bool = False, licence: str | None = None
) -> dict[str, tuple[Path, int]]:
    """Write the dataset folder; return the file and the number of rows of each table."""
    if licence is not None and ("\n" in licence or not licence.strip()):
        raise UsageError(f"--licence {licence!r}: must be one short name, for example cc-by-4.0")
    rows = run.rows
    types = {**TYPES, **factor_types(rows), **run.plan.round_columns}
    more = people_columns(rows)
    names = ["decisions", "rounds", "matches", "calls", *(["visits"] if visits and more else [])]
    (out / "data").mkdir(exist_ok=True)
    if "visits" not in names:  # answers of people are exported only on request
        (out / "data" / "visits.parquet").unlink(missing_ok=True)
    files, fields = {}, {}
    for name in names:
        path = out / "data" / f"{name}.parquet"
        draft, kinds = draft_of(path), {**types, **more.get(name, {})}
        seen: dict[str, type] = {}
        tables = (_call_frame(run, of, texts) if name == "calls" else of for of in frames(rows, name, kinds))
        count = write_frames(draft, _noted(tables, seen, kinds))
        draft.replace(path)
        if count:  # a table without rows has no columns and cannot be loaded
            files[name], fields[name] = (path, count), seen
        else:
            path.unlink()
    write_atomically(out / "README.md", _card(run, files, fields, texts, licence).encode())
    write_atomically(
        out / "croissant.json", orjson.dumps(_croissant(run, files, fields, licence), option=orjson.OPT_INDENT_2)
    )
    return {**files, "card": (out / "README.md", 1), "croissant": (out / "croissant.json", 1)}


def _call_frame(run: Run, frame: Any, texts: bool) -> Any:
    """Return calls without texts or, on request, with prompts and replies."""
    if not texts:
        return frame.drop(TEXTS)
    prompts = [
        orjson.dumps([{"role": role, "content": text} for role, text in run.journal.prompt(call) or []]).decode()
        for call in frame["id"]
    ]
    return frame.with_columns(import_polars().Series("prompt", prompts))


def _noted(tables: Iterable[Any], seen: dict[str, type], kinds: Mapping[str, type]) -> Iterator[Any]:
    """Yield the frames unchanged and store the columns and types of the first one in ``seen``."""
    for frame in tables:
        if not seen:
            seen.update({name: kinds.get(name, str) for name in frame.columns})
        yield frame


def _title(run: Run) -> str:
    return run.plan.study.title or run.plan.name


def _card(
    run: Run,
    files: Mapping[str, tuple[Path, int]],
    fields: Mapping[str, Mapping[str, type]],
    texts: bool,
    licence: str | None,
) -> str:
    """Return the dataset card: metadata for loaders first, text for people after it."""
    import yaml

    study = run.plan.study
    front = {
        "pretty_name": _title(run),
        "license": licence or "unknown",
        "tags": ["game-theory", "cooperation", "language-models", "ostrom"],
        "configs": [
            {"config_name": name, "data_files": f"data/{name}.parquet", **({"default": True} if not place else {})}
            for place, name in enumerate(files)
        ],
    }
    bound = run.manifest.get("registered")
    models = ", ".join(run.plan.models) or "none: strategies or people only"
    lines = [
        "---",
        yaml.safe_dump(front, sort_keys=False, allow_unicode=True).strip(),
        "---",
        f"# {_line(_title(run))}",
        *([_line(study.about)] if study.about else []),
        "",
        f"Matches played with [Ostrom](https://pypi.org/project/ostrom/) {__version__}, study `{run.plan.name}`, "
        f"run `{run.name}` of {run.manifest['created']}.",
        "",
        f"* Models: {_line(models)}",
        f"* Varied: {_line(', '.join(factor.name for factor in run.plan.factors) or 'nothing')}",
        f"* Seeds: {study.seeds}",
        *([f"* After: {_line(study.citation)}"] if study.citation else []),
        f"* Prompts, replies and reasoning: {'in the table calls' if texts else 'left out'}",
        *([f"* Registration: {bound['hash']}. All but its contrasts is exploratory."] if bound else []),
        "* People: random codes only; names and contact data are never exported",
        "",
    ]
    for name, (_, count) in files.items():
        lines += [f"## {name}", "", f"{ABOUT[name]} {count} rows.", "", "| column | type | meaning |", "|---|---|---|"]
        factors = {factor.name for factor in run.plan.factors}
        lines += [
            f"| `{_line(column)}` | {kind.__name__} | {_meaning(column, factors)} |"
            for column, kind in fields[name].items()
        ]
        lines.append("")
    lines += [
        "```python",
        "from datasets import load_dataset",
        "",
        f'{next(iter(files), "decisions")} = load_dataset("PATH")["train"]',
        "```",
        "",
    ]
    return "\n".join(lines)


def _croissant(
    run: Run, files: Mapping[str, tuple[Path, int]], fields: Mapping[str, Mapping[str, type]], licence: str | None
) -> dict[str, Any]:
    """Return the Croissant 1.0 metadata: every file with its hash, every table with its columns."""
    factors = {factor.name for factor in run.plan.factors}
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": run.plan.name,
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "description": run.plan.study.about or _title(run),
        "license": licence or "unknown",
        "url": "https://pypi.org/project/ostrom/",
        "version": "1.0.0",
        "datePublished": run.manifest["created"],
        "citeAs": run.plan.study.citation or _title(run),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": f"{name}.parquet",
                "name": f"{name}.parquet",
                "contentUrl": f"data/{name}.parquet",
                "encodingFormat": "application/x-parquet",
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            for name, (path, _) in files.items()
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": name,
                "name": name,
                "description": ABOUT[name],
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"{name}/{column}",
                        "name": f"{name}/{column}",
                        "description": _meaning(column, factors),
                        "dataType": KINDS[kind],
                        "source": {"fileObject": {"@id": f"{name}.parquet"}, "extract": {"column": column}},
                    }
                    for column, kind in fields[name].items()
                ],
            }
            for name in files
        ],
    }


def _meaning(column: str, factors: set[str]) -> str:
    return COLUMNS.get(column) or ("a factor of the study" if column in factors else "a column of this study")


def _line(text: str) -> str:
    """Return a text as one line without markup, to be put into a card."""
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "\\|").replace("`", "'")


CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The vocabulary of Croissant 1.0."""
