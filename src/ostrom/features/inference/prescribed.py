"""What candidate strategies prescribe after the moves that were really made, round by round.

A candidate sees the executed moves of the match from the player's own seat, the player's slips included, and
says what it would do next. Strategies fold one round at a time, so a match costs its length and not its square.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ostrom.agents.strategies import strategies
from ostrom.agents.strategy import Strategy
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError, UsageError
from ostrom.mechanisms.protocol import NOTHING, History, Round, View

DEFAULT_CANDIDATES = (
    "cooperator",
    "defector",
    "tit_for_tat",
    "suspicious_tit_for_tat",
    "tit_for_two_tats",
    "two_tits_for_tat",
    "hard_tit_for_tat",
    "reverse_tit_for_tat",
    "contrite_tit_for_tat",
    "grim",
    "win_stay_lose_shift",
    "defect_once",
    "alternator",
)
"""The rules about cooperation in the catalog that leave nothing to chance and need no parameter, each under one
name, and the alternator. Myopic rules about payoffs (best_response, favourite) are constant in a dilemma."""


def named_candidates(texts: Iterable[str]) -> tuple[str, ...]:
    """Strategies as people list them: by commas, which may also part the parameters of one strategy.

    >>> named_candidates(["grim,random:0.5,tit_for_tat", "zd_extortion:3,0.1"])
    ('grim', 'random:0.5', 'tit_for_tat', 'zd_extortion:3,0.1')
    """
    known, found = set(strategies.names()), list[str]()
    for text in texts:
        first = True
        for piece in (part.strip() for part in text.split(",")):
            if not first and ":" in found[-1] and piece.partition(":")[0] not in known:
                found[-1] += f",{piece}"
            else:
                found.append(piece)
            first = False
    return tuple(found)


def build_candidates(names: Sequence[str]) -> dict[str, Strategy]:
    """The candidates by the names they were asked for."""
    if not names:
        raise UsageError("strategy inference needs at least one candidate strategy")
    twice = next((name for name in names if list(names).count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"strategies: {twice!r} is named twice")
    built = {name: strategies.build(name, key="strategies") for name in names}
    for name, strategy in built.items():
        if getattr(strategy, "random_inside", False):
            raise StudyError(
                f"strategies: {name!r} draws by itself and states no chances: it is no candidate"
            )
    return built


def prescribed_moves(
    candidates: Mapping[str, Strategy],
    game: Game,
    seat: int,
    rounds: Sequence[Round],
    *,
    mechanism: str = "repetition",
    told: Mapping[str, Any] = NOTHING,
    original: Game | None = None,
) -> dict[str, tuple[float, ...]]:
    """Per candidate its chance of cooperating in every round, given the rounds before it (``seat`` from 0).

    Where ``game`` takes an action of the ``original`` game for cooperation, candidates that need none are
    shown the game as it is.

    >>> from ostrom.games import build_game
    >>> pd = build_game("prisoners_dilemma")
    >>> rounds = [Round(n, moves, pd.payoff(moves)) for n, moves in enumerate([(0, 1), (0, 0), (1, 0)], 1)]
    >>> prescribed_moves(build_candidates(["tit_for_tat", "grim"]), pd, 0, rounds)
    {'tit_for_tat': (1.0, 0.0, 1.0), 'grim': (1.0, 0.0, 0.0)}
    """
    cooperative = game.cooperative[seat]
    if cooperative is None:
        raise UsageError(f"game {game.name} defines no cooperative action for seat {seat + 1}")
    past = list(rounds)

    def seen(as_shown: Game) -> list[View]:
        return [View(as_shown, seat, mechanism, n + 1, History(past, n), told) for n in range(len(past))]

    coded = seen(game)
    plain = coded if original is None else seen(original)
    found = {}
    for name, strategy in candidates.items():
        strategy.forget()
        views = coded if strategy.needs_cooperation else plain
        found[name] = tuple(float(strategy.odds(view)[cooperative]) for view in views)
    return found
