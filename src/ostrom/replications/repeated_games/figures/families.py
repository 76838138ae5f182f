"""Table 1: points as a share of the most that a player could get, averaged over the games of a family."""

from __future__ import annotations

from collections.abc import Iterator

from ostrom.analysis.estimate import estimate
from ostrom.analysis.rundata import RunData
from ostrom.replications.repeated_games.figures.averages import own_of
from ostrom.studies.compare.figures import Own

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
