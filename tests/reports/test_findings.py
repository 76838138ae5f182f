"""The first screen: what was found, in words that agree with the figures beside them."""

from __future__ import annotations

import re

from ostrom.analysis.estimate import estimate
from ostrom.reports.card import findings, headline_measure

from .conftest import Played

KNOWN = {"types": {"kind": "cooperator", "hard": "defector"}, "vary": {}, "seeds": 1}


def test_the_first_sentence_is_the_mean_over_everything(played: Played) -> None:
    data = played()
    (whole,) = estimate(data, "cooperation")
    assert findings(data)[0] == f"Cooperation: {whole}."


def test_a_difference_between_levels_is_that_of_the_means_beside_it(played: Played) -> None:
    """Agents that meet pair within matches, which leaves their self-play out: both figures are named."""
    data = played(
        **{**KNOWN, "seating": "ordered", "game": "stag_hunt"}, mechanism={"name": "repetition", "rounds": 3}
    )
    (told,) = [line for line in findings(data) if line.startswith("By agent")]
    high, low, difference = map(float, re.findall(r"(?<=[( ])-?\d+\.\d\d", told)[:3])
    assert difference == high - low == 1.0


def test_a_paired_difference_that_is_another_is_named_as_such(played: Played) -> None:
    """Three constant players of an ordinal game: where two of them met, one earns more than over all matches."""
    types = {"one": "constant:0", "two": "constant:1", "alternate": "alternator"}
    data = played(**{**KNOWN, "types": types, "seating": "ordered", "game": "ordinal_2x2:64"})
    assert headline_measure(data) == "score"
    found = {e.key["agent"]: e.value for e in estimate(data, "score", ["agent"])}
    gap = max(found.values()) - min(found.values())
    (told,) = [line for line in findings(data) if line.startswith("By agent")]
    assert f"; difference {gap:.2f}; " in told and "where matches pair" in told
