"""The traces of a run, counted: one row per reply that reasons, in ``traces.parquet``.

Replies stream from the run and only counts stay, so a corpus larger than memory is fine. Each reply to a
decision's own question is one trace, a reply that could not be read included; notes and predictions that are
asked for within a decision, and ends that were forced on a model, are none. ``traces.json`` says from what
the table was made: it is made again when the run has grown or other lexicons are asked for.

Counted traces are summed over groups: frequencies, ratios and mentions, each under the name of its meaning; and every
list under every rule, because a count depends on the matching rule.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import orjson

from ostrom.analysis.measure import Measure, Rows
from ostrom.data.rundata import BATCH, FRESHNESS, RunData, quoted
from ostrom.data.tables import import_polars, literal
from ostrom.features.words.lexicons import (
    MODES,
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
from ostrom.ground.errors import RunError, UnknownName, UsageError
from ostrom.ground.files import read_plain, require_regular_file, write_atomically
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
"""The longest answer alone, in characters; the cap keeps the patterns from quadratic time."""


def reasoning_of(
    reply: str | None, reasoning: str | None = None, kind: str | None = None, label: str | None = None
) -> tuple[str, str]:
    """Return the text to analyse and its source (reply, reasoning or both); empty without reasoning.

    ``kind`` is the kind of the reasoning field, ``label`` the option's label that the reply was read as.

    >>> reasoning_of("They cheated.\\n[A1]")
    ('They cheated.', 'written')
    >>> reasoning_of("[A1]", "Trust is gone.", "raw")
    ('Trust is gone.', 'raw')
    >>> reasoning_of("[A1]")
    ('', '')
    """
    parts = [
        (kind if kind and kind != "none" else "raw", (reasoning or "").strip()),
        ("written", without_answer(reply or "", label)),
    ]
    parts = [part for part in parts if _SPEAKS.search(part[1])]
    return "\n\n".join(text for _, text in parts), "+".join(name for name, _ in parts)


def without_answer(reply: str, label: str | None = None) -> str:
    """A reply without its final answer.

    >>> without_answer("I hope so.\\n\\n**Answer: [A0]**"), without_answer("So I choose A0.")
    ('I hope so.', 'So I choose A0.')
    >>> without_answer('Even odds.\\n{"A0": 50, "A1": 50}')
    'Even odds.'
    """
    text = _unfenced(reply)
    if text.endswith("}") and (start := _object_start(text)) is not None:
        return _unfenced(text[:start])
    lines = text.split("\n")
    while lines and not _SPEAKS.search(lines[-1]):
        lines.pop()
    if lines and _answers(lines[-1], label):
        lines.pop()
    return _unfenced("\n".join(lines))


def _unfenced(text: str) -> str:
    """Strip white space and a closing code fence from the end of a text."""
    text = text.rstrip()
    head, _, last = text.rpartition("\n")
    return head.rstrip() if _FENCE.fullmatch(last.strip()) else text


def _answers(line: str, label: str | None) -> bool:
    """Return whether a line consists of an answer alone."""
    line = line.strip()
    if len(line) > _LONGEST:
        return False
    headed = _HEADED.fullmatch(line)
    return _is_option(line, label) or (headed is not None and _is_option(headed["rest"], label))


def _is_option(piece: str, label: str | None) -> bool:
    core = piece.strip(_MARKS)
    return bool(core) and (
        (label is not None and core.casefold() == label.strip(_MARKS).casefold())
        or len(core.split()) == 1
        or _BRACKETED.fullmatch(piece) is not None
    )


def _object_start(text: str) -> int | None:
    """Where the JSON object begins whose last bracket ends a text; None if its brackets do not match."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == "}") - (text[place] == "{")
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
    """The number of replies with reasoning."""
    replies: int
    """The number of replies to the decisions themselves, with or without reasoning."""
    lexicons: tuple[str, ...]
    ratios: tuple[Ratio, ...]


def trace_lexicons(file: str | Path | None = None) -> tuple[Lexicon, ...]:
    """Return the published lists and the list of defection words; a file adds lists or replaces equally named ones.

    >>> [lexicon.name for lexicon in trace_lexicons()]
    ['forward_looking', 'history_following', 'paranoia', 'cooperation', 'defection']
    """
    by_name = {lexicon.name: lexicon for lexicon in (*memory_curse(), defection())}
    if file is not None:
        by_name |= {lexicon.name: lexicon for lexicon in load_lexicons(file)}
    return tuple(by_name.values())


def trace_table(data: RunData, lexicons: Sequence[Lexicon] | None = None, match: Mode | None = None) -> TraceTable:
    """Return the counted traces of a run: the table on disk if it is current, else a new one.

    With ``match`` all lists are counted under that rule, in a table of its own (``traces-word.parquet``).
    """
    lists = matched(trace_lexicons() if lexicons is None else lexicons, match)
    names = tuple(lexicon.name for lexicon in lists)
    ratios = tuple(ratio for ratio in RATIOS if ratio.part in names and ratio.other in names)
    reserved = {*key_columns(data), *FIGURES, *(r.name for r in RATIOS), *(f"{name}_per_1000" for name in names)}
    for name in names:
        if name in reserved:
            raise UsageError(f"lexicons.{name}: the table of traces has a column of this name; choose another")
    path = data.folder / f"{TABLE}{f'-{match}' if match else ''}.parquet"
    beside, state = path.with_suffix(".json"), _state(data, lists)
    record = _recorded(beside)
    if record is None or record.get("state") != state or not path.exists():
        try:
            record = {"state": state, **_write(data, lists, ratios, path)}
            write_atomically(beside, orjson.dumps(record, option=orjson.OPT_INDENT_2))
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    return TraceTable(path, record["rows"], record["replies"], names, ratios)


def key_columns(data: RunData) -> list[str]:
    """The columns that say where a trace comes from."""
    return list(dict.fromkeys([*OWN, *data.factors, "agent_memory", "agent_style"]))


def trace_texts(data: RunData, where: str = "", params: Sequence[Any] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield every reply to a decision itself: its key columns, the source of its reasoning, and the text.

    Both are empty where the reply does not reason.
    """
    keys = ", ".join(f"t.{quoted(name)}" for name in key_columns(data))
    condition = f" AND ({where})" if where else ""
    cursor = data.views("traces decisions").cursor()
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
                text, text_origin = reasoning_of(reply, reasoning, kind, label)
                yield (*key, text_origin), text
    finally:
        cursor.close()


def _write(data: RunData, lexicons: tuple[Lexicon, ...], ratios: tuple[Ratio, ...], path: Path) -> dict[str, int]:
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
            frame = import_polars().DataFrame(rows, schema=schema, orient="row")
            frame.write_parquet(parts[-1], compression="zstd")
            total += len(rows)
        draft = folder / path.name
        listed = ", ".join(literal(str(part)) for part in parts)
        cursor = data.connection.cursor()
        cursor.execute(
            f"COPY (SELECT *{_figures(lexicons, ratios)} FROM read_parquet([{listed}])) "
            f"TO {literal(str(draft))} (FORMAT parquet, COMPRESSION zstd)"
        ).fetchall()
        cursor.close()
        draft.replace(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"rows": total, "replies": seen}


def _figures(lexicons: tuple[Lexicon, ...], ratios: tuple[Ratio, ...]) -> str:
    """Return SQL for the frequencies and ratios of single traces; NULL where undefined."""
    figures = [f"1000.0 * {quoted(x.name)} / nullif(words, 0) AS {quoted(x.name + '_per_1000')}" for x in lexicons]
    for ratio in ratios:
        part, other = quoted(ratio.part), quoted(ratio.other)
        figures.append(f"{part} / nullif({part} + {other}, 0)::DOUBLE AS {quoted(ratio.name)}")
    return "".join(f", {figure}" for figure in figures)


def _chunks(batches: Iterator[CountBatch[Any]], data: RunData) -> Iterator[list[tuple[Any, ...]]]:
    """Rows of the table in pieces that fit into memory; the last one may be empty."""
    memory = key_columns(data).index("agent_memory")
    derived = "history_length" not in data.factors
    rows: list[tuple[Any, ...]] = []
    for batch in batches:
        for key, words, counts in zip(batch.keys, batch.words.tolist(), batch.counts.tolist(), strict=True):
            rows.append((*key[:-1], *((span_of(key[memory]).length,) if derived else ()), key[-1], words, *counts))
        if len(rows) >= PART_ROWS:
            yield rows
            rows = []
    yield rows


def _schema(data: RunData, lexicons: tuple[Lexicon, ...]) -> dict[str, Any]:
    polars = import_polars()
    kinds = {"BIGINT": polars.Int64, "DOUBLE": polars.Float64, "BOOLEAN": polars.Boolean}
    described = {row["column_name"]: row["column_type"] for row in data.records("DESCRIBE traces")}
    schema = {name: kinds.get(described[name], polars.String) for name in key_columns(data)}
    schema.setdefault("history_length", polars.Int64)
    return {**schema, "reasoning": polars.String, "words": polars.Int64, **{x.name: polars.Int64 for x in lexicons}}


def _state(data: RunData, lexicons: tuple[Lexicon, ...]) -> dict[str, Any]:
    """What the table depends on: the run's tables, the version, and every word of the lexicons."""
    lists = [[x.name, x.mode, list(x.terms), list(x.labels)] for x in lexicons]
    tables = orjson.loads(read_plain(data.folder / FRESHNESS))
    return {
        "ostrom": __version__,
        # "result" is made from the tables; "rows" says which tables were requested so far.
        "tables": {name: fact for name, fact in tables.items() if name not in ("result", "rows")},
        "lexicons": blake2b(orjson.dumps(lists), digest_size=12).hexdigest(),
    }


def _recorded(path: Path) -> dict[str, Any] | None:
    try:
        require_regular_file(path.with_suffix(".parquet"))
        record = orjson.loads(read_plain(path))
    except (OSError, RunError, orjson.JSONDecodeError):  # a symbolic link is replaced by the table
        return None
    return record if isinstance(record, dict) and {"rows", "replies"} <= set(record) else None


DONE = "state = 'done'"
"""Only traces of finished matches enter a summary, as only finished matches enter a result."""


def default_groups(data: RunData) -> list[str]:
    """Return the default columns to group by: agent, every factor, and the source of the reasoning."""
    return ["agent", *data.factors, "reasoning"]


def source(table: TraceTable) -> str:
    """Return the SQL expression that reads the table."""
    return f"read_parquet({literal(str(table.path))})"


def trace_summary(data: RunData, table: TraceTable, by: Sequence[str]) -> list[dict[str, Any]]:
    """One row per group, in the order of the matches.

    Of every list: matches, ``_per_1000_words`` (of all words together), ``_share`` (of traces that mention
    it). Of every ratio: ``_of_sums`` (all matches together) and ``_mean`` (over the traces that have one);
    None where no trace has a match.
    """
    column_names = [row["column_name"] for row in data.records(f"DESCRIBE SELECT * FROM {source(table)}")]
    for name in by:
        if name not in column_names:
            raise UnknownName("column of traces", name, column_names)
    if not table.rows:
        return []
    figures = ["count(*) AS traces", "sum(words)::BIGINT AS words"]
    for name in table.lexicons:
        column = quoted(name)
        figures += [
            f"sum({column})::BIGINT AS {column}",
            f"1000 * sum({column}) / nullif(sum(words), 0) AS {quoted(name + '_per_1000_words')}",
            f"avg(({column} > 0)::INTEGER) AS {quoted(name + '_share')}",
        ]
    for ratio in table.ratios:
        part, other = quoted(ratio.part), quoted(ratio.other)
        figures += [
            f"sum({part}) / nullif(sum({part}) + sum({other}), 0) AS {quoted(ratio.name + '_of_sums')}",
            f"avg({quoted(ratio.name)}) AS {quoted(ratio.name + '_mean')}",
        ]
    # GROUP BY column numbers: a name such as "cooperation" may be both a word list and a column of ``by``.
    keys = "".join(f"{quoted(name)}, " for name in by)
    groups = f" GROUP BY {', '.join(str(i + 1) for i in range(len(by)))}" if by else " HAVING count(*) > 0"
    return data.records(
        f"SELECT {keys}{', '.join(figures)} FROM {source(table)} WHERE {DONE}{groups} ORDER BY min(match), min(id)"
    )


def unfinished(data: RunData, table: TraceTable) -> int:
    """Return the number of traces of unfinished matches, which enter no summary."""
    if not table.rows:
        return 0
    return int(data.records(f"SELECT count(*) AS n FROM {source(table)} WHERE NOT ({DONE})")[0]["n"])


def sensitivity(data: RunData, lexicons: Sequence[Lexicon] | None = None) -> list[dict[str, Any]]:
    """Return the counts of every list under every rule over all traces; empty where no finished match has a trace.

    ``used`` says whether a rule is the list's own.
    """
    lists = trace_lexicons() if lexicons is None else tuple(lexicons)
    rows: dict[Mode, dict[str, float]] = {}
    for mode in MODES:
        summary = trace_summary(data, trace_table(data, lists, mode), ())  # type: ignore[arg-type]
        if not summary:
            return []
        rows[mode] = summary[0]  # type: ignore[index]
    return [
        {
            "words": x.name, "match": mode, "used": mode == x.mode, "traces": int(row["traces"]),
            "matches": int(row[x.name]), "per_1000_words": row[f"{x.name}_per_1000_words"],
            "share_of_traces": row[f"{x.name}_share"],
        }
        for x in lists
        for mode, row in rows.items()
    ]  # fmt: skip


COLUMNS = ("history_length",)
"""The number of rounds the player saw; matches have this column only where the study varies it."""


def of_traces(data: RunData, part: str, total: str, scale: float = 1.0, match: Mode | None = None) -> Rows:
    """Return rows of part over total (SQL over columns of the trace table), weighted by the total.

    The weighted mean over players and matches is then the part of all of them over the whole of all of them.
    """
    if not data.rows["calls"]:
        return []
    return data.records(
        f"SELECT match, player, any_value(history_length) AS history_length, sum({total})::DOUBLE AS weight, "
        f"{scale} * sum({part}) / nullif(sum({total}), 0) AS value FROM {source(trace_table(data, match=match))} "
        f"WHERE {DONE} GROUP BY match, player ORDER BY match, player"
    )


def known_words(words: str, match: Mode | None) -> str:
    """Check that a word list exists; return its name with the matching rule."""
    rules = {lexicon.name: lexicon.mode for lexicon in trace_lexicons()}
    if words not in rules:
        raise UnknownName("list of words", words, rules)
    return match or rules[words]


def word_rate(words: str = "paranoia", match: Mode | None = None) -> Measure:
    """Words of a list per 1,000 words of reasoning.

    ``words`` is the name of a list: forward_looking, history_following, paranoia, cooperation, defection.
    ``match`` is word, inflected, prefix or substring; by default the list's own rule.
    """
    return Measure(
        name="word_rate",
        title=f"{words.replace('_', ' ').capitalize()} words per 1,000 words",
        scale="number",
        definition=(
            f"Words of the list {words} (matched as {known_words(words, match)}) per 1,000 words of a player's "
            "reasoning, all words counted alike."
        ),
        bounds=(0.0, None),
        needs=("matches.agent_memory",),
        values=lambda data: of_traces(data, quoted(words), "words", 1000.0, match),
        source="Liu et al. (2026), Appendix E.2",
        columns=COLUMNS,
    )


def word_mentions(words: str = "defection", match: Mode | None = None) -> Measure:
    """The share of traces with a word of a list.

    ``words`` is the name of a list and ``match`` its rule, as for ``word_rate``.
    """
    return Measure(
        name="word_mentions",
        title=f"Share of traces with {words.replace('_', ' ')} words",
        scale="share",
        definition=(
            f"The share of a player's traces of reasoning with a word of the list {words} (matched as "
            f"{known_words(words, match)})."
        ),
        needs=("matches.agent_memory",),
        values=lambda data: of_traces(data, f"({quoted(words)} > 0)::INTEGER", "1", match=match),
        columns=COLUMNS,
    )


def word_ratio(
    ratio: str = RATIOS[0].name, each: Literal["word", "trace"] = "word", match: Mode | None = None
) -> Measure:
    """The ratio of the words of two lists.

    ``ratio`` is forward_looking_ratio, paranoia_ratio or cooperation_ratio.
    By default all words count alike; with ``each: trace`` every trace that has a ratio does. ``match`` is the rule for
    both lists (word, inflected, prefix or substring); by default each has its own.
    """
    ratios_by_name = {one.name: one for one in RATIOS}
    if ratio not in ratios_by_name:
        raise UnknownName("ratio of words", ratio, ratios_by_name)
    if each not in ("word", "trace"):
        raise ValueError(f"each must be word or trace (found {each!r})")
    rules = [known_words(name, match) for name in ratios_by_name[ratio][1:]]
    part, other = quoted(ratios_by_name[ratio].part), quoted(ratios_by_name[ratio].other)
    sums = (part, f"{part} + {other}") if each == "word" else (quoted(ratio), f"({part} + {other} > 0)::INTEGER")
    return Measure(
        name="word_ratio",
        title=ratio.replace("_", " ").capitalize(),
        scale="share",
        definition=(
            f"Words of the list {ratios_by_name[ratio].part} as a share of those and the words of the list "
            f"{ratios_by_name[ratio].other} in a player's reasoning (matched as {' and '.join(dict.fromkeys(rules))}); "
            f"every {each} counts alike."
        ),
        needs=("matches.agent_memory",),
        values=lambda data: of_traces(data, *sums, match=match),
        source="Liu et al. (2026), Appendices D.2 and E.2",
        columns=COLUMNS,
    )
