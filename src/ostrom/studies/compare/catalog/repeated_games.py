"""Akata et al. (2025), Playing repeated games with large language models: Table 1, scores by family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ostrom.analysis.rundata import RunData
from ostrom.analysis.summary import bootstrap_interval
from ostrom.studies.compare.figures import Games, Own, Published, Reference
from ostrom.studies.reference import number, reference_rows

MOST = 4.0
"""The best payoff of an ordinal game."""
GOOD = ("yes", "near")
LEFT_OUT = "tragic"


class RepeatedGames(Reference):
    """Points as a share of the most that a player could get, averaged over the games of a family."""

    name: ClassVar[str] = "repeated_games"
    citation: ClassVar[str] = "Akata et al. (2025), Playing repeated games with large language models"
    columns: ClassVar[tuple[str, ...]] = ("family", "measure")
    spread: ClassVar[str] = "none printed"
    protocol: ClassVar[Mapping[str, Any]] = {"mechanism.rounds": 10, "agent.params.temperature": 0}

    def published(self) -> Sequence[Published]:
        """The cells of Table 1; what the released data do not give is in doubt."""
        return [
            Published(
                (row["family"], row["statistic"]), row["model"], value, None, row["location"],
                "verified" if row["reproduced"] in GOOD else row["reproduced"], _doubts(row),
            )
            for row in reference_rows("repeated_games")
            if row["kind"] == "table_cell" and (value := number(row["published_value"])) is not None
        ]  # fmt: skip

    def own(self, data: RunData, games: Games) -> Sequence[Own]:
        """Means over games: seats and opponents are averaged within a game first, as the paper does."""
        family: dict[int, str] = {}
        scores: dict[tuple[str, int], list[float]] = {}
        for row in data.records(
            "SELECT match, agent, score FROM matches WHERE state = 'done' AND unit = 'match' "
            "AND score IS NOT NULL AND seat IS NOT NULL ORDER BY match, player"
        ):
            params = games.of(row["match"]).params
            if "family" in params:
                family[params["number"]] = str(params["family"])
                scores.setdefault((row["agent"], params["number"]), []).append(row["score"] / MOST)
        per_game = {key: sum(of) / len(of) for key, of in scores.items()}
        found: list[Own] = []
        for agent in dict.fromkeys(agent for agent, _ in per_game):
            own = {game: value for (who, game), value in per_game.items() if who == agent}
            for name in dict.fromkeys(family[game] for game in own):
                if name != LEFT_OUT:
                    values = [v for game, v in own.items() if family[game] == name]
                    found += list(_mean(_published_name(name), agent, values))
            rest = [v for game, v in own.items() if family[game] != LEFT_OUT]
            if {family[game] for game in own} >= FAMILIES:
                found += list(_mean("overall", agent, rest))
        return found

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """What the paper averages over."""
        if any("family" in game.params for of in games.labelled.values() for game in of):
            return [
                "The paper averages over opponents that include its own models; intervals resample games."
            ]
        return ["The run has none of the 144 ordinal games, whose scores by family the paper prints."]


FAMILIES = {"cyclic", "win-win", "biased", "unfair", "second-best", "pd-family"}


def _published_name(family: str) -> str:
    return family.replace("-", "_")


def _doubts(row: Mapping[str, str]) -> tuple[str, ...]:
    notes = [row["note"]] if row["note"] else []
    if row["reproduced"] not in GOOD:
        value = f" (they give {row['reproduced_value']})" if row["reproduced_value"] else ""
        notes.insert(0, f"CONFLICT: the released data do not give it{value}")
        return tuple(notes)
    return ()


def _mean(family: str, agent: str, values: list[float]) -> Iterator[Own]:
    if values:
        array = np.array(values)
        low, high = bootstrap_interval(array) if len(array) > 1 else (None, None)
        yield Own((family, "score_ratio"), agent, float(array.mean()), low, high, None, len(array))


REFERENCE = RepeatedGames
