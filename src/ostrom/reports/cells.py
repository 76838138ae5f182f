"""The cells of a run: agents, factors and levels in the order of the study."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

from ostrom.analysis.estimate import Estimate, fixed
from ostrom.analysis.measure import Measure
from ostrom.analysis.replicates import twins_in
from ostrom.data.rundata import RunData, quoted
from ostrom.reports.words import join_labels, share

TextItem = TypeVar("TextItem")
DONE = "state = 'done' AND unit = 'match'"
"""The SQL condition for a finished match: no other enters a result."""


INTERVALS: ContextVar[bool] = ContextVar("INTERVALS", default=False)
"""Whether charts always show intervals, however few the matches; tables always do."""


def drawn_values(e: Estimate) -> dict[str, Any]:
    """Return an estimate for a chart: with its interval, or with single matches if they are few."""
    if e.values and not INTERVALS.get():
        return {"mean": e.value, "low": None, "high": None, "points": list(e.values)}
    drawn = {"mean": e.value, "low": e.low, "high": e.high, "points": None}
    return drawn | {"bound_low": e.bound_low, "bound_high": e.bound_high} if shows_bounds(e) else drawn


def shows_bounds(e: Estimate) -> bool:
    """Return whether a chart also draws guaranteed bounds: if the interval is known to be unreliable."""
    return e.cautious and e.low is not None and e.bound_low is not None


def legend_note(estimates: Sequence[Estimate], dot: str = "Dots", interval: str = "whiskers 95 % intervals") -> str:
    """Explain the marks of a chart in one sentence."""
    few = [e for e in estimates if drawn_values(e)["points"]]
    rings = "rings are single matches and ticks their means"
    if len(few) == len(estimates):
        return f"{rings[:1].upper()}{rings[1:]}."
    if few:
        return f"{dot} are estimates, {interval}; with fewer than five matches {rings}."
    if any(map(shows_bounds, estimates)):
        interval = f"{interval}, thin whiskers bounds for any distribution where the interval is unreliable"
    hollow = (
        "; a hollow dot has no interval (all alike, or one match)"
        if any(e.low is None for e in estimates) and dot == "Dots"
        else ""
    )
    return f"{dot} are estimates, {interval}{hollow}."


def spread(items: Sequence[TextItem], most: int) -> list[TextItem]:
    """Return at most ``most`` items, evenly spaced from the first to the last.

    >>> spread("abcdefg", 3), spread([1, 2], 5)
    (['a', 'd', 'g'], [1, 2])
    """
    most = min(most, len(items))
    return [items[i * (len(items) - 1) // max(most - 1, 1)] for i in range(most)]


def rank(data: RunData, column: str, value: Any) -> int:
    """Return the place of a value among the study's levels of a column; a value that is no level comes last."""
    order = data.levels.get(column, ())
    return order.index(value) if value in order else len(order)


def agents(data: RunData) -> list[str]:
    """Return the agents of the run: the study's types in order, then others by appearance."""
    met = [
        row["agent"]
        for row in data.records(
            "SELECT agent, min(match) AS first, min(player) AS place FROM matches GROUP BY agent ORDER BY 2, 3"
        )
    ]
    order = [name for name in data.study.get("types") or {} if name in met]
    return [*order, *(name for name in met if name not in order)]


def levels(data: RunData, column: str) -> list[Any]:
    """The values of a column that finished matches have, in the order of the study."""
    if column == "agent":
        return agents(data)
    return sorted(
        (
            row["v"]
            for row in data.records(
                f"SELECT {quoted(column)} AS v, min(match) AS first FROM matches WHERE {DONE} GROUP BY 1 ORDER BY 2"
            )
        ),
        key=lambda v: rank(data, column, v),
    )


def levels_met(data: RunData, column: str, estimates: Iterable[Estimate]) -> list[Any]:
    """The values of a column that estimates have, in the order of the study."""
    order = agents(data) if column == "agent" else data.levels.get(column, ())
    return sorted(
        dict.fromkeys(e.key[column] for e in estimates), key=lambda v: order.index(v) if v in order else len(order)
    )


def varied(data: RunData) -> list[str]:
    """The factors that have more than one level among the finished matches."""
    return [name for name in data.factors if len(levels(data, name)) > 1]


