"""The traces of a run, counted: one row per reply that reasons, in ``traces.parquet``.

Replies stream from the run and only counts stay, so a corpus larger than memory is fine. Each reply to a
decision's own question is one trace, a reply that could not be read included; notes and predictions that are
asked for within a decision, and ends that were forced on a model, are none. ``traces.json`` says from what
the table was made: it is made again when the run has grown or other lexicons are asked for.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from ostrom.data.rundata import BATCH, FRESHNESS, RunData, literal, quoted
from ostrom.data.tables import import_polars
from ostrom.features.words.lexicons import (
    RATIOS,
    CountBatch,
    Lexicon,
    Mode,
    Ratio,
    count_batches,
    defection,
    load_lexicons,
    matched,
    memory_curse,
)
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import plain, read_plain, write_whole
from ostrom.ground.version import __version__
from ostrom.memory import memories
from ostrom.memory.catalog.sanitized import Sanitized
from ostrom.memory.recent import Window


@dataclass(frozen=True, slots=True)
class MemorySpan:
    """A memory: its name, the rounds it shows, and for a sanitized one how many of them are real."""

    name: str
    length: int | None
    """History length: the most rounds shown; None where the memory has no fixed number."""
    real: int | None = None
    mode: str | None = None


@lru_cache(maxsize=1024)
def span_of(memory: str) -> MemorySpan:
    """The span of a memory as the column ``agent_memory`` writes it.

    >>> span_of("window:80")
    MemorySpan(name='window', length=80, real=None, mode=None)
    >>> span_of('{"mode":"ideal","name":"sanitized","real":20}').real
    20
    """
    built = memories.build(orjson.loads(memory) if memory.startswith("{") else memory)
    if isinstance(built, Window):
        return MemorySpan(built.name, built.k)
    if isinstance(built, Sanitized):
        return MemorySpan(built.name, built.window, built.real, built.mode)
    return MemorySpan(built.name, None)


_MARKS = " \t*_`'\"“”‘’.!,;:()[]{}<>$\\|#-–—•="
_SPEAKS = re.compile(r"[^\W_]")
_BRACKETED = re.compile(r"[\s*_`'\"#>\-–•]*\[[^\[\]]{1,80}\][\s*_`'\".!]*")
_HEADED = re.compile(
    r"[\s*_`#>\-–•]*(?:(?:so|therefore|thus|hence)[,\s]+)?(?:my|the|your)?\s*(?:final\s+|last\s+)?"
    r"(?:answer|action|choice|decision|move|option)\b[\s*_`]*(?:is)?[\s*_`]*[:=]?(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FENCE = re.compile(r"```[A-Za-z]*")
_LONGEST = 200
"""No answer alone is longer; a cap keeps every pattern far from quadratic time."""


def reasoning_of(
    reply: str | None, reasoning: str | None = None, kind: str | None = None, label: str | None = None
) -> tuple[str, str]:
    """The text to analyse and what it is made of; both empty where nothing was reasoned.

    ``kind`` is the kind of the reasoning field, ``label`` the option's label that the reply was read as.

    >>> reasoning_of("They cheated.\\n[A1]")
    ('They cheated.', 'written')
    >>> reasoning_of("[A1]", "Trust is gone.", "raw")
    ('Trust is gone.', 'raw')
    >>> reasoning_of("[A1]")
    ('', '')
    """
    parts, kinds = [], []
    if reasoning and _SPEAKS.search(reasoning):
        parts.append(reasoning.strip())
        kinds.append(kind if kind and kind != "none" else "raw")
    written = without_answer(reply or "", label)
    if _SPEAKS.search(written):
        parts.append(written)
        kinds.append("written")
    return "\n\n".join(parts), "+".join(kinds)


def without_answer(reply: str, label: str | None = None) -> str:
    """A reply without its final answer.

    >>> without_answer("I hope so.\\n\\n**Answer: [A0]**"), without_answer("So I choose A0.")
    ('I hope so.', 'So I choose A0.')
    >>> without_answer('Even odds.\\n{"A0": 50, "A1": 50}')
    'Even odds.'
    """
    text = _unfenced(reply)
    if text.endswith("}"):
        start = _object_start(text)
        if start is not None:
            return _unfenced(text[:start])
    lines = text.split("\n")
    while lines and not _SPEAKS.search(lines[-1]):
        lines.pop()
    if lines and _answers(lines[-1], label):
        lines.pop()
    return _unfenced("\n".join(lines))


def _unfenced(text: str) -> str:
    """A text without white space and the mark of a code block at its end."""
    text = text.rstrip()
    head, _, last = text.rpartition("\n")
    return head.rstrip() if _FENCE.fullmatch(last.strip()) else text


def _answers(line: str, label: str | None) -> bool:
    """Whether a line is an answer alone."""
    line = line.strip()
    if len(line) > _LONGEST:
        return False
    headed = _HEADED.fullmatch(line)
    return _is_option(line, label) or (headed is not None and _is_option(headed["rest"], label))


def _is_option(piece: str, label: str | None) -> bool:
    core = piece.strip(_MARKS)
    if not core:
        return False
    if label is not None and core.casefold() == label.strip(_MARKS).casefold():
        return True
    return len(core.split()) == 1 or _BRACKETED.fullmatch(piece) is not None


def _object_start(text: str) -> int | None:
    """Where the JSON object at the end of a text begins; None if its brackets do not match."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        if text[place] == "}":
            depth += 1
        elif text[place] == "{":
            depth -= 1
            if not depth:
                return place
    return None


