"""How much the tests that repeat themselves do: all of it in `make test-all`, a part in `make test`.

`make test` leaves out the tests that are marked slow (`-m 'not slow'`). Random inputs and long lists of cases that keep
one promise many times are cut down there too, here and nowhere else.
"""

from collections.abc import Iterable

import pytest
from hypothesis import settings

QUICK = False
"""Whether the slow tests are left out of this run; set before tests are collected."""
EXAMPLES = 0.1
"""The share of the examples of a property test that a quick run draws, and the fewest of them."""
FEWEST = 8


def size(whole: int, quick: int) -> int:
    """How many random inputs to try: all of them, or fewer in a quick run."""
    return quick if QUICK else whole


def take_samples(items: Iterable[pytest.Item]) -> None:
    """Mark cases of a test that says ``sample(n)`` as slow, all but so many that are evenly spread."""
    cases: dict[tuple[object, int], list[pytest.Item]] = {}
    for item in items:
        if (mark := item.get_closest_marker("sample")) is not None:
            cases.setdefault((getattr(item, "function", item), mark.args[0]), []).append(item)
    for (_, number), group in cases.items():
        quick = {place * len(group) // number for place in range(number)}
        for place, item in enumerate(group):
            if place not in quick:
                item.add_marker(pytest.mark.slow)


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
