"""Solution concepts agree with their definitions and with nashpy, ties and degenerate games included."""

import warnings
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.games import Game, build_game
from ostrom.games.equilibria import (
    bargaining_points,
    best_responses,
    dominant_action,
    dominated_actions,
    iterated_elimination,
    least_continuation,
    maximin,
    mixed_equilibria_2x2,
    mixed_maximin,
    pareto_frontier,
    pure_equilibria,
    social_optimum,
)
from ostrom.games.tensor import TensorGame, bimatrix, symmetric_2x2
from ostrom.ground.errors import GameError

AB = ("a", "b")


@st.composite
def small_games(draw: st.DrawFn, *, low: int = -3, high: int = 3) -> Game:
    """Games of one to three seats whose few distinct payoffs make ties common."""
    shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    size = int(np.prod(shape)) * len(shape)
    values = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
    actions = tuple(tuple("abc"[:n]) for n in shape)
    return TensorGame("g", actions, np.array(values, dtype=float).reshape(*shape, len(shape)))


def two_by_two(low: int, high: int) -> st.SearchStrategy[Game]:
    cells = st.lists(st.integers(low, high), min_size=8, max_size=8)
    return cells.map(lambda v: TensorGame("g", (AB, AB), np.array(v, dtype=float).reshape(2, 2, 2)))


def deviations(game: Game, profile: tuple[int, ...], seat: int) -> list[float]:
    own = game.actions[seat]
    paid = [game.payoff((*profile[:seat], a, *profile[seat + 1 :]))[seat] for a in range(len(own))]
    return [paid[a] - paid[profile[seat]] for a in range(len(own)) if a != profile[seat]]


@given(small_games())
def test_pure_equilibria_are_those_from_which_no_deviation_gains(game: Game) -> None:
    found = {e.profile: e for e in pure_equilibria(game)}
    for profile in game.profiles():
        gains = [gain for seat in range(game.seats) for gain in deviations(game, profile, seat)]
        assert (profile in found) == all(gain <= 0 for gain in gains)
        if profile in found:
            assert found[profile].strict == all(gain < 0 for gain in gains)
            assert found[profile].payoffs == game.payoff(profile)


@given(small_games())
def test_best_responses_name_every_tie(game: Game) -> None:
    for profile, seat in product(game.profiles(), range(game.seats)):
        others = (*profile[:seat], *profile[seat + 1 :])
        best = best_responses(game, seat, others)
        assert (profile[seat] in best) == all(gain <= 0 for gain in deviations(game, profile, seat))


@given(small_games())
def test_dominance_by_its_definition(game: Game) -> None:
    found = {(d.seat, d.action, d.by): d.strict for d in dominated_actions(game)}
    for seat in range(game.seats):
        rows = np.moveaxis(game.payoffs[..., seat], seat, 0).reshape(len(game.actions[seat]), -1)
        for a, b in product(range(len(rows)), repeat=2):
            weak = bool((rows[b] >= rows[a]).all() and (rows[b] > rows[a]).any())
            assert ((seat, a, b) in found) == weak
            assert found.get((seat, a, b), False) == bool((rows[b] > rows[a]).all())


@given(small_games())
def test_strict_elimination_keeps_every_pure_equilibrium(game: Game) -> None:
    left = iterated_elimination(game).surviving
    assert all(left)
    assert all(a in left[s] for e in pure_equilibria(game) for s, a in enumerate(e.profile))


def test_elimination_solves_the_dilemmas() -> None:
    assert iterated_elimination(build_game("prisoners_dilemma")).surviving == ((1,), (1,))
    claims = build_game("travelers_dilemma")
    assert iterated_elimination(claims).surviving == ((0, 1, 2, 3),) * 2
    weak = iterated_elimination(claims, weak=True)
    assert weak.solved and weak.surviving == ((0,), (0,)) and len(weak.passes) == 3
    assert dominant_action(build_game("public_goods"), 2) == (1, True)
    assert dominant_action(build_game("trust"), 1) == (1, True)
    assert dominant_action(build_game("stag_hunt"), 0) is None


@given(small_games())
def test_pareto_and_social_optimum_by_their_definitions(game: Game) -> None:
    paid = {p: np.array(game.payoff(p)) for p in game.profiles()}
    frontier = [p for p in paid if not any((paid[q] >= paid[p]).all() and (paid[q] > paid[p]).any() for q in paid)]
    assert list(pareto_frontier(game)) == frontier
    best = max(sum(v) for v in paid.values())
    optimum = social_optimum(game)
    assert optimum.total == best and list(optimum.profiles) == [p for p in paid if sum(paid[p]) == best]
    assert set(optimum.profiles) <= set(frontier)


