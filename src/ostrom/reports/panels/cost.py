"""What the run took: calls, tokens, money and time, by model."""

from __future__ import annotations

from typing import Any

from ostrom.data.rundata import RunData
from ostrom.reports.marks import bars
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import labels

PARTS = {"input": "#56B4E9", "input, cached": "#b9dcf3", "output": "#0072B2", "output, reasoning": "#11436f"}


class Cost(Panel):
    """Calls, tokens and money by model; an unknown price is never counted as nothing."""

    title = "Calls, tokens and cost"

    def draw(self, data: RunData) -> Drawn:
        """One row per model."""
        rows = data.records(
            "SELECT model, count(*) FILTER (error IS NULL AND source <> 'cache') AS calls, "
            "count(*) FILTER (error IS NOT NULL) AS failed, count(*) FILTER (source = 'cache') AS cached, "
            "sum(tokens_in)::BIGINT AS tokens_in, sum(tokens_out)::BIGINT AS tokens_out, "
            "sum(tokens_cached)::BIGINT AS tokens_cached, sum(tokens_reasoning)::BIGINT AS tokens_reasoning, "
            "count(*) FILTER (error IS NULL AND tokens_in IS NULL) AS uncounted, "
            "sum(usd) AS usd, count(*) FILTER (error IS NULL AND usd IS NULL) AS unpriced, "
            "median(latency) FILTER (error IS NULL AND source <> 'cache') AS median, "
            "quantile_cont(latency, 0.95) FILTER (error IS NULL AND source <> 'cache') AS slow "
            "FROM calls GROUP BY model ORDER BY model"
        )
        if not rows:
            return Drawn(notes=["No model was called, so the run cost nothing."])
        columns = [
            "model", "calls", "failed tries", "from cache", "tokens in", "of these cached", "tokens out",
            "of these reasoning", "USD", "median s", "95 % within s",
        ]  # fmt: skip
        listed = [
            [r["model"], r["calls"], r["failed"], r["cached"], r["tokens_in"], r["tokens_cached"],
             r["tokens_out"], r["tokens_reasoning"], _money(r), r["median"], r["slow"]]
            for r in rows
        ]  # fmt: skip
        notes = [
            f"{r['model']}: servers read {100 * r['tokens_cached'] / r['tokens_in']:.0f} % of the prompt tokens "
            "from their caches."
            for r in rows
            if r["tokens_cached"] and r["tokens_in"]
        ]
        notes += [
            f"{r['model']}: no price is known for {r['unpriced']} calls; give prices with --prices FILE."
            for r in rows
            if r["unpriced"]
        ]
        notes += [
            f"{r['model']}: the server did not count the tokens of {r['uncounted']} calls."
            for r in rows
            if r["uncounted"]
        ]
        if all(r["usd"] is not None and not r["unpriced"] for r in rows):
            notes.append(f"In all {sum(r['usd'] for r in rows):,.4f} USD.")
        table = Table(
            "cost", columns, listed, "Calls, tokens and cost by model; failed tries cost no tokens here."
        )
        figures = [_figure(rows)] if any(r["tokens_in"] or r["tokens_out"] for r in rows) else []
        return Drawn(figures, [table], notes)


def _money(row: dict[str, Any]) -> Any:
    if row["usd"] is None:
        return "unknown" if row["unpriced"] else None
    return f"at least {row['usd']:.4f}" if row["unpriced"] else float(row["usd"])


def _figure(rows: list[dict[str, Any]]) -> Figure:
    names = labels(row["model"] for row in rows)
    listed = []
    for row in rows:
        cached, reasoning = row["tokens_cached"] or 0, row["tokens_reasoning"] or 0
        amounts = {
            "input": max((row["tokens_in"] or 0) - cached, 0),
            "input, cached": cached,
            "output": max((row["tokens_out"] or 0) - reasoning, 0),
            "output, reasoning": reasoning,
        }
        listed += [
            {"label": names[row["model"]], "part": part, "value": amounts[part], "place": i}
            for i, part in enumerate(PARTS)
            if amounts[part]
        ]
    met = {row["part"] for row in listed}
    parts = {part: colour for part, colour in PARTS.items() if part in met}
    chart = bars(listed, x="tokens", parts=parts, labels=list(names.values()), shares=False)
    return Figure("tokens", chart, "Tokens by model.", "Stacked bars of tokens by model.")


PANEL = Cost
