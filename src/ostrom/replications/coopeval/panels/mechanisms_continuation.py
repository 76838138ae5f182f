"""Whether cooperation is an equilibrium at all: the continuation that it needs beside the one that was played."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.engine.plan import Unit
from ostrom.games.equilibria.continuation import least_continuation
from ostrom.mechanisms.catalog.similarity import compared_game
from ostrom.mechanisms.incentives import is_equilibrium
from ostrom.replications.coopeval.panels._shared import nothing_yet
from ostrom.reports.panel import Drawn, Panel, Table

COLUMNS = ("game", "mechanism", "needed", "played", "cooperation is an equilibrium", "why")


class MechanismContinuation(Panel):
    """Per game and mechanism: the least chance of another round with which full cooperation is an equilibrium."""

    title = "When cooperation is an equilibrium"

    def draw(self, data: RunData) -> Drawn:
        """One row per game and mechanism of the run."""
        if why := nothing_yet(data):
            return Drawn(notes=[why])
        by = ", ".join(f'"{name}"' for name in data.factors)
        grouped = f" GROUP BY {by}" if by else ""
        firsts = data.records(
            f"SELECT min(match) AS first FROM matches WHERE unit = 'match'{grouped} ORDER BY 1"
        )
        rows = list(dict.fromkeys(row_of(data.unit(row["first"])) for row in firsts))
        caption = (
            "The least chance of another round with which full cooperation is an equilibrium, and the chance that "
            "players were told (or the discount of the score). Who leaves it is answered by all defecting: for ever "
            "under repetition, for as long as records last under reputation, provided that players can tell who "
            "deserves it."
        )
        return Drawn(tables=[Table("mechanisms_continuation", COLUMNS, [list(row) for row in rows], caption)])


def row_of(unit: Unit) -> tuple[str, str, float | None, float | None, str, str]:
    """What a match needs, and what it had."""
    game, mechanism = unit.game, unit.mechanism
    label = str(unit.cell.get("mechanism", mechanism.name))
    if mechanism.name in ("repetition", "reputation", "punishment"):
        window = getattr(mechanism, "window", None) if mechanism.name == "reputation" else None
        needed = least_continuation(game, punished=window)
        told = getattr(mechanism, "told", {}).get("continuation")
        had = told if told is not None else getattr(mechanism, "discount", None)
        if needed is None:
            return (
                game.name,
                label,
                None,
                had,
                "no",
                "somebody gains by leaving it, whatever the continuation",
            )
        if had is None:
            return (
                game.name,
                label,
                needed,
                None,
                "unknown",
                "players were told of no chance of another round",
            )
        return (
            game.name,
            label,
            needed,
            had,
            "yes" if had >= needed - 1e-9 else "no",
            "by all defecting afterwards",
        )
    if mechanism.name in ("mediation", "contracting"):
        return game.name, label, 0.0, None, "by design", "in one play, under a design that makes it one"
    if mechanism.name == "similarity":
        whole = compared_game(game, mechanism.error)  # type: ignore[attr-defined]
        stable = is_equilibrium(whole, tuple(len(names) for names in game.actions))
        return (
            game.name,
            label,
            0.0,
            None,
            "yes" if stable else "no",
            "in one play, if all let the comparison decide",
        )
    cooperate = tuple(a for a in game.cooperative if a is not None)
    stable = len(cooperate) == game.seats and is_equilibrium(game, cooperate)
    return game.name, label, None, None, "yes" if stable else "no", "in one play"


PANEL = MechanismContinuation