@given(small_games())
def test_maximin_is_the_best_worst_case(game: Game) -> None:
    for seat in range(game.seats):
        worst = [
            min(game.payoff(p)[seat] for p in game.profiles() if p[seat] == a) for a in range(len(game.actions[seat]))
        ]
        found = maximin(game, seat)
        assert found.value == max(worst)
        assert found.actions == tuple(a for a, w in enumerate(worst) if w == max(worst))


@given(two_by_two(-5, 5), st.sampled_from([0, 1]))
def test_no_mixture_guarantees_more_than_the_mixed_maximin(game: Game, seat: int) -> None:
    def guarantee(p: float) -> float:
        rows = np.moveaxis(game.payoffs[..., seat], seat, 0)
        return float((p * rows[0] + (1 - p) * rows[1]).min())

    found = mixed_maximin(game, seat)
    assert guarantee(found.mixture[0]) == pytest.approx(found.value)
    assert all(guarantee(p) <= found.value + 1e-9 for p in np.linspace(0, 1, 61))
    assert found.value >= maximin(game, seat).value


def is_equilibrium(game: Game, p: Fraction, q: Fraction) -> bool:
    """In whole numbers: everything is multiplied by the two denominators."""
    a = [[[int(x) for x in cell] for cell in row] for row in game.payoffs]
    m, n, k, l = p.numerator, p.denominator, q.numerator, q.denominator
    one = [k * a[i][0][0] + (l - k) * a[i][1][0] for i in (0, 1)]
    two = [m * a[0][j][1] + (n - m) * a[1][j][1] for j in (0, 1)]
    return m * one[0] + (n - m) * one[1] == n * max(one) and k * two[0] + (l - k) * two[1] == l * max(two)


GRID = sorted({Fraction(i, n) for n in range(1, 9) for i in range(n + 1)})


@settings(max_examples=50)
@given(two_by_two(-2, 2))
def test_mixed_equilibria_are_exactly_the_equilibria_on_a_grid_of_fractions(game: Game) -> None:
    # With payoffs from -2 to 2 every turning point has a denominator up to 8, so it is on the grid.
    pieces = mixed_equilibria_2x2(game).pieces
    for p, q in product(GRID, repeat=2):
        inside = any(
            piece.first[0] - 1e-12 <= float(p) <= piece.first[1] + 1e-12
            and piece.second[0] - 1e-12 <= float(q) <= piece.second[1] + 1e-12
            for piece in pieces
        )
        assert inside == is_equilibrium(game, p, q), (p, q)


