"""What the paper says of GPT-4 in words: unforgiving, stubborn, robust to wording; and of SCoT: in step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from ostrom.analysis.rundata import RunData
from ostrom.replications.repeated_games.figures.averages import mean_of, median_round
from ostrom.replications.repeated_games.figures.moves import BOS, PD, Match, Side, always
from ostrom.studies.compare.figures import Own

FORGIVING = "cooperations_after_first_defection"
COORDINATION = "coordination_rate"
IN_STEP = "first_alternating_round"
HIGHEST, ABOVE = "max_joint_cooperation_in_regular_variants", "n_variants_above_0.1"
VARIANTS, EXCEPTIONS, BOUND = 9, 2, 0.1
"""The paper has nine wordings, of which two go beyond a rate of 0.1."""


def claims(found: Sequence[Match], data: RunData) -> Iterator[Own]:
    """Every claim that the matches of the run speak to; agents are all who do not follow a strategy."""
    pairs = [(m, me, other) for m in found for me, other in m.against() if me.strategy is None]
    once, alternating = always(found, PD, Side.defects_once), always(found, BOS, Side.alternates)
    after: dict[str, list[float]] = {}
    same: dict[str, list[float]] = {}
    steps: dict[str, list[int | None]] = {}
    joint: dict[str, dict[str, list[float]]] = {}
    for match, me, other in pairs:
        if match.game == PD and other.agent in once:
            after.setdefault(me.agent, []).append(sum(map(bool, me.cooperative[1:])))
            words = data.unit(match.number).players[me.seat - 1].config.framing.model_dump_json()
            both = [bool(a and b) for a, b in zip(me.cooperative, other.cooperative, strict=True)]
            joint.setdefault(me.agent, {}).setdefault(words, []).append(fmean(both))
        if match.game == BOS and other.agent in alternating:
            if me.style != "social":
                same.setdefault(me.agent, []).append(fmean(_together(me, other)))
            # Models that are asked plainly have no figure for the social chain of thought.
            if me.seat == 1 and me.style in ("social", None):
                steps.setdefault(me.agent, []).append(_in_step(_together(me, other)))
    for agent, counts in after.items():
        yield mean_of(("", PD, FORGIVING), agent, counts)
    for agent, rates in same.items():
        yield mean_of(("", BOS, COORDINATION), agent, rates)
    for agent, reached in steps.items():
        yield from median_round(("", BOS, IN_STEP), agent, reached, "never", "matches")
    for agent, variants in joint.items():
        if len(variants) == VARIANTS:
            ordered = sorted((fmean(of) for of in variants.values()), reverse=True)
            count = sum(map(len, variants.values()))
            yield Own(("", PD, HIGHEST), agent, ordered[EXCEPTIONS], None, None, None, count)
            above = sum(rate > BOUND + 1e-9 for rate in ordered)
            yield Own(("", PD, ABOVE), agent, float(above), None, None, None, count)


def _together(me: Side, other: Side) -> list[bool]:
    return [a == b for a, b in zip(me.actions, other.actions, strict=True)]


def _in_step(together: Sequence[bool]) -> int | None:
    """The first round from which on both play the same to the end.

    >>> _in_step([True, False, True, True]), _in_step([True, False])
    (3, None)
    """
    apart = [number for number, same in enumerate(together, 1) if not same]
    first = max(apart, default=0) + 1
    return first if first <= len(together) else None
