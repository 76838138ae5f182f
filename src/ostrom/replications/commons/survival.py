"""Survival of a common stock over all models of a run: figures that are no mean of a measure."""

from collections.abc import Iterator

from ostrom.analysis.claims import DeclaredReference
from ostrom.analysis.estimate import estimate
from ostrom.analysis.references import Games, RunFigure
from ostrom.data.rundata import RunData
from ostrom.mechanisms.talk import Talking

TALK = "talk"


class Commons(DeclaredReference):
    """The share of models that sustain the stock, and the highest survival rate, in matches with talk."""

    def more(self, data: RunData, games: Games) -> Iterator[RunFigure]:  # noqa: ARG002
        """Yield both figures for matches with talk, over all agents."""
        if TALK not in data.factors:
            matches = data.records("SELECT DISTINCT match FROM matches")
            if not all(isinstance(data.unit(row["match"]).mechanism, Talking) for row in matches):
                return  # the published figures are of players who talk
        rates = estimate(data, "survival", ["agent"], where={TALK: TALK} if TALK in data.factors else None)
        if rates:
            best = max(rates, key=lambda e: e.value)
            sustained = sum(e.value > 1 - 1e-9 for e in rates) / len(rates)
            yield RunFigure((TALK, "highest_survival"), None, best.value, best.low, best.high, None, best.n)
            yield RunFigure((TALK, "sustained"), None, sustained, None, None, None, sum(e.n for e in rates))
