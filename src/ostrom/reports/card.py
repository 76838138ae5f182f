"""What a reader must know first: the study, its state, where it came from, how to repeat it."""

from __future__ import annotations

import shlex
from typing import Any

from ostrom.analysis.estimate import estimate
from ostrom.analysis.stopping import stopping
from ostrom.data.rundata import RunData, quoted
from ostrom.reports.cells import DONE, policy_warnings
from ostrom.reports.panel import Table
from ostrom.reports.words import Share, number, pretty


def states(data: RunData) -> dict[str, int]:
    """How many units of work are in each state; those that have not begun are missing."""
    rows = data.records("SELECT state, count(DISTINCT match) AS n FROM matches GROUP BY state")
    return {row["state"]: row["n"] for row in rows}


def card(data: RunData) -> list[tuple[str, str]]:
    """Terms and values of the study card."""
    study, manifest = data.study, data.manifest
    found = states(data)
    versions = manifest.get("versions") or {}
    factors = [f"{pretty(name)} ({len(levels)})" for name, levels in data.levels.items()]
    models = [
        r["model"]
        for r in data.records("SELECT DISTINCT model FROM matches WHERE model IS NOT NULL ORDER BY 1")
    ]
    rows = [
        ("Study", study["name"]),
        ("Citation", study.get("citation") or ""),
        ("Varied", ", ".join(factors) or "nothing"),
        ("Seeds", f"{study.get('seeds', 1)} from {study.get('seed', 0)}"),
        ("Stopping", stopping(study, data.folder)),
        ("Matches done", f"{number(found.get('done', 0))} of {number(data.planned)}"),
        ("Models", ", ".join(models) or "none"),
        ("Invalid answers", _rule(study)),
        ("Refused answers", str(study.get("refused") or "fail")),
        ("Begun", str(manifest.get("created") or "unknown")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Git commit", str(manifest.get("git") or "none")[:12]),
    ]
    parent = manifest.get("parent")
    if parent:
        rows.append(("Parent", str(parent)))
    return [(term, value) for term, value in rows if value]


def _rule(study: dict[str, Any]) -> str:
    rule = study.get("invalid") or {}
    retries = rule.get("retries", 0)
    return f"{retries} {'retry' if retries == 1 else 'retries'}, then {rule.get('policy', 'fail')}"


def warnings(data: RunData) -> list[str]:
    """What must be seen before any figure."""
    found = states(data)
    done, rest = found.get("done", 0), {k: v for k, v in found.items() if k != "done"}
    doubtful = policy_warnings(data)
    if done == data.planned:
        return doubtful
    waiting = data.planned - sum(found.values())
    parts = [f"{number(n)} {state}" for state, n in sorted(rest.items())]
    if waiting:
        parts.append(f"{number(waiting)} not begun")
    return [
        f"The run is not complete: {number(done)} of {number(data.planned)} matches are done "
        f"({', '.join(parts)}). Results cover finished matches only.",
        *doubtful,
    ]


def headline(data: RunData) -> Table | None:
    """The result in numbers: one row per cell and agent."""
    by = [*data.factors, "agent"]
    coop = {tuple(e.key.values()): e for e in estimate(data, "cooperation", by)}
    score = {tuple(e.key.values()): e for e in estimate(data, "score", by)}
    if not coop and not score:
        return None
    keys = ", ".join(quoted(name) for name in by)
    policies = {
        tuple(row[name] for name in by): row["p"]
        for row in data.records(
            f"SELECT {keys}, avg(invalid::INTEGER) AS p FROM decisions WHERE {DONE} GROUP BY {keys}"
        )
    }
    rows = []
    for key in score or coop:
        c, s = coop.get(key), score.get(key)
        base = c or s
        assert base is not None
        interval = None if c is None else c.interval_text
        by_policy = Share(policies[key]) if key in policies else None
        rows.append([*key, base.n, c.value if c else None, interval, s.value if s else None, by_policy])
    columns = [*by, "matches", "cooperation", "95 % interval", "score", "answers by policy"]
    caption = "Every cell and agent: means over matches with 95 % intervals."
    return Table("headline", columns, rows, caption)


def reproduce(data: RunData) -> dict[str, str]:
    """The command that plays the study again, and what can be expected of it."""
    command = f"ostrom run study.yaml --name {shlex.quote(data.name + '-again')}"
    prompts = data.manifest.get("prompts_folder")
    if prompts:
        command += f" --prompts {shlex.quote(str(prompts))}"
    models = [
        r["model"]
        for r in data.records("SELECT DISTINCT model FROM matches WHERE model IS NOT NULL ORDER BY 1")
    ]
    if models:
        told = (
            f"The answers of {', '.join(models)} may differ from call to call; the journal of this run keeps "
            "every reply, and its tables are rebuilt from there at any time with `ostrom export`."
        )
    else:
        told = "No language model took part: the tables come out the same to the byte."
    made_with = str((data.manifest.get("versions") or {}).get("ostrom", "unknown"))
    return {"command": command, "reproducible": told, "made_with": made_with}
