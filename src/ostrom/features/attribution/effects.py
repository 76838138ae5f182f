"""Effects of an attribution: how much each remembered round changes the chance of an action, in numbers and drawn.

A decision is expressed as one number between 0 and 1: the chance of cooperating; in a game without a cooperative
action, the chance of the action that the player took in the match; for an amount, its place in the allowed range.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostrom.analysis.intervals import Inference, combined, mean_of, share_of
from ostrom.answers import Answer, Number
from ostrom.features.attribution.plan import AttributionPlan, Measure
from ostrom.games.amounts import IDLE
from ostrom.ground.errors import UsageError
from ostrom.ground.values import grouped
from ostrom.studies.run import Run

BLOCKS = " ▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Chance:
    """The chance of cooperating, exact or from ``cooperated`` of ``n`` valid answers; for amounts the mean share."""

    p: float | None
    n: int
    cooperated: int
    low: float | None = None
    high: float | None = None
    invalid: int = 0
    """The number of replies without a valid answer; they are not in ``n``."""


@dataclass(frozen=True, slots=True)
class RoundEffect:
    """The effect of one change to one remembered round."""

    round: int
    back: int
    row: str
    shown: str
    """The actions of the round before the change, as the player was shown them."""
    chance: Chance
    change: float | None
    """The chance of cooperating with the change minus the chance without it."""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Attribution:
    """All effects on one decision."""

    run: str
    match: int
    round: int
    seat: int
    agent: str
    measure: Measure
    what: str
    """The quantity that the numbers estimate, for example P(cooperate), P(accept) or share of 0 to 100."""
    memory: Any
    taken: str | None
    """The action that the player took in the match itself."""
    baseline: Chance
    effects: tuple[RoundEffect, ...]
    complete: bool


def read_effects(run: Run, level: float = 0.95) -> Attribution:
    """Return the effects estimated from the answers that a run of counterfactuals has so far."""
    plan = run.plan
    if not isinstance(plan, AttributionPlan):
        raise UsageError(f"{run.name}: is not an attribution")
    place, states = (plan.origin.step, plan.decision.player, ""), run.journal.states()
    ended = [index for index in range(1, len(plan)) if index in states]
    answers = grouped(
        ((index - 1) % len(plan.edits), run.journal.answers(index).get(place, (None,))[0]) for index in ended
    )
    target = _Target(plan)
    chances = [target.chance(answers.get(number, []), level) for number in range(len(plan.edits))]
    base, base_group = chances[0]
    effects = [
        RoundEffect(
            edit.round, edit.back, edit.row, _round_text(plan, edit.back), chance,
            *_difference(chance, group, base, base_group, level),
        )
        for edit, (chance, group) in zip(plan.edits[1:], chances[1:], strict=True)
        if edit is not None
    ]  # fmt: skip
    origin = plan.origin
    return Attribution(
        origin.run, origin.match, origin.round, origin.seat, plan.seated.name, origin.measure,
        target.name, plan.seated.config.memory, origin.taken, base, tuple(effects), len(ended) == len(plan) - 1,
    )  # fmt: skip


class _Target:
    """The quantity between 0 and 1 to which every answer to the decision is converted."""

    def __init__(self, plan: AttributionPlan) -> None:
        game, form, seat = plan.parent.game, plan.decision.form, plan.decision.view.seat
        self.sampled = plan.origin.measure == "sample"
        self.amounts = form.amounts if isinstance(form, Number) else None
        cooperative = game.cooperative[seat]
        self.option = plan.origin.taken if cooperative is None else game.actions[seat][cooperative]
        if self.amounts is not None:
            self.name = f"share of {self.amounts.low} to {self.amounts.high}"
        else:
            self.name = f"P({'cooperate' if cooperative is not None else self.option})"

    def _as_share(self, value: Any) -> float:
        """Convert an answer to a number between 0 and 1."""
        amounts = self.amounts
        return float(value == self.option) if amounts is None else amounts.index(value) / max(1, amounts.levels - 1)

    def _stated(self, answer: Answer) -> float | None:
        """Return the mean of an answer that states its own probabilities; None for other answers."""
        if answer.probabilities is not None:
            return sum(p * self._as_share(name) for name, p in answer.probabilities.items())
        if self.amounts is None or answer.reading != "scripted":
            return None
        return 0.5 if self.amounts.levels > 1 else 0.0  # a script that draws uniformly states no odds

    def chance(self, answers: Sequence[Answer | None], level: float) -> tuple[Chance, Inference | None]:
        """Return the chance estimated from the valid answers, and the inference behind its interval."""
        valid = [a for a in answers if a is not None and a.reading not in ("policy", "refused", "missed")]
        invalid = len(answers) - len(valid)
        if not self.sampled:
            odds = [p for p in map(self._stated, valid) if p is not None]
            return Chance(sum(odds) / len(odds) if odds else None, len(odds), 0, invalid=invalid), None
        if not valid:
            return Chance(None, 0, 0, invalid=invalid), None
        shares = [self._as_share(a.value) for a in valid]
        if self.amounts is None:
            cooperated = round(sum(shares))
            group = share_of(cooperated, len(valid), unit="asking")
        else:
            cooperated, group = 0, mean_of(shares, bounds=(0, 1), unit="asking")
        ends = group.limits(level)
        return Chance(ends.value, len(valid), cooperated, ends.low, ends.high, invalid), group


def _difference(
    chance: Chance, group: Inference | None, base: Chance, base_group: Inference | None, level: float
) -> tuple[float | None, float | None, float | None]:
    if chance.p is None or base.p is None:
        return None, None, None
    if group is None or base_group is None:
        return chance.p - base.p, None, None
    limits = combined([(1.0, group), (-1.0, base_group)]).limits(level)
    return limits.value, limits.low, limits.high


def _round_text(plan: AttributionPlan, back: int) -> str:
    """Describe a remembered round in the words of the game."""
    view, played = plan.decision.view, plan.rounds[-back]
    if played.void:
        return "missed"
    names = view.game.actions
    taken_actions = [
        names[s][played.actions[s]] for s in sorted(range(view.game.seats), key=lambda s: (s != view.seat, s))
    ]
    return " / ".join(name for name in taken_actions if name != IDLE)


def block(change: float | None) -> str:
    """Return a block character whose height shows the size of a change; a question mark for an unknown change.

    >>> block(0.0), block(-0.5), block(1.0), block(None)
    (' ', '▄', '█', '?')
    """
    if change is None:
        return "?"
    return BLOCKS[min(8, max(1, round(abs(change) * 8)))] if abs(change) >= 0.005 else " "


def sign(change: float | None) -> str:
    """Return ``+``, ``-`` or ``.`` for the direction of a change.

    >>> sign(0.2), sign(-0.2), sign(0.0)
    ('+', '-', '.')
    """
    return "." if change is None or abs(change) < 0.005 else "+" if change > 0 else "-"


def strips(attribution: Attribution) -> list[str]:
    """Return the effects as a chart of text lines, the oldest round on the left.

    Every kind of change has a line of blocks for the sizes of the effects and a line of signs for their directions.
    """
    kinds = grouped((effect.row, effect) for effect in attribution.effects)
    width = max(len(row) for row in kinds)
    lines = []
    rounds = list(dict.fromkeys(e.round for e in attribution.effects))
    for row, effects in kinds.items():
        changes = {e.round: e.change for e in effects}  # a round that cannot be flipped has no effect and is left blank
        lines += [
            f"{row:>{width}} |{''.join(block(changes.get(r, 0.0)) for r in rounds)}|",
            f"{'':>{width}} |{''.join(sign(changes[r]) if r in changes else ' ' for r in rounds)}|",
        ]
    first, last = f"R{rounds[0]}", f"R{rounds[-1]}"
    gap = " " * max(1, len(rounds) - len(first) - len(last) + 1)
    lines.append(f"{'':>{width}}  {first}{gap if len(rounds) > 1 else ''}{last if len(rounds) > 1 else ''}")
    return lines


def draw_svg(attribution: Attribution, path: Path) -> bool:
    """Write the strip as an SVG file; return False where the report extra is not installed."""
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        return False
    from ostrom.reports.canvas import WIDE
    from ostrom.reports.figures import render
    from ostrom.reports.marks import marks, nominal, quantity, view

    data = [
        {"round": e.round, "what": e.row, "change": e.change, "shown": e.shown}
        for e in attribution.effects
        if e.change is not None
    ]
    rows = list(dict.fromkeys(e.row for e in attribution.effects))
    encoding = {
        "x": {"field": "round", "type": "ordinal", "title": "remembered round", "axis": {"labelOverlap": True}},
        "y": nominal("what", title=None, sort=rows),
        "color": quantity("change", scale={"scheme": "redblue", "domain": [-1, 1], "domainMid": 0},
                          legend={"title": f"change in {attribution.what}"}),
    }  # fmt: skip
    title = f"{attribution.run}, match {attribution.match}, round {attribution.round}: player {attribution.seat}"
    width = max(120, min(900, 14 * len({e.round for e in attribution.effects})))
    strip = marks("rect", encoding, stroke="#d0d0d0", strokeWidth=0.5)
    chart = view([strip], width, 26 * len(rows), WIDE.title(title, width + 120, bold=True), data)
    path.write_text(render(chart)[0], encoding="utf-8")
    return True
