"""The cells of a study: every combination of levels, or those that ``only`` keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from ostrom.ground.errors import StudyError, unknown_key
from ostrom.studies.factors import Factor

MOST_CHECKED = 1_000_000
"""The largest grid of which a part can be kept: every combination is looked at once."""


class Grid:
    """Cells by number, each as one level per factor; the last factor varies fastest.

    ``only`` lists partial cells, such as ``{persona: "yes", payoffs: [hidden, visible]}``. A combination is kept
    where all levels that one of them names agree; without ``only`` all are.

    >>> from ostrom.studies.factors import Level
    >>> two = (Factor("a", (Level(1, {}), Level(2, {}))), Factor("b", (Level("x", {}), Level("y", {}))))
    >>> [Grid(two, [{"a": 1, "b": "x"}, {"a": 2}]).levels(n) for n in range(3)]
    [(0, 0), (1, 0), (1, 1)]
    """

    def __init__(
        self, factors: Sequence[Factor], only: Sequence[Mapping[str, Any]] = (), file: str | None = None
    ) -> None:
        self.factors = tuple(factors)
        self._sizes = [len(factor.levels) for factor in factors]
        whole = prod(self._sizes)
        self._kept: Sequence[int] = range(whole)
        if not only:
            return
        if whole > MOST_CHECKED:
            raise StudyError(
                f"keeps part of {whole} combinations (at most {MOST_CHECKED} can be looked through)",
                file=file, key="only",
            )  # fmt: skip
        rules = [self._rule(entry, f"only.{place}", file) for place, entry in enumerate(only)]
        self._kept = [
            number
            for number, levels in enumerate(product(*(range(size) for size in self._sizes)))
            if any(all(levels[place] in allowed for place, allowed in rule) for rule in rules)
        ]
        if not self._kept:
            raise StudyError("keeps no combination of levels", file=file, key="only")

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        if isinstance(self._kept, range):
            return product(*(range(size) for size in self._sizes))
        return (self.levels(number) for number in range(len(self)))

    def levels(self, number: int) -> tuple[int, ...]:
        """The level of every factor in a cell."""
        place, levels = self._kept[number], []
        for size in reversed(self._sizes):
            place, level = divmod(place, size)
            levels.append(level)
        return tuple(levels[::-1])

    def covering(self) -> Iterator[int]:
        """Cells in which together every level occurs that occurs at all."""
        met: set[tuple[int, int]] = set()
        if isinstance(self._kept, range):
            stride = 1
            for size in reversed(self._sizes):
                yield from range(0, size * stride, stride)
                stride *= size
            return
        for number, levels in enumerate(self):
            new = set(enumerate(levels)) - met
            if new:
                met |= new
                yield number

    def _rule(self, entry: Mapping[str, Any], where: str, file: str | None) -> list[tuple[int, set[int]]]:
        """The levels, by the factor's place, that a partial cell allows."""
        names = [factor.name for factor in self.factors]
        rule = []
        for name, wanted in entry.items():
            if name not in names:
                raise StudyError(unknown_key(name, names, "the factors"), file=file, key=where, allowed=names)
            place = names.index(name)
            labels = [str(level.label) for level in self.factors[place].levels]
            allowed = set()
            for label in wanted if isinstance(wanted, list) else [wanted]:
                if str(label) not in labels:
                    raise StudyError(
                        "is no level of the factor",
                        file=file,
                        key=f"{where}.{name}",
                        found=label,
                        allowed=labels,
                    )
                allowed.add(labels.index(str(label)))
            rule.append((place, allowed))
        return rule
