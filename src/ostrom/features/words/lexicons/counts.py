"""Counts per trace, from a stream of traces of any length in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostrom.features.words.lexicons.lexicon import Lexicon, Overlap
from ostrom.features.words.lexicons.matcher import matcher_for

Key = TypeVar("Key")

BATCH_TRACES = 1024
BATCH_CHARACTERS = 1_000_000


class Ratio(NamedTuple):
    """A share ``part / (part + other)`` of the matches of two lists."""

    name: str
    part: str
    other: str


RATIOS = (
    Ratio("forward_looking_ratio", "forward_looking", "history_following"),
    Ratio("paranoia_ratio", "paranoia", "cooperation"),
    Ratio("cooperation_ratio", "cooperation", "paranoia"),
)
"""The ratios of Liu et al. (2026, Appendices D.2 and E.2); the last is the complement of the second."""


@dataclass(frozen=True)
class TraceCounts(Generic[Key]):
    """What was counted in one trace: its words, and its matches by list."""

    key: Key
    words: int
    counts: dict[str, int]


@dataclass(frozen=True)
class CountBatch(Generic[Key]):
    """The counts of some traces as arrays: a row per trace, a column per lexicon."""

    keys: tuple[Key, ...]
    names: tuple[str, ...]
    words: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __iter__(self) -> Iterator[TraceCounts[Key]]:
        for key, words, row in zip(self.keys, self.words.tolist(), self.counts.tolist(), strict=True):
            yield TraceCounts(key, words, dict(zip(self.names, row, strict=True)))


def count_batches(
    traces: Iterable[tuple[Key, str]],
    lexicons: Iterable[Lexicon],
    *,
    overlap: Overlap = "longest",
    max_traces: int = BATCH_TRACES,
    max_characters: int = BATCH_CHARACTERS,
) -> Iterator[CountBatch[Key]]:
    """Count in batches; at most one batch of texts is held at a time, in the order of the stream.

    >>> from ostrom.features.words.lexicons import memory_curse
    >>> [trace] = next(count_batches([("t1", "Trust is a risk.")], memory_curse()))
    >>> trace.words, trace.counts
    (4, {'forward_looking': 0, 'history_following': 1, 'paranoia': 1, 'cooperation': 1})
    """
    matcher = matcher_for(tuple(lexicons), overlap)
    keys: list[Key] = []
    texts: list[str] = []
    characters = 0
    for key, text in traces:
        keys.append(key)
        texts.append(text)
        characters += len(text)
        if len(texts) >= max_traces or characters >= max_characters:
            yield CountBatch(tuple(keys), matcher.names, *matcher.count(texts))
            keys, texts, characters = [], [], 0
    if texts:
        yield CountBatch(tuple(keys), matcher.names, *matcher.count(texts))