TABLE = "traces"
PART_ROWS = 50_000
OWN = (
    "match", "id", "step", "part", "try", "player", "seed", "unit", "seat", "game", "mechanism", "state",
    "agent", "model", "version", "finish",
)  # fmt: skip
FIGURES = ("history_length", "reasoning", "words")


@dataclass(frozen=True)
class TraceTable:
    """The counted traces of a run on disk."""

    path: Path
    rows: int
    """How many replies reason."""
    replies: int
    """How many replies there are to decisions' own questions, reasoned or not."""
    lexicons: tuple[str, ...]
    ratios: tuple[Ratio, ...]


def trace_lexicons(file: str | Path | None = None) -> tuple[Lexicon, ...]:
    """The published lists and ours for defections; a file adds lists, or replaces those of the same name.

    >>> [lexicon.name for lexicon in trace_lexicons()]
    ['forward_looking', 'history_following', 'paranoia', 'cooperation', 'defection']
    """
    known = {lexicon.name: lexicon for lexicon in (*memory_curse(), defection())}
    if file is not None:
        known |= {lexicon.name: lexicon for lexicon in load_lexicons(file)}
    return tuple(known.values())


def trace_table(
    data: RunData, lexicons: Sequence[Lexicon] | None = None, match: Mode | None = None
) -> TraceTable:
    """The counted traces of a run: the table on disk where it is still right, else made anew.

    With ``match`` all lists are counted under that rule, in a table of its own (``traces-word.parquet``).
    """
    lists = matched(trace_lexicons() if lexicons is None else lexicons, match)
    names = tuple(lexicon.name for lexicon in lists)
    ratios = tuple(ratio for ratio in RATIOS if ratio.part in names and ratio.other in names)
    taken = {*key_columns(data), *FIGURES, *(r.name for r in RATIOS), *(f"{name}_per_1000" for name in names)}
    for name in names:
        if name in taken:
            raise UsageError(
                f"lexicons.{name}: the table of traces has a column of this name; choose another"
            )
    path = data.folder / f"{TABLE}{f'-{match}' if match else ''}.parquet"
    beside, state = path.with_suffix(".json"), _state(data, lists)
    record = _recorded(beside)
    if record is None or record.get("state") != state or not path.exists():
        try:
            counted = _write(data, lists, ratios, path)
            record = {"state": state, **counted}
            write_whole(beside, orjson.dumps(record, option=orjson.OPT_INDENT_2))
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    return TraceTable(path, record["rows"], record["replies"], names, ratios)


def key_columns(data: RunData) -> list[str]:
    """The columns that say where a trace comes from."""
    return list(dict.fromkeys([*OWN, *data.factors, "agent_memory", "agent_style"]))


