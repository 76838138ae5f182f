"""The moves of the paper's two main games, and measures of this paper alone.

Moves count where the games pay as printed; measures are against scripts, of the own favourite, and of the 144
ordinal games.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from ostrom.analysis.intervals import Bounds
from ostrom.analysis.measures._payments import paid_by_the_game
from ostrom.data.rundata import RunData, quoted
from ostrom.games import build_game
from ostrom.games.comparison import same_payoffs
from ostrom.games.game import Game
from ostrom.ground.values import grouped

PD, BOS = "prisoners_dilemma", "battle_of_the_sexes"
PRINTED: Mapping[str, str | dict[str, str]] = {PD: {"name": PD, "preset": "repeated_games"}, BOS: BOS}
COLUMNS = (
    "run match unit game state round player seat agent agent_style strategy model kind target answer action "
    "cooperative payoff"
)


@dataclass(frozen=True)
class Side:
    """One player of a match: its actions by round, whether they were cooperative, and its agent."""

    agent: str
    seat: int
    style: str | None
    strategy: str | None
    model: str | None
    actions: tuple[str, ...]
    cooperative: tuple[bool | None, ...]

    @property
    def scripted(self) -> bool:
        """Return whether the player is a script (or was recorded elsewhere)."""
        return self.model is None

    def alternates(self) -> bool:
        """Return whether the player is a script that alternates."""
        pairs = zip(self.actions, self.actions[1:], strict=False)
        return self.scripted and len(self.actions) > 2 and all(a != b for a, b in pairs)

    def defects_once(self) -> bool:
        """Return whether the player is a script that defects once and then cooperates."""
        first, *rest = self.cooperative
        return self.scripted and first is False and bool(rest) and all(rest)


@dataclass(frozen=True)
class Match:
    """A finished match of two players."""

    number: int
    game: str
    sides: tuple[Side, Side]

    def against(self) -> list[tuple[Side, Side]]:
        """Return every player with the other one."""
        one, two = self.sides
        return [(one, two), (two, one)]


def decisions(data: RunData) -> dict[str, Any]:
    """Decisions of finished matches by game, as polars frames with the study's factors."""
    import polars as pl

    by = ", ".join(quoted(name) for name in dict.fromkeys(["game", *data.factors]))
    kinds = data.records(f"SELECT game, min(match) AS match FROM matches WHERE unit = 'match' GROUP BY {by}")
    labels = {row["game"] for row in kinds if printed_as(data.game(row["match"]))}
    picked = ", ".join(quoted(name) for name in dict.fromkeys([*COLUMNS.split(), *data.factors]))
    rows = data.query(
        f"SELECT {picked} FROM decisions WHERE unit = 'match' AND state = 'done' "
        f"AND game IN ({', '.join('?' for _ in labels) or 'NULL'}) ORDER BY match, step, player",
        *labels,
    )
    numbers = grouped((printed_as(data.game(match)), match) for match in rows["match"].unique(maintain_order=True))
    return {name: rows.filter(pl.col("match").is_in(numbers[name])) for name in PRINTED if name in numbers}


def printed_as(game: Game) -> str | None:
    """Return which of the paper's two games a game is by its payoffs, whatever its names."""
    return next((n for n, spec in PRINTED.items() if same_payoffs(game, build_game(spec)) is not None), None)


def _as_printed(game: Game, name: str) -> list[dict[str, str]]:
    """Return, for each seat, the paper's names of actions."""
    printed = build_game(PRINTED[name])
    return [
        {game.actions[seat][place]: printed.actions[seat][i] for i, place in enumerate(places)}
        for seat, places in enumerate(same_payoffs(game, printed) or ())
    ]


def matches(data: RunData) -> list[Match]:
    """Return the finished matches of both games, with the paper's action names."""
    import polars as pl

    played = []
    for game, frame in decisions(data).items():
        acts = frame.filter((pl.col("kind") == "act") & pl.col("action").is_not_null())
        for rows in acts.partition_by("match", maintain_order=True):
            words = _as_printed(data.game(rows["match"][0]), game)
            sides = [_side(rows.filter(pl.col("seat") == seat), words[seat - 1], game) for seat in (1, 2)]
            if len(sides[0].actions) == len(sides[1].actions) > 0:
                played.append(Match(rows["match"][0], game, (sides[0], sides[1])))
    return played


def together(me: Side, other: Side) -> list[bool]:
    """Return in which rounds both play the action of the same name."""
    return [a == b for a, b in zip(me.actions, other.actions, strict=True)]


def always(found: Sequence[Match], game: str, does: Callable[[Side], bool]) -> set[str]:
    """Return the agents that do something in every match of a game: once may be chance."""
    sides = [side for match in found if match.game == game for side in match.sides]
    return {side.agent for side in sides} - {side.agent for side in sides if not does(side)}


def _side(rows: Any, words: Mapping[str, str], game: str) -> Side:
    who = rows.row(0, named=True)
    actions = tuple(words[action] for action in rows["action"])
    return Side(
        who["agent"], who["seat"], who["agent_style"], who["strategy"], who["model"], actions,
        tuple(action == "cooperate" if game == PD else None for action in actions),
    )  # fmt: skip


