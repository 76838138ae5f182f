"""Players who can neither remember nor reason have no effects: their intervals say so at a study's own presets."""

from __future__ import annotations

import pytest
from tools.coverage.null_studies import excluded_at_preset

MOST_EXCLUDED = 0.07


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "preset"),
    [pytest.param("memory", "small", marks=pytest.mark.slow), ("horizon", "small"), ("horizon", "paper")],
)
def test_few_intervals_exclude_the_truth(study: str, preset: str) -> None:
    """`make coverage` plays the presets whose matches are long (memory at paper) as well."""
    counts = excluded_at_preset(study, preset)
    asked = sum(of for _, of in counts.values())
    assert asked > 30 and sum(out for out, _ in counts.values()) <= MOST_EXCLUDED * asked
