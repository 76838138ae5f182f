"""Every table of every built-in study's report, kept: figures change only on purpose.

A golden file has one line per table that a person can review: its columns, how many rows it has, the first of them,
and of all rows one summary per column that changes with any figure, any text and any change of order.
``OSTROM_GOLDEN=write`` writes them anew. Bounds of intervals are left out here; ``make coverage`` measures those.
"""

import hashlib
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.data.rundata import run_data
from ostrom.features.comparing import compare_run
from ostrom.reports.build import chosen_panels
from ostrom.reports.declared import panel_name, panel_of
from ostrom.reports.panel import Table
from ostrom.studies.files import builtin_names
from ostrom.studies.run import open_run

from .golden_runs import PLAYED_ELSEWHERE, RUNS, play_golden

FOLDER = Path(__file__).parents[1] / "golden" / "tables"
FIRST = 2
"""Rows that are kept as they are."""
UNCERTAIN = ("low", "high", "ci", "interval", "p", "sd", "verdict", "note", "method")


def plain(value: Any) -> Any:
    """Figures to twelve digits, so that machines agree."""
    return float(f"{value:.12g}") if isinstance(value, float) else value


def differences(found: Any, golden: Any, where: str) -> list[str]:
    """Where two tables differ; machines may round the last digits of a sum differently."""
    if isinstance(golden, dict) and isinstance(found, dict) and list(found) == list(golden):
        return [d for key in golden for d in differences(found[key], golden[key], f"{where}.{key}")]
    if isinstance(golden, list) and isinstance(found, list) and len(found) == len(golden):
        pairs = enumerate(zip(found, golden, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{where}[{i}]")]
    if isinstance(golden, float) and isinstance(found, int | float):
        return [] if math.isclose(found, golden, rel_tol=1e-9, abs_tol=1e-9) else [f"{where}: {found} != {golden}"]
    return [] if found == golden else [f"{where}: {found!r} != {golden!r}"]


def kept(table: Table) -> dict[str, Any]:
    columns = [c for c in table.columns if not any(part in UNCERTAIN for part in c.split("_"))]
    at = [table.columns.index(c) for c in columns]
    return summary(columns, [[plain(row[i]) for i in at] for row in table.rows])


def summary(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """What is kept of a table."""
    return {
        "columns": list(columns),
        "rows": len(rows),
        "first": [list(row) for row in rows[:FIRST]],
        "all": [column_summary([row[place] for row in rows]) for place in range(len(columns))],
    }


def column_summary(cells: Sequence[Any]) -> list[Any]:
    """The sum of the figures, their sum weighted by their places, and a hash of everything that is no figure."""
    figures = {n: v for n, v in enumerate(cells, 1) if isinstance(v, int | float) and not isinstance(v, bool)}
    others = orjson.dumps([[n, v] for n, v in enumerate(cells, 1) if n not in figures])
    sums = [plain(math.fsum(figures.values())), plain(math.fsum(n * v for n, v in figures.items()))]
    return [*sums, hashlib.sha256(others).hexdigest()[:12]]


def written(tables: dict[str, Any]) -> bytes:
    """A golden file: one table a line."""
    lines = [f"{orjson.dumps(name).decode()}: {orjson.dumps(table).decode()}" for name, table in tables.items()]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def tables_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with open_run(folder) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        wanted = data.study["report"]["panels"]
        for spec in chosen_panels(wanted):
            for table in panel_of(spec).draw(data).tables:
                name = f"{panel_name(spec)}/{table.name}"
                # Shares of inferred strategies are found by search and rank by rounding; they have tests of their own.
                if not name.startswith(("cost", "inference_strategies/")):
                    found[name] = kept(table)
        if data.study["report"].get("reference"):
            lines = [
                [*line.cell, line.own.agent, plain(line.own.value), line.own.matches]
                for line in compare_run(data).lines
            ]
            found["compare"] = summary(
                [*(f"cell {n}" for n in range(1, len(lines[0]) - 2)), "agent", "value", "matches"] if lines else [],
                lines,
            )
    return found


def test_every_builtin_study_has_golden_tables() -> None:
    assert set(RUNS) | set(PLAYED_ELSEWHERE) == set(builtin_names())
    for name, file in PLAYED_ELSEWHERE.items():
        assert f'"{name}"' in (Path(__file__).parent / file).read_text(), name


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", RUNS)
def test_tables_are_as_they_were(name: str, tmp_path: Path) -> None:
    found = orjson.loads(orjson.dumps(tables_of(play_golden(name, tmp_path))))
    path = FOLDER / f"{name}.json"
    if os.environ.get("OSTROM_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(written(found))
    golden = orjson.loads(path.read_bytes())
    assert list(found) == list(golden)
    for table, figures in golden.items():
        assert differences(found[table], figures, table) == []
