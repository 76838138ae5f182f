"""Table 1: points as a share of the most that a player could get, averaged over the games of a family."""

from __future__ import annotations

from ostrom.analysis.rundata import RunData
from ostrom.replications.repeated_games.figures.averages import mean_of
from ostrom.studies.compare.figures import Games, Own

LEFT_OUT = "tragic"
MEASURE = "score_ratio"
FAMILIES = {"cyclic", "win-win", "biased", "unfair", "second-best", "pd-family"}


def families(data: RunData, games: Games) -> list[Own]:
    """Means over games: seats and opponents are averaged within a game first, as the paper does."""
    family: dict[int, str] = {}
    scores: dict[tuple[str, int], list[float]] = {}
    for row in data.records(
        "SELECT match, agent, seat, score FROM matches WHERE state = 'done' AND unit = 'match' "
        "AND score IS NOT NULL AND seat IS NOT NULL ORDER BY match, player"
    ):
        game = games.of(row["match"])
        params = game.params
        # A game of a foreign table may pay other amounts in the same order; 4 is the best rank.
        most = float(game.payoffs[..., row["seat"] - 1].max())
        if "family" in params and most > 0:
            family[params["number"]] = str(params["family"])
            scores.setdefault((row["agent"], params["number"]), []).append(row["score"] / most)
    per_game = {key: sum(of) / len(of) for key, of in scores.items()}
    found: list[Own] = []
    for agent in dict.fromkeys(agent for agent, _ in per_game):
        own = {game: value for (who, game), value in per_game.items() if who == agent}
        for name in dict.fromkeys(family[game] for game in own):
            if name != LEFT_OUT:
                shares = [own[g] for g in own if family[g] == name]
                found.append(mean_of((name.replace("-", "_"), "", MEASURE), agent, shares))
        if {family[game] for game in own} >= FAMILIES:
            shares = [own[g] for g in own if family[g] != LEFT_OUT]
            found.append(mean_of(("overall", "", MEASURE), agent, shares))
    return found
