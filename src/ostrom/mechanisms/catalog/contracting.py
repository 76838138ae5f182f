"""Contracting: payments that depend on actions, in force if all sign (Tewolde et al. 2026)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import floor, ulp
from typing import Annotated, Any, ClassVar

from ostrom.answers import Record
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Ge, Le, checked
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import act, closed_object, expected_payoffs, profile_of
from ostrom.mechanisms.designs import Designed
from ostrom.mechanisms.incentives import game_with
from ostrom.mechanisms.protocol import Decision, Outcome, Play, Round, View

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
        if game.seats < 2:
            raise GameError(f"mechanism {self.name}: game {game.name} has one seat, nobody could pay")

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


MECHANISM = Contracting
