"""The published figures of the persona study (Manoranjan & Gaikwad 2026), and their contradictions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from ostrom.analysis.published import published_rows

COLUMNS = ("table", "model", "payoffs", "persona", "scenario_type", "metric")


@cache
def published_personas() -> tuple[dict[str, Any], ...]:
    """Every published figure as a row: where it stands, its value in per cent, its count where known.

    >>> len(published_personas())
    200
    """
    return tuple(
        {
            **{name: row[name] for name in COLUMNS},
            "value": float(row["value_pct"]),
            "numerator": int(row["numerator"]) if row["numerator"] else None,
            "denominator": int(row["denominator"]) if row["denominator"] else None,
            "note": row["note"] or None,
        }
        for row in published_rows("personas")
    )


@cache
def contradictions() -> tuple[dict[str, Any], ...]:
    """Where the paper disagrees with itself: what is stated, what speaks against it, and the figures.

    >>> [c["figures"][0]["implied"] for c in contradictions() if c["id"] == "table-12-mistral"]
    [-40.0]
    """
    return tuple(
        yaml.safe_load(files(__package__).joinpath("contradictions.yaml").read_text(encoding="utf-8"))
    )


def disputed(row: Mapping[str, Any]) -> list[str]:
    """The ids of the contradictions by which a published figure cannot be taken at face value."""
    return [
        item["id"] for item in contradictions() if any(selects(rule, row) for rule in item.get("doubted", ()))
    ]


def selects(rule: Mapping[str, str], row: Mapping[str, Any]) -> bool:
    """Whether a figure has all the columns that a rule names."""
    return all(str(row[key]) == wanted for key, wanted in rule.items())


def told(item: Mapping[str, Any]) -> str:
    """A contradiction in one line."""
    figures = [f"{f['what']}: stated {f['stated']:g}, implied {f['implied']:g}" for f in item["figures"]]
    tail = f" ({'; '.join(figures)})" if figures else ""
    return f"{item['stated']} But: {item['against']}{tail}"
