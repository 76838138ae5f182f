"""Players whom a round pays without asking them: the recipient of a dictator, a trustee to whom nothing was sent."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ostrom.engine.rows import Row
from ostrom.games.amounts import IDLE
from ostrom.studies.run import Run


def unasked(run: Run, match: int, acted: Collection[tuple[int, int]]) -> Iterator[Row]:
    """A row for every round of a game by a rule in which a player had no move.

    ``acted`` says who had one, as (player, round). The rows are those of an act whose action is ``no_move``; there are
    none for a match that is not over.
    """
    unit, rows = run.plan.unit(match), run.rows
    if unit.game.has_table or unit.kind != "match":
        return
    _, outcome, _ = rows.replayed(unit)
    known = list(rows.planned(unit))
    for played in outcome.rounds if outcome is not None else ():
        for player, paid in enumerate(played.payoffs, 1):
            if (player, played.number) not in acted:
                person = {} if rows.people is None else rows.people.of_match(unit, player - 1)
                yield {
                    **known[player - 1], "person": person.get("person"), "kind": "act", "step": -1,
                    "round": played.number, "answer": None, "action": IDLE, "cooperative": None, "payoff": paid,
                    "missed": False,
                }  # fmt: skip
