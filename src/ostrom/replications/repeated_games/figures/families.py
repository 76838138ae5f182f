"""Table 1: points as a share of the most that a player could get, averaged over the games of a family.

And one model against another over all games. The paper's df of 287 are those of the 288 matches of a pair (144 games,
both seatings); the released script did not take their differences, so every printed figure is in doubt.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostrom.analysis.estimate import estimate
from ostrom.analysis.measure import measures
from ostrom.analysis.references import AGAINST, Own
from ostrom.analysis.statistics import cohens_d_paired, jzs_paired, paired_t
from ostrom.analysis.units import observations
from ostrom.data.rundata import RunData
from ostrom.ground.errors import OstromError
from ostrom.replications.repeated_games.figures.averages import own_of
from ostrom.replications.repeated_games.published import ALL_GAMES

MEASURE = "score_ratio"
PUBLISHED = ("cyclic", "win-win", "biased", "unfair", "second-best", "pd-family")
"""All families but the tragic one, which the paper leaves out."""


def families(data: RunData) -> Iterator[Own]:
    """Means over games: seats and opponents are averaged within a game first, as the paper does."""
    where = {"family": PUBLISHED}
    found = estimate(data, MEASURE, ["agent", "family"], where=where, balance=["number"])
    for overall in estimate(data, MEASURE, ["agent"], where=where, balance=["number"]) if found else ():
        own = [one for one in found if one.key["agent"] == overall.key["agent"]]
        for one in own:
            yield own_of((one.key["family"].replace("-", "_"), "", MEASURE), one)
        if len(own) == len(PUBLISHED):
            yield own_of(("overall", "", MEASURE), overall)


def pairs(data: RunData) -> Iterator[Own]:
    """One agent minus another in the matches that they play with each other, over all ordinal games."""
    scores: dict[tuple[int, int], dict[str, float]] = {}
    for row in observations(data, measures.named(MEASURE)).rows:
        scores.setdefault((row["match"], row["number"]), {})[row["agent"]] = row.value
    met: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for (_, number), of in scores.items():
        if len(of) == 2:
            first, second = of
            for a, b in ((first, second), (second, first)):
                met.setdefault((a, b), []).append((number, of[a], of[b]))
    for (a, b), found in met.items():
        try:
            yield from _tested(f"{a}{AGAINST}{b}", found)
        except (OstromError, ValueError):  # one match alone, or scores that never differ
            continue


def _tested(pair: str, found: list[tuple[int, float, float]]) -> Iterator[Own]:
    a, b = [first for _, first, _ in found], [second for _, _, second in found]
    test, effect = paired_t(a, b, unit="match"), cohens_d_paired(a, b, unit="match")
    low, high = effect.ci
    figures = {
        "t": test.statistic, "df": test.df, "p": test.p, "d": effect.estimate, "d_ci_low": low, "d_ci_high": high,
        "bf": jzs_paired(a, b, unit="match").bf10,
    }  # fmt: skip
    for name, value in figures.items():
        ends = (low, high) if name == "d" else (None, None)
        doubts = _by_game(found) if name == "t" else ()
        cell = ("", ALL_GAMES, f"{name}_against_one_model")
        yield Own(cell, pair, value, ends[0], ends[1], None, len(found), doubts)


def _by_game(found: list[tuple[int, float, float]]) -> tuple[str, ...]:
    """The same test with one difference per game, for its two seatings are not independent."""
    games: dict[int, list[tuple[float, float]]] = {}
    for number, a, b in found:
        games.setdefault(number, []).append((a, b))
    first, second = ([sum(pair[i] for pair in of) / len(of) for of in games.values()] for i in (0, 1))
    try:
        test = paired_t(first, second, unit="game")
    except (OstromError, ValueError):
        return ()
    said = f"t({test.df:.0f}) = {test.statistic:.2f}, p = {test.p:.3f}"
    return (f"takes the two seatings of a game for independent; with games as the unit {said}",)
