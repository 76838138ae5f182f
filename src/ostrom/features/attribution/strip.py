"""Effects drawn as a strip over the remembered rounds: blocks for a terminal, an SVG for a paper."""

from __future__ import annotations

from pathlib import Path

from ostrom.features.attribution.effects import Attribution, RoundEffect

BLOCKS = " ▁▂▃▄▅▆▇█"


def block(change: float | None) -> str:
    """A block as high as the change is large; a question mark where it is not known.

    >>> block(0.0), block(-0.5), block(1.0), block(None)
    (' ', '▄', '█', '?')
    """
    if change is None:
        return "?"
    return BLOCKS[min(8, max(1, round(abs(change) * 8)))] if abs(change) >= 0.005 else " "


def sign(change: float | None) -> str:
    """Up, down or neither.

    >>> sign(0.2), sign(-0.2), sign(0.0)
    ('+', '-', '.')
    """
    return "." if change is None or abs(change) < 0.005 else "+" if change > 0 else "-"


def strips(found: Attribution) -> list[str]:
    """Two lines per kind of change, the oldest round on the left: how much, and in which direction."""
    kinds: dict[str, list[RoundEffect]] = {}
    for effect in found.effects:
        kinds.setdefault(effect.row, []).append(effect)
    width = max(len(row) for row in kinds)
    lines = []
    rounds = list(dict.fromkeys(e.round for e in found.effects))
    for row, effects in kinds.items():
        changes = {e.round: e.change for e in effects}  # a round that cannot be flipped has none: a blank
        lines.append(f"{row:>{width}} |{''.join(block(changes.get(r, 0.0)) for r in rounds)}|")
        lines.append(f"{'':>{width}} |{''.join(sign(changes[r]) if r in changes else ' ' for r in rounds)}|")
    first, last = f"R{rounds[0]}", f"R{rounds[-1]}"
    gap = " " * max(1, len(rounds) - len(first) - len(last) + 1)
    lines.append(f"{'':>{width}}  {first}{gap if len(rounds) > 1 else ''}{last if len(rounds) > 1 else ''}")
    return lines


def draw_svg(found: Attribution, path: Path) -> bool:
    """The strip as an SVG file; False where the report extra is not installed."""
    try:
        import altair as alt
        import vl_convert  # noqa: F401
    except ImportError:
        return False
    data = [
        {"round": e.round, "what": e.row, "change": e.change, "shown": e.shown}
        for e in found.effects
        if e.change is not None
    ]
    rows = list(dict.fromkeys(e.row for e in found.effects))
    chart = (
        alt.Chart(alt.Data(values=data))
        .mark_rect(stroke="#d0d0d0", strokeWidth=0.5)
        .encode(
            x=alt.X("round:O", title="remembered round", axis=alt.Axis(labelOverlap=True)),
            y=alt.Y("what:N", title=None, sort=rows),
            color=alt.Color(
                "change:Q",
                title=f"change in {found.what}",
                scale=alt.Scale(scheme="redblue", domain=[-1, 1], domainMid=0),
            ),
        )
        .properties(
            title=f"{found.run}, match {found.match}, round {found.round}: player {found.seat}",
            width=max(120, min(900, 14 * len({e.round for e in found.effects}))),
            height=26 * len(rows),
        )
    )
    chart.save(str(path), format="svg")
    return True
