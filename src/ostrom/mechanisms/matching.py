"""Who meets whom in a society: every round a perfect matching across seats, drawn evenly."""

from __future__ import annotations

from ostrom.ground.streams import Streams


def tables_of_round(players: int, seats: int, number: int, streams: Streams) -> list[tuple[int, ...]]:
    """The tables of a round, each with one player per seat; player p always takes seat p % seats.

    Every seat's players are shuffled on their own (the first seat's stay in order), so that all matchings
    are equally likely.

    >>> tables = tables_of_round(6, 2, 1, Streams(0, 0))
    >>> sorted(p for table in tables for p in table)
    [0, 1, 2, 3, 4, 5]
    """
    size = players // seats
    columns = [[seat + seats * i for i in range(size)] for seat in range(seats)]
    for seat in range(1, seats):
        order = streams.about(number, seat, "matching").permutation(size)
        columns[seat] = [columns[seat][int(i)] for i in order]
    return list(zip(*columns, strict=True))
