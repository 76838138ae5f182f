"""Negotiation: offers about actions and payments, binding once all concerned players accept."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from ostrom.answers import Answer, Choice, Number, Record
from ostrom.games.amounts import Amounts, Value
from ostrom.games.game import Game
from ostrom.ground.parameters import Count, Ge, Le, checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism, closed_object, scores_by_seat, seat_key
from ostrom.mechanisms.designs import default_bound
from ostrom.mechanisms.protocol import Decision, History, Outcome, Play, Round, View
from ostrom.mechanisms.rounds import Rounds

MOMENTS = ("now", "each_round", "end")
"""When a payment is due: after acceptance, after every round of the agreement, or after the last."""
Steps: TypeAlias = Generator[list[Decision], Sequence[Answer], None]


@dataclass(frozen=True)
class OfferTerms:
    """What an offer says: the actions of seats, and who pays whom how much when."""

    actions: Mapping[int, Value]
    payments: Sequence[Mapping[str, Any]] = ()

    @property
    def concerned(self) -> list[int]:
        """Return the seats that are bound or pay; pure receivers are not asked."""
        return sorted({*self.actions, *(payment["from"] for payment in self.payments)})


@dataclass
class _Table:
    """The state of a negotiation: balances, messages, agreements, and what is in force."""

    has: list[Fraction]
    log: list[dict[str, Any]] = field(default_factory=list)
    signed: list[dict[str, Any]] = field(default_factory=list)
    in_force: list[tuple[int, OfferTerms]] = field(default_factory=list)
    paid: list[dict[str, Any]] = field(default_factory=list)
    """Payments since the end of the last round."""
    net: dict[int, Fraction] = field(default_factory=dict)
    """The exact net of these payments, by seat."""
    short: dict[tuple[int, int], Fraction] = field(default_factory=dict)
    """By agreement and payment: the last amount actually paid, if it was less than agreed."""

    @property
    def bound(self) -> dict[int, Value]:
        return {seat: value for _, terms in self.in_force for seat, value in terms.actions.items()}

    def settle(self, moments: Sequence[str], agreements: Sequence[tuple[int, OfferTerms]]) -> None:
        """Make the due payments in the order of signing; nobody pays more than it has."""
        for number, terms in agreements:
            for place, payment in enumerate(terms.payments):
                if payment["when"] in moments:
                    payer, receiver, due = payment["from"], payment["to"], Fraction(payment["amount"])
                    paid = min(due, max(Fraction(0), self.has[payer]))
                    for seat, part in ((payer, -paid), (receiver, paid)):
                        self.has[seat] += part
                        self.net[seat] = self.net.get(seat, Fraction(0)) + part
                    self.short.pop((number, place), None)
                    if paid < due:
                        self.short[number, place] = paid
                    self.paid.append({"agreement": number, **payment, "paid": float(paid)})


class Negotiation(Mechanism):
    """Players make offers in turn, others accept or refuse, then the game is played as was agreed.

    An offer says what players do and who pays whom. It binds once everybody accepts whom it binds or who pays by it;
    several may be signed, as long as none contradicts another. Who is bound to an action is not asked for it. There are
    ``turns`` offers, by one seat after the other, at the ``start`` of the match, for all of its ``rounds``, or
    ``before`` every round, for that one (``when``); talk ends early once everybody has passed in a row. Each player
    begins with ``endowment`` points to pay from, and pays at most what it has then. ``bound`` is the largest payment
    (without it, ten times the range of the game's payoffs), ``most`` the payments of one offer, ``length`` the
    characters of a message. Without an agreement the game is played as it is.
    """

    name: ClassVar[str] = "negotiation"
    any_game: ClassVar[bool] = True

    @checked
    def __init__(
        self,
        rounds: Count = 1,
        turns: Annotated[int, Ge(1), Le(100)] = 4,
        when: Literal["start", "before"] = "start",
        endowment: Annotated[int, Ge(0), Le(10**9)] = 0,
        bound: Annotated[int, Ge(1), Le(10**9)] | None = None,
        most: Annotated[int, Ge(0), Le(20)] = 4,
        length: Annotated[int, Ge(1), Le(4000)] = 280,
    ) -> None:
        self.rounds, self.turns, self.when, self.endowment = rounds, turns, when, endowment
        self.bound, self.most, self.length = bound, most, length
        self.told: dict[str, Any] = {
            "turns": turns, "when": when, "endowment": endowment, "most": most, "length": length,
            **({"repeated": True, "rounds": rounds} if rounds > 1 else {}),
        }  # fmt: skip

    def check(self, game: Game) -> None:
        """Refuse games with one seat or with seats that differ in their actions, and payments without a bound."""
        super().check(game)
        self.require(game.seats > 1, f"game {game.name} has one seat, nobody could agree")
        first = game.actions[0]
        alike = (
            len({game.actions[seat] for seat in range(game.seats)}) == 1
            if any(isinstance(options, Amounts) for options in game.actions)
            else len({len(options) for options in game.actions}) == 1
        )
        self.require(
            alike and not (isinstance(first, Amounts) and (first.also or game.stateful)),
            f"all seats of game {game.name} need the same number of actions or the same amounts in every round",
        )
        bounded = self.bound is not None or game.has_table
        self.require(bounded, f"game {game.name} has no table of payoffs, so bound must be given")

    def play(self, game: Game, streams: Streams) -> Play:
        """Negotiate, then play as was agreed."""
        self.check(game)
        rounds: list[Round] = []
        common = {**self.told, "bound": self.bound_in(game)}
        table = _Table([Fraction(self.endowment)] * game.seats)
        playing = Rounds(game, self.name, streams, common)
        for number in range(1, self.rounds + 1):
            if number == 1 or self.when == "before":
                table.in_force = []
                yield from self._negotiate(game, number, History(rounds), common, table)
            bound = table.bound
            played = yield from self._play(playing, number, History(rounds), table, bound)
            table.has = [has + Fraction(paid) for has, paid in zip(table.has, played.payoffs, strict=True)]
            last = self.when == "before" or number == self.rounds or playing.over is not None
            table.settle(("each_round", "end") if last else ("each_round",), table.in_force)
            payoffs = tuple(float(Fraction(own) + table.net.get(seat, 0)) for seat, own in enumerate(played.payoffs))
            facts = {
                **played.facts, "before": list(played.payoffs), "payments": table.paid, "bound": sorted(bound),
            }  # fmt: skip
            rounds.append(
                replace(
                    played,
                    payoffs=payoffs,
                    facts=facts,
                    paid=tuple(float(table.net.get(seat, 0)) for seat in range(game.seats)),
                )
            )
            table.paid, table.net = [], {}
            if playing.over is not None:
                break
        facts = {"agreements": table.signed, "said": table.log, **playing.hidden_facts()}
        return Outcome(rounds, scores_by_seat(game, rounds), facts)

    def _negotiate(self, game: Game, number: int, history: History, told: Mapping[str, Any], table: _Table) -> Steps:
        """Ask for offers and replies before a round."""
        passes = 0
        for turn in range(1, self.turns + 1):
            seat = (turn - 1) % game.seats
            (answer,) = yield [
                Decision(
                    seat,
                    "offer",
                    self._view(game, seat, number, history, {**told, "turn": turn}, table),
                    self._offer_form(game, seat),
                )
            ]
            terms, problem = self._terms(game, seat, answer.value, table)
            entry: dict[str, Any] = {
                "round": number, "turn": turn, "from": seat, "text": answer.value["message"],
                "intends": _intent(game, seat, answer.value), "offer": None, "replies": [], "outcome": "pass",
            }  # fmt: skip
            table.log = [*table.log, entry]
            passes = passes + 1 if terms is None else 0
            if problem:
                entry |= {"outcome": "impossible", "problem": problem}
            if terms is not None and not problem:
                entry |= {"offer": _plain(game, terms), "outcome": "open"}
                others = [other for other in terms.concerned if other != seat]
                facts = {**told, "turn": turn, "offer": entry}
                questions = [
                    Decision(
                        other,
                        "reply",
                        self._view(game, other, number, history, facts, table),
                        self._reply_form(game, other),
                    )
                    for other in others
                ]
                answers = (yield questions) if questions else ()
                replies = [
                    {
                        "from": other, "accepts": answer.value["accept"], "text": answer.value["message"],
                        "intends": _intent(game, other, answer.value),
                    }
                    for other, answer in zip(others, answers, strict=True)
                ]  # fmt: skip
                agreed = all(reply["accepts"] for reply in replies)
                table.log = [
                    *table.log[:-1],
                    {**entry, "replies": replies, "outcome": "signed" if agreed else "refused"},
                ]
                if agreed:
                    agreement = (len(table.signed) + 1, terms)
                    table.signed.append({
                        "number": agreement[0], "round": number, "turn": turn, "by": seat, **entry["offer"],
                    })  # fmt: skip
                    table.in_force = [*table.in_force, agreement]
                    table.settle(("now",), [agreement])
            if passes >= game.seats:
                return

    def _play(
        self, playing: Rounds, number: int, history: History, table: _Table, bound: Mapping[int, Value]
    ) -> Generator[list[Decision], Sequence[Answer], Round]:
        """Play one round; bound players take their agreed action if it is an option."""
        stages = playing.play(number, history, None)
        due, bound_seats = next(stages), set[int]()
        while True:
            free = [d for d in due if d.player not in bound or not _allowed(d.form, bound[d.player])]
            questions = [replace(d, view=_seeing(d.view, table)) for d in free]
            replies = dict(zip((d.player for d in free), (yield questions) if questions else (), strict=True))
            bound_seats |= {d.player for d in due} - replies.keys()
            answers = [replies[d.player] if d.player in replies else Answer(bound[d.player], "exact") for d in due]
            try:
                due = stages.send(answers)
            except StopIteration as stop:
                played: Round = stop.value
                return replace(
                    played, what=tuple("bound" if seat in bound_seats else "" for seat in range(playing.game.seats))
                )

    def _view(
        self, game: Game, seat: int, number: int, history: History, facts: Mapping[str, Any], table: _Table
    ) -> View:
        return _seeing(View(game, seat, self.name, number, history, facts), table)

    def observer_view(self, view: View, seat: int) -> View:
        """Return a view with the messages, agreements and balances, which all players know."""
        base_view = super().observer_view(view, seat)
        return replace(
            base_view,
            facts={**base_view.facts, **{key: view.facts[key] for key in ("bound", "log", "agreements", "has")}},
        )

    def bound_in(self, game: Game) -> int:
        """The largest payment in a game."""
        return default_bound(game) if self.bound is None else self.bound

    def _offer_form(self, game: Game, seat: int) -> Record:
        players = [seat_key(other) for other in range(game.seats)]
        payment = {
            "from": {"type": "string", "enum": players},
            "to": {"type": "string", "enum": players},
            "amount": {"type": "integer", "minimum": 0, "maximum": self.bound_in(game)},
            "when": {"type": "string", "enum": list(MOMENTS)},
        }
        parts = {
            "message": {"type": "string", "maxLength": self.length},
            "intend": _action(game, seat),
            "actions": closed_object({player: _action(game, seat) for player in players}),
            "payments": {"type": "array", "items": closed_object(payment), "maxItems": self.most},
        }
        return Record("offer", closed_object(parts), _names(game, seat))

    def _reply_form(self, game: Game, seat: int) -> Record:
        return Record(
            "reply",
            closed_object(
                {
                    "accept": {"type": "boolean"},
                    "message": {"type": "string", "maxLength": self.length},
                    "intend": _action(game, seat),
                }
            ),
            _names(game, seat),
        )

    def _terms(self, game: Game, seat: int, value: Mapping[str, Any], table: _Table) -> tuple[OfferTerms | None, str]:
        """Return the terms of an offer (None if empty), and why it is invalid."""
        actions = {}
        for other in range(game.seats):
            for named in value["actions"][seat_key(other)]:
                if not _is_action(game, seat, named):
                    return OfferTerms({}), "no_action"
                actions[other] = _as_done(game, seat, other, named)
        payments = [
            {
                "from": _seat(payment["from"]), "to": _seat(payment["to"]), "amount": payment["amount"],
                "when": payment["when"],
            }
            for payment in value["payments"]
            if payment["amount"] and payment["from"] != payment["to"]
        ]  # fmt: skip
        bound = table.bound
        if any(bound.get(other, action) != action for other, action in actions.items()):
            return OfferTerms(actions), "contradiction"
        return (OfferTerms(actions, payments), "") if actions or payments else (None, "")

    def most_decisions(self, game: Game) -> int:
        """An offer and the replies of all others per turn, and the acts."""
        return (1 if self.when == "start" else self.rounds) * self.turns * game.seats + self.rounds * game.turns

    def longest_history(self, game: Game) -> int:  # noqa: ARG002
        """All rounds but the last."""
        return self.rounds - 1


def _payment(table: _Table, agreement: int, place: int, payment: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payment of an agreement, with the amount actually paid if it was less."""
    paid = table.short.get((agreement, place))
    return dict(payment) if paid is None else {**payment, "paid": float(paid)}


def _seeing(view: View, table: _Table) -> View:
    """Return a view with messages, agreements and balances."""
    facts = {
        **view.facts,
        "log": _events(table.log),
        "agreements": [
            {**entry, "payments": [_payment(table, entry["number"], *one) for one in enumerate(entry["payments"])]}
            for entry in table.signed
            if entry["number"] in {n for n, _ in table.in_force}
        ],
        "has": [float(has) for has in table.has],
    }
    return replace(view, facts=facts)


def _events(log: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the log as a list in order of time: each offer, its replies, and its result."""
    events = []
    for entry in log:
        same = {"round": entry["round"], "turn": entry["turn"]}
        events.append({**same, "from": entry["from"], "text": entry["text"], "offer": entry["offer"]})
        events += [
            {**same, "from": reply["from"], "text": reply["text"], "accepts": reply["accepts"]}
            for reply in entry["replies"]
        ]
        if entry["outcome"] in ("signed", "refused", "impossible"):
            why = {"problem": entry["problem"]} if "problem" in entry else {}
            events.append({**same, "result": entry["outcome"], **why})
    return events


def _seat(key: str) -> int:
    return int(key.removeprefix("player_")) - 1


def _names(game: Game, seat: int) -> tuple[str, ...]:
    """Return the names of a seat's actions, for a form; empty for amounts."""
    options = game.actions[seat]
    return () if isinstance(options, Amounts) else tuple(options)


def _action(game: Game, seat: int) -> dict[str, Any]:
    """Return the schema of an action or none, in the words of the seat that names it."""
    options = game.actions[seat]
    one: dict[str, Any] = (
        {"type": "number", "minimum": options.low, "maximum": options.high}
        if isinstance(options, Amounts)
        else {"type": "string", "enum": list(options)}
    )
    return {"type": "array", "items": one, "maxItems": 1}


def _is_action(game: Game, seat: int, named: Any) -> bool:
    options = game.actions[seat]
    return options.has(named) if isinstance(options, Amounts) else named in options


def _as_done(game: Game, seat: int, other: int, named: Any) -> Value:
    """Return another seat's action at the same index as this seat's."""
    return game.value(other, game.index(seat, named))


def _intent(game: Game, seat: int, value: Mapping[str, Any]) -> Value | None:
    """Return a player's non-binding announcement of its action; None if there is none."""
    named = value["intend"]
    return _as_done(game, seat, seat, named[0]) if named and _is_action(game, seat, named[0]) else None


def _plain(game: Game, terms: OfferTerms) -> dict[str, Any]:
    """Return the terms as plain data: actions by index, or as amounts."""
    actions = [
        {"seat": seat, "amount": value}
        if isinstance(game.actions[seat], Amounts)
        else {"seat": seat, "action": game.index(seat, value)}
        for seat, value in sorted(terms.actions.items())
    ]
    return {"actions": actions, "payments": [dict(payment) for payment in terms.payments]}


def _allowed(form: object, value: Value) -> bool:
    """Whether a value is an answer of a form."""
    if isinstance(form, Number):
        return not isinstance(value, str) and form.amounts.has(value)
    return isinstance(form, Choice) and value in form.options


MECHANISM = Negotiation
