"""How good the designs are: the share under which cooperation is an equilibrium, or weakly dominant."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

import orjson

from ostrom.analysis.intervals import combination_of
from ostrom.analysis.intervals.group import count_group
from ostrom.analysis.references import Own
from ostrom.data.rundata import RunData
from ostrom.mechanisms.designed import Design
from ostrom.replications.coopeval.designs import quality
from ostrom.replications.coopeval.figures.cells import ALL_FOUR, FOUR, GAMES, Placed

NASH, DOMINANT = "design_nash_stable_pct", "design_weakly_dominant_pct"


def designs(found: Placed, data: RunData) -> Iterator[Own]:
    """Shares over the designs of each game first, then over the four games, as the paper's table does."""
    judged: dict[tuple[str, str], dict[str, list[tuple[bool, bool]]]] = {}
    by_policy: dict[tuple[str, str], int] = {}
    for row in data.records(
        "SELECT match, agent, facts, policies FROM matches WHERE unit = 'preparation' AND state = 'done' "
        "ORDER BY match"
    ):
        unit = data.unit(row["match"])
        known = GAMES.get(unit.game.name)
        if not isinstance(unit.mechanism, Design) or known is None or known[0] not in found.payable:
            continue
        key = unit.mechanism.name.capitalize(), row["agent"]
        made = quality(unit.mechanism.rules, unit.game, orjson.loads(row["facts"])["design"])
        judged.setdefault(key, {}).setdefault(known[0], []).append((made.equilibrium, made.dominant))
        by_policy[key] = by_policy.get(key, 0) + (row["policies"] > 0)
    for (mechanism, agent), games in judged.items():
        if set(games) != FOUR:
            continue
        count = sum(map(len, games.values()))
        replaced = by_policy[mechanism, agent]
        doubts = (f"{replaced} of {count} designs were given by the policy",) if replaced else ()
        for place, measure in enumerate((NASH, DOMINANT)):
            share = 100 * fmean(fmean(one[place] for one in of) for of in games.values())
            groups = [count_group(sum(one[place] for one in of), len(of)) for of in games.values()]
            of_share = combination_of(groups, [100 / len(groups)] * len(groups), unit="design").limits()
            yield Own(
                (mechanism, ALL_FOUR, "", measure), agent, share,
                of_share.low, of_share.high, None, count, doubts,
            )  # fmt: skip
