"""Records of a society: what a reader may see of itself and its co-players, as trees of plain data.

A record lists a player's matches of the last ``window`` rounds, newest first. With a depth above 1 every
match carries the earlier records of the player's opponents in it, within the same window, and so on down to
the depth. Nothing older than the window appears at any depth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.mechanisms.protocol import Round

ByPlayer = Mapping[int, Round]
"""The match of every player in one round; whoever met nobody has none."""


def record_of(
    player: int, past: Sequence[ByPlayer], oldest: int, depth: int, names: Sequence[str], reader: int
) -> dict[str, Any]:
    """One player's record as a reader sees it: the rounds in ``past`` from index ``oldest`` on."""
    matches = []
    for index in range(len(past) - 1, oldest - 1, -1):
        played = past[index].get(player)
        if played is None:
            continue  # it met nobody
        moves = {move["seat"]: {"value": move["value"]} for move in played.facts.get("moves", ())}
        line: dict[str, Any] = {
            "round": played.number,
            "players": [
                {
                    "name": called(who, names, reader),
                    "seat": seat,
                    "action": None if played.void else played.actions[seat],
                    "payoff": played.payoffs[seat],
                    **moves.get(seat, {}),
                }
                for seat, who in enumerate(played.players)
            ],
        }
        if played.missed:
            line["missed"] = [called(played.players[seat], names, reader) for seat in played.missed]
        if depth > 1 and index > oldest:
            line["opponents"] = [
                record_of(other, past[:index], oldest, depth - 1, names, reader)
                for other in played.players
                if other != player
            ]
        matches.append(line)
    return {"name": called(player, names, reader), "seat": _seat(player, past), "matches": matches}


def called(player: int, names: Sequence[str], reader: int) -> str:
    """The pseudonym of a player; the reader is "You"."""
    return "You" if player == reader else names[player]


def _seat(player: int, past: Sequence[ByPlayer]) -> int | None:
    """The seat of a player, as its matches show it."""
    last = next((by[player] for by in reversed(past) if player in by), None)
    return None if last is None else last.players.index(player)