def factors_identify_agents(data: RunData) -> bool:
    """Return whether every cell has one agent, so that the factors identify the agent."""
    cells = "".join(f", {quoted(name)}" for name in data.factors)
    return bool(data.factors) and not data.records(
        f"SELECT 1 AS cell{cells}, count(DISTINCT agent) AS n FROM matches WHERE {DONE} "
        "GROUP BY ALL HAVING n > 1 LIMIT 1"
    )


def policy_warnings(data: RunData, least: float = 0.05) -> list[str]:
    """Return warnings on agents whose actions were often set by the policy."""
    rows = data.records(
        f"SELECT agent, avg(invalid::INTEGER) AS p FROM decisions WHERE {DONE} "
        "GROUP BY agent HAVING p >= ? ORDER BY p DESC, agent",
        least,
    )
    return [
        f"{share(row['p'])} of the answers of {row['agent']} in finished matches were given by the policy, "
        "not by the agent: read its results with care."
        for row in rows
    ]


def repeated_match_notes(data: RunData) -> list[str]:
    """Return notes on matches that repeat another of their cell because nothing could differ."""
    if not (same := twins_in(data)):
        return []
    done = data.records(f"SELECT count(DISTINCT match) AS n FROM matches WHERE {DONE}")[0]["n"]
    distinct = done - len(same) + len(set(same.values()))
    return [
        f"{len(same)} of {done} matches repeat another of their cell (temperature 0, a fixed seed, or long equal "
        f"replies): {distinct} are distinct, and n counts these. More seeds add nothing there."
    ]


def unfinished(data: RunData) -> str:
    """Return why a run has no finished match; empty if it has one."""
    states = {r["state"]: r["n"] for r in data.records(
        "SELECT state, count(DISTINCT match) AS n FROM matches WHERE unit = 'match' GROUP BY state"
    )}  # fmt: skip
    if not states:
        return "No match has begun, so there is nothing to show."
    if not states.get("done"):
        state_counts = ", ".join(f"{n} {state}" for state, n in sorted(states.items()))
        return f"No match is finished ({state_counts}), so there is nothing to show."
    return ""


def why_nothing(data: RunData, measure: str = "cooperation") -> str:
    """Return why there is no mean to show."""
    if why := unfinished(data):
        return why
    if measure == "cooperation":
        games = ", ".join(str(row["game"]) for row in data.records("SELECT DISTINCT game FROM matches ORDER BY game"))
        return f"No finished match is of a game with a cooperative action (played: {games})."
    return "No finished match has a score."


Costs = Mapping[tuple[Any, ...], Estimate]
"""Differences in the measure of costs, by agent and pair of levels."""


def trade_offs(
    gains: Sequence[Estimate], costs: Costs, starts: Mapping[tuple[Any, ...], Estimate], factor: str, base: str,
    left_out: Collection[str] | None, gain: Measure, cost: Measure,
) -> list[str]:  # fmt: skip
    """A sentence for each agent: the levels that surely raise its gain, each with its cost, or else the best level."""

    def level(e: Estimate) -> str:
        return str(e.key[factor]).removesuffix(f" - {base}")

    def cost_of(e: Estimate) -> str:
        difference = costs.get((e.key["agent"], e.key[factor]))
        sign = "+" if difference and difference.value > 0 else ""
        return f" ({cost.title.lower()} {sign}{fixed(difference.value)})" if difference else ""

    sentences = []
    for agent in dict.fromkeys(e.key["agent"] for e in gains):
        own = [e for e in gains if e.key["agent"] == agent and level(e) not in (left_out or ())]
        sure = sorted((e for e in own if e.low is not None and e.low > 0), key=lambda e: -e.value)
        best = max(own, key=lambda e: e.value)
        start = starts.get((agent,))
        sentences.append(
            f"{agent}{f' ({gain.title.lower()} {fixed(start.value)} with {base})' if start else ''}: "
            + (
                f"raised by {join_labels(f'{level(e)} by {fixed(e.value)}{cost_of(e)}' for e in sure)}."
                if sure
                else f"no level raises it for sure at this size; most does {level(best)}, {best.text()}."
            )
        )
    return sentences
