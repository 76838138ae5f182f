"""Tables as files: large ones are written in parts, and nothing about them tells."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import finalize

import pytest
from tests.house.source import nodes, trees

from ostrom.data import tables
from ostrom.data.tables import (
    BATCH,
    _common_type,
    _series,
    _size,
    batches,
    export_rows,
    factor_types,
    safe,
    safe_rows,
    write_csv,
    write_frames,
    write_jsonl,
    write_parquet,
)
from ostrom.ground.errors import UsageError
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan

polars = pytest.importorskip("polars")
pytest.importorskip("duckdb")
ROWS = 3 * BATCH + 7
TYPES = {"match": int, "usd": float, "invalid": bool}


def rows(count: int = ROWS) -> Iterator[dict[str, Any]]:
    for n in range(count):
        known = n % 3 > 0
        yield {
            "run": "it's \"r\"", "match": n, "usd": n / 7 if known else None, "invalid": known,
            "reply": "é🙂\n" * (n % 50) if n % 11 else None, "error": None,
        }  # fmt: skip


def test_a_table_in_parts_holds_the_same_rows_in_the_same_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parted, again = (tmp_path / f"it's {name}.parquet" for name in ("whole", "parted", "again"))
    assert write_parquet(whole, rows(), TYPES) == ROWS
    monkeypatch.setattr(tables, "WHOLE_BYTES", 200_000)
    monkeypatch.setattr(tables, "PART_BYTES", 200_000)
    assert write_parquet(parted, rows(), TYPES) == write_parquet(again, rows(), TYPES) == ROWS
    expected = polars.DataFrame(list(rows()), schema=polars.read_parquet_schema(whole))
    assert polars.read_parquet(whole).equals(expected)
    assert polars.read_parquet(parted).equals(expected)
    assert polars.read_parquet_schema(parted) == polars.read_parquet_schema(whole)
    assert parted.read_bytes() == again.read_bytes() != whole.read_bytes()
    assert sorted(tmp_path.iterdir()) == sorted([whole, parted, again])  # no part is left behind


def test_a_row_group_is_bounded_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.setattr(tables, "WHOLE_BYTES", 200_000)
    monkeypatch.setattr(tables, "PART_BYTES", 200_000)
    write_parquet(tmp_path / "t.parquet", rows(), TYPES)
    query = f"SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata('{tmp_path}/t.parquet') ORDER BY 1"
    assert [size for _, size in duckdb.sql(query).fetchall()] == [BATCH, BATCH, BATCH, 7]


def test_no_database_draws_how_far_it_has_come() -> None:
    """DuckDB takes a program without a file (``python -c``, a notebook) for a person, and draws on stdout."""
    pytest.importorskip("duckdb")
    code = (
        "import duckdb; from ostrom.data.tables import connect_duckdb\n"
        "for connection in (duckdb.connect(), connect_duckdb()):\n"
        "    print(*connection.execute('SELECT current_setting(\\'enable_progress_bar\\')').fetchone())"
    )
    told = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert told.split() == ["True", "False"]
    opened = [
        path.name
        for path in trees()
        for node in nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("import_duckdb().connect", "duckdb.connect")
    ]
    assert opened == ["tables.py"]  # all others go through connect_duckdb


def test_a_notebook_without_widgets_can_read_a_run(tmp_path: Path) -> None:
    """DuckDB asks IPython whether it is in a notebook, and refuses settings of its progress bar without ipywidgets."""
    pytest.importorskip("duckdb")
    (tmp_path / "ipywidgets.py").write_text("raise ImportError\n")
    (tmp_path / "IPython.py").write_text("class Shell:\n    config = {'IPKernelApp': {}}\n\nget_ipython = Shell\n")
    code = (
        "import IPython, duckdb; from ostrom.data.tables import connect_duckdb\n"
        "print(*connect_duckdb().execute('SELECT current_setting(\\'enable_progress_bar\\')').fetchone())\n"
        "try:\n    duckdb.connect().execute('SET enable_progress_bar = false')\n"
        "except duckdb.Error as error:\n    print(*[word for word in str(error).split() if 'ipywidgets' in word])"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, env=environment
    ).stdout
    assert told.split() == ["False", "'ipywidgets'"]


def test_few_rows_are_held_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Counted(dict[str, Any]):
        pass

    alive = most = 0

    def gone() -> None:
        nonlocal alive
        alive -= 1

    def counted() -> Iterator[dict[str, Any]]:
        nonlocal alive, most
        for row in rows():
            kept = Counted(row)
            finalize(kept, gone)
            alive += 1
            most = max(most, alive)
            yield kept

    monkeypatch.setattr(tables, "WHOLE_BYTES", 200_000)
    monkeypatch.setattr(tables, "PART_BYTES", 200_000)
    write_parquet(tmp_path / "t.parquet", counted(), TYPES)
    assert alive <= 1 and most <= 2 * BATCH + 2


def test_an_empty_table_is_a_file_too(tmp_path: Path) -> None:
    assert write_parquet(tmp_path / "t.parquet", iter(()), TYPES) == 0
    assert polars.read_parquet(tmp_path / "t.parquet").height == 0


def test_what_goes_wrong_leaves_no_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield from rows(2 * BATCH)
        raise ZeroDivisionError

    monkeypatch.setattr(tables, "WHOLE_BYTES", 200_000)
    monkeypatch.setattr(tables, "PART_BYTES", 200_000)
    with pytest.raises(ZeroDivisionError):
        write_parquet(tmp_path / "t.parquet", broken(), TYPES)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("generations", "column"), [(1, False), (2, True)])
def test_generations_are_a_column_where_there_are_several(generations: int, column: bool) -> None:
    changes = [f"mechanism.generations={generations}"]
    plan = StudyPlan(load_study("prompt-evolution", preset="smoke", models=["scripted/m"], changes=changes))
    assert (factor_types(SimpleNamespace(plan=plan)).get("generation") is int) is column  # type: ignore[arg-type]


def test_values_stand_under_their_names_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows: list[dict[str, Any]] = [{"a": 1, "b": None}, {"b": "x,y", "a": 2}]
    assert write_csv(path, iter(rows), {}) == 2
    assert path.read_text(encoding="utf-8").splitlines() == ["a,b", "1,", '2,"x,y"']


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], int), ([1, None, 2.5], float), ([1.0], float), ([True, False], bool), ([True, None], bool),
        ([True, 1], str), ([1, "a"], str), ([], str), ([None], str),
    ],
)  # fmt: skip
def test_a_column_has_the_type_that_its_levels_share(values: list[Any], kind: type) -> None:
    assert _common_type(values) is kind


@pytest.mark.parametrize(
    ("kind", "values", "kept"),
    [
        (float, ["1.5", "", None, 2], [1.5, None, None, 2.0]),
        (int, [1, None, 3], [1, None, 3]),
        (bool, [True, None], [True, None]),
        (str, ["a", None, 7, True], ["a", None, "7", "True"]),
    ],
)
def test_values_become_those_of_their_column(kind: type, values: list[Any], kept: list[Any]) -> None:
    assert _series("x", values, {"x": kind}).to_list() == kept
    assert _series("unlisted", values, {}).dtype == polars.String


@pytest.mark.parametrize(
    ("text", "kept"),
    [(f"{first}x", f"'{first}x") for first in "=+-@\t\r＝＋－＠"]
    + [(" \n=x", "' \n=x"), ("a=1", "a=1"), ("", ""), (-1, -1), (None, None), ("'=", "'=")],
)
def test_no_text_begins_a_formula(text: object, kept: object) -> None:
    assert safe(text) == kept
    assert list(safe_rows([{"=a": text}])) == [{"'=a": kept}]


def test_rows_come_in_lists_of_one_size() -> None:
    assert list(batches(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(batches(range(4), 2)) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("part", [tables.PART_BYTES, 30_000])
@pytest.mark.parametrize("heights", [[ROWS], [1, BATCH, BATCH - 1, BATCH + 7], [BATCH - 1] * 3 + [10]])
def test_a_file_depends_on_its_rows_and_not_on_the_frames_they_come_in(
    part: int, heights: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "WHOLE_BYTES", part)
    monkeypatch.setattr(tables, "PART_BYTES", part)
    whole, starts = polars.DataFrame({"x": range(ROWS), "t": ["é"] * ROWS}), [0, *accumulate(heights)]
    assert write_frames(tmp_path / "a", [whole.slice(0, BATCH), whole.slice(BATCH)]) == ROWS
    split = (whole.slice(at, height) for at, height in zip(starts, heights, strict=False))
    assert write_frames(tmp_path / "b", split) == ROWS
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert polars.read_parquet(tmp_path / "a").equals(whole) and len(list(tmp_path.iterdir())) == 2


def test_the_size_of_a_frame_follows_from_its_rows() -> None:
    full = polars.DataFrame({"n": [1] * 8, "b": [True] * 8, "t": ["é"] * 8})
    assert _size(full) == 8 * 8 + 1 + 8 * 2
    assert _size(full.with_columns(n=polars.Series([None] + [1] * 7))) == 8 * 8 + 1 + 1 + 8 * 2
    assert _size(full.select("n")) == 64 and _size(full.head(0)) == 0


def test_lines_are_counted_in_every_format(tmp_path: Path) -> None:
    assert write_jsonl(tmp_path / "t.jsonl", rows(3), TYPES) == 3 == write_csv(tmp_path / "t.csv", rows(3), TYPES)
    assert len((tmp_path / "t.jsonl").read_bytes().splitlines()) == 3


@pytest.mark.parametrize(
    ("format", "safe", "said"),
    [
        ("xlsx", False, r"--format 'xlsx' \(allowed: parquet, csv, jsonl\)"),
        ("jsonl", True, "--safe is for --format csv"),
    ],
)
def test_a_format_that_is_none_is_refused(format: str, safe: bool, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        export_rows(SimpleNamespace(), format, tmp_path / "out", safe=safe)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()
