"""Mechanisms whose players first design something and then vote on it (Tewolde et al. 2026).

A design is made once per agent type and seat, before all matches, and used in every match of that player.

Contracting: payments that depend on actions, in force if all sign. Mediation: players may delegate to a mediator.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import floor, ulp
from typing import Annotated, Any, ClassVar, Self

from ostrom.answers import Answer, Choice, Record
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Ge, Le, checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism, act, closed_object, expected_payoffs, profile_of
from ostrom.mechanisms.incentives import game_with, is_equilibrium
from ostrom.mechanisms.protocol import Decision, Outcome, Play, Round, View

Steps = Generator[list[Decision], Sequence[Answer], dict[str, Any]]


class Designed(Mechanism):
    """A mechanism with designs, which players prepare or the study gives, an approval vote, and one winner."""

    one_shot: ClassVar[bool] = True
    letter: ClassVar[str]
    """The letter of a proposal's label; its seat number follows."""

    sham: bool = False
    """Whether the players' decisions have no consequence (a control)."""

    def __init__(self, designs: Sequence[Sequence[int]] | None = None) -> None:
        self.fixed = designs is not None
        self.designs = None if designs is None else [_plain(design) for design in designs]

    @abstractmethod
    def form(self, game: Game, seat: int) -> Record:
        """The form of a design, in the action names of the designer's seat."""

    @abstractmethod
    def read(self, game: Game, seat: int, value: Mapping[str, Any]) -> list[int]:
        """Return the design in an answer of this form, as a list."""

    @abstractmethod
    def refuse(self, game: Game, design: Sequence[int]) -> str | None:
        """Return why a design is invalid in a game; None if it is valid."""

    @abstractmethod
    def induced(self, game: Game, design: Sequence[int]) -> Game:
        """Return the game with the payoffs under a design."""

    @abstractmethod
    def cooperation(self, game: Game, design: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the profiles of the induced game in which everybody cooperates."""

    def stable(self, game: Game, design: Sequence[int]) -> bool:
        """Return whether universal cooperation (directly or by delegating) is an equilibrium under a design."""
        induced = self.induced(game, design)
        return any(is_equilibrium(induced, profile) for profile in self.cooperation(game, design))

    @abstractmethod
    def pivotal(self, game: Game, seat: int) -> int:
        """Return the action of the induced game that a good design makes dominant."""

    def told(self, game: Game) -> dict[str, Any]:  # noqa: ARG002
        """Return the facts about the rules in every view."""
        return {"sham": True} if self.sham else {}

    def common_design(self) -> list[int]:
        """Return the given design of all seats; refused unless one is given and the same for every seat."""
        if not self.designs or any(design != self.designs[0] for design in self.designs):
            raise GameError(
                f"mechanism {self.name}: the control 'induced' needs one design, the same for every seat: "
                "give `designs`"
            )
        return self.designs[0]

    def induced_game(self, game: Game) -> Game:
        """The game with the given design in force."""
        return self.induced(game, self.common_design())

    def as_sham(self) -> Self:
        """A copy of the mechanism whose designs, votes and signatures have no consequence."""
        return self.with_values(sham=True)

    def check(self, game: Game) -> None:
        """Refuse games whose seats have different numbers of actions: a design names actions by index."""
        self.require_equal_actions(game)
        if self.designs is None:
            return
        for design in self.designs:
            self.check_design(game, design)
        count = len(self.designs)
        self.require(count == game.seats, f"{count} designs given, game {game.name} has {game.seats} seats")

    def check_design(self, game: Game, design: Sequence[int]) -> None:
        """Refuse a design that is invalid in a game."""
        problem = self.refuse(game, design)
        self.require(problem is None, f"design {design}: {problem}")

    def preparation(self, game: Game, seat: int) -> Design | None:  # noqa: ARG002
        """Return the preparation in which a player makes its design; None if designs are given."""
        return None if self.fixed else Design(self, seat)

    def with_preparations(self, outcomes: Sequence[Mapping[str, Any]]) -> Self:
        """A copy of the mechanism with the designs of a match's players, by seat."""
        return self.with_values(designs=[_plain(facts["design"]) for facts in outcomes])

    def labels(self, game: Game) -> list[str]:
        """The labels of the proposals, by seat."""
        return [f"{self.letter}{seat + 1}" for seat in range(game.seats)]

    def vote(self, game: Game, streams: Streams) -> Steps:
        """Ask for approvals; the winner is drawn among the most approved proposals."""
        self.check(game)
        if self.designs is None:
            raise GameError(f"mechanism {self.name} needs a design per seat: give `designs`, or play it in a study")
        labels = self.labels(game)
        proposals = [
            {"label": label, "seat": seat, "design": design}
            for seat, (label, design) in enumerate(zip(labels, self.designs, strict=True))
        ]
        facts = {**self.told(game), "proposals": proposals}
        # Any number of proposals can be approved.
        ballot = Record("ballot", closed_object({label: {"type": "boolean"} for label in labels}))
        answers = yield [
            Decision(seat, "vote", View(game, seat, self.name, facts=facts), ballot) for seat in range(game.seats)
        ]
        votes = [[label for label in labels if answer.value[label]] for answer in answers]
        approvals = [sum(label in vote for vote in votes) for label in labels]
        best = [seat for seat, count in enumerate(approvals) if count == max(approvals)]
        winner = best[int(streams.for_round(0, 0, "winner").integers(len(best)))] if len(best) > 1 else best[0]
        return {
            "proposals": proposals,
            "votes": votes,
            "approvals": approvals,
            "winner": labels[winner],
            "design": self.designs[winner],
        }


class Design(Mechanism):
    """The preparation in which one player makes its design."""

    def __init__(self, rules: Designed, seat: int) -> None:
        self.rules, self.seat, self.name = rules, seat, rules.name  # type: ignore[misc]

    def check(self, game: Game) -> None:
        """Refuse the games that the mechanism itself refuses."""
        self.rules.check(game)

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Ask the one player for its design."""
        self.check(game)
        answers = yield [
            Decision(
                0,
                "design",
                View(game, self.seat, self.name, facts=self.rules.told(game)),
                self.rules.form(game, self.seat),
            )
        ]
        design = self.rules.read(game, self.seat, answers[0].value)
        self.rules.check_design(game, design)
        return Outcome([], (), {"design": design})

    def most_decisions(self, game: Game) -> int:  # noqa: ARG002
        """The design is the only decision."""
        return 1


def _plain(design: Any) -> list[int]:
    if isinstance(design, str) or not isinstance(design, Sequence):
        raise ValueError(f"a design is a list of whole numbers, found {design!r}")
    if any(not isinstance(x, int) or isinstance(x, bool) for x in design):
        raise ValueError(f"a design is a list of whole numbers, found {list(design)!r}")
    return list(design)


RANGES = 10
"""The default bound of an amount, as a multiple of the range of the game's payoffs. Two contracts without bound among
972 matches moved a published mean from .867 to .557."""


def default_bound(game: Game) -> int:
    """Ten times the range of the game's payoffs, a whole number of at least 1.

    >>> from ostrom.games import build_game
    >>> default_bound(build_game("prisoners_dilemma:coopeval"))
    30
    """
    return max(1, floor(RANGES * float(game.payoffs.max() - game.payoffs.min())))


def transfers(contract: Sequence[int], profile: Sequence[int]) -> tuple[float, ...]:
    """Return each seat's transfer on top of its payoff; the sum is exactly zero.

    >>> transfers([2, -1], (0, 1)), sum(transfers([1, 0], (0, 1, 1, 1)))
    ((3.0, -3.0), 0.0)
    """
    amounts = [contract[action] for action in profile]
    total, others = sum(amounts), len(amounts) - 1
    exact = [Fraction(a) - Fraction(total - a, others) if others else Fraction(0) for a in amounts]
    # Coarse enough that every partial sum of transfers is exact in floating point.
    bits = 53 - (2 * len(amounts) * max(1, *map(abs, amounts))).bit_length()
    unit = Fraction(1, 2**bits) if bits >= 0 else Fraction(2**-bits)
    units = [floor(t / unit) for t in exact]
    missing = -sum(units)
    for seat in sorted(range(len(exact)), key=lambda s: (units[s] * unit - exact[s], s))[:missing]:
        units[seat] += 1
    return tuple(float(u * unit) for u in units)


def contracted_payoffs(game: Game, contract: Sequence[int], profile: Sequence[int]) -> tuple[float, ...]:
    """Return payoffs with transfers; their sum is exactly that of the game's payoffs where doubles allow it.

    Adding a transfer to a payoff such as 0.1 may round. What rounding takes or gives in all is handed to the
    seat with the finest double, so that contracts create and destroy nothing.
    """
    base, paid = game.payoff(profile), transfers(contract, profile)
    result = [b + t for b, t in zip(base, paid, strict=True)]
    rest = sum(map(Fraction, base), Fraction()) - sum(map(Fraction, result), Fraction())
    if rest:
        finest = min(range(len(result)), key=lambda s: (ulp(result[s]), s))
        result[finest] = float(Fraction(result[finest]) + rest)
    return tuple(result)


def contracted_game(game: Game, contract: Sequence[int]) -> Game:
    """Return the game with the payoffs under a contract.

    >>> from ostrom.games import build_game
    >>> contracted_game(build_game("prisoners_dilemma:coopeval"), [1, -1]).payoff((0, 1))
    (2.0, 1.0)
    """
    return _contracted(game, tuple(contract))


@lru_cache(maxsize=1024)
def _contracted(game: Game, contract: tuple[int, ...]) -> Game:
    return game_with(game, "contracted", partial(contracted_payoffs, game, contract))


SIGNATURE = Record("signature", closed_object({"sign": {"type": "boolean"}}))


class Contracting(Designed):
    """Vote on contracts, sign the one that was chosen or refuse, then act.

    A contract sets a whole amount for every action, by its place in each seat's list: whoever plays the
    action receives the amount from the others in equal parts, or pays it to them if it is negative.
    ``bound`` is the largest amount (without it, ten times the range of the game's payoffs). ``designs`` gives
    the contracts by seat instead of asking the players for them.
    """

    name: ClassVar[str] = "contracting"
    letter: ClassVar[str] = "K"

    @checked
    def __init__(
        self, bound: Annotated[int, Ge(1), Le(10**9)] | None = None, designs: Sequence[Sequence[int]] | None = None
    ) -> None:
        super().__init__(designs)
        self.bound = bound

    def bound_in(self, game: Game) -> int:
        """The largest amount in a game."""
        return default_bound(game) if self.bound is None else self.bound

    def told(self, game: Game) -> dict[str, Any]:
        """Return the bound of the amounts, for prompts."""
        return {"bound": self.bound_in(game), **super().told(game)}

    def check(self, game: Game) -> None:
        """Refuse a game with one seat: payments need a payer."""
        super().check(game)
        self.require(game.seats > 1, f"game {game.name} has one seat, nobody could pay")

    def form(self, game: Game, seat: int) -> Record:
        """Return the form of a contract: one whole amount per action."""
        names, bound = list(game.actions[seat]), self.bound_in(game)
        amount = {"type": "integer", "minimum": -bound, "maximum": bound}
        return Record("contract", closed_object({name: dict(amount) for name in names}), tuple(names))

    def read(self, game: Game, seat: int, value: Mapping[str, Any]) -> list[int]:
        """Return the amounts of a contract in the order of the actions."""
        return [value[name] for name in game.actions[seat]]

    def refuse(self, game: Game, design: Sequence[int]) -> str | None:
        """Return why a contract is invalid: it needs one amount per action, within the bound. None if it is valid."""
        if len(design) != len(game.actions[0]):
            return f"needs one amount for each of {len(game.actions[0])} actions"
        bound = self.bound_in(game)
        return None if max(map(abs, design)) <= bound else f"an amount lies between -{bound} and {bound}"

    def induced(self, game: Game, design: Sequence[int]) -> Game:
        """The game with the contract in force."""
        return contracted_game(game, design)

    def cooperation(self, game: Game, design: Sequence[int]) -> list[tuple[int, ...]]:  # noqa: ARG002
        """Return the one profile in which all cooperate; none if a seat has no cooperative action."""
        profile = tuple(c for c in game.cooperative if c is not None)
        return [profile] if len(profile) == game.seats else []

    def pivotal(self, game: Game, seat: int) -> int:
        """Return the cooperative action of a seat."""
        cooperative = game.cooperative[seat]
        if cooperative is None:
            raise GameError(f"game {game.name} defines no cooperative action for seat {seat + 1}")
        return cooperative

    def play(self, game: Game, streams: Streams) -> Play:
        """Vote, sign, act; every step at the same time for all."""
        election = yield from self.vote(game, streams)
        contract = election["design"]
        facts = {**self.told(game), "contract": contract, "chosen": election["winner"]}
        answers = yield [
            Decision(seat, "sign", View(game, seat, self.name, facts=facts), SIGNATURE) for seat in range(game.seats)
        ]
        refusers = [seat for seat, answer in enumerate(answers) if not answer.value["sign"]]
        in_force = not refusers and not self.sham
        facts = {**facts, "in_force": in_force, "refusers": refusers}
        answers = yield [act(View(game, seat, self.name, facts=facts)) for seat in range(game.seats)]
        played = profile_of(game, answers)
        paying = contracted_game(game, contract) if in_force else game
        payoffs = paying.payoff(played)
        settled = {
            "in_force": in_force,
            "refusers": refusers,
            "transfers": list(transfers(contract, played)) if in_force else [0.0] * game.seats,
        }
        round_ = Round(
            1, played, payoffs, expected=expected_payoffs(paying, answers), facts=settled,
            paid=tuple(transfers(contract, played)) if in_force else (0.0,) * game.seats,
        )  # fmt: skip
        return Outcome([round_], payoffs, {**election, **settled})

    def most_decisions(self, game: Game) -> int:
        """A vote, a signature and an act per seat."""
        return 3 * game.seats


DELEGATE = "delegate"


def realised(game: Game, mediator: Sequence[int], profile: Sequence[int]) -> tuple[int, ...]:
    """Return the played actions; the index after a seat's last action means delegating.

    >>> from ostrom.games import build_game
    >>> pd = build_game("prisoners_dilemma")
    >>> realised(pd, [1, 0], (2, 0)), realised(pd, [1, 0], (2, 2))
    ((1, 0), (0, 0))
    """
    delegates = [action == len(game.actions[seat]) for seat, action in enumerate(profile)]
    common = mediator[sum(delegates) - 1] if any(delegates) else 0
    return tuple(common if gone else action for gone, action in zip(delegates, profile, strict=True))


def mediated_game(game: Game, mediator: Sequence[int]) -> Game:
    """Return the game with the additional action "delegate" for every seat, under a mediator.

    >>> from ostrom.games import build_game
    >>> mediated = mediated_game(build_game("prisoners_dilemma:coopeval"), [1, 0])
    >>> mediated.payoff((2, 2)), mediated.payoff((2, 0))
    ((2.0, 2.0), (3.0, 0.0))
    """
    return _mediated(game, tuple(mediator))


@lru_cache(maxsize=1024)
def _mediated(game: Game, mediator: tuple[int, ...]) -> Game:
    return game_with(
        game, "mediated", lambda profile: game.payoff(realised(game, mediator, profile)), added=(DELEGATE,)
    )


class Mediation(Designed):
    """Vote on mediators, then act or delegate to the one that was chosen.

    A mediator names one action for every number of delegators. It plays that action, by its place in each
    seat's list, for all who delegate. ``designs`` gives the mediators by seat (lists of action indices for
    1, 2, ... delegators) instead of asking the players for them.
    """

    name: ClassVar[str] = "mediation"
    letter: ClassVar[str] = "M"

    def check(self, game: Game) -> None:
        """Refuse a game with an action that is named ``delegate``."""
        super().check(game)
        taken = any(DELEGATE in names for names in game.actions)
        self.require(not taken, f"game {game.name} has an action of its own named {DELEGATE}")

    def form(self, game: Game, seat: int) -> Record:
        """Return the form of a mediator: one action per number of delegators."""
        names = list(game.actions[seat])
        return Record(
            "mediator",
            closed_object(
                {k: {"type": "string", "enum": names} for k in [key_for(count) for count in range(1, game.seats + 1)]}
            ),
            tuple(names),
        )

    def read(self, game: Game, seat: int, value: Mapping[str, Any]) -> list[int]:
        """Return the mediator of an answer: action indices for 1, 2, ... delegators."""
        return [game.index(seat, value[key_for(count)]) for count in range(1, game.seats + 1)]

    def refuse(self, game: Game, design: Sequence[int]) -> str | None:
        """Return why a mediator is invalid: it needs one action index per number of delegators. None if it is valid."""
        if len(design) != game.seats:
            return f"needs one action for each of 1 to {game.seats} delegators"
        return (
            None
            if all(0 <= action < len(game.actions[0]) for action in design)
            else f"an action index lies between 0 and {len(game.actions[0]) - 1}"
        )

    def induced(self, game: Game, design: Sequence[int]) -> Game:
        """The game with delegating as one more action."""
        return mediated_game(game, design)

    def cooperation(self, game: Game, design: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the cooperative profiles: all cooperate, or all delegate to a mediator that cooperates."""
        direct = tuple(c for c in game.cooperative if c is not None)
        if len(direct) < game.seats:
            return []
        handed_over = tuple(len(names) for names in game.actions)
        return [direct, handed_over] if realised(game, design, handed_over) == direct else [direct]

    def pivotal(self, game: Game, seat: int) -> int:
        """Return the index of delegating, which follows the last action of the seat."""
        return len(game.actions[seat])

    def play(self, game: Game, streams: Streams) -> Play:
        """Vote, then act or delegate, all at the same time."""
        election = yield from self.vote(game, streams)
        mediator = election["design"]
        facts = {"mediator": mediator, "chosen": election["winner"], **self.told(game)}
        answers = yield [
            Decision(seat, "act", View(game, seat, self.name, facts=facts), Choice((*game.actions[seat], DELEGATE)))
            for seat in range(game.seats)
        ]
        table = mediated_game(game, mediator)
        played = realised(game, mediator, tuple(table.index(seat, answer.value) for seat, answer in enumerate(answers)))
        delegated = [answer.value == DELEGATE for answer in answers]
        if self.sham:
            played, expected = (yield from self._act_oneself(game, facts, played, delegated)), None
        else:
            expected = expected_payoffs(table, answers)
        payoffs = game.payoff(played)
        round_ = Round(
            1,
            played,
            payoffs,
            expected=expected,
            facts={"delegated": delegated},
            what=tuple("delegated" if gone and not self.sham else "" for gone in delegated),
        )
        return Outcome([round_], payoffs, {**election, "delegated": delegated})

    def _act_oneself(
        self, game: Game, facts: Mapping[str, Any], named: tuple[int, ...], delegated: Sequence[bool]
    ) -> Generator[list[Decision], Sequence[Answer], tuple[int, ...]]:
        """In the sham, players who delegated learn the mediator's action and act by themselves."""
        seats = [seat for seat, gone in enumerate(delegated) if gone]
        if not seats:
            return named
        answers = yield [act(View(game, seat, self.name, facts={**facts, "named": named[seat]})) for seat in seats]
        own_actions = {s: game.index(s, str(a.value)) for s, a in zip(seats, answers, strict=True)}
        return tuple(own_actions.get(seat, action) for seat, action in enumerate(named))

    def realised_profile(self, game: Game, profile: tuple[int, ...]) -> tuple[int, ...]:
        """Return the actions under the common mediator."""
        return realised(game, self.common_design(), profile)

    def most_decisions(self, game: Game) -> int:
        """A vote and an act per seat; in the sham those who delegated act by themselves after that."""
        return (3 if self.sham else 2) * game.seats


def key_for(count: int) -> str:
    """The key under which a mediator names its action for a number of delegators."""
    return f"delegators_{count}"
