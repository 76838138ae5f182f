"""The tables of a run as files: derived from the journal, rebuilt at any time."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from importlib import import_module
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, TypeVar

import orjson

from ostrom.engine.rows import RULE_COLUMNS, Row, Rows, UnitTable, attributes_of
from ostrom.ground.errors import OstromError, RunError, UsageError
from ostrom.ground.files import draft_of

T = TypeVar("T")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def safe(value: Any) -> Any:
    """Prefix an apostrophe to a text that a spreadsheet could take for a formula.

    >>> safe("=1+1"), safe(" @SUM(A1)"), safe("cooperate"), safe(-1.5)
    ("'=1+1", "' @SUM(A1)", 'cooperate', -1.5)
    """
    formula = isinstance(value, str) and (value.startswith(_FORMULA) or value.lstrip().startswith(_FORMULA))
    return f"'{value}" if formula else value


def safe_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield rows with ``safe`` applied to values and column names."""
    return ({safe(name): safe(value) for name, value in row.items()} for row in rows)


TABLES = ("matches", "rounds", "decisions", "calls")
BATCH = 2048
"""The number of rows held as Python objects."""
BLOCK = 65_536
"""The number of decisions converted to columns together."""
WHOLE_BYTES, PART_BYTES = 256 << 20, 64 << 20
"""The bytes of a table up to which it is written from memory as a whole; those of a part, and of a row group, of a
larger one. A part stands in memory several times: read, written, and merged."""
GROUP_ROWS = 122_880
"""The most rows of a row group."""
VECTOR = 2048
"""DuckDB writes row groups in multiples of this."""

TYPES: Mapping[str, type] = {
    **dict.fromkeys(
        "match seed generation player seat target rounds_played step round complaints policies missed_decisions "
        "refusals meeting at_table try id tokens_in tokens_out tokens_cached tokens_reasoning status".split(),
        int,
    ),
    **dict.fromkeys(
        "score total expected_score cooperation payoff expected p_cooperate paid weight amount usd latency at".split(),
        float,
    ),
    **dict.fromkeys("cooperative invalid missed copied failed".split(), bool),
    **RULE_COLUMNS,
}
"""Types of columns that are no text; factors have the type of their levels."""


def table_names(rows: Rows) -> tuple[str, ...]:
    """Return the tables of a run; people and tools add one each."""
    tools = any(config.tools for config in rows.plan.agents)
    return (*TABLES, *(("visits",) if rows.people is not None else ()), *(("tool_calls",) if tools else ()))


def export_rows(
    rows: Rows, format: str, out: Path, *, safe: bool = False, tables: Sequence[str] = ()
) -> dict[str, tuple[Path, int]]:
    """Write tables (by default all) in one format; return file and number of rows of each.

    With ``safe`` no text in a CSV file can be taken for a formula by a spreadsheet.
    """
    writers: dict[str, Callable[[Path, Iterable[Row], Mapping[str, type]], int]] = {
        "parquet": write_parquet,
        "csv": write_csv,
        "jsonl": write_jsonl,
    }
    if format not in writers:
        raise UsageError(f"--format {format!r} (allowed: {', '.join(writers)})")
    if safe and format != "csv":
        raise UsageError(f"--safe is for --format csv; {format} files hold no formulas")
    types = {**TYPES, **factor_types(rows), **rows.plan.round_columns}
    more = people_columns(rows)
    written = {}
    try:
        out.mkdir(parents=True, exist_ok=True)
        paths = {name: out / f"{name}.{format}" for name in tables or table_names(rows)}
        kinds = {name: {**types, **more.get(name, {})} for name in paths}
        drafts = {name: draft_of(path) for name, path in paths.items()}
        counts = _write_parquet_tables(rows, drafts, kinds) if format == "parquet" else {}
        for name, path in paths.items():
            if format != "parquet":
                table: Iterable[Row] = getattr(rows, name)()
                counts[name] = writers[format](drafts[name], safe_rows(table) if safe else table, kinds[name])
            drafts[name].replace(path)
            written[name] = (path, counts[name])
    except OSError as error:
        raise RunError(f"{out}: cannot be written ({error.strerror or error})") from None
    return written


def people_columns(rows: Rows) -> Mapping[str, Mapping[str, type]]:
    """The columns that people add to each table."""
    return {} if rows.people is None else rows.people.columns


