"""Further results of the memory study: cost of reasoning, recovery by a sanitized past, mixed memories, words.

Liu et al. (2026, Appendix Table 12) print the deliberation penalty, reasoning minus no reasoning at history length 80,
for the game in which each model loses most. So do panels and tables; the tests here ask for the cost, its opposite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ostrom.analysis.estimate import Estimate, contrast, estimate, keyed
from ostrom.analysis.measure import Measure, Rows, measures
from ostrom.analysis.statistics import StatisticsError, pearson
from ostrom.analysis.verdicts import largest as surely_largest
from ostrom.data.rundata import RunData
from ostrom.features.words.traces.table import source, trace_table
from ostrom.ground.values import grouped
from ostrom.replications.memory_curse.played import FORGIVER, GRUDGE_HOLDER, WINDOW

LENGTH = 80
STYLES = ("direct", "reasoned")


@dataclass(frozen=True, slots=True)
class Penalty:
    """The deliberation penalty of one agent in one game; positive where reasoning costs cooperation."""

    agent: str
    game: str
    length: int
    """The history length: 80, or the longest that both conditions have."""
    cost: Estimate
    matches: int


def penalties(data: RunData) -> list[Penalty]:
    """The penalty of every agent and game that was played both with and without reasoning."""
    by = ("game", "agent", "history_length")
    rates = keyed(estimate(data, "memory_cooperation", (*by, "style"), where=WINDOW), (*by, "style"))
    if not set(STYLES) <= {key[-1] for key in rates}:
        return []
    costs = keyed(contrast(data, "memory_cooperation", "style", STYLES, by, where=WINDOW), by)
    longest = {
        pair: LENGTH if LENGTH in lengths else max(lengths)
        for pair, lengths in grouped((key[:2], key[2]) for key in costs).items()
    }
    return [
        Penalty(agent, game, n, costs[game, agent, n], sum(rates[game, agent, n, s].n for s in STYLES))
        for (game, agent), n in longest.items()
    ]


def negated(one: Estimate) -> Estimate:
    """Return the difference with opposite sign: the paper prints reasoning minus no reasoning."""
    low = None if one.high is None else -one.high
    return replace(one, value=-one.value, low=low, high=None if one.low is None else -one.low)


DECIDED = {"yes": "decided", "no": "refuted", "undecided": "undecided at this size"}


def worst_penalties(penalties: Sequence[Penalty], answers: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the game with the largest penalty of every agent with one above 0; ``answers`` are the tests above 0.

    ``above`` is the answer of its test, and ``alone`` whether it is larger than in every other game, if there is one.
    """
    for agent in dict.fromkeys(one.agent for one in penalties):
        of = {
            one.game: (one.cost, answer) for one, answer in zip(penalties, answers, strict=True) if one.agent == agent
        }
        worst = largest({game: cost.value for game, (cost, _) in of.items()})
        if worst is not None and worst[1] > 0:
            cost, answer = of[worst[0]]
            rivals = [other for game, (other, _) in of.items() if game != worst[0]]
            sure, control = surely_largest(cost, rivals)
            yield {
                "agent": agent, "game": worst[0], "cost": cost.value, "above": DECIDED[answer],
                "alone": f"{DECIDED[sure]}: {control}" if rivals else "",
            }  # fmt: skip


def largest(penalties_by_game: Mapping[str, float]) -> tuple[str, float] | None:
    """Return the game with the largest penalty, the first of equals; None without one.

    >>> largest({"public_goods": 0.05, "trust": 0.931})
    ('trust', 0.931)
    """
    if not penalties_by_game:
        return None
    # Rounded, so that last digits do not choose between equal ones.
    game = max(penalties_by_game, key=lambda name: round(penalties_by_game[name], 9))
    return game, penalties_by_game[game]


RATE = "memory_cooperation"
CURVE = ("game", "memory_mode", "history_length", "agent", "style")