def trace_texts(
    data: RunData, where: str = "", params: Sequence[Any] = ()
) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Every reply to a decision's own question: key columns, then what it reasons in, and the text.

    Both are empty where the reply does not reason.
    """
    keys = ", ".join(f"t.{quoted(name)}" for name in key_columns(data))
    condition = f" AND ({where})" if where else ""
    cursor = data.connection.cursor()
    try:
        cursor.execute(
            f"SELECT {keys}, t.reply, t.reasoning, t.reasoning_kind, d.label FROM traces t LEFT JOIN "
            "(SELECT match, step, player, label FROM decisions WHERE label IS NOT NULL) d "
            "ON t.match = d.match AND t.step = d.step AND t.player = d.player "
            f"WHERE regexp_full_match(t.part, 'try[0-9]+'){condition}",
            list(params),
        )
        while batch := cursor.fetchmany(BATCH):
            for *key, reply, reasoning, kind, label in batch:
                text, made_of = reasoning_of(reply, reasoning, kind, label)
                yield (*key, made_of), text
    finally:
        cursor.close()


def _write(
    data: RunData, lexicons: tuple[Lexicon, ...], ratios: tuple[Ratio, ...], path: Path
) -> dict[str, int]:
    seen = 0

    def reasoned() -> Iterator[tuple[tuple[Any, ...], str]]:
        nonlocal seen
        for key, text in trace_texts(data):
            seen += 1
            if text:
                yield key, text

    schema = _schema(data, lexicons)
    total = 0
    folder = Path(tempfile.mkdtemp(prefix=".traces-", dir=data.folder))
    try:
        parts: list[Path] = []
        for rows in _chunks(count_batches(reasoned(), lexicons), data):
            parts.append(folder / f"{len(parts):06}.parquet")
            _frame(rows, schema).write_parquet(parts[-1], compression="zstd")
            total += len(rows)
        if not parts:
            parts.append(folder / "none.parquet")
            _frame([], schema).write_parquet(parts[0])
        draft = folder / path.name
        cursor = data.connection.cursor()
        cursor.execute(
            f"COPY (SELECT *{_figures(lexicons, ratios)} FROM read_parquet([{_listed(parts)}])) "
            f"TO {literal(str(draft))} (FORMAT parquet, COMPRESSION zstd)"
        ).fetchall()
        cursor.close()
        draft.replace(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"rows": total, "replies": seen}


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(literal(str(path)) for path in paths)


def _figures(lexicons: tuple[Lexicon, ...], ratios: tuple[Ratio, ...]) -> str:
    """Frequencies and ratios of single traces, for SQL; nothing where they are undefined."""
    figures = [
        f"1000.0 * {quoted(x.name)} / nullif(words, 0) AS {quoted(x.name + '_per_1000')}" for x in lexicons
    ]
    for ratio in ratios:
        part, other = quoted(ratio.part), quoted(ratio.other)
        figures.append(f"{part} / nullif({part} + {other}, 0)::DOUBLE AS {quoted(ratio.name)}")
    return "".join(f", {figure}" for figure in figures)


def _chunks(batches: Iterator[CountBatch[Any]], data: RunData) -> Iterator[list[tuple[Any, ...]]]:
    """Rows of the table in pieces that fit into memory."""
    memory = key_columns(data).index("agent_memory")
    derived = "history_length" not in data.factors
    rows: list[tuple[Any, ...]] = []
    for batch in batches:
        for key, words, counts in zip(batch.keys, batch.words.tolist(), batch.counts.tolist(), strict=True):
            extra = (span_of(key[memory]).length,) if derived else ()
            rows.append((*key[:-1], *extra, key[-1], words, *counts))
        if len(rows) >= PART_ROWS:
            yield rows
            rows = []
    if rows:
        yield rows


def _schema(data: RunData, lexicons: tuple[Lexicon, ...]) -> dict[str, Any]:
    polars = import_polars()
    kinds = {"BIGINT": polars.Int64, "DOUBLE": polars.Float64, "BOOLEAN": polars.Boolean}
    described = {row["column_name"]: row["column_type"] for row in data.records("DESCRIBE traces")}
    schema = {name: kinds.get(described[name], polars.String) for name in key_columns(data)}
    schema.setdefault("history_length", polars.Int64)
    counts = {lexicon.name: polars.Int64 for lexicon in lexicons}
    return {**schema, "reasoning": polars.String, "words": polars.Int64, **counts}


def _frame(rows: list[tuple[Any, ...]], schema: dict[str, Any]) -> Any:
    return import_polars().DataFrame(rows, schema=schema, orient="row")


def _state(data: RunData, lexicons: tuple[Lexicon, ...]) -> dict[str, Any]:
    """What the table depends on: the run's tables, the version, and every word of the lexicons."""
    lists = [[x.name, x.mode, list(x.terms), list(x.labels)] for x in lexicons]
    tables = orjson.loads(read_plain(data.folder / FRESHNESS))
    return {
        "ostrom": __version__,
        "tables": tables,
        "lexicons": blake2b(orjson.dumps(lists), digest_size=12).hexdigest(),
    }


def _recorded(path: Path) -> dict[str, Any] | None:
    try:
        plain(path.with_suffix(".parquet"))
        record = orjson.loads(read_plain(path))
    except (OSError, RunError, orjson.JSONDecodeError):  # a link is replaced by the table
        return None
    return record if isinstance(record, dict) and {"rows", "replies"} <= set(record) else None
