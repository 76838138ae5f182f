"""Heat maps of a tournament, player 1 against player 2 (Akata et al. 2025, Figures 3 and 5)."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.rundata import RunData
from ostrom.errors import UsageError
from ostrom.replications.repeated_games.pairs import acts, favourite_actions, pair_rates
from ostrom.replications.repeated_games.panels._shared import block_columns, block_name, decisions
from ostrom.reports.cells import agents
from ostrom.reports.maps import side_by_side, tiles
from ostrom.reports.marks import MOST_PANELS
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import labels

MEASURES = {
    "defection1": "defection rate of player 1",
    "coordination": "share of rounds in which both played the same action",
    "favourite1": "how often player 1 played the action of its own best outcome",
    "score1": "payoff per round of player 1",
}
LEGENDS = {
    "defection1": "defection rate",
    "coordination": "same action",
    "favourite1": "own favourite",
    "score1": "payoff per round",
}
COLUMNS = (
    "player1", "player2", "matches", "defection1", "defection2", "score1", "score2", "coordination",
    "favourite1", "favourite2",
)  # fmt: skip


class GamesPairs(Panel):
    """Who did what against whom: defection and score; in games without a cooperative action coordination and
    the rate of the own favourite instead of defection."""

    title = "What every pair of players did"

    def draw(self, data: RunData) -> Drawn:
        """One map per measure and block of the study."""
        try:
            moves = acts(decisions(data))
            blocks = _blocks(data, moves)
        except UsageError as error:
            return Drawn(notes=[f"Nothing to show: {error}."])
        by, notes = block_columns(data), list[str]()
        rows = [
            [*(block["key"][name] for name in by), *(line.get(column) for column in COLUMNS)]
            for block in blocks
            for line in block["pairs"]
        ]
        caption = (
            "Ordered pairs of players. Rates are taken within a match and averaged over matches; favourite is "
            "the action of a seat's own best outcome, where there is one."
        )
        table = Table("games_pairs", [*by, *COLUMNS], rows, caption)
        if len(blocks) > MOST_PANELS:
            notes.append(
                f"{len(blocks)} combinations of {', '.join(by)} are too many for maps: see the table."
            )
            return Drawn(tables=[table], notes=notes)
        named = labels(agents(data))
        figures = []
        for measure, meaning in MEASURES.items():
            shown = [block for block in blocks if measure in block["shown"]]
            if shown:
                charts = [_map(block, by, measure, named) for block in shown]
                figures.append(
                    Figure(
                        f"games_pairs_{measure.rstrip('1')}",
                        side_by_side(charts, len(named)),
                        f"{meaning.capitalize()}: rows are player 1, columns player 2. Means over the matches "
                        "of a pair; what never met is white.",
                        f"Heat map of the {meaning}, player 1 against player 2.",
                    )
                )
        return Drawn(figures, [table], notes)


def _blocks(data: RunData, moves: Any) -> list[dict[str, Any]]:
    """The pairs of every combination of game and varied factors, with the measures that have a meaning."""
    by = block_columns(data)
    parts = moves.partition_by(by, maintain_order=True) if by else [moves]
    blocks = []
    for part in parts:
        first = part.row(0, named=True)
        game = data.game(first["match"])
        favourites = favourite_actions({first["game"]: game})
        pairs = list(pair_rates(part, favourites=favourites).iter_rows(named=True))
        payoffs = [float(x) for profile in game.profiles() for x in game.payoff(profile)]
        dilemma = None not in game.cooperative
        shown = ["defection1", "score1"] if dilemma else ["coordination", "favourite1", "score1"]
        shown = [m for m in shown if any(line[m] is not None for line in pairs)]
        blocks.append({"key": first, "pairs": pairs, "shown": shown, "range": (min(payoffs), max(payoffs))})
    return blocks


def _map(block: dict[str, Any], by: list[str], measure: str, named: dict[Any, str]) -> Any:
    rows = [
        {"x": named[line["player2"]], "y": named[line["player1"]], "value": line[measure]}
        for line in block["pairs"]
        if line[measure] is not None
    ]
    met = {row["x"] for row in rows} | {row["y"] for row in rows}
    order = [name for name in named.values() if name in met]
    return tiles(
        rows,
        across=order,
        down=order,
        legend=LEGENDS[measure],
        domain=block["range"] if measure == "score1" else (0.0, 1.0),
        titles=("player 2", "player 1"),
        title=block_name(block["key"], by),
        digits=1 if measure == "score1" else 2,
    )


PANEL = GamesPairs
