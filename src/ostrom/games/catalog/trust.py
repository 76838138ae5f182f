"""Trust: an investor may entrust a stake, a trustee may share the gains or keep them."""

from __future__ import annotations

from typing import Any

from ostrom.games.bimatrix import bimatrix
from ostrom.games.game import Game
from ostrom.games.parameters import pair, require, switch


def build(
    honoured: Any = (10, 10),
    exploited: Any = (0, 20),
    declined: Any = (6, 2),
    distrusted: Any = (4, 4),
    *,
    strict: bool = True,
) -> Game:
    """Two roles move at once: the investor invests or withholds, the trustee shares or keeps.

    Every parameter is a pair, what the investor and the trustee are paid: ``honoured`` (invest, share),
    ``exploited`` (invest, keep), ``declined`` (withhold, share) and ``distrusted`` (withhold, keep).
    ``strict`` demands that both gain from honoured trust over none, that keeping pays the trustee better than
    sharing what was invested, and that exploited trust is worse for the investor than none.

    >>> build().payoff((0, 1))
    (0.0, 20.0)
    """
    name = "trust"
    yes, cheated, missed, none = (
        pair(name, what, value)
        for what, value in (
            ("honoured", honoured),
            ("exploited", exploited),
            ("declined", declined),
            ("distrusted", distrusted),
        )
    )
    if switch(name, "strict", strict):
        require(
            name,
            yes[0] > none[0] and yes[1] > none[1],
            "honoured must beat distrusted for both",
            f"{yes}, {none}",
        )
        require(name, cheated[1] > yes[1], "the trustee must gain by keeping", f"{cheated[1]}, {yes[1]}")
        require(
            name, cheated[0] < none[0], "the investor must lose when exploited", f"{cheated[0]}, {none[0]}"
        )
    return bimatrix(
        name,
        (("invest", "withhold"), ("share", "keep")),
        [[yes, cheated], [missed, none]],
        cooperative=(0, 0),
        roles=("investor", "trustee"),
        title="Trust",
        citation="after Berg, Dickhaut & McCabe (1995), Trust, reciprocity, and social history; "
        "payoffs of Tewolde et al. (2026)",
        params={
            "honoured": list(yes),
            "exploited": list(cheated),
            "declined": list(missed),
            "distrusted": list(none),
            "strict": strict,
        },
    )


GAME = build
