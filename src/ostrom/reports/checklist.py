"""The reporting checklist for studies with language models (GUIDE-LLM), filled in from a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from ostrom.data.rundata import RunData
from ostrom.ground.words import how_many
from ostrom.reports.card import own_files, states
from ostrom.reports.panel import Table

UNKNOWN = "not recorded"
VALIDATION = "Validation against people or published figures"
ITEMS = (
    "Model", "Version that replied", "Dates of use", "Access", "Parameters", "Prompts", "Reading of replies",
    VALIDATION, "Code", "Data", "Registration",
)  # fmt: skip


def checklist_table(entries: Mapping[str, str]) -> Table:
    """Return all items with their entries; an empty item says "not recorded"."""
    rows = [[item, entries.get(item) or UNKNOWN] for item in ITEMS]
    return Table("checklist", ("item", "entry"), rows, "Reporting checklist (items of GUIDE-LLM)", shown=len(rows))


def run_entries(data: RunData) -> dict[str, str]:
    """Return what a run recorded about each item; nothing is inferred."""
    manifest, study = data.manifest, data.study
    calls = data.records(
        'SELECT model, count(*) AS n, min("at") AS first, max("at") AS last, list(DISTINCT version) AS versions, '
        "list(DISTINCT params) AS params, list(DISTINCT source) AS sources FROM calls GROUP BY model ORDER BY model"
    )
    if not calls:
        entries = dict.fromkeys(ITEMS[:5], "no call of a model is in this run")
    else:
        versions = {call["model"]: sorted(v for v in call["versions"] if v) for call in calls}
        entries = {
            "Model": "; ".join(f"{call['model']} ({how_many(call['n'], 'call')})" for call in calls),
            "Version that replied": "; ".join(f"{m}: {', '.join(v) or UNKNOWN}" for m, v in versions.items()),
            "Dates of use": "; ".join(
                f"{call['model']}: {_day(call['first'])} to {_day(call['last'])}" for call in calls
            ),
            "Access": "; ".join(_access(call, manifest.get("models") or {}) for call in calls),
            "Parameters": "; ".join(f"{call['model']}: {_parameters(call['params'])}" for call in calls),
        }
    versions_used, done = manifest.get("versions") or {}, states(data).get("done", 0)
    commit, files = manifest.get("git"), own_files(manifest)
    reference, registered = (study.get("report") or {}).get("reference"), manifest.get("registered")
    return entries | {
        "Prompts": prompts_entry(manifest.get("prompts") or {})
        + ("; every prompt as sent: ostrom transcript RUN" if calls else ""),
        "Reading of replies": _reading(data) if calls else "no reply was read",
        VALIDATION: f"published figures {reference}: ostrom compare RUN" if reference else "",
        "Code": ", ".join(f"{name} {version}" for name, version in versions_used.items())
        + f"; git commit {commit or UNKNOWN}"
        + "".join(f"; {file} ({digest})" for file, digest in sorted(files.items())),
        "Data": f"{done:,} of {how_many(data.planned, 'match')} done; seals and replay: ostrom check RUN; where it is "
        f"published: {UNKNOWN}",
        "Registration": f"hash {registered['hash']}" if registered else "the run is not bound to one",
    }  # fmt: skip


def prompts_entry(prompts: Mapping[str, str]) -> str:
    """Say how many prompt files a run is bound to."""
    return f"{how_many(len(prompts), 'file')}, each with its hash in run.json" if prompts else ""


def _day(at: float | None) -> str:
    return UNKNOWN if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def _access(call: Mapping[str, Any], models: Mapping[str, Any]) -> str:
    """Say how a model was reached: its client's description, and the source of its replies."""
    client = models.get(call["model"]) or {}
    facts = [
        f"{key} {client[key]}" for key in ("wire", "base_url", "dialect", "file", "sha256", "mode") if client.get(key)
    ]
    sources = ", ".join(sorted(source for source in call["sources"] if source))
    return f"{call['model']}: {', '.join(facts) or UNKNOWN}; replies {sources or UNKNOWN}"


def _parameters(texts: list[str | None]) -> str:
    """Describe the distinct sampling parameters; seeds and answer constraints are mentioned without their values."""
    distinct: dict[str, None] = {}
    for text in texts:
        params = orjson.loads(text) if text else {}
        seeded, bound = "seed" in params, bool(params.get("constraint"))
        parameters = [
            f"{k} {v}" for k, v in sorted(params.items()) if k not in ("seed", "constraint", "tools") and v is not None
        ]
        parameters += ["a seed for each call"] * seeded + ["bound to the form of the answer"] * bound
        distinct[", ".join(parameters) or "those of the service"] = None
    return " | ".join(sorted(distinct))


def _reading(data: RunData) -> str:
    [row] = data.records(
        "SELECT count(*) AS n, sum(complaints) AS bad, sum(invalid::INTEGER) AS policy FROM decisions "
        "WHERE model IS NOT NULL"
    )
    rule = data.study.get("invalid") or {}
    return (
        f"{how_many(row['n'], 'answer')} of models; {row['bad'] or 0:,} unreadable replies, {row['policy'] or 0:,} "
        f"answers by policy (rule: {how_many(rule.get('retries', 0), 'retry')}, then {rule.get('policy', 'fail')})"
    )
