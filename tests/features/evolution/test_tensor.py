"""The payoff tensor pools seats and forgets the order of opponents."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.features.evolution.games import Floats, populations, tensors

from ostrom.features.evolution.tensor import ScoredMatch, as_tensor, fitness, mean_scores, payoff_tensor
from ostrom.ground.errors import UsageError


@st.composite
def tournaments(draw: st.DrawFn) -> list[ScoredMatch]:
    """All ordered seat tuples, each played one to three times."""
    names = [f"t{i}" for i in range(draw(st.integers(1, 3)))]
    players = draw(st.integers(2, 3))
    matches = []
    for seats in product(names, repeat=players):
        for _ in range(draw(st.integers(1, 3))):
            scores = draw(st.lists(st.integers(-20, 20), min_size=players, max_size=players))
            matches.append(ScoredMatch(seats, tuple(s / 8.0 for s in scores)))
    return draw(st.permutations(matches))


@given(tournaments())
@settings(max_examples=40)
def test_cells_and_means_agree_with_a_literal_count(matches: list[ScoredMatch]) -> None:
    tensor = payoff_tensor(matches)
    means = mean_scores(matches)
    for cell in np.ndindex(tensor.values.shape):
        focal, others = tensor.types[cell[0]], sorted(tensor.types[j] for j in cell[1:])
        seen = [
            m.scores[s]
            for m in matches
            for s in range(len(m.types))
            if m.types[s] == focal and sorted(m.types[:s] + m.types[s + 1 :]) == others
        ]
        assert tensor.counts[cell] == len(seen)
        assert tensor.values[cell] == pytest.approx(sum(seen) / len(seen), abs=1e-12)
    for name in tensor.types:
        own = [s for m in matches for n, s in zip(m.types, m.scores, strict=True) if n == name]
        assert means[name] == pytest.approx(sum(own) / len(own), abs=1e-12)


@given(st.data(), tensors())
@settings(max_examples=60)
def test_fitness_is_the_expected_score_against_random_opponents(data: st.DataObject, table: Floats) -> None:
    x = data.draw(populations(len(table)))
    literal = [
        sum(
            float(table[(i, *js)]) * float(np.prod(x[list(js)])) for js in product(range(len(x)), repeat=table.ndim - 1)
        )
        for i in range(len(x))
    ]
    assert fitness(table, x) == pytest.approx(np.array(literal), abs=1e-9)
    stack = np.array([x, x[::-1]])
    assert fitness(table, stack)[0] == pytest.approx(fitness(table, x), abs=1e-12)
    assert fitness(table, stack)[1] == pytest.approx(fitness(table, x[::-1]), abs=1e-12)


def test_a_cell_that_was_never_played_is_named() -> None:
    played = [ScoredMatch(("a", "a"), (1.0, 1.0)), ScoredMatch(("a", "b"), (0.0, 2.0))]
    with pytest.raises(UsageError, match=r"1 cells .* never played: b against b$"):
        payoff_tensor(played)


def test_a_society_that_meets_as_a_whole_has_means_but_no_tensor() -> None:
    seats = tuple(f"t{i % 6}" for i in range(12))
    society = [ScoredMatch(seats, tuple(float(i) for i in range(12)))]
    assert mean_scores(society)["t0"] == 3.0
    with pytest.raises(UsageError, match="means only"):
        payoff_tensor(society)


def test_matches_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="one score per seat"):
        ScoredMatch(("a", "b"), (1.0,))
    with pytest.raises(UsageError, match="finite"):
        ScoredMatch(("a",), (float("nan"),))
    two, three = ScoredMatch(("a", "a"), (1.0, 1.0)), ScoredMatch(("a", "a", "a"), (1.0, 1.0, 1.0))
    with pytest.raises(UsageError, match="match 1 has 3 seats"):
        payoff_tensor([two, three])
    with pytest.raises(UsageError, match="not listed: a"):
        payoff_tensor([two], ["b"])
    with pytest.raises(UsageError, match="no matches"):
        payoff_tensor([])


def test_a_table_that_depends_on_the_order_of_opponents_is_no_tensor() -> None:
    table = np.zeros((2, 2, 2))
    table[0, 0, 1] = 1.0
    with pytest.raises(UsageError, match="order of the opponents"):
        as_tensor(table)
    with pytest.raises(UsageError, match="one axis per seat"):
        as_tensor(np.zeros((2, 3)))
    with pytest.raises(UsageError, match="finite"):
        as_tensor([[np.nan]])
