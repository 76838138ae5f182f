"""In which share of matches everybody delegates to the mediator, or everybody signs the contract."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import orjson

from ostrom.analysis.references import Own
from ostrom.replications.coopeval.figures.cells import Placed, apart
from ostrom.replications.coopeval.figures.means import by_cell
from ostrom.replications.coopeval.scores import Point, normalised_mean

DELEGATE, SIGN = "all_players_delegate_pct", "contracts_signed_by_all_pct"


def conduct(found: Placed) -> Iterator[Own]:
    """One figure per game, over all matches: the paper's release gives it for all models together."""
    united: dict[int, tuple[str, bool]] = {}
    for row in found.rows:
        facts = orjson.loads(row["facts"]) if row["facts"] else {}
        if "delegated" in facts:
            united[row["match"]] = DELEGATE, all(facts["delegated"])
        elif "in_force" in facts:
            # A contract comes into force if nobody refuses to sign it.
            united[row["match"]] = SIGN, bool(facts["in_force"])
    first: dict[int, Point] = {}
    for point in found.points:
        first.setdefault(point.match, point)
    points = [
        replace(point, type="all", value=100.0 * united[match][1], bounds=(0.0, 100.0))
        for match, point in first.items()
        if match in united
    ]
    for (mechanism, game), of in by_cell(points).items():
        name, setting = apart(mechanism)
        mean = normalised_mean(of)
        cell = (name, game, setting, united[of[0].match][0])
        yield Own(cell, None, mean.mean, mean.low, mean.high, None, mean.matches)
