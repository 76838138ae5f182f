"""How much the tests that repeat themselves do: all of it in `make test-all`, a part in `make test`.

`make test` leaves out the tests that are marked slow (`-m 'not slow'`). Random inputs and long lists of cases that keep
one promise many times are cut down there too, here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

QUICK = False
"""Whether the slow tests are left out of this run; set before tests are collected."""
EXAMPLES = 0.2
"""The share of the examples of a property test that a quick run draws, and the fewest of them."""
FEWEST = 8


def size(whole: int, quick: int) -> int:
    """How many random inputs to try: all of them, or fewer in a quick run."""
    return quick if QUICK else whole


def some(cases: Iterable[Any], number: int) -> list[Any]:
    """Cases of a parametrized test of which a quick run takes only a number, evenly spread; the others are slow."""
    every = list(cases)
    quick = {place * len(every) // number for place in range(number)}
    return [
        case if place in quick else pytest.param(case, marks=pytest.mark.slow)
        for place, case in enumerate(every)
    ]


def draw_fewer(items: Iterable[pytest.Item]) -> None:
    """Scale down what every property test draws, whether it states a number of examples or not."""
    if not QUICK:
        return
    for function in {item.function for item in items if isinstance(item, pytest.Function)}:
        whole = getattr(function, ATTRIBUTE, None)
        if isinstance(whole, settings):
            examples = max(min(FEWEST, whole.max_examples), round(whole.max_examples * EXAMPLES))
            setattr(function, ATTRIBUTE, settings(whole, max_examples=examples))


ATTRIBUTE = "_hypothesis_internal_use_settings"
"""Where hypothesis keeps the settings of a test. It has no public way to change them after a test was declared;
should the name change, quick runs draw as many examples as whole ones."""
