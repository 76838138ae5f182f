"""Societies for analysis: links and actions of members, round by round."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ostrom.data.rundata import RunData
from ostrom.ground.values import grouped

Pairs = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Seen:
    """A society in one round: links between players (from 1), and each acting player's action and type."""

    match: int
    round: int
    links: Pairs
    cooperates: Mapping[int, bool | None]
    action: Mapping[int, str]
    agent: Mapping[int, str]

    def around(self) -> dict[int, set[int]]:
        """Return the acting neighbours of every acting player."""
        neighbours: dict[int, set[int]] = {player: set() for player in self.action}
        for one, other in self.links:
            if one in neighbours and other in neighbours:
                neighbours[one].add(other)
                neighbours[other].add(one)
        return neighbours


def facts_of(data: RunData) -> dict[int, dict[str, Any]]:
    """The facts of every finished match of a society on a network."""
    loaded = {
        row["match"]: orjson.loads(row["facts"])
        for row in data.records("SELECT match, facts FROM matches WHERE player = 1 AND state = 'done' ORDER BY match")
        if row["facts"]
    }
    return {match: facts for match, facts in loaded.items() if "links" in facts and "changes" in facts}


def links_over_time(facts: Mapping[str, Any]) -> Callable[[int], Pairs]:
    """Return a function from a round number to its links; rounds must be requested in increasing order."""
    now = {(one + 1, other + 1) for one, other in facts["links"]}
    changes = [*facts["changes"]]

    def before(number: int) -> Pairs:
        while changes and changes[0][0] < number:
            _, kind, one, other = changes.pop(0)
            (now.discard if kind == "cut" else now.add)((one + 1, other + 1))
        return frozenset(now)

    return before


def seen_rounds(data: RunData) -> Iterator[Seen]:
    """Every round of every society on a network, in order."""
    for match, facts in facts_of(data).items():
        rows = data.records(
            "SELECT round, player, agent, action, cooperative FROM rounds WHERE match = ? "
            "AND action IS NOT NULL ORDER BY round, player",
            match,
        )
        links, by_round = links_over_time(facts), grouped((row["round"], row) for row in rows)
        for number, acts in sorted(by_round.items()):
            yield Seen(
                match,
                number,
                links(number),
                {act["player"]: act["cooperative"] for act in acts},
                {act["player"]: act["action"] for act in acts},
                {act["player"]: act["agent"] for act in acts},
            )


def clusters(seen: Seen) -> list[int]:
    """The sizes of the connected groups of cooperators, largest first."""
    around = seen.around()
    left = {player for player, did in seen.cooperates.items() if did}
    sizes = []
    while left:
        group, queue = 0, [left.pop()]
        while queue:
            group += 1
            near = around[queue.pop()] & left
            left -= near
            queue += near
        sizes.append(group)
    return sorted(sizes, reverse=True)


def assortment(seen: Seen) -> float | None:
    """Return how much more often cooperators than others meet cooperators; None if either group is empty."""
    around = seen.around()
    shares: dict[bool, list[float]] = {True: [], False: []}
    for player, did in seen.cooperates.items():
        if did is not None and around[player]:
            met = [bool(seen.cooperates[other]) for other in around[player]]
            shares[did].append(sum(met) / len(met))
    means = [sum(of) / len(of) for of in shares.values() if of]
    return means[0] - means[1] if len(means) == 2 else None


def mean_cluster(seen: Seen) -> float | None:
    """The mean size of a cluster; None where nobody cooperates."""
    sizes = clusters(seen)
    return sum(sizes) / len(sizes) if sizes else None


def largest_cluster(seen: Seen) -> float:
    """The size of the largest cluster as a share of those who acted."""
    return max(clusters(seen), default=0) / len(seen.action)


OF_A_ROUND: Mapping[str, Callable[[Seen], float | None]] = {
    "assortment": assortment,
    "cluster_size": mean_cluster,
    "largest_cluster": largest_cluster,
}


def by_round(data: RunData, of: str) -> Iterable[Mapping[str, Any]]:
    """The values of a measure of ``OF_A_ROUND``: one row per match and round."""
    value = OF_A_ROUND[of]
    return [{"match": seen.match, "round": seen.round, "value": value(seen)} for seen in seen_rounds(data)]
