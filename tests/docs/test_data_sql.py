"""The SQL of docs/data.md runs on the tables of a run and says what the page says."""

import re
from pathlib import Path

import pytest

from ostrom.data.tables import export_rows, import_duckdb
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
STUDY = {
    "name": "page", "game": "prisoners_dilemma", "types": {"a": "tit_for_tat", "b": "random"}, "seeds": 2,
    "mechanism": {"name": "negotiation", "rounds": 3, "turns": 2},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    play(load_study(STUDY), runs=runs)
    with open_run(runs / "page") as run:
        export_rows(run.rows, "parquet", runs / "page")
    return runs / "page"


@pytest.mark.parametrize("sql", BLOCKS)
def test_a_block_of_the_page_runs(folder: Path, sql: str) -> None:
    assert re.findall(r"'(\w+)\.parquet'", sql)
    asked = re.sub(r"'(\w+\.parquet)'", lambda m: f"'{folder / m[1]}'", sql)
    with import_duckdb().connect() as connection:
        rows = connection.execute(asked).fetchall()
    assert rows
    if "sum(weight * payoff)" in sql:
        with open_run(folder) as run:
            scores = {(row["match"], row["player"]): row["score"] for row in run.rows.matches()}
        assert {row[:2]: pytest.approx(row[2]) for row in rows} == scores


def test_the_page_names_every_kind_of_round() -> None:
    from ostrom.mechanisms.settlement import WHATS

    assert len(BLOCKS) >= 2 and all(f"`{what}`" in PAGE for what in WHATS)
