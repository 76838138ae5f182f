"""The finished repeated two-player matches of a run, and what candidate strategies prescribe in them.

A candidate sees the executed moves of the match from the player's own seat, including the player's slips,
and prescribes the next move. Strategies process one round at a time, so the cost is linear in match length.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Any

from ostrom.agents.strategies import strategies
from ostrom.agents.strategy import Strategy
from ostrom.data.rundata import RunData, quoted
from ostrom.games.game import Game
from ostrom.games.tensor import table_of
from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.values import grouped
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
    """Split a comma-separated list of strategies; commas may also separate the parameters of one strategy.

    >>> named_candidates(["grim,random:0.5,tit_for_tat", "zd_extortion:3,0.1", "grim,my_own"])
    ('grim', 'random:0.5', 'tit_for_tat', 'zd_extortion:3,0.1', 'grim', 'my_own')
    """
    names, candidates = set(strategies.names()), list[str]()
    for text in texts:
        for place, piece in enumerate(part.strip() for part in text.split(",")):
            if place and ":" in candidates[-1] and piece.partition(":")[0] not in names:
                candidates[-1] += f",{piece}"
            else:
                candidates.append(piece)
    return tuple(candidates)


def build_candidates(names: Sequence[str]) -> dict[str, Strategy]:
    """Build the candidates; return them by the names under which they were requested."""
    if not names:
        raise UsageError("strategy inference needs at least one candidate strategy")
    twice = next((name for name in names if list(names).count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"strategies: {twice!r} is named twice")
    built = {name: strategies.build(name, key="strategies") for name in names}
    for name, strategy in built.items():
        if getattr(strategy, "random_inside", False):
            raise StudyError(f"strategies: {name!r} draws by itself and states no chances: it is no candidate")
    return built


def prescribed_moves(
    candidates: Mapping[str, Strategy],
    game: Game,
    seat: int,
    rounds: Sequence[Round],
    *,
    mechanism: str = "repetition",
    facts: Mapping[str, Any] = NOTHING,
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

    def seen(seen_game: Game) -> list[View]:
        return [View(seen_game, seat, mechanism, n + 1, History(past, n), facts) for n in range(len(past))]

    coded = seen(game)
    plain = coded if original is None else seen(original)
    moves = {}
    for name, strategy in candidates.items():
        strategy.forget()
        moves[name] = tuple(
            float(strategy.odds(view)[cooperative]) for view in (coded if strategy.needs_cooperation else plain)
        )
    return moves


@dataclass(frozen=True, slots=True)
class RepeatedMatch:
    """One match: its rounds and the agents by seat; ``within`` holds the levels of its cell."""

    match: int
    game: Game
    mechanism: str
    told: Mapping[str, Any]
    agents: tuple[str, str]
    rounds: tuple[Round, ...]
    noise: float
    """The probability with which the mechanism itself changes a move."""
    within: Mapping[str, Any]
    original: Game | None = None
    """The unmodified game, where ``game`` treats the first action as cooperative because none is declared."""
    copied: int = 0
    """The number of initial rounds copied from another match, of which this is a branch."""

    @property
    def coded(self) -> bool:
        """Return whether the first action is treated as the cooperative one."""
        return self.original is not None

    def moves(self, seat: int) -> tuple[int, ...]:
        """Return the moves of a seat (from 0): 1 is cooperation, 0 any other action."""
        cooperative = self.game.cooperative[seat]
        return tuple(int(r.actions[seat] == cooperative) for r in self.rounds)


@dataclass(frozen=True, slots=True)
class RepeatedMatches:
    """The finished repeated two-player matches of a run, and why other matches are left out."""

    matches: tuple[RepeatedMatch, ...]
    notes: tuple[str, ...]


def repeated_matches(data: RunData, by: Sequence[str] = ()) -> RepeatedMatches:
    """Read the matches from the table of rounds; a run without any is refused with the reason."""
    data.need("rounds", by)
    names = ("match", "meeting", "round", "player", "agent", "action", "payoff", "copied", *by)
    picked = ", ".join(quoted(name) for name in dict.fromkeys(names))
    rows = data.records(f"SELECT {picked} FROM rounds ORDER BY match, meeting, round, player")
    if not rows:
        raise UsageError(f"{data.name}: no match is finished, so there are no moves to infer strategies from")
    played = grouped((row["match"], row) for row in rows)
    outcomes = [_match(data, match, lines, by) for match, lines in played.items()]
    matches = [one for one in outcomes if isinstance(one, RepeatedMatch)]
    why = Counter(one for one in outcomes if isinstance(one, str))
    if not matches:
        reasons = "; ".join(f"{reason} ({count} matches)" for reason, count in why.items())
        raise UsageError(f"{data.name}: has no finished repeated match to infer strategies from: {reasons}")
    if "game" not in by and any(m.coded for m in matches) and len({m.game.name for m in matches}) > 1:
        # Actions of different games are different, so results about actions are never pooled over games.
        return repeated_matches(data, (*by, "game"))
    notes = [f"{count} matches are left out: {reason}" for reason, count in why.items()]
    for name, game in {m.game.name: m.game for m in matches if m.coded}.items():
        first = " and ".join(dict.fromkeys(names[0] for names in game.actions))
        second = " and ".join(dict.fromkeys(names[1] for names in game.actions))
        notes.append(
            f"game {name} defines no cooperative action: strategies and responses are about its actions, C is "
            f"{first}, D is {second}"
        )
    return RepeatedMatches(tuple(matches), tuple(notes))


def _match(data: RunData, match: int, rows: list[dict[str, Any]], by: Sequence[str]) -> RepeatedMatch | str:
    """Return a match, or the reason why it is left out."""
    unit = data.unit(match)
    game, players = unit.game, sum(not player.observes for player in unit.players)
    if game.seats != 2 or players != 2:
        return f"game {game.name} was played by {max(game.seats, players)} players, not by two"
    original = None
    if None in game.cooperative or None in game.defective:
        if any(len(names) != 2 for names in game.actions):
            return f"game {game.name} defines no cooperative action and has more than two actions"
        original, game = game, by_actions(game)
    rounds = tuple(_rounds(game, rows))
    if len(rounds) < 2:
        return "a single round was played"
    if any(not r.actions for r in rounds):
        return "a round has no action for one of the seats"
    copied = sum(row["copied"] for row in rows) // 2
    if copied == len(rounds):
        return "all of its rounds are copied"
    first = {row["player"]: row["agent"] for row in rows}
    mechanism = unit.mechanism
    return RepeatedMatch(
        match, game, mechanism.name, getattr(mechanism, "told", NOTHING), (first[1], first[2]), rounds,
        float(getattr(mechanism, "noise", 0.0)), {name: rows[-1][name] for name in by}, original, copied,
    )  # fmt: skip


@lru_cache(maxsize=1000)
def by_actions(game: Game) -> Game:
    """Return a copy of a two-action game in which the first action counts as cooperative.

    Strategies about cooperation are then strategies about actions: tit for tat repeats the other's last
    action, the cooperator always plays the first one, the defector the second.
    """
    return replace(table_of(game), cooperative=(0, 0), defective=(1, 1))


def _rounds(game: Game, rows: list[dict[str, Any]]) -> Iterator[Round]:
    """Yield the rounds in order; a round in which a seat has no action is yielded without actions."""
    for (_, number), lines in groupby(rows, key=lambda row: (row["meeting"], row["round"])):
        seats = list(lines)
        if [row["player"] for row in seats] != [1, 2] or any(row["action"] is None for row in seats):
            yield Round(number, (), ())
            continue
        actions = tuple(game.index_of(s)[row["action"]] for s, row in enumerate(seats))
        yield Round(number, actions, tuple(float(row["payoff"]) for row in seats))
