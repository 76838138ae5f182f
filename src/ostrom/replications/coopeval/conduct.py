"""How often players use the institutions of a mechanism (approve, win, sign, delegate), and shares of their choices.

Delegating is counted as a separate choice.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ostrom.analysis.estimate import estimate
from ostrom.analysis.measure import Measure
from ostrom.analysis.population import ALL
from ostrom.data.rundata import RunData
from ostrom.ground.values import grouped

DONE = "state = 'done' AND unit = 'match'"

MEASURES: Mapping[str, str] = {
    "approves": "approves a proposal",
    "approves_own": "approves its own proposal",
    "wins": "its proposal is chosen",
    "signs": "signs the contract",
    "in_force": "the contract is in force",
    "delegates": "delegates to the mediator",
}
"""The counted behaviours, in words."""


Place = tuple[int, int]
"""Match and player."""
BY = ("mechanism", "game", "agent")


def conduct_measure(name: str, definition: str) -> Measure:
    """Return the measure of one of the ``MEASURES``; a match is weighted by its occasions."""

    def values(data: RunData) -> Iterator[Mapping[str, Any]]:
        """Yield the share of occasions by match and player, weighted by the number of occasions."""
        return (
            {"match": match, "player": player, "value": times / occasions, "weight": float(occasions)}
            for (match, player), (times, occasions) in tallies(*_rows(data)).get(name, {}).items()
        )

    return Measure(
        name=name,
        title=MEASURES[name].capitalize(),
        scale="share",
        definition=definition,
        values=values,
        needs=("matches.facts", "decisions.answer"),
        source="Tewolde et al. (2026), CoopEval",
    )


def conduct_rates(data: RunData) -> list[dict[str, Any]]:
    """Return how often each type did something, out of its occasions; with a share over matches as ``estimate``."""
    decisions, matches = _rows(data)
    types = {(row["match"], row["player"]): _type(row) for row in (*decisions, *matches)}
    by_name = tallies(decisions, matches)
    rate_rows = []
    for name in MEASURES:
        if counts := grouped((types[place], tally) for place, tally in by_name.get(name, {}).items()):
            shares = {_type(e.key): e for e in estimate(data, name, BY, agents=ALL)}
            rate_rows += [
                {
                    **dict(zip(BY, key, strict=True)),
                    "measure": name,
                    "times": times,
                    "occasions": occasions,
                    "share": times / occasions,
                    "estimate": shares[key],
                }
                for key, of in counts.items()
                for times, occasions in [_summed(of)]
            ]
    return rate_rows


def tallies(
    decisions: Iterable[Mapping[str, Any]], matches: Iterable[Mapping[str, Any]]
) -> dict[str, dict[Place, list[int]]]:
    """Return times and occasions by measure, match and player; ``facts`` hold the proposals and the winner."""
    ends = list(matches)
    facts = {row["match"]: orjson.loads(row["facts"]) for row in ends}
    counts = grouped(
        (measure, ((row["match"], row["player"]), [times, occasions]))
        for row in (*ends, *decisions)
        for measure, times, occasions in _occasions(row, facts.get(row["match"], {}))
    )
    return {measure: {place: _summed(own) for place, own in grouped(of).items()} for measure, of in counts.items()}


def _summed(tallies: Iterable[Sequence[int]]) -> list[int]:
    """Return the total times and occasions."""
    return [sum(numbers) for numbers in zip(*tallies, strict=True)]


def _rows(data: RunData) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return data.records(
        "SELECT mechanism, game, agent, seat, kind, answer, match, player FROM decisions "
        f"WHERE {DONE} AND kind IN ('vote', 'sign', 'act') ORDER BY match, step, player"
    ), data.records(
        "SELECT mechanism, game, agent, seat, match, player, facts FROM matches "
        f"WHERE {DONE} AND facts IS NOT NULL ORDER BY match, player"
    )


def _type(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(row["mechanism"]), str(row["game"]), str(row["agent"])


def _occasions(row: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Yield what a decision, or the end of a match, adds to its player's counts."""
    kind, proposals = row.get("kind"), {p["seat"] + 1: p["label"] for p in facts.get("proposals", ())}
    own = proposals.get(row["seat"])
    if kind is None and own is not None:
        yield "wins", facts.get("winner") == own, 1
    if kind is None and "in_force" in facts:
        yield "in_force", bool(facts["in_force"]), 1
    if kind == "act" and "delegated" in facts:
        yield "delegates", int(facts["delegated"][row["seat"] - 1]), 1
    if kind == "sign":
        yield "signs", int(orjson.loads(row["answer"])["sign"]), 1
    if kind == "vote" and proposals:
        answer = orjson.loads(row["answer"])
        approved = [label for label in proposals.values() if answer.get(label)]
        yield "approves", len(approved), len(proposals)
        yield "approves_own", int(own in approved), 1


@dataclass(frozen=True, slots=True)
class ActionShare:
    """The share of one choice among a type's choices in a cell."""

    mechanism: str
    game: str
    agent: str
    choice: str
    chosen: int
    decisions: int
    matches: int
    stated: float | None
    """The mean stated probability of the choice, if all decisions of the type have odds."""


def action_shares(data: RunData) -> list[ActionShare]:
    """Return the choices of finished matches; options that nobody took have share 0."""
    rows = data.records(
        "SELECT mechanism, game, agent, seat, answer, probabilities, count(*) AS n, min(match) AS first, "
        f"list(DISTINCT match) AS matches FROM decisions WHERE {DONE} AND kind = 'act' "
        "GROUP BY mechanism, game, agent, seat, answer, probabilities ORDER BY first, agent, seat"
    )
    return [share for key, of in grouped((_type(row), row) for row in rows).items() for share in _shares(data, key, of)]


def _shares(data: RunData, key: tuple[str, str, str], rows: Sequence[Mapping[str, Any]]) -> Iterator[ActionShare]:
    """Yield the share of every choice of one type in one cell."""
    chosen, stated = dict[str, int](), dict[str, float]()
    for row in rows:
        odds = orjson.loads(row["probabilities"] or "{}")
        for choice in dict.fromkeys((*data.unit(row["first"]).game.actions[row["seat"] - 1], row["answer"], *odds)):
            chosen[choice] = chosen.get(choice, 0)
            stated[choice] = stated.get(choice, 0.0) + row["n"] * odds.get(choice, 0.0)
        chosen[row["answer"]] += row["n"]
    decisions, matches = sum(row["n"] for row in rows), {match for row in rows for match in row["matches"]}
    all_stated = all(row["probabilities"] for row in rows)
    for choice, times in chosen.items():
        odds_of = stated[choice] / decisions if all_stated else None
        yield ActionShare(*key, choice, times, decisions, len(matches), odds_of)
