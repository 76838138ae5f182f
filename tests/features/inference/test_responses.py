"""Response tables count what followed which state, and admit what was never seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.analysis.statistics import BadSample
from ostrom.features.inference.runs import PlayedPair, response_table


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_tit_for_tat_answers_the_other_players_last_move() -> None:
    other = [[1, 0, 0, 1, 1, 0], [0, 0, 1, 1, 0, 1], [1, 1, 0, 0, 1, 1]]
    played = [PlayedPair(m, [1, *moves[:-1]], moves) for m, moves in enumerate(other)]
    table = response_table(played)
    assert [row["estimate"] for row in table.rows()] == [1, 1, 0, 1, 0]
    assert table.n_matches == 3 and table.unit == "match"


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=6), min_size=2, max_size=5))
def test_every_round_is_counted_once(matches: list[list[tuple[bool, bool]]]) -> None:
    played = [PlayedPair(m, [a for a, _ in item], [b for _, b in item]) for m, item in enumerate(matches)]
    table = response_table(played)
    assert sum(line.n for line in table.responses) == sum(len(item) for item in matches)
    assert table["first"].n == len(matches)
    assert sum(line.cooperations for line in table.responses) == sum(a for item in matches for a, _ in item)
    for line in table.responses:
        assert (line.n == 0) == (line.over_rounds is None)
        assert (line.over_matches is None) == (line.note is not None)


def test_known_responses_are_recovered() -> None:
    truth = {"CC": 0.9, "CD": 0.2, "DC": 0.6, "DD": 0.1}
    generator = rng(3)
    played = []
    for match in range(120):
        own, other = [1], (generator.random(20) < 0.5).astype(int).tolist()
        for t in range(1, 20):
            state = "DC"[own[-1]] + "DC"[other[t - 1]]
            own.append(int(generator.random() < truth[state]))
        played.append(PlayedPair(match, own, other))
    table = response_table(played)
    for state, share in truth.items():
        ci = table[state].over_matches
        assert ci is not None and ci.low is not None and ci.high is not None and ci.low - 0.02 < share < ci.high + 0.02


def test_states_never_reached_are_explicitly_undefined() -> None:
    table = response_table([PlayedPair(m, [1, 1, 1], [1, 1, 1]) for m in range(3)])
    assert table["DD"].over_rounds is None and table["DD"].note == "never reached" and table["DD"].n == 0
    row = table["DD"].as_dict()
    assert row["wilson_ci_low"] is None and row["cluster_ci_high"] is None
    assert (
        response_table([PlayedPair(1, [1, 0], [1, 1])])["CC"].note
        == "too few matches: one says nothing about the spread"
    )


def test_matches_that_differ_widen_the_cluster_interval_beyond_wilson() -> None:
    # Half of the matches always cooperate after CC, half never do: 200 rounds, but only 20 opinions.
    kind, hard = [1] * 11, [1, 0] * 5 + [1]
    played = [PlayedPair(m, kind if m % 2 else hard, [1] * 11) for m in range(20)]
    after_cc = response_table(played)["CC"]
    row = after_cc.as_dict()
    width = row["wilson_ci_high"] - row["wilson_ci_low"]
    assert row["cluster_ci_high"] - row["cluster_ci_low"] > 1.3 * width


def test_ragged_matches_are_named() -> None:
    with pytest.raises(BadSample, match=r"match 7.*same length"):
        response_table([PlayedPair(7, [1, 0], [1])])
    with pytest.raises(BadSample, match="found none"):
        response_table([])
