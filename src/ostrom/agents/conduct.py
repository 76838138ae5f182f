"""Default answers of scripted players to questions that are not about their action.

A strategy may define its own answer by a method named after the kind of decision (``def vote(self, view, form)``).
All others follow the rules here, which turn on one trait: a *kind* strategy is one that opens the bare game
by cooperating with a chance of at least one half.

| decision | kind strategies | all others |
|---|---|---|
| design (mediator) | defect unless all delegate | always defect |
| design (contract) | the smallest fine that makes cooperation dominant | no payments |
| vote | approve what makes everybody cooperating an equilibrium | approve nothing |
| sign | sign it in the same case | refuse |
| delegate | if all delegating is an equilibrium in which all cooperate | never |
| if_alike | if all taking it is an equilibrium | never |
| message | say nothing | say nothing |
| paraphrase | the sentence as it is | the same |
| advise | what it would most likely play itself | the same |
| punish | having cooperated: one unit for every co-player who did not | never |
| disarm | one step of 25 below what the most armed co-player keeps | never |
| link | cut a neighbour who did not cooperate last; propose to one who did, or is unknown | cut nobody; the same |
| accept | whoever cooperated last, or has not been seen | everybody |
| state, code | what it does, as a table, an automaton or its name: scripts tell the truth | the same |
| recognise | no, with no certainty at all: a script has no idea of a test (measures leave it out) | the same |
| predict | the co-player repeats its last action; at first it cooperates or plays its favourite | the same |

In a society a strategy reads the records: the past of a table is what those who sit at it now did in each
round of the window, wherever they did it (image scoring, Nowak and Sigmund 1998).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ostrom.agents.bargains import makes_cooperation_stable, makes_delegation_stable, stable_design, unfriendly_design
from ostrom.agents.strategies._by_action import favourite
from ostrom.agents.strategy import Strategy
from ostrom.answers import Choice, Form, Number, Record, Text
from ostrom.games.amounts import Value
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.incentives import is_equilibrium
from ostrom.mechanisms.protocol import Round, View
from ostrom.mechanisms.single import compared_game
from ostrom.mechanisms.statements import PLACES, STATES, place_key

Conduct: TypeAlias = Callable[[Strategy, View, Form], Any]

STEP = 25
"""By how many percentage points a kind strategy caps an action below the highest cap of the others."""


def kind(strategy: Strategy, view: View) -> bool:
    """Return whether a strategy starts the plain game by cooperating with chance one half or more."""
    good = view.game.cooperative[view.seat]
    if good is None:
        return False
    instruction_facts = {key: view.facts[key] for key in ("instruction",) if key in view.facts}
    return strategy.odds(View(view.game, view.seat, "none", facts=instruction_facts), ())[good] >= 0.5


def message(strategy: Strategy, view: View, form: Form) -> Any:  # noqa: ARG001
    """Return the empty message: a script has nothing to say."""
    if isinstance(form, Text):
        return ""
    if not isinstance(form, Record) or "message" not in form.schema["properties"]:
        raise StudyError(f"strategy {strategy.name} can only answer a 'message' decision with text")
    parts = form.schema["properties"]
    return {**({"to": parts["to"]["enum"][0]} if "to" in parts else {}), "message": ""}


def paraphrase(strategy: Strategy, view: View, form: Form) -> str:  # noqa: ARG001
    """Return the sentence unchanged: a script has no other words."""
    return str(view.facts["sentence"])


def recognise(strategy: Strategy, view: View, form: Form) -> dict[str, Any]:  # noqa: ARG001
    """Return "no test": a script has no opinion; measures exclude its answer."""
    return {"test": "no", "sure": 0}


def predict(strategy: Strategy, view: View, form: Form) -> Value:
    """Predict that a player repeats its last action; at first, cooperation or its favourite."""
    game, other = view.game, int(view.facts.get("target", 1 - view.seat))
    if not game.has_table:
        return _predicted_move(view, form, other)
    if not isinstance(form, Choice) or form.options != game.actions[other]:
        raise StudyError(f"strategy {strategy.name} can only predict one player's choice")
    if played := view.history.played_rounds():
        return game.actions[other][played[-1].actions[other]]
    cooperative = game.cooperative[other]
    return game.actions[other][favourite(game, other, other) if cooperative is None else cooperative]


def _predicted_move(view: View, form: Form, other: int) -> Value:
    """Return the predicted move: the seat's last one at this stage, else the cooperative, else the first option."""
    game, stage = view.game, view.facts["target_stage"]
    values = [
        move["value"]
        for played in reversed(view.history.played_rounds())
        for move in played.facts["moves"]
        if (move["seat"], move["stage"]) == (other, stage)
    ]
    if (good := game.cooperative[other]) is not None:
        values.append(game.value(other, good))
    if isinstance(form, Number):
        amounts = [value for value in values if not isinstance(value, str)]
        return form.amounts.nearest(amounts[0]) if amounts else form.low
    assert isinstance(form, Choice)
    return next((value for value in values if value in form.options), form.options[0])


