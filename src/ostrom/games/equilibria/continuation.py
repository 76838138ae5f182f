"""From which chance of another round on cooperation is an equilibrium of the repeated game (Friedman 1971)."""

from typing import Any

from ostrom.games.game import Game

TOLERANCE = 1e-9


def least_continuation(game: Game, punished: int | None = None) -> float | None:
    """The least continuation with which nobody gains by leaving full cooperation once; None where there is none.

    Whoever leaves it is answered by all defecting, for ever or for ``punished`` rounds. That must itself be an
    equilibrium of the game. A gain of g against a loss of l per punished round needs g <= l (d + d^2 + ...).

    >>> from ostrom.games import build_game
    >>> games = ("prisoners_dilemma:coopeval", "public_goods", "travelers_dilemma", "trust")
    >>> [least_continuation(build_game(name)) for name in games]
    [0.5, 0.5, 0.25, 0.625]
    >>> round(least_continuation(build_game("prisoners_dilemma:coopeval"), punished=3), 3)
    0.544
    """
    cooperate = tuple(a for a in game.cooperative if a is not None)
    defect = tuple(a for a in game.defective if a is not None)
    if len(cooperate) < game.seats or len(defect) < game.seats:
        return None
    needed = 0.0
    for seat in range(game.seats):
        if _best(game, seat, defect) > game.payoff(defect)[seat] + TOLERANCE:
            return None
        together = game.payoff(cooperate)[seat]
        gain, loss = _best(game, seat, cooperate) - together, together - game.payoff(defect)[seat]
        if gain <= TOLERANCE:
            continue
        if loss <= TOLERANCE or (punished is not None and loss * punished < gain - TOLERANCE):
            return None
        needed = max(needed, gain / (gain + loss) if punished is None else _solved(gain / loss, punished))
    return needed


def _best(game: Game, seat: int, profile: tuple[int, ...]) -> float:
    at: tuple[Any, ...] = (*profile[:seat], slice(None), *profile[seat + 1 :], seat)
    return float(game.payoffs[at].max())


def _solved(ratio: float, rounds: int) -> float:
    """The d in [0, 1] with d + d^2 + ... + d^rounds = ratio; the sum grows with d."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(middle**k for k in range(1, rounds + 1)) < ratio else (low, middle)
    return high