def factor_types(rows: Rows) -> dict[str, type]:
    """Return the type of each factor's column: that of its levels if they agree, else text."""
    types = {}
    for factor in rows.plan.factors:
        types[factor.name] = _common_type(level.label for level in factor.levels)
        for trait in factor.traits:
            types[trait] = _common_type(level.traits.get(trait) for level in factor.levels)
    if rows.plan.generations > 1:
        types["generation"] = int
    types.update({name: _common_type(values) for name, values in attributes_of(rows.plan).items()})
    return types


def _common_type(values: Iterable[Any]) -> type:
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int, float}:
        return float if float in kinds else int
    return bool if kinds == {bool} else str


def _write_parquet_tables(
    rows: Rows, drafts: Mapping[str, Path], kinds: Mapping[str, Mapping[str, type]]
) -> dict[str, int]:
    """Write tables of a run; matches are read once for all tables that are made of them. Returns numbers of rows."""
    with ExitStack() as stack:
        writers = {n: stack.enter_context(FrameWriter(path)) for n, path in drafts.items() if n in _blocks_of(rows)}
        for name, frame in unit_frames(rows, list(writers), kinds):
            writers[name].add(frame)
        counts = {name: writer.finish() for name, writer in writers.items()}
    others = (name for name in drafts if name not in counts)
    return counts | {name: write_frames(drafts[name], frames(rows, name, kinds[name])) for name in others}


def write_parquet(path: Path, rows: Iterable[Row], types: Mapping[str, type]) -> int:
    """Write rows as Apache Parquet."""
    return write_frames(path, (_frame(batch, types) for batch in batches(rows)))


def write_frames(path: Path, tables: Iterable[Any]) -> int:
    """Write frames as one Parquet file; return the number of rows."""
    with FrameWriter(path) as writer:
        for frame in tables:
            writer.add(frame)
        return writer.finish()