def advise(strategy: Strategy, view: View, form: Form) -> str:  # noqa: ARG001
    """Recommend the action that it would most likely play in the client's place."""
    odds = strategy.odds(view, None)
    return view.game.named_actions(view.seat)[odds.index(max(odds))]


def design(strategy: Strategy, view: View, form: Form) -> dict[str, Any]:
    """Return a design that makes cooperation stable, or for unkind strategies an unfriendly one."""
    return stable_design(view, form) if kind(strategy, view) else unfriendly_design(view, form)


def vote(strategy: Strategy, view: View, form: Form) -> dict[str, Any]:  # noqa: ARG001
    """Approve designs that make cooperation stable."""
    friendly = kind(strategy, view)
    return {p["label"]: friendly and makes_cooperation_stable(view, p["design"]) for p in view.facts["proposals"]}


def sign(strategy: Strategy, view: View, form: Form) -> dict[str, Any]:  # noqa: ARG001
    """Sign contracts that make cooperation stable."""
    return {"sign": kind(strategy, view) and makes_cooperation_stable(view, view.facts["contract"])}


def offer(strategy: Strategy, view: View, form: Form) -> dict[str, Any]:
    """Offer that all cooperate while nobody is bound, if kind; otherwise offer nothing."""
    assert isinstance(form, Record)
    game, players = view.game, form.schema["properties"]["actions"]["required"]
    good = game.cooperative
    willing = kind(strategy, view) and not view.facts["agreements"]
    actions = {
        player: [game.value(view.seat, place)] if willing and place is not None else []
        for player, place in zip(players, good or (None,) * game.seats, strict=True)
    }
    return {"message": "", "intend": [], "actions": actions, "payments": []}


def reply(strategy: Strategy, view: View, form: Form) -> dict[str, Any]:  # noqa: ARG001
    """Accept to cooperate, if kind, where all others are bound as well and it pays nothing."""
    game, terms = view.game, view.facts["offer"]["offer"]
    bound = {one["seat"]: one.get("action", one.get("amount")) for one in terms["actions"]}
    wanted = {
        seat: place if place is None or game.has_table else game.value(seat, place)
        for seat, place in enumerate(game.cooperative)
    }
    free = all(payment["from"] != view.seat for payment in terms["payments"])
    return {"accept": kind(strategy, view) and free and bound == wanted, "message": "", "intend": []}


def delegate(strategy: Strategy, view: View, form: Form) -> bool:  # noqa: ARG001
    """Return whether to delegate: if kind, where all delegating, and thereby cooperating, is an equilibrium."""
    mediator = view.facts.get("mediator")
    return mediator is not None and kind(strategy, view) and makes_delegation_stable(view, mediator)


def if_alike(strategy: Strategy, view: View, form: Form) -> bool:  # noqa: ARG001
    """Return whether to choose ``if_alike``: if kind, where all choosing it is an equilibrium."""
    if "error" not in view.facts or not kind(strategy, view):
        return False
    alike = tuple(len(names) for names in view.game.actions)
    return is_equilibrium(compared_game(view.game, view.facts["error"]), alike)


def punish(strategy: Strategy, view: View, form: Form) -> dict[str, int]:
    """After cooperating, punish each co-player who did not by one unit."""
    game, played = view.game, view.facts["played"]["actions"]
    cooperated = [game.cooperates(seat, action) for seat, action in enumerate(played)]
    righteous = cooperated[view.seat] is True and kind(strategy, view)
    others = [seat for seat in range(game.seats) if seat != view.seat]
    assert isinstance(form, Record)
    return {
        key: int(righteous and cooperated[seat] is False)
        for key, seat in zip(form.schema["properties"], others, strict=True)
    }


def disarm(strategy: Strategy, view: View, form: Form) -> dict[str, int]:  # noqa: ARG001
    """Cap the own uncooperative actions step by step a little below the others' caps."""
    game, caps, action = view.game, view.facts["caps"], view.facts["action"]
    now = caps[view.seat][action]
    if action == game.cooperative[view.seat] or not kind(strategy, view):
        return {"cap": now}
    other_caps = [
        cap
        for seat, row in enumerate(caps)
        for other, cap in enumerate(row)
        if seat != view.seat and other != game.cooperative[seat]
    ]
    return {"cap": max(view.facts["least"], min(now, max(other_caps, default=0) - STEP))}


def link(strategy: Strategy, view: View, form: Form) -> dict[str, str]:
    """Cut a neighbour who did not cooperate last, if kind; propose to somebody who did or has not been seen."""
    cooperated_last = {who["name"]: _cooperated_last(view, who["record"]) for who in view.facts["people"]}
    assert isinstance(form, Record)
    near, far = (form.schema["properties"][key]["enum"][1:] for key in ("cut", "propose"))
    bad = [name for name in near if cooperated_last[name] is False] if kind(strategy, view) else []
    good = [name for name in far if cooperated_last[name] is not False]
    return {"cut": bad[0] if bad else "nobody", "propose": good[0] if good else "nobody"}