def recoveries(data: RunData) -> Iterator[dict[str, Any]]:
    """Yield all points of the recovery curves, one curve for each agent, game, style and mode.

    ``real`` is the number of real rounds in the window (X), ``gain`` cooperation minus the baseline's, if there is one,
    and ``recovered`` the gain as a share of the baseline's gap to full cooperation. The baseline of a curve is its own
    point X = window; where that was not played, matches with the plain window of the same length.
    """
    by = (*CURVE, "real_rounds")
    points = keyed(estimate(data, RATE, by, where={"memory_kind": "sanitized", "alike": True}), by)
    plain = keyed(estimate(data, RATE, CURVE, where=WINDOW), CURVE)
    baselines: dict[tuple[Any, ...], tuple[Estimate, bool]] = {}
    for game, mode, window, agent, style, _ in points:
        curve = game, mode, window, agent, style
        base = points.get((*curve, window)) or plain.get((game, None, window, agent, style))
        if base is not None:
            baselines[curve] = base, (*curve, window) in points
    gains = {}
    for mode, window, real in dict.fromkeys((key[1], key[2], key[5]) for key in points if key[2] != key[5]):
        for own in {in_curve for curve, (_, in_curve) in baselines.items() if curve[1:3] == (mode, window)}:
            where = {
                "memory_mode": mode if own else [mode, None], "history_length": window, "alike": True,
            }  # fmt: skip
            for one in contrast(data, RATE, "real_rounds", (real, window), ("game", "agent", "style"), where=where):
                curve = one.key["game"], mode, window, one.key["agent"], one.key["style"]
                if curve in baselines and baselines[curve][1] == own:
                    gains[*curve, real] = one
    for key, here in points.items():
        game, mode, window, agent, style, real = key
        gain, share = gains.get(key), None
        if gain is not None and (level := baselines[key[:-1]][0].value) < 1:
            share = gain.value / (1 - level)
        yield {
            "agent": agent, "game": game, "style": style, "mode": mode, "window": window, "real": real,
            "cooperation": here, "gain": gain, "recovered": share,
        }  # fmt: skip


COMPANY = ("game", "company", "agent_type", "style")
WHERE = {"memory_kind": "window"}


@dataclass(frozen=True, slots=True)
class RoleGroup:
    """One agent in one game and composition of memories."""

    agent: str
    game: str
    style: str | None
    name: str
    """The history lengths at the table as text."""
    overall: Estimate
    forgiver: Estimate | None
    grudge_holder: Estimate | None
    gap: Estimate | None
    """Forgiver minus grudge-holder."""
    seats: dict[int, Estimate]
    seat_gaps: dict[int, Estimate]
    """Each seat minus the mean of the other seats."""

    @property
    def group(self) -> tuple[str, str, str | None]:
        """Return agent, game and style, within which compositions are compared."""
        return self.agent, self.game, self.style

    @property
    def by_role(self) -> list[tuple[RoleGroup, str, Estimate]]:
        """Return the roles of the composition, each with its rate."""
        roles = {"all players": self.overall, FORGIVER: self.forgiver, GRUDGE_HOLDER: self.grudge_holder}
        return [(self, role, rate) for role, rate in roles.items() if rate is not None]

    @property
    def by_seat(self) -> list[tuple[RoleGroup, int, Estimate, Estimate | None]]:
        """Return every seat with its rate, and its difference to the other seats."""
        return [(self, seat, rate, self.seat_gaps.get(seat)) for seat, rate in self.seats.items()]


