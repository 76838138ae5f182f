"""Single matches as strips: one row per player, one square per round, coloured by what was done.

Amounts are numbers: a bar per round on an axis that all players of a match share.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.data.rundata import RunData, quoted
from ostrom.ground.values import grouped
from ostrom.reports.canvas import Canvas, Spec, drawing
from ostrom.reports.cells import DONE, spread, varied, why_nothing
from ostrom.reports.layout import JOINT, cell_label
from ostrom.reports.marks import grid, marks, nominal, quantity, tinted, view
from ostrom.reports.panel import Drawn, Figure, Panel
from ostrom.reports.theme import COOPERATES, DEFECTS, INK, MAIN, MOST_COLOURS, PALETTE, SEQUENCE
from ostrom.reports.words import labels

MOST_PLAYERS = 12
SQUARES = 60
"""The most rounds drawn as squares; longer matches are drawn as stretches of equal actions."""
WIDTH = 640


class Strips(Panel):
    """A handful of matches, spread evenly over the cells, always the same ones of a run.

    ``pair`` names the players of the matches to draw, by seat, or lists several such pairs; ``*`` in a name stands for
    any text, a word in braces for any model: the same word for the same one, ``["{model}", "{model} SCoT"]``, another
    word for another one. What was predicted of a player stands below what it did.
    """

    title = "Single matches"

    def __init__(self, matches: int = 6, pair: Sequence[str] | Sequence[Sequence[str]] | None = None) -> None:
        if not 1 <= matches <= 100:
            raise ValueError(f"matches must lie between 1 and 100 (found {matches})")
        pairs: list[Any] = [pair] if _names(pair) else list(pair) if isinstance(pair, list | tuple) else []
        if pair is not None and not (pairs and all(map(_names, pairs))):
            raise ValueError(f"pair must list the players by seat (found {pair!r})")
        self.matches = matches
        self.pairs: list[Sequence[str]] = pairs
        self.who = " and ".join(name.replace("*", "any") for name in self.pairs[0]) if pairs else ""
        # A word in braces stands for any model: a reader is told "the model".
        self.shown = re.sub(r"\{(\w+)\}", r"the \1", self.who)
        if pairs:
            self.title = f"Single matches of {self.shown}"

    def draw(self, data: RunData) -> Drawn:
        """One block of strips per chosen match."""
        chosen = self._choose(data)
        if not chosen:
            return Drawn(notes=[f"There is no finished match of {self.shown}." if self.who else why_nothing(data)])
        these = f"match IN ({', '.join('?' * len(chosen))})"
        # Runs without a game of amounts lack these columns.
        named = ", stage, amount" if "amount" in data.columns("decisions") else ""
        rows = data.records(
            f"SELECT match, player, agent, round, action, cooperative, invalid{named} FROM decisions "
            f"WHERE kind = 'act' AND action IS NOT NULL AND {these} ORDER BY match, player, round",
            *chosen,
        )
        # Actions that an agreement imposed are shown as well, though nobody was asked.
        rows += data.records(
            "SELECT match, player, agent, round, action, cooperative, false AS invalid"
            f"{', NULL AS stage, amount' if named else ''} FROM rounds "
            f"WHERE what = 'bound' AND action IS NOT NULL AND {these}",
            *chosen,
        )
        if not rows:
            return Drawn(notes=["No finished match has actions round by round."])
        rows += _predicted(data, these, chosen)
        rows.sort(key=lambda row: (row["match"], row["player"], str(row.get("by", "")), row["round"]))
        heads = {
            row["match"]: row for row in data.records(f"SELECT * FROM matches WHERE player = 1 AND {these}", *chosen)
        }
        crowd = max(row["player"] for row in rows)
        notes = [f"Of matches with up to {crowd} players the first {MOST_PLAYERS} are drawn."]
        rows = [row for row in rows if row["player"] <= MOST_PLAYERS]
        chart = _strips(rows, [m for m in chosen if any(r["match"] == m for r in rows)], heads, varied(data))
        caption = (
            "Actions round by round in single matches: the first match of cells that are spread evenly over "
            "the study. A dark dot marks an action that the policy gave because no answer could be read."
        )
        arrows = " Lines that begin with an arrow show what was predicted of the player above."
        return Drawn(
            [
                Figure(
                    "_".join(["strips", *re.sub("[{}]", "", self.who).split(" and ")]) if self.who else "strips",
                    chart,
                    caption + arrows if any("by" in row for row in rows) else caption,
                    f"Strips of actions round by round in {len(chosen)} matches.",
                )
            ],
            notes=notes if crowd > MOST_PLAYERS else (),
        )

    def _choose(self, data: RunData) -> list[int]:
        """Return the first match of every cell and seating, thinned out evenly."""
        factors = "".join(f"any_value({quoted(name)}) AS {quoted(name)}, " for name in data.factors)
        by = "".join(f"{quoted(name)}, " for name in data.factors)
        rows = data.records(
            f"WITH seated AS (SELECT match, {factors}string_agg(agent, chr(31) ORDER BY player) AS who "
            f"FROM matches WHERE {DONE} GROUP BY match) "
            f"SELECT min(match) AS match, who FROM seated GROUP BY {by}who ORDER BY 1"
        )
        models = {row["agent"] for row in data.records("SELECT DISTINCT agent FROM matches WHERE model IS NOT NULL")}
        wanted = [_pattern(pair) for pair in self.pairs]
        return spread(
            [row["match"] for row in rows if not wanted or any(_fits(p, row["who"], models) for p in wanted)],
            self.matches,
        )


def _names(pair: object) -> bool:
    return isinstance(pair, list | tuple) and bool(pair) and all(isinstance(name, str) for name in pair)


def _pattern(pair: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern for a match's joined player names; a word in braces is a named group.

    >>> bool(_pattern(["{model}", "{model} SCoT"]).fullmatch("gpt\\x1fgpt SCoT"))
    True
    """
    seen_words: set[str] = set()

    def one(part: re.Match[str]) -> str:
        word = part[1]
        if word is None:
            return "[^\x1f]*" if part[0] == "*" else re.escape(part[0])
        again = word in seen_words
        seen_words.add(word)
        return f"(?P={word})" if again else f"(?P<{word}>[^\x1f]+)"

    return re.compile("\x1f".join(re.sub(r"\{([a-z]+)\}|.", one, name) for name in pair))


