"""What a script says when it is asked for its strategy: the truth, in the form that is asked for."""

from __future__ import annotations

from typing import Any

from ostrom.agents.strategy import Strategy
from ostrom.answers import Form, Text
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.protocol import Round, View
from ostrom.mechanisms.statements import PLACES, STATES, place_key


def stated(strategy: Strategy, view: View, form: Form) -> Any:
    """A strategy as a table of its odds, as its automaton (what it does more often than not), or by its title."""
    if isinstance(form, Text):
        return str(getattr(strategy, "title", strategy.name))
    if getattr(form, "name", "") == "memory_one":
        if strategy.memory_depth > 1:
            raise StudyError(
                f"strategy {strategy.name} looks back on more than one round and has no memory-one table to state"
            )
        return {"first": _chance(strategy, view, ()), **_table(strategy, view)}
    return _machine(strategy, view)


def _chance(strategy: Strategy, view: View, rounds: tuple[Round, ...]) -> int:
    strategy.forget()
    odds = strategy.odds(View(view.game, view.seat, view.mechanism, len(rounds) + 1), rounds)
    strategy.forget()
    return round(100 * odds[0])


def _table(strategy: Strategy, view: View) -> dict[str, int]:
    made = {}
    for own, other in PLACES:
        profile = (own - 1, other - 1) if view.seat == 0 else (other - 1, own - 1)
        last = Round(1, profile, view.game.payoff(profile))
        made[place_key(own, other)] = _chance(strategy, view, (last,))
    return made


def _machine(strategy: Strategy, view: View) -> dict[str, Any]:
    if strategy.memory_depth == 0:
        action = view.game.actions[view.seat][0 if _chance(strategy, view, ()) >= 50 else 1]
        return {
            f"state_{n}_{part}": action if part == "action" else n
            for n in range(1, STATES + 1)
            for part in ("action", "after_1", "after_2")
        }
    machine = strategy.automaton(view.game, view.seat)
    good, other_good = view.game.cooperative[view.seat], view.game.cooperative[1 - view.seat]
    if machine is None or good is None or other_good is None or len(machine.cooperate) > STATES:
        raise StudyError(f"strategy {strategy.name} is no automaton of at most {STATES} states")
    # The statement begins in state 1, whatever the machine calls its first state.
    order = [machine.initial, *(s for s in range(len(machine.cooperate)) if s != machine.initial)]
    made: dict[str, Any] = {}
    for number in range(1, STATES + 1):
        state = order[min(number, len(order)) - 1]
        cooperates = machine.cooperate[state] >= 0.5
        made[f"state_{number}_action"] = view.game.actions[view.seat][good if cooperates else 1 - good]
        for place in (1, 2):
            kind = place - 1 == other_good
            after = machine.transitions[state][2 * (not cooperates) + (not kind)]
            made[f"state_{number}_after_{place}"] = order.index(after) + 1
    return made
