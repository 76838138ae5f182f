"""Akata et al. (2025), Playing repeated games with large language models: Table 1, contests, claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ostrom.analysis.published import number, published_rows
from ostrom.analysis.references import Games, Own, Published, Reference
from ostrom.data.rundata import RunData
from ostrom.replications.repeated_games.figures.claims import VARIANTS, claims
from ostrom.replications.repeated_games.figures.contests import contests
from ostrom.replications.repeated_games.figures.families import families, pairs
from ostrom.replications.repeated_games.figures.people import people, persons
from ostrom.replications.repeated_games.figures.predictions import predictions
from ostrom.replications.repeated_games.moves import BOS, PD, decisions, matches
from ostrom.replications.repeated_games.published import GOOD, NO_PEOPLE, NOT_COMPARED, cell_of, doubts_of


class RepeatedGames(Reference):
    """Shares of the best score by family; one player against all others; what is claimed in words."""

    name: ClassVar[str] = "repeated_games"
    citation: ClassVar[str] = "Akata et al. (2025), Playing repeated games with large language models"
    columns: ClassVar[tuple[str, ...]] = ("family", "game", "measure")
    spread: ClassVar[str] = "none printed"
    protocol: ClassVar[Mapping[str, Any]] = {"mechanism.rounds": 10, "agent.params.temperature": 0}

    def published(self) -> Sequence[Published]:
        """Every printed number that a run can give; what the released data do not give is in doubt."""
        made = []
        for row in published_rows("repeated_games"):
            value, place = number(row["published_value"]), cell_of(row)
            if value is not None and place is not None:
                status = "verified" if row["reproduced"] in GOOD else row["reproduced"]
                made.append(Published(*place, value, None, row["location"], status, doubts_of(row)))
        return made

    def __init__(self) -> None:
        self._of: tuple[RunData, list[Own], list[str]] | None = None

    def own(self, data: RunData, games: Games) -> Sequence[Own]:  # noqa: ARG002
        """The same figures of the run."""
        return self._worked_out(data)[0]

    def remarks(self, data: RunData, games: Games) -> list[str]:
        """What the paper averages over, and what has nothing beside it."""
        if any("family" in game.params for of in games.labelled.values() for game in of):
            said = "The paper averages over opponents that include its own models; games are the unit of intervals."
        else:
            said = "The run has none of the 144 ordinal games, whose scores by family the paper prints."
        nobody = [] if persons(data) else [NO_PEOPLE]
        return [said, *self._worked_out(data)[1], *nobody, *NOT_COMPARED]

    def _worked_out(self, data: RunData) -> tuple[list[Own], list[str]]:
        """Figures and remarks of a run, made once."""
        if self._of is None or self._of[0] is not data:
            moves, found = decisions(data), matches(data)
            tested, why = contests(moves, data)
            ours, missing = people(data)
            own = [
                *families(data),
                *pairs(data),
                *tested,
                *claims(found, data),
                *predictions(data, found),
                *ours,
            ]
            self._of = data, own, [*why, *missing, *_missing(own, moves)]
        return self._of[1:]


def _missing(own: Sequence[Own], moves: Mapping[str, Any]) -> Iterator[str]:
    """What is claimed in words and cannot be seen in this run, one line each."""
    if not moves:
        yield (
            "Not compared: contests and claims about the Prisoner's Dilemma and the Battle of the Sexes; the run "
            "has no match of them with the paper's payoffs."
        )
        return
    measured = {figure.cell[1:] for figure in own}
    for game, measure, needs in NEEDS:
        if game in moves and (game, measure) not in measured:
            yield f"Not compared: {measure.replace('_', ' ')} ({game.replace('_', ' ')}); it needs {needs}."


NEEDS = (
    (PD, "cooperations_after_first_defection", "a model against a script that defects once"),
    (PD, "n_variants_above_0.1", f"a model against a script that defects once in {VARIANTS} framings"),
    (BOS, "coordination_rate", "a model against a script that alternates"),
    (
        BOS,
        "first_alternating_round",
        "a model of style social in seat 1 that gets in step with an alternating script",
    ),
    (BOS, "first_correct_round_as_player", "a model that predicts an alternating script rightly in the end"),
    (BOS, "first_correct_round_as_observer", "a model that observes an alternating script and gets it right"),
)
"""Claims in words and the matches that they speak of."""

REFERENCE = RepeatedGames