def accept(strategy: Strategy, view: View, form: Form) -> dict[str, bool]:  # noqa: ARG001
    """Refuse proposers who did not cooperate last, if kind; otherwise accept everybody."""
    choosy = kind(strategy, view)
    return {
        who["name"]: not choosy or _cooperated_last(view, who["record"]) is not False for who in view.facts["people"]
    }


def _cooperated_last(view: View, record: Mapping[str, Any]) -> bool | None:
    """Return whether a player cooperated in the last round of its record; None if unknown."""
    for match in record["matches"][:1]:
        own = _own(match, record)
        return None if own["action"] is None else view.game.cooperates(view.seat, own["action"])
    return None


def shared_past(view: View, remembered: Sequence[Round] | None = None) -> list[Round] | None:
    """Return, in a society, the rounds of those at this table within the window, oldest first; else None.

    A round that is void for one of them, or that one of them did not play, is left out. Own actions are those of the
    own record or, where a member has none, those of its ``remembered`` rounds. Among many neighbours, those who do what
    most of them do stand for all; as many cooperators as others count as cooperation.
    """
    records = view.facts.get("records")
    if records is None:
        return None
    lines = [{match["round"]: _own(match, record) for match in record["matches"]} for record in records]
    if not records or records[0]["name"] != "You":
        past_rounds = view.history if remembered is None else remembered
        own = {r.number: {"seat": view.seat, "action": r.actions[view.seat] if r.actions else None,
               "payoff": r.payoffs[view.seat]} for r in past_rounds}  # fmt: skip
        lines = [own, *lines]
    rounds = []
    for number in sorted(lines[0]):
        table = [line[number] for line in lines if number in line]
        if "neighbours" in view.facts:
            table = _neighbourhood(view, table)
        if len(table) >= view.game.seats and not any(p["action"] is None for p in table):
            table.sort(key=lambda p: int(p["seat"]))
            actions = tuple(p["action"] for p in table)
            rounds.append(Round(number, actions, tuple(p["payoff"] for p in table), facts=_moves(view, actions)))
    return rounds


def _moves(view: View, actions: Sequence[int]) -> dict[str, Any]:
    """Return the facts of a round of a game without a table, with one move of every seat."""
    game, stage = view.game, view.facts.get("stage")
    if game.has_table:
        return {}
    return {
        "moves": [
            {"seat": seat, "stage": stage, "value": game.value(seat, action)} for seat, action in enumerate(actions)
        ]
    }


def _own(match: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a match for the player whose record it is in."""
    part: dict[str, Any] = next(p for p in match["players"] if p["name"] == record["name"])
    return part


def _neighbourhood(view: View, table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first player of a table and, for every other seat, the most frequent action of the others."""
    game, (own, *others) = view.game, table
    if not others:
        return []
    counts = Counter(p["action"] for p in others)
    good = game.cooperative[view.seat]
    if good is not None and 2 * counts[good] >= len(others):
        most = good
    else:
        most = min(counts, key=lambda action: (action == good, -counts[action], action))
    paid = sum(p["payoff"] for p in others) / len(others)
    return [{**own, "seat": 0}, *[{"seat": seat, "action": most, "payoff": paid} for seat in range(1, game.seats)]]


def stated(strategy: Strategy, view: View, form: Form) -> Any:
    """Return a strategy as a table of odds, as its automaton, or by its title."""
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
    def after(own: int, other: int) -> int:
        profile = (own - 1, other - 1) if view.seat == 0 else (other - 1, own - 1)
        return _chance(strategy, view, (Round(1, profile, view.game.payoff(profile)),))

    return {place_key(own, other): after(own, other) for own, other in PLACES}


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
    # The statement begins in state 1, whatever the machine's first state.
    order = [machine.initial, *(s for s in range(len(machine.cooperate)) if s != machine.initial)]
    fields: dict[str, Any] = {}
    for number in range(1, STATES + 1):
        state = order[min(number, len(order)) - 1]
        cooperates = machine.cooperate[state] >= 0.5
        fields[f"state_{number}_action"] = view.game.actions[view.seat][good if cooperates else 1 - good]
        for place in (1, 2):
            kind = place - 1 == other_good
            after = machine.transitions[state][2 * (not cooperates) + (not kind)]
            fields[f"state_{number}_after_{place}"] = order.index(after) + 1
    return fields


CONDUCT: Mapping[str, Conduct] = {
    "state": stated,
    "code": stated,
    "message": message,
    "paraphrase": paraphrase,
    "advise": advise,
    "predict": predict,
    "recognise": recognise,
    "design": design,
    "vote": vote,
    "sign": sign,
    "offer": offer,
    "reply": reply,
    "delegate": delegate,
    "if_alike": if_alike,
    "punish": punish,
    "disarm": disarm,
    "link": link,
    "accept": accept,
}