def facing(found: Sequence[Match], game: str, does: Callable[[Side], bool]) -> list[tuple[Match, Side, Side]]:
    """Return every player without a strategy who meets a script that always does something, and that script."""
    scripts = always(found, game, does)
    return [
        (match, me, other)
        for match in found
        for me, other in match.against()
        if match.game == game and me.strategy is None and other.agent in scripts
    ]


def with_alternation(data: RunData) -> Iterator[dict[str, Any]]:
    """Yield the share of rounds in which a player plays the same as an alternating script.

    Players with a strategy or the style ``social`` have no row."""
    return (
        {"match": match.number, "player": me.seat, "value": fmean(together(me, other))}
        for match, me, other in facing(matches(data), BOS, Side.alternates)
        if me.style != "social"
    )


def forgiveness(data: RunData) -> Iterator[dict[str, Any]]:
    """Yield how often each player without a strategy cooperates after round 1 against a script that defects once."""
    return (
        {"match": match.number, "player": me.seat, "value": sum(map(bool, me.cooperative[1:]))}
        for match, me, _ in facing(matches(data), PD, Side.defects_once)
    )


def forgiven(data: RunData) -> Iterator[dict[str, Any]]:
    """Yield the share of rounds after round 1 in which a player cooperates with a script that defects once."""
    return (
        {"match": match.number, "player": me.seat, "value": fmean(map(bool, me.cooperative[1:]))}
        for match, me, _ in facing(matches(data), PD, Side.defects_once)
        if len(me.cooperative) > 1
    )


def joint_with_one_defection(data: RunData) -> Iterator[dict[str, Any]]:
    """Yield the share of rounds in which a player without a strategy and a script that defects once both cooperate."""
    return (
        {"match": match.number, "player": me.seat, "value": fmean(jointly(me, other))}
        for match, me, other in facing(matches(data), PD, Side.defects_once)
    )


def jointly(me: Side, other: Side) -> list[bool]:
    """Return for every round whether both cooperate."""
    return [bool(a and b) for a, b in zip(me.cooperative, other.cooperative, strict=True)]


def rounds_after_the_first(data: RunData) -> Callable[[int], Bounds]:
    """Return the bounds of a count of rounds after the first: 0, and the rounds played less one."""
    lengths = {
        row["match"]: row["n"]
        for row in data.records("SELECT match, max(rounds_played) AS n FROM matches GROUP BY match")
    }
    return lambda match: (0.0, max(float(lengths[match] or 0) - 1, 1.0) if match in lengths else None)


def favourite_of(game: Game, seat: int) -> str | None:
    """Return the action of a seat's best outcome; None if its best outcomes need different actions.

    >>> from ostrom.games import build_game
    >>> favourite_of(build_game("battle_of_the_sexes"), 2)
    'football'
    """
    best = max(game.payoff(profile)[seat - 1] for profile in game.profiles())
    actions = {p[seat - 1] for p in game.profiles() if game.payoff(p)[seat - 1] == best}
    return game.actions[seat - 1][actions.pop()] if len(actions) == 1 else None


def favourite(data: RunData) -> Iterator[dict[str, Any]]:
    """Yield how often each player took its seat's favourite action; seats without a favourite have no row."""
    rows = data.records(
        "SELECT match, player, seat, action, count(*) AS n FROM rounds "
        "WHERE action IS NOT NULL GROUP BY ALL ORDER BY match, player"
    )
    played = grouped(((row["match"], row["player"], row["seat"]), (row["action"], row["n"])) for row in rows)
    return (
        {"match": match, "player": player, "value": dict(counts).get(action, 0) / sum(n for _, n in counts)}
        for (match, player, seat), counts in played.items()
        if (action := favourite_of(data.game(match), seat)) is not None
    )


def score_ratio(data: RunData) -> Iterator[dict[str, Any]]:
    """Yield each player's mean payoff as a share of its largest payoff in the game; ordinal games only."""
    for row in data.records(
        "SELECT match, player, seat, avg(payoff) AS paid FROM rounds GROUP BY ALL ORDER BY match, player"
    ):
        game = data.game(row["match"])
        if not {"family", "number"} <= game.params.keys():
            continue
        if (most := float(game.payoffs[..., row["seat"] - 1].max())) > 0:
            yield {
                "match": row["match"], "player": row["player"], "value": row["paid"] / most, "weight": 1.0,
                "family": str(game.params["family"]), "number": game.params["number"],
            }  # fmt: skip


def ratio_bounds(data: RunData) -> Callable[[int], Bounds]:
    """Return bounds: at most 1, at least 0 without negative payoffs; none if a mechanism adds payments."""
    paid = paid_by_the_game(data)

    def of(match: int) -> Bounds:
        low, high = paid(match)
        return (None, None) if low is None or high is None else (0.0 if low >= 0 else None, 1.0)

    return of