class FrameWriter:
    """Writes frames as one Parquet file.

    Memory is bounded by two parts, not by the table: replies can have any length. One part is written while the next
    is read; after ``finish`` no rows are held. The sizes of parts and row groups follow from the rows alone, so the
    same rows give the same bytes.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0
        self._frames: list[Any] = []
        self._rest: Any = None
        """Rows that fill no batch yet, where the table is written in parts."""
        self._size, self._total = 0.0, 0.0
        self._folder: Path | None = None
        """The folder of parts, once the table is too large for one."""
        self._parts: list[Path] = []
        self._before: Future[None] | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, frame: Any) -> None:
        """Add rows."""
        self.count += frame.height
        if self._folder is None and (size := self._size + _size(frame)) < WHOLE_BYTES:
            self._frames.append(frame)
            self._size = size
            return
        new = [frame]
        if self._folder is None:  # from the first row on in parts
            new, self._frames, self._size = [*self._frames, frame], [], 0.0
            scratch = TemporaryDirectory(prefix=f".{self.path.name}.", dir=self.path.parent)
            self._folder = Path(self._stack.enter_context(scratch))
            self._writer = self._stack.enter_context(ThreadPoolExecutor(1))
        for one in new:
            self._add_even(one)

    def _add_even(self, frame: Any) -> None:
        """Add rows in batches of ``BATCH``, so that parts begin at the same rows however rows come in."""
        frame = frame if self._rest is None else import_polars().concat([self._rest, frame], rechunk=True)
        full_rows = frame.height // BATCH * BATCH
        self._rest = frame.slice(full_rows) if full_rows < frame.height else None
        for start in range(0, full_rows, BATCH):
            self._frames.append(frame.slice(start, BATCH))
            self._size += _size(self._frames[-1])
            if self._size >= PART_BYTES:
                self._write_part()

    def _write_part(self) -> None:
        assert self._folder is not None
        self._parts.append(self._folder / f"{len(self._parts):06d}.parquet")
        if self._before is not None:
            self._before.result()
        part = import_polars().concat(self._frames, rechunk=False)
        self._before = self._writer.submit(part.write_parquet, self._parts[-1], compression="lz4", statistics=False)
        self._total, self._size, self._frames = self._total + self._size, 0.0, []

    def finish(self) -> int:
        """Complete the file; return the number of rows."""
        polars = import_polars()
        if self._folder is None:
            whole, self._frames = polars.concat(self._frames) if self._frames else polars.DataFrame(), []
            whole.write_parquet(
                self.path, compression="zstd", compression_level=1, row_group_size=GROUP_ROWS, statistics=True
            )
            return self.count
        if self._rest is not None:
            self._frames.append(self._rest)
            self._size += _size(self._rest)
        if self._frames:
            self._write_part()
        assert self._before is not None
        self._before.result()
        _merge(self._parts, self.path, int(self.count * PART_BYTES // self._total))
        return self.count


def _frame(batch: list[Row], types: Mapping[str, type]) -> Any:
    """Convert rows to a typed table."""
    return import_polars().DataFrame(
        {name: _series(name, [row.get(name) for row in batch], types) for name in batch[0]}
    )


def _series(name: str, values: Sequence[Any], types: Mapping[str, type]) -> Any:
    """A typed column."""
    polars = import_polars()
    kinds = {int: polars.Int64, float: polars.Float64, bool: polars.Boolean, str: polars.String}
    kind = types.get(name, str)
    if kind is float:
        # Numbers of an imported file are stored as texts.
        values = [(float(v) if v else None) if isinstance(v, str) else v for v in values]
    if kind is str:
        values = [v if v is None or isinstance(v, str) else str(v) for v in values]
    return polars.Series(name, values, dtype=kinds[kind], strict=False)


def frames(rows: Rows, table: str, types: Mapping[str, type]) -> Iterator[Any]:
    """Yield a table of a run as typed frames."""
    if table in _blocks_of(rows):
        yield from (frame for _, frame in unit_frames(rows, [table], {table: types}))
    elif table == "calls":
        yield from _calls(rows, types)
    else:
        yield from (_frame(batch, types) for batch in batches(getattr(rows, table)()))


_Block = Callable[[Rows, Sequence[UnitTable], Mapping[str, type]], Any]


def _blocks_of(rows: Rows) -> Mapping[str, _Block]:
    """Return the tables that are made of units, each with what makes a frame of units; people add columns by row."""
    return {"matches": _match_block, "rounds": _round_block, **({"decisions": _block} if rows.people is None else {})}


def unit_frames(rows: Rows, names: Sequence[str], kinds: Mapping[str, Mapping[str, type]]) -> Iterator[tuple[str, Any]]:
    """Yield frames of tables, of many units at a time, without an object for each row of the large ones."""
    blocks, units, count = _blocks_of(rows), list[UnitTable](), 0

    def made() -> Iterator[tuple[str, Any]]:
        for name in names:
            frame = blocks[name](rows, units, kinds[name])
            if frame is not None:
                yield name, frame

    for table in rows.tables(rounds="rounds" in names) if names else ():
        units.append(table)
        count += len(table.rows.steps) + 1
        if count >= BLOCK:
            yield from made()
            units, count = [], 0
    if count:
        yield from made()


def _match_block(rows: Rows, units: Sequence[UnitTable], types: Mapping[str, type]) -> Any:
    entries = [row for table in units if table.unit.kind != "visit" for row in rows.match_rows(table)]
    return _frame(entries, types) if entries else None


def _round_block(rows: Rows, units: Sequence[UnitTable], types: Mapping[str, type]) -> Any:
    polars = import_polars()
    import numpy as np

    units = [table for table in units if table.rows.rounds_kept is not None]
    if not units:
        return None
    every = [rows.weighted_rounds(table) for table in units]
    entries = [rows.settled_entries(table, one) for table, (one, _) in zip(units, every, strict=True)]
    heads = [rows.decision_head(table) for table in units]
    columns = _take_columns(
        heads, list(heads[0]), np.repeat(np.arange(len(units)), [len(one.codes) for one, _ in every]), types
    )
    meetings, numbers, tables = (np.concatenate([one[place] for one, _ in every]) for place in range(3))
    at_table = polars.DataFrame({"at_table": tables + 1}).select(polars.col("at_table").replace(0, None))
    columns |= {
        "meeting": polars.Series("meeting", meetings + 1),
        "round": polars.Series("round", numbers),
        "at_table": at_table["at_table"],
    }
    starts = np.cumsum([0, *(len(some) for some in entries[:-1])])
    codes = np.concatenate([one.codes + start for (one, _), start in zip(every, starts, strict=True)])
    names = [name for name in rows.round_columns if name != "weight"]
    settled = _take_columns([entry for some in entries for entry in some], names, codes, types)
    settled["weight"] = polars.Series("weight", np.concatenate([weights for _, weights in every]))
    return polars.DataFrame(columns | {name: settled[name] for name in rows.round_columns})


def _block(rows: Rows, units: Sequence[UnitTable], types: Mapping[str, type]) -> Any:
    polars = import_polars()
    import numpy as np

    units = [rows.with_answers(table) for table in units if len(table.rows.steps)]
    if not units:
        return None
    heads = [rows.decision_head(table) for table in units]
    columns = _take_columns(
        heads, list(heads[0]), np.repeat(np.arange(len(units)), [len(table.rows.steps) for table in units]), types
    )
    columns |= {
        "step": polars.Series("step", np.concatenate([table.rows.steps for table in units])),
        "round": polars.Series("round", np.concatenate([table.rows.rounds for table in units])),
    }
    parts = [rows.decoded(table) for table in units]
    answers: dict[str, Any] = {}
    for place, codes in enumerate(("asked_codes", "said_codes", "came_codes")):
        entries = [entry for part in parts for entry in part[place]]
        starts = np.cumsum([0, *(len(part[place]) for part in parts[:-1])])
        codes_of = np.concatenate([getattr(t.rows, codes) + start for t, start in zip(units, starts, strict=True)])
        answers |= _take_columns(
            entries,
            [name for name in (entries[0] if entries else ()) if name in rows.decision_columns],
            codes_of,
            types,
        )
    return polars.DataFrame(columns | {name: answers[name] for name in rows.decision_columns})


def _take_columns(
    entries: Sequence[Row], names: Sequence[str], numbers: Any, types: Mapping[str, type]
) -> dict[str, Any]:
    """Return columns of entries, repeated and ordered by the numbers."""
    polars = import_polars()
    columns_of = polars.DataFrame([_series(name, [entry.get(name) for entry in entries], types) for name in names])
    return columns_of[polars.Series(numbers, dtype=polars.UInt32)].to_dict() if names else {}


def _calls(rows: Rows, types: Mapping[str, type]) -> Iterator[Any]:
    """Yield calls by column, as journaled."""
    polars = import_polars()
    source = rows.journal.call_columns()
    names = next(source)
    while batch := list(islice(source, BATCH)):
        columns = dict(zip(names, zip(*batch, strict=True), strict=True))
        columns_by_name = {"run": polars.Series("run", [rows.run] * len(batch), dtype=polars.String)}
        columns_by_name |= {name: _series(name, values, types) for name, values in columns.items()}
        yield polars.DataFrame(columns_by_name).with_columns(player=polars.col("player") + 1)


def _size(frame: Any) -> float:
    """Return the bytes of a frame: texts, numbers, and null bits."""
    polars = import_polars()
    bytes_of = {polars.Boolean: 1 / 8, polars.String: 0}
    sizes = (
        (bytes_of.get(column.dtype, 8) + bool(column.null_count()) / 8) * frame.height
        + (int(column.str.len_bytes().sum()) if column.dtype == polars.String else 0)
        for column in frame.iter_columns()
    )
    return float(sum(sizes))


def _merge(parts: list[Path], path: Path, group_rows: int) -> None:
    """Merge files into one by row group; one thread keeps order and memory bounded.

    Tables that are large enough for this are long texts, which take a third of the time at the first level.
    """
    rows = max(VECTOR, min(GROUP_ROWS, group_rows) // VECTOR * VECTOR)
    with connect_duckdb() as connection:
        connection.execute(
            f"COPY (SELECT * FROM read_parquet([{', '.join(literal(str(part)) for part in parts)}])) "
            f"TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {rows})"
        )


def literal(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def write_csv(path: Path, rows: Iterable[Row], types: Mapping[str, type]) -> int:  # noqa: ARG001
    """Write CSV with a header; None is an empty field."""
    count = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        writer, names = csv.writer(file), list[str]()
        for count, row in enumerate(rows, 1):
            if count == 1:
                names = list(row)
                writer.writerow(names)
            writer.writerow(row.values() if list(row) == names else [row[name] for name in names])
    return count


def write_jsonl(path: Path, rows: Iterable[Row], types: Mapping[str, type]) -> int:  # noqa: ARG001
    """One JSON object a line."""
    with path.open("wb") as file:
        return sum(file.write(orjson.dumps(row) + b"\n") > 0 for row in rows)


def batches(rows: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    """Lists of at most so many rows."""
    source = iter(rows)
    while batch := list(islice(source, size)):
        yield batch


def import_polars() -> Any:
    """Import polars, or raise one line that says how to install it."""
    return _analysis_package("polars")


def import_duckdb() -> Any:
    """Import DuckDB, or raise one line that says how to install it."""
    return _analysis_package("duckdb")


def connect_duckdb(**bounds: Any) -> Any:
    """Return a connection to an empty database in memory: one thread, and nothing but results on the terminal.

    DuckDB takes a program without a file (``python -c``, a notebook) for a person, and shows how far it has come.
    In a notebook without ipywidgets it shows nothing, and refuses to be told so.
    """
    connection = import_duckdb().connect(":memory:", config={"threads": 1, **bounds})
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()[0]:
        connection.execute("SET enable_progress_bar = false")
    return connection


def _analysis_package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise OstromError(f"this needs {name}: pip install 'ostrom[analysis]'") from None
