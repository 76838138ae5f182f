"""Genomes: instructions as lists of sentences, of which some are said in other words or come from a second parent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil

import numpy as np

Genome = list[str]
"""The sentences of an instruction."""

LONGEST = 400
"""Characters of a sentence at most; a longer one is cut."""
MOST_SENTENCES = 60
_END = re.compile(r"(?<=[.!?])\s+")


def sentences(text: str) -> Genome:
    """The sentences of a text.

    >>> sentences("Be kind.  Forgive once! Then stop")
    ['Be kind.', 'Forgive once!', 'Then stop']
    """
    return [part for part in (tidy(piece) for piece in _END.split(text.strip())) if part]


def tidy(sentence: str) -> str:
    """One line of bounded length without control characters."""
    plain = "".join(c if c.isprintable() else " " for c in sentence)
    return " ".join(plain.split())[:LONGEST].strip()


def chosen(genome: Sequence[str], share: float, rng: np.random.Generator) -> list[int]:
    """The places of the sentences that are said in other words: a share of them, at least one if the share is not 0.

    >>> len(chosen(["a", "b", "c", "d", "e"], 0.4, np.random.default_rng(0)))
    2
    """
    return sorted(int(i) for i in rng.permutation(len(genome))[: ceil(share * len(genome))])


def crossed(one: Sequence[str], other: Sequence[str], rng: np.random.Generator) -> Genome:
    """The beginning of one genome and the rest of another, cut at a place that both have.

    >>> crossed(["a", "b"], ["c", "d"], np.random.default_rng(3)) in (["c", "d"], ["a", "d"], ["a", "b"])
    True
    """
    cut = int(rng.integers(min(len(one), len(other)) + 1))
    return [*one[:cut], *other[cut:]]
