"""What the paper says of GPT-4 in words: unforgiving, stubborn, robust to wording; and of SCoT: in step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from ostrom.analysis.estimate import estimate
from ostrom.analysis.references import Own
from ostrom.data.rundata import RunData
from ostrom.replications.repeated_games.figures.averages import median_round, own_of
from ostrom.replications.repeated_games.moves import BOS, PD, Match, Side, always, together

MEANS = (
    ((PD, "cooperations_after_first_defection"), "forgiveness"),
    ((BOS, "coordination_rate"), "coordination_with_alternation"),
)
"""Figures that are means over matches, and their measures."""
IN_STEP = "first_alternating_round"
HIGHEST, ABOVE = "max_joint_cooperation_in_regular_variants", "n_variants_above_0.1"
VARIANTS, EXCEPTIONS, BOUND = 9, 2, 0.1
"""The paper has nine wordings, of which two go beyond a rate of 0.1."""


def claims(found: Sequence[Match], data: RunData) -> Iterator[Own]:
    """Every claim that the matches of the run speak to; agents are all who do not follow a strategy."""
    for (game, figure), measure in MEANS:
        if any(match.game == game for match in found):
            yield from (own_of(("", game, figure), one) for one in estimate(data, measure, ["agent"]))
    yield from in_step(found)
    yield from wordings(found, data)


def in_step(found: Sequence[Match]) -> Iterator[Own]:
    """From which round on a player in seat 1 does the same as a script that alternates."""
    alternating = always(found, BOS, Side.alternates)
    steps: dict[str, list[int | None]] = {}
    for match in found:
        me, other = match.sides
        # Models that are asked plainly have no figure for the social chain of thought.
        asked = me.strategy is None and me.style in ("social", None)
        if match.game == BOS and asked and other.agent in alternating:
            steps.setdefault(me.agent, []).append(_in_step(together(me, other)))
    for agent, reached in steps.items():
        yield from median_round(("", BOS, IN_STEP), agent, reached, "never", "matches")


def wordings(found: Sequence[Match], data: RunData) -> Iterator[Own]:
    """Joint cooperation with a script that defects once, over nine wordings."""
    once = always(found, PD, Side.defects_once)
    joint: dict[str, dict[str, list[float]]] = {}
    for match in found:
        for me, other in match.against():
            if match.game == PD and me.strategy is None and other.agent in once:
                words = data.unit(match.number).players[me.seat - 1].config.framing.model_dump_json()
                both = [bool(a and b) for a, b in zip(me.cooperative, other.cooperative, strict=True)]
                joint.setdefault(me.agent, {}).setdefault(words, []).append(fmean(both))
    for agent, variants in joint.items():
        if len(variants) == VARIANTS:
            ordered = sorted((fmean(of) for of in variants.values()), reverse=True)
            count = sum(map(len, variants.values()))
            yield Own(("", PD, HIGHEST), agent, ordered[EXCEPTIONS], None, None, None, count)
            above = sum(rate > BOUND + 1e-9 for rate in ordered)
            yield Own(("", PD, ABOVE), agent, float(above), None, None, None, count)


def _in_step(same: Sequence[bool]) -> int | None:
    """The first round from which on both play the same to the end.

    >>> _in_step([True, False, True, True]), _in_step([True, False])
    (3, None)
    """
    apart = [number for number, both in enumerate(same, 1) if not both]
    first = max(apart, default=0) + 1
    return first if first <= len(same) else None
