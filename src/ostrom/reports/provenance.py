"""What figures rest on: how many model calls, at which temperature, of which versions of the models."""

from __future__ import annotations

from typing import Any

from ostrom.data.rundata import RunData, quoted
from ostrom.reports.panel import Table
from ostrom.reports.words import number

MOST_NAMED = 4
"""So many models are named in a caption; the table of calls names all."""
CALLS = (
    "SELECT model, version, match, player, "
    "try_cast(nullif(regexp_extract(params, '\"temperature\": *([-+0-9.eE]+)', 1), '') AS DOUBLE) AS temperature "
    "FROM calls WHERE error IS NULL"
)


def made_of(data: RunData) -> str:
    """One sentence for captions: calls, temperature, models and the versions that their servers named."""
    if not data.rows["calls"]:
        return "No model was called."
    rows = data.records(
        f"SELECT model, version, temperature, count(*) AS n FROM ({CALLS}) GROUP BY ALL ORDER BY model, version"
    )
    if not rows:
        return "No model call succeeded."
    total = sum(row["n"] for row in rows)
    models = list(dict.fromkeys(_named(row) for row in rows))
    named = ", ".join(models[:MOST_NAMED])
    if len(models) > MOST_NAMED:
        named += f" and {len(models) - MOST_NAMED} more"
    return f"{number(total)} model calls at temperature {_temperatures(rows)}; models: {named}."


def calls_table(data: RunData) -> Table | None:
    """Calls, temperature and versions for every condition and agent."""
    if not data.rows["calls"]:
        return None
    by = [name for name in data.factors if name in data.columns("matches")]
    columns = "".join(f"m.{quoted(name)}, " for name in by)
    played = f"SELECT DISTINCT match, player, agent{''.join(', ' + quoted(n) for n in by)} FROM matches"
    rows = data.records(
        f"SELECT {columns}m.agent AS agent, c.model, c.version, c.temperature, count(*) AS calls "
        f"FROM ({CALLS}) c JOIN ({played}) m "
        f"ON m.match = c.match AND m.player = c.player GROUP BY ALL ORDER BY ALL"
    )
    if not rows:
        return None
    names = [*by, "agent", "model", "version", "temperature", "calls"]
    return Table(
        "calls", names, [[row[name] for name in names] for row in rows], "Model calls by condition and agent."
    )


def _named(row: dict[str, Any]) -> str:
    model, version = row["model"], row["version"]
    return model if version in (None, "", model) else f"{model} (version {version})"


def _temperatures(rows: list[dict[str, Any]]) -> str:
    found = sorted({row["temperature"] for row in rows}, key=lambda t: (t is None, t or 0.0))
    return ", ".join("of the server" if t is None else f"{t:g}" for t in found)
