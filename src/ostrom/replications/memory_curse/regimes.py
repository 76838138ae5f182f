"""Effects of longer memory on an agent in a game (Liu et al. 2026, sections 4 and 4.2, Appendix D.1).

The paper knows two regimes: immune (at least 95 % cooperative actions at all history lengths) and cursed (all others).
Its own immune rows are far below that at lengths 0 and 1 (there is nothing to remember yet); lengths from 2 on are the
rule that gives its classification. But what is not immune need not decay: a player that always defects is no victim of
its memory. So what is not immune is told apart by the change from the shortest length that counts to the longest:

* *immune*: at least 95 % at every length from 2 on;
* *memory-bounded*: low at length 0, a peak at a length of at most 5, falling after it (section 4);
* *decaying*: falling from the shortest length to the longest, without that peak (the paper's curse);
* *rising*: the opposite;
* *flat*: below the border at some length and neither, be it high or low;
* *undecided*: none of these can be said.

The forward-looking ratio by regime is ``word_ratio`` with the setting (agent and game) and its regime as columns.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ostrom.analysis.estimate import Estimate, contrast, estimate, keyed
from ostrom.analysis.measure import Rows, measures
from ostrom.analysis.statistics import without_rounding
from ostrom.analysis.verdicts import above, all_of
from ostrom.data.rundata import RunData
from ostrom.ground.values import grouped
from ostrom.replications.memory_curse.played import WINDOW

THRESHOLD = 0.95
SHORTEST = 2
BAND = 5
"""The longest history length at which a memory-bounded pair may peak."""
STEP = 0.05
"""The smallest change that counts for observed rates; intervals within twice this count as no change."""
BORDER = THRESHOLD - 1e-9
"""The threshold with a margin for rounding errors of mean rates."""
PAIR = ("game", "style", "agent")
NAMES = ("immune", "decaying", "flat", "rising", "memory-bounded", "undecided")

Rate = float | tuple[float, float]
"""A cooperation rate, or its bounds."""


@dataclass(frozen=True, slots=True)
class Regime:
    """The verdict on the observed rates of one pair (agent, game)."""

    name: str
    """One of ``NAMES``."""
    printed: str | None
    """The paper's verdict: immune or cursed; None if the known lengths cannot settle it."""
    lowest: float | None
    """The lowest rate at the lengths that count (the lower one of bounds)."""
    at: int | None
    """The history length of the lowest rate."""
    margin: float | None
    """The lowest rate minus the threshold; negative is not immune."""
    lengths: tuple[int, ...]
    """The lengths that count."""


def regime(rates: Mapping[int, Rate], threshold: float = THRESHOLD, shortest: int = SHORTEST) -> Regime:
    """Judge the rates by history length.

    >>> regime({0: 0.03, 1: 1.0, 2: 0.99, 80: 0.96}).name, regime({2: 1.0, 80: 0.8}).name
    ('immune', 'decaying')
    >>> regime({0: 0.0, 2: 0.8, 80: 0.1}).name, regime({0: 0.0, 2: 0.0, 80: 0.0}).name
    ('memory-bounded', 'flat')
    >>> regime({2: 0.1, 80: 0.9}).name, regime({80: 0.1}).name, regime({80: (0.4, 1.0)}).printed
    ('rising', 'undecided', None)
    """
    ranges = {n: rate if isinstance(rate, tuple) else (rate, rate) for n, rate in sorted(rates.items())}
    counted = {length: rate for length, rate in ranges.items() if length >= shortest}
    if not counted:
        return Regime("undecided", None, None, None, None, ())
    at = min(counted, key=lambda length: round(counted[length][0], 9))
    lowest, border = min(rate for rate, _ in counted.values()), threshold - 1e-9
    printed = "cursed" if any(high < border for _, high in counted.values()) else "immune" if lowest >= border else None
    name = "immune" if printed == "immune" else "undecided"
    exact = {n: low for n, (low, high) in ranges.items() if low == high}
    if printed == "cursed" and len(exact) == len(ranges):
        name = _shape(exact, tuple(counted), lambda a, b: _sign(exact[a] - exact[b]))
    return Regime(name, printed, lowest, at, without_rounding(lowest - threshold, 1.0), tuple(counted))


