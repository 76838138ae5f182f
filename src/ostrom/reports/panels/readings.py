"""Data quality: how answers were read, what had to be asked again, what the policy decided, what failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.reports.cells import agents, policy_warnings
from ostrom.reports.marks import bars
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import Share, labels

KINDS = {
    "exact": "#0072B2",
    "loose": "#56B4E9",
    "constrained": "#009E73",
    "logprob": "#CC79A7",
    "person": "#4D4D4D",
    "imported": "#E69F00",
    "scripted": "#b9c0c8",
    "policy": "#D55E00",
    "refused": "#7A1F00",
}
"""Kinds of readings and their colours; what no agent chose stands out."""
FIRST_NAMED, FEWEST = 0.95, 20
"""From this share of the options named first on, over so many actions, a reader is warned."""


class Readings(Panel):
    """Shares of readings by agent, invalid and retry rates, unfinished matches, failed tries."""

    title = "Data quality"

    def draw(self, data: RunData) -> Drawn:
        """All decisions count here, those of unfinished matches too."""
        who = agents(data)
        if not who:
            return Drawn(notes=["No match has begun, so no answer was read."])
        made = (_answers(data, who), _refusals(data), _unfinished(data), _failed_tries(data))
        tables = [table for table in made if table is not None]
        notes = [*policy_warnings(data), *_first_named(data)]
        origin = data.manifest.get("imported") or {}
        if bad := _bad_rows(origin):
            tables.append(bad)
        notes += [f"{note[0].upper()}{note[1:]}." for note in origin.get("notes") or ()]
        if origin:
            files = ", ".join(str(entry.get("name")) for entry in (origin.get("files") or ())[:5])
            more = len(origin.get("files") or ()) - 5
            notes.append(f"Imported from {files}{f' and {more} more files' if more > 0 else ''}.")
        elif not data.rows["calls"]:
            notes.append("No model was called: every answer came from a scripted strategy or a person.")
        counts = data.records("SELECT agent, reading, count(*) AS n FROM decisions GROUP BY agent, reading")
        figures = []
        if any(row["reading"] != "scripted" for row in counts):
            figures.append(_figure(counts, who))
        return Drawn(figures, tables, notes)


def _first_named(data: RunData) -> list[str]:
    """Agents that take whatever option is named first, where the order of naming changes (Akata et al. 2025)."""
    rows = data.records(
        "SELECT agent, count(*) AS n, avg((label = json_extract_string(options, '$[0]'))::INTEGER) AS share, "
        "count(DISTINCT options) AS orders, "
        "count(DISTINCT list_sort(from_json(options, '[\"VARCHAR\"]'))::VARCHAR) AS sets FROM decisions "
        "WHERE kind = 'act' AND options IS NOT NULL AND label IS NOT NULL AND NOT coalesce(invalid, false) "
        "GROUP BY agent ORDER BY agent"
    )
    return [
        f"{row['agent']}: {100 * row['share']:.0f} % of {row['n']} actions are the option that was named first, "
        "although the order changed; it may not read the game."
        for row in rows
        if row["orders"] > row["sets"] and row["n"] >= FEWEST and row["share"] >= FIRST_NAMED - 1e-9
    ]


def _figure(counts: list[dict[str, Any]], who: list[str]) -> Figure:
    names = labels(who)
    met = {row["reading"] for row in counts}
    kinds = {kind: colour for kind, colour in KINDS.items() if kind in met}
    kinds |= dict.fromkeys(sorted(met - set(KINDS)), "#999999")
    place = {kind: i for i, kind in enumerate(kinds)}
    rows = [
        {"label": names[r["agent"]], "part": r["reading"], "value": r["n"], "place": place[r["reading"]]}
        for r in counts
    ]
    present = [names[a] for a in who if any(r["agent"] == a for r in counts)]
    chart = bars(rows, x="share of answers", parts=kinds, labels=present, shares=True)
    caption = (
        "How answers were read: exact (the label alone at the end), loose (the only label named in the last "
        "sentence), constrained (held to a form while writing), logprob (the likeliest option), policy (no "
        "readable answer after all retries; the study's policy decided), refused (a content filter or the model "
        "declined; the study's policy for refusals decided)."
    )
    return Figure("readings", chart, caption, "Stacked bars: how the answers of every agent were read.")


def _answers(data: RunData, who: list[str]) -> Table:
    rows = {
        row["agent"]: row
        for row in data.records(
            "SELECT agent, count(*) AS decisions, count(*) FILTER (complaints > 0) AS retried, "
            "coalesce(sum(complaints), 0)::BIGINT AS complaints, count(*) FILTER (invalid) AS invalid "
            "FROM decisions GROUP BY agent"
        )
    }
    listed = []
    for agent in who:
        row = rows.get(agent)
        if row is None:
            listed.append([agent, 0, 0, None, 0, 0, None])
            continue
        n = row["decisions"]
        retried, invalid = row["retried"], row["invalid"]
        listed.append([agent, n, retried, Share(retried / n), row["complaints"], invalid, Share(invalid / n)])
    columns = [
        "agent", "answers", "asked again", "of all", "unreadable replies", "by policy", "of all answers",
    ]  # fmt: skip
    return Table("answers", columns, listed, "Answers by agent, unfinished matches included.")


def _bad_rows(origin: Mapping[str, Any]) -> Table | None:
    """Rows of imported files that contradict the game or could not be read, and what was done with them."""
    found = origin.get("bad_rows") or {}
    rows = [
        [
            cause["cause"], cause["rows"], "matches" if cause["kind"] in ("match", "length") else "rows",
            cause["done"], cause["where"], "; ".join(cause["notes"][:3]) or None,
        ]
        for cause in found.get("causes") or ()
    ]  # fmt: skip
    if not rows:
        return None
    caption = f"Bad rows of the imported files (bad rows: {found['policy']})."
    return Table("bad_rows", ["what is wrong", "how many", "of", "done", "where", "note"], rows, caption, 50)


def _refusals(data: RunData) -> Table | None:
    rows = data.records(
        "SELECT c.model, count(*) AS n, count(DISTINCT c.match) AS matches, "
        "count(DISTINCT c.match) FILTER (m.state <> 'done') AS without, "
        "min(coalesce(c.error, c.reply)) AS example FROM calls c "
        "JOIN (SELECT DISTINCT match, state FROM matches) m ON c.match = m.match "
        "WHERE c.finish = 'filter' GROUP BY c.model ORDER BY c.model"
    )
    if not rows:
        return None
    listed = [[r["model"], r["n"], r["matches"], r["without"], (r["example"] or "")[:200]] for r in rows]
    columns = ["model", "refusals", "matches with one", "not in the results", "example"]
    return Table(
        "refusals", columns, listed, "Calls that a content filter or the model itself declined to answer.", 50
    )


def _unfinished(data: RunData) -> Table | None:
    rows = data.records(
        "SELECT state, coalesce(reason, '') AS reason, count(DISTINCT match) AS n FROM matches "
        "WHERE state <> 'done' GROUP BY ALL ORDER BY n DESC, state, reason"
    )
    if not rows:
        return None
    listed = [[r["state"], r["reason"] or None, r["n"]] for r in rows]
    return Table(
        "unfinished", ["state", "reason", "matches"], listed, "Matches that are not in the results.", 50
    )


def _failed_tries(data: RunData) -> Table | None:
    rows = data.records(
        "SELECT model, split_part(error, ':', 1) AS kind, status, count(*) AS n, min(error) AS example "
        "FROM calls WHERE error IS NOT NULL AND finish IS NULL GROUP BY model, kind, status "
        "ORDER BY model, n DESC, kind, status"
    )
    if not rows:
        return None
    totals = {
        r["model"]: r["n"] for r in data.records("SELECT model, count(*) AS n FROM calls GROUP BY model")
    }
    listed = [
        [r["model"], r["kind"], r["status"], r["n"], Share(r["n"] / totals[r["model"]]), r["example"]]
        for r in rows
    ]
    columns = ["model", "kind", "status", "tries", "share of tries", "example"]
    return Table("failed_tries", columns, listed, "Tries at calls that failed, by kind of error.", 50)


PANEL = Readings
