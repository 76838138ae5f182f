"""Mean payoffs, plain and normalised, and how often the cooperative action was played.

As in the paper, a mean runs over all seats of all matches of a type (a match against itself counts once per
seat), and types weigh the same in the mean of all. Units of intervals are designs, or
matches where nothing is designed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ostrom.analysis.references import Own
from ostrom.replications.coopeval.figures.cells import ALL_FOUR, FOUR, Placed, apart
from ostrom.replications.coopeval.scores import Point, normalised_mean

PAYOFF, NORMALISED = "mean_payoff", "mean_payoff_normalised"
COOPERATION = "cooperative_action_rate_pct"


def means(found: Placed) -> Iterator[Own]:
    """Payoffs where the game pays as printed; rates of cooperation everywhere."""
    paid = [p for p in found.points if p.game in found.payable]
    plain = [replace(p, value=p.score, bounds=p.score_bounds) for p in paid]
    for (mechanism, game), of in by_cell(plain).items():
        yield from _each(mechanism, game, PAYOFF, of)
    for (mechanism, game), of in by_cell(paid).items():
        # Of single games only the mean of all models is published on this scale.
        yield _own(mechanism, game, NORMALISED, None, of)
    for mechanism in dict.fromkeys(p.mechanism for p in paid):
        yield from _each(mechanism, ALL_FOUR, NORMALISED, [p for p in paid if p.mechanism == mechanism])
    for (mechanism, game), of in by_cell(found.acts).items():
        yield from _each(mechanism, game, COOPERATION, of)


def by_cell(points: Sequence[Point]) -> dict[tuple[str, str], list[Point]]:
    """Points by mechanism (with its setting) and game."""
    cells: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        cells.setdefault((point.mechanism, point.game), []).append(point)
    return cells


def _each(mechanism: str, game: str, measure: str, points: Sequence[Point]) -> Iterator[Own]:
    """The figure of every type that has all games it needs, and of all types together."""
    types = dict.fromkeys(p.type for p in points)
    needed = FOUR if game == ALL_FOUR else {game}
    for agent in types:
        own = [p for p in points if p.type == agent]
        if {p.game for p in own} == needed:
            yield _own(mechanism, game, measure, agent, own)
    if {p.game for p in points} == needed:
        yield _own(mechanism, game, measure, None, points)


def _own(mechanism: str, game: str, measure: str, agent: str | None, points: Sequence[Point]) -> Own:
    name, setting = apart(mechanism)
    mean = normalised_mean(points)
    return Own(
        (name, game, setting, measure), agent, mean.mean, mean.low, mean.high, None, mean.matches
    )  # fmt: skip