def _sign(change: float) -> int | None:
    """Return up, down or no change; rounding errors are no change."""
    return 0 if abs(change) <= STEP + 1e-9 else 1 if change > 0 else -1


def _shape(rates: Mapping[int, float], counted: tuple[int, ...], change: Callable[[int, int], int | None]) -> str:
    """Return the regime of a pair below the threshold; ``change(a, b)`` is the sign of rate(a) - rate(b)."""
    if len(counted) < 2:
        return "undecided"
    first, last = counted[0], counted[-1]
    early = [n for n in rates if 1 <= n <= BAND]
    if 0 in rates and early and last > BAND:
        peak = max(early, key=lambda n: (round(rates[n], 9), -n))
        later = max(rates[n] for n in rates if n > BAND)
        if rates[peak] >= later - 1e-9 and change(peak, 0) == 1 and change(last, peak) == -1:
            return "memory-bounded"
    overall = change(last, first)
    if overall == 0 and any(change(n, first) not in (0, None) for n in counted):
        return "undecided"  # up and down again
    return {1: "rising", -1: "decaying", 0: "flat", None: "undecided"}[overall]


@dataclass(frozen=True, slots=True)
class Regimes:
    """All pairs of a run: regimes by observed rates, and by intervals."""

    by_rates: dict[tuple[Any, ...], Regime]
    """The regimes by observed rates."""
    decided: dict[tuple[Any, ...], str]
    """The regimes decided by intervals, else undecided."""
    control: str
    """The number of comparisons and the error control."""
    seeds: dict[tuple[Any, ...], int]
    """The estimated number of additional seeds that would decide an undecided pair."""

    @property
    def by_papers_rule(self) -> list[str]:
        """Return immune or cursed for every reasoning pair, as the paper classifies only these."""
        return [one.printed for (_, style, _), one in self.by_rates.items() if style == "reasoned" and one.printed]


def observed_regimes(data: RunData) -> dict[tuple[Any, ...], Regime]:
    """The rules applied to the observed rates of every game, style and agent."""
    return _by_rates(_rates(data))


def regimes(data: RunData, style: str = "") -> Regimes:
    """Classify the regime of every combination of game, style and agent in a run, or of one style.

    A combination is immune if its rates at all lengths are surely above the border, each at a confidence
    level that is corrected for the number of combinations; one length that is surely below the border rules
    this out. A change between two lengths must be sure at a level that is corrected for the number of
    combinations and of the comparisons within each.
    """
    rates = {key: one for key, one in _rates(data).items() if not style or key[1] == style}
    counted = {key: one for key, one in rates.items() if key[-1] >= SHORTEST}
    verdicts = above(list(counted.values()), BORDER)
    by_pair = _by_rates(rates)
    level = 1 - 0.05 / max(len(by_pair), 1)
    changes = _Changes(data, level=1 - 0.05 / max(3 * len(by_pair), 1))
    decided, seeds = {}, {}
    for pair, seen in by_pair.items():
        own = tuple(v for key, v in zip(counted, verdicts, strict=True) if key[:-1] == pair)
        answer = all_of(replace(verdicts, verdicts=own), level)
        of = {key[-1]: one.value for key, one in rates.items() if key[:-1] == pair}
        decided[pair] = (
            "immune"
            if answer == "yes"
            else _shape(of, seen.lengths, lambda a, b, pair=pair: changes.sign(pair, a, b))  # type: ignore[misc]
            if answer == "no"
            else "undecided"
        )
        if decided[pair] == "undecided":
            border = [_seeds(v.estimate.at_level(level), BORDER) for v in own]
            below = [n for n, v in zip(border, own, strict=True) if n is not None and v.estimate.value < BORDER]
            # Immune needs every length; one below the threshold excludes it, and then the change must be certain.
            needed = [min(below), changes.seeds(pair, seen.lengths)] if below else border
            if needed and None not in needed:
                seeds[pair] = max(1, *(n for n in needed if n is not None))
    return Regimes(by_pair, decided, verdicts.control, seeds)


