"""Normalised scores: by mechanism, and by game and type under each of them."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.replications.coopeval.panels._shared import match_rows, nothing_yet
from ostrom.replications.coopeval.scores import Normalised, Points, normalised_means, score_points
from ostrom.reports.marks import dots, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import labels, listed, pretty

COLUMNS = ("mean", "low", "high", "matches", "runs", "designs", "unit", "method", "note")
MEANING = "0 is what all earn when everybody defects, 1 when everybody cooperates"


class MechanismScores(Panel):
    """Scores on the scale from the all-defect equilibrium (0) to full cooperation (1), averaged over games.

    ``expected`` takes the exact expectation of the scores instead of the sampled ones, where it is known.
    """

    title = "Normalised score by mechanism"

    def __init__(self, expected: bool = False) -> None:
        self.expected = bool(expected)

    def draw(self, data: RunData) -> Drawn:
        """One dot per mechanism, then one per mechanism, game and type."""
        if why := nothing_yet(data):
            return Drawn(notes=[why])
        found = score_points(match_rows(data), data.unit, expected=self.expected)
        notes = [f"Left out: {why}, so its scores cannot be normalised." for why in found.unscaled.values()]
        if found.left_out:
            notes.append(f"{found.left_out} scores have no exact expectation and are left out.")
        if not found.points:
            return Drawn(notes=notes or ["No finished match has a score."])
        overall = normalised_means(found.points, ["mechanism"])
        detail = normalised_means(found.points, ["mechanism", "game", "type"])
        notes += _without_interval(overall)
        kind = "exact expected scores" if self.expected else "scores"
        caption = (
            f"Normalised {kind}: {MEANING}. Means over types, then over games, with 95 % intervals over designs "
            "(over matches where nothing is designed). Hollow dots have no interval."
        )
        figures = [
            Figure("mechanisms_scores", _overall(overall), caption, "Dots of normalised score by mechanism."),
            Figure(
                "mechanisms_scores_by_game_and_type",
                _detail(detail),
                f"Normalised {kind} of each type in each game.",
                "Dots of normalised score by mechanism, game and type.",
            ),
        ]
        return Drawn(
            figures, [_table("mechanisms_scores", ["mechanism"], overall), *_tables(detail, found)], notes
        )


def _overall(means: list[Normalised]) -> object:
    names = labels(m.key["mechanism"] for m in means)
    rows = [
        {
            "label": names[m.key["mechanism"]],
            "series": "all types",
            "mean": m.mean,
            "low": m.low,
            "high": m.high,
        }
        for m in means
    ]
    return dots({"": rows}, axis="normalised score", series=series_colours(["all types"]), domain=None)


def _detail(means: list[Normalised]) -> object:
    """A block per game, a row per mechanism and a colour per type; many types are in the rows instead."""
    types = list(dict.fromkeys(m.key["type"] for m in means))
    names, mechanisms = labels(types), labels(m.key["mechanism"] for m in means)
    coloured = len(types) <= MOST_COLOURS
    groups: dict[str, list[dict[str, object]]] = {}
    for m in means:
        who = names[m.key["type"]]
        mechanism = mechanisms[m.key["mechanism"]]
        groups.setdefault(pretty(m.key["game"]), []).append(
            {
                "label": mechanism if coloured else f"{mechanism} · {who}",
                "series": who if coloured else "all types",
                "mean": m.mean, "low": m.low, "high": m.high,
            }
        )  # fmt: skip
    series = series_colours([names[t] for t in types] if coloured else ["all types"])
    return dots(groups, axis="normalised score", series=series, domain=None)


def _table(name: str, keys: list[str], means: list[Normalised]) -> Table:
    rows = [
        [
            *m.key.values(), m.mean, m.low, m.high, m.matches, m.runs, m.designs,
            m.estimate.unit, m.estimate.method, m.estimate.note or None,
        ]
        for m in means
    ]  # fmt: skip
    return Table(name, [*keys, *COLUMNS], rows, f"Normalised score by {listed(keys)}; {MEANING}.")


def _tables(detail: list[Normalised], found: Points) -> list[Table]:
    scales = [
        [game, seat + 1, scale.equilibrium[seat], scale.cooperation[seat]]
        for game, scale in found.scales.items()
        for seat in range(len(scale.equilibrium))
    ]
    return [
        _table("mechanisms_scores_by_game_and_type", ["mechanism", "game", "type"], detail),
        Table(
            "mechanisms_scales", ["game", "seat", "all defect (0)", "all cooperate (1)"], scales,
            "The benchmarks of the scale, computed from the games.",
        ),
    ]  # fmt: skip


def _without_interval(means: list[Normalised]) -> list[str]:
    reasons = dict.fromkeys(m.estimate.note for m in means if m.low is None)
    return [f"Some mechanisms have no interval: {'; '.join(reasons)}."] if reasons else []


PANEL = MechanismScores