def by_nashpy(game: Game, method: str) -> set[tuple[float, ...]]:
    import nashpy  # only here: it takes long to import

    other = nashpy.Game(game.payoffs[..., 0], game.payoffs[..., 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nashpy warns about degenerate games
        return {tuple(np.round(np.concatenate(pair), 6) + 0.0) for pair in getattr(other, method)()}


def ours(game: Game) -> set[tuple[float, ...]]:
    return {tuple(np.round(np.concatenate(pair), 6) + 0.0) for pair in mixed_equilibria_2x2(game).extreme}


def generic(game: Game) -> bool:
    one, two = game.payoffs[..., 0], game.payoffs[..., 1]
    return bool((one[0] != one[1]).all() and (two[:, 0] != two[:, 1]).all())


@settings(max_examples=60)
@given(two_by_two(-50, 50).filter(generic))
def test_random_games_agree_with_nashpy(game: Game) -> None:
    assert ours(game) == by_nashpy(game, "support_enumeration") == by_nashpy(game, "vertex_enumeration")


@given(two_by_two(-2, 2))
def test_everything_nashpy_finds_in_degenerate_games_lies_in_our_set(game: Game) -> None:
    found = mixed_equilibria_2x2(game)
    for p, _, q, _ in by_nashpy(game, "support_enumeration"):
        assert any(
            piece.first[0] - 1e-6 <= p <= piece.first[1] + 1e-6
            and piece.second[0] - 1e-6 <= q <= piece.second[1] + 1e-6
            for piece in found.pieces
        )


def test_all_144_agree_with_nashpy() -> None:
    for number in range(1, 145):
        game = build_game(f"ordinal_2x2:{number}")
        assert ours(game) == by_nashpy(game, "support_enumeration")
        assert not mixed_equilibria_2x2(game).degenerate
        pure = {e.profile for e in pure_equilibria(game)}
        assert pure == {
            (round(1 - m[0][0]), round(1 - m[1][0]))
            for piece in mixed_equilibria_2x2(game).pieces
            if piece.pure
            for m in piece.corners
        }


@given(two_by_two(-3, 3))
def test_every_game_has_an_equilibrium_and_pieces_are_as_large_as_can_be(game: Game) -> None:
    found = mixed_equilibria_2x2(game)
    assert found.pieces
    for a, b in permutations(found.pieces, 2):
        within = a.first[0] >= b.first[0] and a.first[1] <= b.first[1]
        assert not (within and a.second[0] >= b.second[0] and a.second[1] <= b.second[1])
    assert sorted(i for group in found.components for i in group) == list(range(len(found.pieces)))
    for e in pure_equilibria(game):
        at = (1.0 - e.profile[0], 1.0 - e.profile[1])
        assert any(
            piece.first[0] <= at[0] <= piece.first[1] and piece.second[0] <= at[1] <= piece.second[1]
            for piece in found.pieces
        )


def test_degenerate_games_are_described_openly() -> None:
    nothing_matters = mixed_equilibria_2x2(TensorGame("g", (AB, AB), np.zeros((2, 2, 2))))
    assert [piece.kind for piece in nothing_matters.pieces] == ["square"] and nothing_matters.degenerate
    assert len(nothing_matters.extreme) == 4
    one_indifferent = TensorGame("g", (AB, AB), np.array([[[1.0, 1], [1, 0]], [[1, 1], [1, 0]]]))
    found = mixed_equilibria_2x2(one_indifferent)
    assert [(p.kind, p.first, p.second) for p in found.pieces] == [("edge", (0, 1), (1, 1))]
    both_ways = TensorGame("g", (AB, AB), np.array([[[1.0, 1], [0, 0]], [[0, 0], [0, 0]]]))
    assert [p.kind for p in mixed_equilibria_2x2(both_ways).pieces] == ["point", "point"]
    assert mixed_equilibria_2x2(both_ways).degenerate
    assert [e.strict for e in pure_equilibria(both_ways)] == [True, False]


def test_rounding_in_payoffs_does_not_break_ties() -> None:
    summed, plain = 0.1 + 0.2, 0.3
    assert summed != plain
    game = TensorGame("g", (AB, AB), np.array([[[summed, plain], [plain, summed]], [[plain, summed], [summed, plain]]]))
    assert len(pure_equilibria(game)) == 4 and not any(e.strict for e in pure_equilibria(game))
    assert best_responses(game, 0, (0,)) == (0, 1) and dominated_actions(game) == ()
    assert [piece.kind for piece in mixed_equilibria_2x2(game).pieces] == ["square"]
    assert len(pareto_frontier(game)) == len(social_optimum(game).profiles) == 4


def test_closed_forms_refuse_other_shapes() -> None:
    for solve in (mixed_equilibria_2x2, lambda game: mixed_maximin(game, 0)):
        with pytest.raises(GameError, match="two seats with two actions each"):
            solve(build_game("public_goods"))
    with pytest.raises(GameError, match="best_responses needs"):
        best_responses(build_game("chicken"), 2, (0,))


def test_a_mixture_that_guarantees_no_more_than_a_pure_action_by_rounding_is_not_taken() -> None:
    # 0.1 + 0.2 is not 0.3: by the last digit the crossing would lie inside and win.
    game = symmetric_2x2("tie", ("a", "b"), both=0.3, alone=0.1 + 0.2, other=0.1 + 0.2, neither=0.3)
    assert mixed_maximin(game, 0).mixture == (1.0, 0.0)


def outcomes(*points: tuple[float, float]) -> Game:
    """A game whose four profiles pay the points, in order."""
    return TensorGame("g", (AB, AB), np.array(points, dtype=float).reshape(2, 2, 2))


CORNER = outcomes((0, 0), (0, 2), (2, 2), (4, 0))
BENT = outcomes((0, 6), (3, 5), (5, 3), (6, 0))


@pytest.mark.parametrize(
    ("game", "disagreement", "nash", "even"),
    [
        (CORNER, (0, 0), (2, 2), (8 / 3, 4 / 3)),
        (CORNER, (1, 0), (2.5, 1.5), (2.8, 1.2)),
        (CORNER, (3, 0), (3.5, 0.5), (3.5, 0.5)),
        (CORNER, (0, 1), (2, 2), (2.25, 1.75)),
        (BENT, (0, 0), (4, 4), (4, 4)),
        (BENT, (0, 3), (3, 5), (3.125, 4.875)),
        (outcomes((2, 3), (0, 0), (0, 0), (0, 0)), (1, 1), (2, 3), (2, 3)),
        (outcomes((0.5, 0.25), (0, 0), (0, 0), (0, 0)), (0, 0), (0.5, 0.25), (0.5, 0.25)),
    ],
)
def test_bargains_by_hand(
    game: Game, disagreement: tuple[float, float], nash: tuple[float, float], even: tuple[float, float]
) -> None:
    found = bargaining_points(game, disagreement)
    assert found is not None and found.disagreement == disagreement
    assert found.nash == pytest.approx(nash) and found.kalai_smorodinsky == pytest.approx(even)


@pytest.mark.parametrize("disagreement", [(4, 0), (5, 0), (0, 2), (0, 3), (4, 2)])
def test_no_bargain_where_no_agreement_is_better_for_both(disagreement: tuple[float, float]) -> None:
    assert bargaining_points(CORNER, disagreement) is None
    assert bargaining_points(build_game("public_goods")) is None
    assert bargaining_points(outcomes((0, 0), (0, 0), (0, 0), (0, 0))) is None


@pytest.mark.parametrize(
    ("both", "alone", "other", "neither", "punished", "least"),
    [
        (3, 0, 5, 1, None, 0.5),
        (3, 0, 4, 1, None, 1 / 3),
        (3, 0, 5, 1, 1, 1.0),
        (3, 0, 5.5, 1, 1, None),
        (3, 0, 6, 1, 2, (7**0.5 - 1) / 2),
        (3, 0, 3, 1, None, 0.0),
        (3, 2, 5, 1, None, None),
        (3, 1, 5, 1, None, 0.5),
        (1, 0, 5, 1, None, None),
        (0, 0, 5, 1, None, None),
    ],
)
def test_the_least_continuation_by_hand(
    both: float, alone: float, other: float, neither: float, punished: int | None, least: float | None
) -> None:
    game = symmetric_2x2("g", AB, both, alone, other, neither, cooperative=(0, 0))
    found = least_continuation(game, punished)
    assert found == (None if least is None else pytest.approx(least))


def test_the_least_continuation_is_that_of_the_seat_with_the_most_to_gain() -> None:
    paid = np.array([[[3.0, 3], [0, 4]], [[5, 0], [1, 1]]])
    assert least_continuation(TensorGame("g", (AB, AB), paid, (0, 0))) == 0.5
    assert least_continuation(TensorGame("g", (AB, AB), paid[:, :, ::-1].swapaxes(0, 1), (0, 0))) == 0.5
    for cooperative, defective in (((0, None), ()), ((0, 0), (1, None)), ((0, None), (1, 1))):
        assert least_continuation(TensorGame("g", (AB, AB), paid, cooperative, defective)) is None


@pytest.mark.parametrize(("seat", "others"), [(-1, (0,)), (2, (0,)), (0, ()), (0, (0, 0))])
def test_best_responses_need_a_seat_and_all_the_others(seat: int, others: tuple[int, ...]) -> None:
    with pytest.raises(GameError, match="needs a seat below 2 and all the others' actions"):
        best_responses(build_game("chicken"), seat, others)


def test_a_weakly_dominant_action_is_said_to_be_weak() -> None:
    weak = outcomes((1, 0), (1, 0), (1, 0), (2, 0))
    assert dominant_action(weak, 0) == (1, False) and dominant_action(weak, 1) is None
    three = bimatrix("g", (("a", "b", "c"), AB), [[(0, 0), (0, 0)], [(1, 0), (2, 0)], [(2, 0), (2, 0)]])
    assert dominant_action(three, 0) == (2, False)  # it beats one always and the other at times
    assert iterated_elimination(weak).passes == () and not iterated_elimination(weak).solved


def test_a_pass_of_elimination_names_each_action_once_in_the_order_of_the_seats() -> None:
    first, *rest = iterated_elimination(build_game("prisoners_dilemma")).passes
    assert [(d.seat, d.action, d.by, d.strict) for d in first] == [(0, 0, 1, True), (1, 0, 1, True)] and rest == []
    assert iterated_elimination(build_game("stag_hunt")).passes == ()