def compositions(data: RunData) -> list[RoleGroup]:
    """One group for each agent, game, style and composition of memories; equal memories have no roles."""
    rate = measures.named("memory_cooperation")
    overall = keyed(estimate(data, rate, COMPANY, where=WHERE), COMPANY)
    roles = keyed(estimate(data, rate, (*COMPANY, "memory_role"), where=WHERE), (*COMPANY, "memory_role"))
    seats = keyed(estimate(data, rate, (*COMPANY, "seat"), where=WHERE), (*COMPANY, "seat"))
    gaps = _gaps(data, rate, "memory_role", (FORGIVER, GRUDGE_HOLDER), (key[-1] for key in roles))
    numbers = list(dict.fromkeys(key[-1] for key in seats))
    beside = {
        seat: _gaps(data, _seat_and_others(rate, seat), "place", ("seat", "others"), ("seat", "others"))
        for seat in numbers
        if len(numbers) > 1
    }
    return [
        RoleGroup(
            agent, game, style, name, total, roles.get((*key, FORGIVER)), roles.get((*key, GRUDGE_HOLDER)),
            gaps.get(key), {s: seats[*key, s] for s in numbers if (*key, s) in seats},
            {s: of[key] for s, of in beside.items() if key in of},
        )
        for key, total in overall.items()
        for game, name, agent, style in [key]
        if name is not None
    ]  # fmt: skip


def _gaps(
    data: RunData, measure: Measure, factor: str, levels: tuple[str, str], met: Iterable[Any]
) -> dict[tuple[Any, ...], Estimate]:
    if not set(levels) <= set(met):
        return {}
    return keyed(contrast(data, measure, factor, levels, COMPANY, where=WHERE), COMPANY)


def _seat_and_others(measure: Measure, seat: int) -> Measure:
    """Return the measure with a column ``place`` that separates one seat from all others."""

    def values(data: RunData) -> Rows:
        at = {
            (row["match"], row["player"]): row["seat"]
            for row in data.records("SELECT match, player, seat FROM matches")
        }
        return (
            {**row, "place": "seat" if at[row["match"], row["player"]] == seat else "others"}
            for row in measure.rows(data)
        )

    return replace(measure, values=values, columns=(*measure.columns, "place"))


Key = TypeVar("Key")


def forward_link(ratios: Mapping[Key, float | None], rates: Mapping[Key, float | None]) -> dict[str, Any]:
    """Correlate over the cells with both figures; ``r`` is None if undefined, and ``note`` says why.

    >>> ratios = {80: 0.2, 40: 0.3, 20: 0.5, 2: 0.4, 1: None}
    >>> link = forward_link(ratios, {80: 0.1, 40: 0.2, 20: 0.9, 2: 0.5, 1: 1.0})
    >>> round(link["r"], 2), link["cells"]
    (0.97, 4)
    """
    pairs = [
        (ratio, rate) for key, ratio in ratios.items() if ratio is not None and (rate := rates.get(key)) is not None
    ]
    try:
        correlation = pearson([a for a, _ in pairs], [b for _, b in pairs], unit="cell")
    except StatisticsError as error:
        return {**dict.fromkeys(("r", "low", "high", "p")), "cells": len(pairs), "note": str(error)}
    return {
        "r": correlation.value, "low": correlation.low, "high": correlation.high, "p": correlation.p,
        "cells": correlation.n, "note": "",
    }  # fmt: skip


TRACED = ("history_length", "game", "agent_style", "agent")


def traced_cells(data: RunData) -> dict[str, Any]:
    """Return the rows of all cells with a forward-looking ratio and a rate of cooperation, and the ``link`` of the two.

    Matches without reasoning have no trace and are left out.
    """
    ratios = keyed(estimate(data, "word_ratio", TRACED), TRACED)
    counted = {row["match"] for row in data.records(f"SELECT DISTINCT match FROM {source(trace_table(data))}")}
    rates = keyed(estimate(data, "memory_cooperation", TRACED, where={"match": counted}), TRACED)
    both = [
        {**dict(zip(("history_length", "game", "style", "agent"), key, strict=True)),
         "ratio": one.value, "rate": rates[key].value}
        for key, one in ratios.items()
        if key in rates
    ]  # fmt: skip
    link = forward_link({key: one.value for key, one in ratios.items()}, {key: one.value for key, one in rates.items()})
    return {"rows": both, "link": link}
