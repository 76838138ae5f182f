"""Counts summed over groups of traces, such as model x game x history length.

A ratio over many traces has two honest meanings that differ: the *ratio of sums* weighs traces by how many
terms they hold, the *mean of ratios* weighs alike all traces in which it is defined. Both are reported under
these names. The published paranoia ratios are not the ratios of the published frequencies (Mistral-7B at
HL 2: 9.91 and 16.77 per 1,000 words give 0.371, printed is 0.524; Liu et al. 2026, Appendix Table 8), so they
must be means of ratios of some smaller unit, which the paper does not name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostrom.analysis.lexicons.counts import RATIOS, CountBatch, Ratio
from ostrom.errors import UnknownName

Group = TypeVar("Group", bound=Hashable)


@dataclass(frozen=True)
class GroupSummary:
    """Running sums over the traces of one group, and the figures that follow from them."""

    names: tuple[str, ...]
    ratios: tuple[Ratio, ...]
    traces: int
    words: int
    traces_with_words: int
    matches: dict[str, int]
    traces_with_match: dict[str, int]
    sum_of_per_1000_words: dict[str, float]
    sum_of_ratios: dict[str, float]
    traces_with_ratio: dict[str, int]

    def per_1000_words_of_sums(self, name: str) -> float | None:
        """All matches of a list per 1,000 words of all traces."""
        return _divide(1000 * self.matches[name], self.words)

    def mean_of_per_1000_words(self, name: str) -> float | None:
        """The mean over traces of each trace's matches per 1,000 words; traces without words are left out."""
        return _divide(self.sum_of_per_1000_words[name], self.traces_with_words)

    def ratio_of_sums(self, ratio: str) -> float | None:
        """part / (part + other) of the matches in all traces together; None when there are none."""
        rule = next(rule for rule in self.ratios if rule.name == ratio)
        part, other = self.matches[rule.part], self.matches[rule.other]
        return _divide(part, part + other)

    def mean_of_ratios(self, ratio: str) -> float | None:
        """The mean of the ratios of single traces, over the ``traces_with_ratio`` that have one."""
        return _divide(self.sum_of_ratios[ratio], self.traces_with_ratio[ratio])

    def share_of_traces(self, name: str) -> float | None:
        """Share of traces with at least one match; for ``defection`` this is the defection-mention rate."""
        return _divide(self.traces_with_match[name], self.traces)

    def per_1000_traces(self, name: str) -> float | None:
        """Matches per 1,000 traces, the unit of Manoranjan & Gaikwad (2026)."""
        return _divide(1000 * self.matches[name], self.traces)


def summarize(
    batches: Iterable[CountBatch[Any]],
    group: Callable[[Any], Group],
    *,
    ratios: Iterable[Ratio] | None = None,
) -> dict[Group, GroupSummary]:
    """Sum counts over groups, where ``group`` says to which one a trace's key belongs.

    ``ratios`` default to those of ``RATIOS`` whose lists were counted. Groups keep the order of the stream.

    >>> from ostrom.analysis.lexicons import count_batches, memory_curse
    >>> traces = [("m1", "Trust him."), ("m1", "A risk, a threat, a trap; be fair."), ("m1", "Hm.")]
    >>> summary = summarize(count_batches(traces, memory_curse()), group=lambda key: key)["m1"]
    >>> summary.ratio_of_sums("paranoia_ratio"), summary.mean_of_ratios("paranoia_ratio")
    (0.6, 0.375)
    """
    wanted = None if ratios is None else tuple(ratios)
    sums: _Sums | None = None
    place: dict[Group, int] = {}
    for batch in batches:
        if sums is None:
            sums = _Sums(batch.names, _usable(batch.names, wanted))
        index = np.fromiter(
            (place.setdefault(group(key), len(place)) for key in batch.keys),
            dtype=np.int64,
            count=len(batch.keys),
        )
        sums.add(index, len(place), batch)
    return {} if sums is None else {name: sums.summary(row) for name, row in place.items()}


def mean_of_group_ratios(summaries: Iterable[GroupSummary], ratio: str) -> tuple[float | None, int]:
    """The mean over groups of their ratios of sums, and the number of groups that have one.

    Liu et al. (2026) average settings (model x game) in this way: 0.504 for immune and 0.340 for cursed ones.
    """
    values = [value for summary in summaries if (value := summary.ratio_of_sums(ratio)) is not None]
    return (sum(values) / len(values) if values else None), len(values)


class _Sums:
    """One row per group; rows are added in the order of the stream, so batch sizes never change a figure."""

    def __init__(self, names: tuple[str, ...], ratios: tuple[Ratio, ...]) -> None:
        self.names, self.ratios = names, ratios
        lists, shares = len(names), len(ratios)
        self.whole = {
            "traces": 1,
            "words": 1,
            "with_words": 1,
            "matches": lists,
            "with_match": lists,
            "with_ratio": shares,
        }
        self.table: dict[str, NDArray[Any]] = {
            k: np.zeros((0, n), dtype=np.int64) for k, n in self.whole.items()
        }
        self.table |= {"per_1000": np.zeros((0, lists)), "ratio": np.zeros((0, shares))}

    def add(self, index: NDArray[np.int64], groups: int, batch: CountBatch[Any]) -> None:
        for name, rows in self.table.items():
            if groups > len(rows):
                more = np.zeros((max(groups - len(rows), len(rows)), rows.shape[1]), dtype=rows.dtype)
                self.table[name] = np.concatenate([rows, more])
        counts, words = batch.counts, batch.words[:, None]
        part = counts[:, [self.names.index(ratio.part) for ratio in self.ratios]]
        both = part + counts[:, [self.names.index(ratio.other) for ratio in self.ratios]]
        new: dict[str, NDArray[Any]] = {
            "traces": np.ones_like(words),
            "words": words,
            "with_words": words > 0,
            "matches": counts,
            "with_match": counts > 0,
            "with_ratio": both > 0,
            # Where a figure is undefined the numerator is 0 as well, so nothing is added for it.
            "per_1000": 1000 * counts / np.maximum(words, 1),
            "ratio": part / np.maximum(both, 1),
        }
        for name, values in new.items():
            np.add.at(self.table[name], index, values)

    def summary(self, row: int) -> GroupSummary:
        one = {name: rows[row].tolist() for name, rows in self.table.items()}
        by_list = {
            k: dict(zip(self.names, one[k], strict=True)) for k in ("matches", "with_match", "per_1000")
        }
        labels = [ratio.name for ratio in self.ratios]
        by_ratio = {k: dict(zip(labels, one[k], strict=True)) for k in ("ratio", "with_ratio")}
        return GroupSummary(
            names=self.names,
            ratios=self.ratios,
            traces=one["traces"][0],
            words=one["words"][0],
            traces_with_words=one["with_words"][0],
            matches=by_list["matches"],
            traces_with_match=by_list["with_match"],
            sum_of_per_1000_words=by_list["per_1000"],
            sum_of_ratios=by_ratio["ratio"],
            traces_with_ratio=by_ratio["with_ratio"],
        )


def _usable(names: tuple[str, ...], wanted: tuple[Ratio, ...] | None) -> tuple[Ratio, ...]:
    if wanted is None:
        return tuple(ratio for ratio in RATIOS if ratio.part in names and ratio.other in names)
    for ratio in wanted:
        for name in (ratio.part, ratio.other):
            if name not in names:
                raise UnknownName("lexicon", name, names)
    return wanted


def _divide(part: float, whole: float) -> float | None:
    return part / whole if whole else None