def _fits(pattern: re.Pattern[str], who: str, models: set[str]) -> bool:
    """Return whether the players fit a pattern, with different models for different words."""
    match = pattern.fullmatch(who)
    words = match.groupdict() if match else {}
    return match is not None and {*words.values()} <= models and len({*words.values()}) == len(words)


@drawing
def _strips(
    canvas: Canvas, rows: list[dict[str, Any]], chosen: list[int], heads: dict[int, Any], factors: list[str]
) -> Spec:
    tones = _tones([row for row in rows if row.get("amount") is None])
    names = labels(list(dict.fromkeys(row["agent"] for row in rows)))
    longest = max(row["round"] for row in rows)
    ticks = list(range(1, longest + 1, 1 + (longest - 1) // 10))  # whole rounds, at most ten
    beside = canvas.row_labels(f"00 \u21b3 {name}" for name in names.values())
    room = min(WIDTH, canvas.width - beside.width - 2 * canvas.size)
    width = max(60, min(room, 22 * longest))
    amounts = grouped((heads[row["match"]]["game"], row["amount"]) for row in rows if row.get("amount") is not None)
    charts: list[Spec] = []
    for match in chosen:
        own = [row for row in rows if row["match"] == match]
        strips = _stretches([row for row in own if row.get("amount") is None], longest, names)
        head = heads[match]
        title = JOINT.join(filter(None, [f"match {match}", cell_label(head, factors), f"seed {head['seed']}"]))
        bars = _amounts(
            [row for row in own if row.get("amount") is not None], names, max(amounts.get(head["game"], [0.0]))
        )
        parts = [_bars(canvas, part, beside.width) for part in bars]
        parts += [_squares(canvas, strips, tones, longest)] if strips else []
        parts[0]["title"] = {"text": canvas.title(title, room, bold=True), "offset": 4, "frame": "group"}
        charts += parts
    below = {"grid": False, "values": ticks, "format": "d", "domain": False}
    for place, part in enumerate(charts, 1):
        last = place == len(charts)
        along = quantity(
            "start", scale={"domain": [0.5, longest + 0.5], "nice": False, "zero": False},
            axis=below if last else None, title="round" if last else None,
        )  # fmt: skip
        part |= {"width": round(width), "encoding": {"x": along}}
    return grid(charts, 1, spacing=12)


def _squares(canvas: Canvas, strips: list[dict[str, Any]], tones: dict[str, str], longest: int) -> Spec:
    """Draw actions as squares in their colours."""
    lanes = list(dict.fromkeys(s["lane"] for s in strips))
    beside = canvas.row_labels(lanes)
    lane = {"y": nominal("lane", sort=lanes, title=None, scale={"padding": 0.14}, axis={"grid": False, **beside.axis})}
    key = canvas.legend(tones, beside.width, title=None) if len(tones) <= MOST_COLOURS else None
    look: Spec = {"strokeWidth": 1.5 if longest <= 30 else 0.8, **({"stroke": "white"} if longest <= SQUARES else {})}
    return view(
        [
            marks("rect", {**lane, "x2": {"field": "end"}, "color": tinted("did", tones, key)}, **look),
            _policy_dots(lane),
        ],
        0,
        max(18, max(15, beside.height) * len(lanes)),
        rows=strips,
    )


def _policy_dots(lane: Spec) -> Spec:
    """Draw a dot on every action set by the policy."""
    return marks(
        "point", {**lane, "x": quantity("middle")}, where="datum.invalid", filled=True, size=16, color=INK, opacity=1
    )


def _amounts(rows: list[dict[str, Any]], names: Mapping[str, str], top: float) -> list[list[dict[str, Any]]]:
    """Return each player's amounts, by stage if there are several; bars of a game end at ``top``."""
    several = {
        player for player, of in grouped((row["player"], row["stage"]) for row in rows).items() if len({*of}) > 1
    }
    bars = [
        {"lane": f"{row['player']} {names[row['agent']]}"
         + (f", {row['stage']}" if row["player"] in several else ""),
         "amount": row["amount"], "top": top, "invalid": bool(row["invalid"]), "start": row["round"] - 0.5,
         "end": row["round"] + 0.5, "middle": row["round"]}
        for row in rows
    ]  # fmt: skip
    return list(grouped((bar["lane"], bar) for bar in bars).values())


def _bars(canvas: Canvas, rows: list[dict[str, Any]], room: float) -> Spec:
    """The amounts of one player as bars from zero."""
    top = rows[0]["top"] or 1.0
    lane = {"titleAngle": 0, "titleAlign": "right", "titleBaseline": "middle", "titlePadding": 10}
    up = {
        "scale": {"domain": [0, top], "nice": False}, "title": canvas.title(rows[0]["lane"], room - 24),
        "axis": {"values": [0, top], "format": ",.2~f", **lane},
    }  # fmt: skip
    amount = {"y": quantity("amount", **up)}
    return view(
        [
            marks(
                "rect",
                {**amount, "x2": {"field": "end"}, "y2": {"datum": 0}},
                color=MAIN,
                stroke="white",
                strokeWidth=1,
            ),
            _policy_dots(amount),
        ],
        0,
        24,
        rows=rows,
    )


def _predicted(data: RunData, these: str, chosen: list[int]) -> list[dict[str, Any]]:
    """Return predictions about players, as rows like those of their actions."""
    rows = data.records(
        "SELECT match, target AS player, agent AS by, round, answer AS action, invalid FROM decisions "
        f"WHERE starts_with(kind, 'predict') AND target IS NOT NULL AND answer IS NOT NULL AND {these}",
        *chosen,
    )
    for row in rows:
        game, seat = data.game(row["match"]), int(row["player"]) - 1
        cooperative = game.cooperative[seat]
        cooperates = None if cooperative is None else row["action"] == game.actions[seat][cooperative]
        row |= {"agent": row["by"], "cooperative": cooperates}
    return rows


def _stretches(rows: list[dict[str, Any]], longest: int, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return squares of a short match, or stretches of equal actions of a long one."""
    runs: list[dict[str, Any]] = []
    for row in rows:
        arrow = "\u21b3 " if "by" in row else ""
        lane = f"{row['player']} {arrow}{names[row['agent']]}"
        did, invalid, at = _did(row), bool(row["invalid"]), row["round"]
        last = runs[-1] if runs else None
        same = last is not None and (last["lane"], last["did"], last["invalid"]) == (lane, did, invalid)
        if last is not None and same and longest > SQUARES and last["end"] == at - 0.5:
            last["end"], last["middle"] = at + 0.5, (last["start"] + at + 0.5) / 2
            continue
        runs.append({"lane": lane, "did": did, "invalid": invalid, "start": at - 0.5, "end": at + 0.5, "middle": at})
    return runs


def _did(row: dict[str, Any]) -> str:
    if row["cooperative"] is None:
        return str(row["action"])
    return "cooperates" if row["cooperative"] else "does not cooperate"


def _tones(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Return a colour for every action."""
    met = list(dict.fromkeys(_did(row) for row in rows))
    tones = {did: tone for did, tone in {"cooperates": COOPERATES, "does not cooperate": DEFECTS}.items() if did in met}
    others = sorted((did for did in met if did not in tones), key=_natural)
    if len(others) + len(tones) <= MOST_COLOURS:
        return tones | dict(zip(others, [tone for tone in PALETTE if tone not in tones.values()], strict=False))
    # Too many actions for separate colours: their order becomes a tone from light to dark.
    return tones | {did: SEQUENCE[i * (len(SEQUENCE) - 1) // max(len(others) - 1, 1)] for i, did in enumerate(others)}


def _natural(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


CHART = Strips
