"""Tables as files: large ones are written in parts, and nothing about them tells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import finalize

import pytest

from ostrom.data import tables
from ostrom.data.tables import BATCH, factor_types, write_csv, write_parquet
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
    monkeypatch.setattr(tables, "PART_BYTES", 200_000)
    write_parquet(tmp_path / "t.parquet", rows(), TYPES)
    query = f"SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata('{tmp_path}/t.parquet') ORDER BY 1"
    assert [size for _, size in duckdb.sql(query).fetchall()] == [BATCH, BATCH, BATCH, 7]


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
