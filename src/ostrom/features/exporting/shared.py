"""A run to be shared: its tables without any text by a model or a person, in a folder that opens like a run.

`ostrom estimate`, `compare`, `pool`, `gate` and `report` take the folder wherever they take a run.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from ostrom.data.early_looks import DECIDED, counted_looks
from ostrom.data.tables import TYPES, factor_types, write_parquet
from ostrom.engine.folder import MANIFEST, identity, kind_of, manifest_bytes
from ostrom.engine.rows import Row
from ostrom.games import copy_game_files, game_hashes
from ostrom.ground.errors import UsageError
from ostrom.ground.files import content_hash, draft_of, read_plain, write_atomically
from ostrom.models.redaction import redact
from ostrom.studies.run import Run

TEXTS = frozenset("reply reasoning logprobs error reason note rationale".split())
"""Columns that are empty in shared tables."""
TIMES = ("at", "latency")
"""Columns of seconds, which shared tables give to the millisecond: more digits double the table of calls."""
LEFT = ("prompts_folder", "prompts_home", "code_home", "joined", "shard")
"""Keys of a manifest that point to other folders and are left out."""
LONGEST = 40
"""The longest text kept among facts, in characters: a name, not a sentence."""
WRITTEN = frozenset("text message messages reasons".split())
"""Keys of facts that hold text by players, however short."""
_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d+)?\s*")


def write_shared(run: Run, out: Path) -> dict[str, tuple[Path, int]]:
    """Write the folder of a shared run; return the file and the number of rows of each table."""
    manifest = run.manifest
    if manifest.get("shared"):
        raise UsageError(f"{run.folder.path}: is a shared run already (copy its folder)")
    if kind_of(manifest) != "study" or run.plan.study.people is not None:
        raise UsageError(
            f"{run.folder.path}: only runs of studies without people are shared (--format hf writes any run)"
        )
    if any(game.as_journaled(run.journal.questions) is not game for game in run.plan.games):
        raise UsageError(f"{run.folder.path}: was played when actions had other names; --format hf writes it")
    if out.resolve() == run.folder.path.resolve():
        raise UsageError(f"--out {out}: is the run itself (name another folder)")
    if (out / MANIFEST).exists() and not (out / MARK).exists():
        raise UsageError(f"--out {out}: holds a run (name another folder)")
    rows = run.rows
    types = {**TYPES, **factor_types(rows), **run.plan.round_columns}
    write_atomically(out / MARK, b"Shared by `ostrom export --format shared`: tables without texts.\n")
    files, tables = {}, {}
    for name, source in {
        "matches": rows.matches,
        "rounds": rows.rounds,
        "decisions": rows.decisions,
        "calls": rows.calls,
    }.items():
        path = out / f"{name}.parquet"
        draft = draft_of(path)
        count = write_parquet(draft, ({**without_texts(row), "run": out.name} for row in source()), types)
        draft.replace(path)
        files[name] = (path, count)
        tables[name] = {"rows": count, "digest": content_hash(path.read_bytes())}
    # A manifest holds no API keys; whatever looks like one in a name or an address is removed as well.
    clean: dict[str, Any] = orjson.loads(
        redact(orjson.dumps({key: value for key, value in manifest.items() if key not in LEFT}).decode(), ())
    )
    looks = counted_looks(run.folder.path, manifest, run.journal.entries) if manifest.get("registered") else None
    clean["shared"] = {
        "of": identity(manifest), "tables": tables, "versions": run.journal.versions,
        **({} if looks is None else {"looks": [asdict(look) for look in looks]}),
    }  # fmt: skip
    if (decided := run.folder.path / DECIDED).exists():
        write_atomically(out / DECIDED, read_plain(decided))
    write_atomically(out / MANIFEST, manifest_bytes(clean))
    copy_game_files(game_hashes(manifest), run.folder.path, out)
    return {**files, "manifest": (out / MANIFEST, 1)}


MARK = "SHARED.txt"


def without_texts(row: Row) -> dict[str, Any]:
    """Return a row without free text: answers that are neither an option nor a number, and messages in facts.

    >>> without_texts({"answer": "I trust you", "options": '["A", "B"]', "note": "x", "facts": '{"text": "a", "n": 1}'})
    {'answer': None, 'options': '["A", "B"]', 'note': None, 'facts': '{"text":"","n":1}'}
    """
    cleaned = {
        name: None if name in TEXTS else round(value, 3) if name in TIMES and value is not None else value
        for name, value in row.items()
    }
    if cleaned.get("answer") is not None and cleaned.get("action") is None:
        answer = str(cleaned["answer"])
        cleaned["answer"] = (
            cleaned["answer"]
            if (answer.strip() and answer in _options(cleaned.get("options"))) or _NUMBER.fullmatch(answer)
            else None
        )
    facts = cleaned.get("facts")
    if isinstance(facts, str):
        cleaned["facts"] = orjson.dumps(_short(orjson.loads(facts))).decode()
    return cleaned


def _options(text: Any) -> list[Any]:
    try:
        options = orjson.loads(text) if isinstance(text, str) else text or []
    except orjson.JSONDecodeError:
        return str(text).split(",")
    return options if isinstance(options, list) else []


def _short(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _short(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner, key) for inner in value]
    return "" if isinstance(value, str) and (key in WRITTEN or len(value) > LONGEST) else value