def _seeds(one: Estimate, border: float) -> int | None:
    """Return about how many more matches would exclude a border from an interval; None if none would.

    Half the width of an interval shrinks with the root of the number of matches.
    """
    gap = abs(one.value - border)
    if one.low is None or one.high is None or gap < 1e-6:
        return None
    side = one.high - one.value if one.value < border else one.value - one.low
    return max(0, math.ceil(round(min(one.n * (side / gap) ** 2, 1e6), 6)) - one.n)


class _Changes:
    """Differences between two history lengths, estimated once for all pairs of a run."""

    def __init__(self, data: RunData, level: float) -> None:
        self.data, self.level = data, level
        self.known: dict[tuple[int, int], dict[tuple[Any, ...], Estimate]] = {}

    def difference(self, pair: tuple[Any, ...], a: int, b: int) -> Estimate | None:
        """The difference of two lengths at the corrected level; None without an interval."""
        if (a, b) not in self.known:
            self.known[a, b] = keyed(
                contrast(self.data, "memory_cooperation", "history_length", (a, b), PAIR, where=WINDOW), PAIR
            )
        one = self.known[a, b].get(pair)
        return None if one is None or one.low is None or one.high is None else one.at_level(self.level)

    def seeds(self, pair: tuple[Any, ...], lengths: tuple[int, ...]) -> int | None:
        """Return about how many more matches would distinguish the longest from the shortest length."""
        one = self.difference(pair, lengths[-1], lengths[0]) if len(lengths) > 1 else None
        return None if one is None else _seeds(one, 0.0)

    def sign(self, pair: tuple[Any, ...], a: int, b: int) -> int | None:
        """Return the sign of a certain change, 0 for certainly small ones, or None."""
        if a == b:
            return 0
        sure = self.difference(pair, a, b)
        if sure is None:
            return None
        low, high = sure.low or 0.0, sure.high or 0.0
        if low >= -2 * STEP - 1e-9 and high <= 2 * STEP + 1e-9:
            return 0
        return 1 if low > 0 else -1 if high < 0 else None


def _rates(data: RunData) -> dict[tuple[Any, ...], Estimate]:
    by = (*PAIR, "history_length")
    return keyed(estimate(data, "memory_cooperation", by, where=WINDOW), by)


def _by_rates(rates: Mapping[tuple[Any, ...], Estimate]) -> dict[tuple[Any, ...], Regime]:
    pairs = grouped((key[:-1], (key[-1], one.value)) for key, one in rates.items())
    return {pair: regime(dict(of)) for pair, of in pairs.items()}


RATIO = measures.named("word_ratio")


def values(data: RunData) -> Rows:
    """Return rows of the ratio; settings are immune or cursed by observed rates and the paper's rule."""
    settings = {
        (agent, game): (r.printed, r.name)
        for (game, style, agent), r in observed_regimes(data).items()
        if style == "reasoned"
    }
    seats = {
        (row["match"], row["player"]): (row["agent"], row["game"])
        for row in data.records("SELECT match, player, agent, game FROM matches")
    }
    for row in RATIO.rows(data):
        setting = seats[row["match"], row["player"]]
        printed, name = settings.get(setting, (None, None))
        yield {**row, "setting": " in ".join(map(str, setting)), "papers_rule": printed, "regime": name}


FORWARD_RATIO = replace(
    RATIO,
    name="memory_forward_ratio",
    values=values,
    columns=(*RATIO.columns, "setting", "papers_rule", "regime"),
    former=(("regime", "flat-low", "flat"),),
    source="Liu et al. (2026), Figure 3a and Appendix D.4",
)
