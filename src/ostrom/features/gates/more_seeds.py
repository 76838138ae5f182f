"""Play more seeds until gates are decided: the bounds of gates stay valid under repeated looks.

The gates are judged only after whole seeds. The next look comes at the number of seeds that is estimated to decide the
gates, but at the latest at twice the seeds so far, because the estimate may mislead.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ostrom.analysis.verdict_files import Answer
from ostrom.engine.plan import Budget
from ostrom.engine.runner import Result
from ostrom.features.gates.gates import GateFile, GateReport
from ostrom.ground.errors import UsageError
from ostrom.studies.schema import StudyFile

MOST_SEEDS = 100_000
"""The default limit on seeds, so that play ends even if the budget never binds."""


@dataclass(frozen=True)
class GateLook:
    """The verdict after a number of seeds."""

    seeds: int
    answer: Answer


@dataclass(frozen=True)
class Looks:
    """All looks in order, the verdict of the last complete one, and the reason for stopping."""

    looks: tuple[GateLook, ...]
    verdict: GateReport
    why: str
    interrupted: bool = False


def check_until_decided(gates: GateFile, file: str, study: StudyFile, budget: Budget, most: int | None) -> None:
    """Refuse gates that are not valid under repeated looks, and refuse to play without a budget or a limit on seeds."""
    for gate in gates.gates:
        if gate.approximate:
            raise UsageError(
                f"{file}: gate {gate.name!r}: is approximate, so its error rate would grow with every look "
                "(leave --until-decided out)"
            )
    if study.stop is not None:
        raise UsageError(f"{study.name}: stops by a rule of its own (`stop`), so --until-decided cannot")
    if most is None and budget == Budget():
        raise UsageError(
            "--until-decided: needs a budget (--budget-usd, --budget-calls, --budget-tokens) or --most-seeds"
        )


def next_look(seeds: int, more: float, most: int) -> int:
    """Return the number of seeds at which to look next.

    >>> next_look(10, 4, 100), next_look(10, 70, 100), next_look(10, math.inf, 14), next_look(14, 3, 14)
    (14, 20, 14, 14)
    """
    return min(seeds + min(seeds, max(1, math.ceil(min(more, seeds)))), most)


def until_decided(
    folder: Path,
    seeds: int,
    judged: Callable[[], GateReport],
    play: Callable[[int], Result],
    budget: Budget,
    most: int | None,
) -> Looks:
    """Judge the gates, and play more seeds while one is undecided, none failed and the budget pays for whole seeds."""
    looks: list[GateLook] = []
    while True:
        verdict = judged()
        looks.append(GateLook(seeds, verdict.answer))
        if verdict.answer != "undecided":
            return Looks(tuple(looks), verdict, "decided")
        if verdict.seeds_to_decide is None or verdict.price is None:
            return Looks(tuple(looks), verdict, f"{folder}: more seeds cannot decide what is undecided")
        allowed = min(MOST_SEEDS if most is None else most, verdict.price.affordable(budget))
        following = next_look(seeds, verdict.seeds_to_decide, math.floor(allowed + 1e-9))
        if following <= seeds:
            spent = allowed < (MOST_SEEDS if most is None else most)
            why = "the budget allows no further seed" if spent else "the largest number of seeds is reached"
            return Looks(tuple(looks), verdict, f"{why} ({seeds} seeds)")
        result = play(following)
        if not result.complete:
            why = f"seeds {seeds + 1} to {following} are not complete ({result.why or 'stopped'}), and are not judged"
            return Looks(tuple(looks), verdict, why, result.interrupted)
        seeds = following
