"""Strategy frequencies: known mixtures are found again, and what data cannot tell apart is never split."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ostrom.analysis.statistics import BadSample
from ostrom.analysis.statistics.result import holm
from ostrom.features.inference.frequencies import leave_one_out, near_twins, strategy_frequencies
from ostrom.features.inference.mixture import (
    STARTS,
    SURE,
    PlayedMatch,
    choice_table,
    fit_mixture,
    log_likelihoods,
    maximise,
)


def cooperator(own: list[int], other: list[int]) -> float:
    return 1


def defector(own: list[int], other: list[int]) -> float:
    return 0


def tit_for_tat(own: list[int], other: list[int]) -> float:
    return other[-1] if other else 1


def grim(own: list[int], other: list[int]) -> float:
    return int(0 not in other and 0 not in own)


def coin(own: list[int], other: list[int]) -> float:
    return 0.5


STRATEGIES: dict[str, Callable[[list[int], list[int]], float]] = {
    item.__name__: item for item in (cooperator, defector, tit_for_tat, grim, coin)
}


def prescriptions(own: list[int], other: list[int], names: list[str]) -> dict[str, list[float]]:
    return {name: [STRATEGIES[name](own[:t], other[:t]) for t in range(len(own))] for name in names}


def play(
    mixture: dict[str, float],
    *,
    matches: int,
    error: float,
    rng: np.random.Generator,
    names: list[str] | None = None,
    rounds: int = 10,
    players: int | None = None,
) -> list[PlayedMatch]:
    """Matches against an opponent who cooperates 7 times in 10; each (or each player) draws a strategy."""
    names = names or list(STRATEGIES)
    drawn = rng.choice(list(mixture), p=list(mixture.values()), size=players or matches)
    played = []
    for match in range(matches):
        who = match % players if players else match
        own: list[int] = []
        other = (rng.random(rounds) < 0.7).astype(int).tolist()
        for t in range(rounds):
            wish = rng.random() < STRATEGIES[str(drawn[who])](own, other[:t])
            own.append(int(wish != (rng.random() < error)))
        player = f"p{who}" if players else "model"
        played.append(PlayedMatch(match, player, own, prescriptions(own, other, names)))
    return played


MIXTURE = {"cooperator": 0.1, "defector": 0.3, "tit_for_tat": 0.4, "grim": 0.2}


@pytest.mark.slow
def test_a_known_mixture_is_recovered_within_its_intervals() -> None:
    rng = np.random.default_rng(11)
    names = list(MIXTURE)
    inside = total = 0
    for _ in range(6):
        played = play(MIXTURE, matches=150, error=0.08, rng=rng, names=names)
        result = strategy_frequencies(played, unit="match", rng=rng, resamples=200)
        assert sum(line.share.value for line in result.weights) == pytest.approx(1)
        assert all(line.determined for line in result.weights)
        assert result.error.value == pytest.approx(0.08, abs=0.03) and 0.08 in result.error
        for name, share in MIXTURE.items():
            inside += share in result[name].share
            total += 1
            assert result[name].share.value == pytest.approx(share, abs=4 * (result[name].share.se or 0.0))
    assert inside / total >= 0.85


def test_players_who_keep_their_strategy_are_one_unit_each() -> None:
    rng = np.random.default_rng(5)
    played = play(MIXTURE, matches=240, error=0.1, rng=rng, players=60, names=list(MIXTURE))
    result = strategy_frequencies(played, unit="player", rng=rng, resamples=200)
    assert (result.n_units, result.n_choices, result.resampled, result.n_clusters) == (60, 2400, "player", 60)
    assert all(result[name].share.value == pytest.approx(share, abs=0.2) for name, share in MIXTURE.items())
    with pytest.raises(BadSample, match="resample='player'"):
        strategy_frequencies(played, unit="player", resample="match", rng=rng)


def test_the_fit_is_the_best_there_is() -> None:
    rng = np.random.default_rng(3)
    table = choice_table(play(MIXTURE, matches=60, error=0.15, rng=rng), unit="match", resample="match")
    fit = fit_mixture(table.counts, table.chances)
    assert fit.slack.max() < 1e-4

    def height(weights: np.ndarray[tuple[int], np.dtype[np.float64]], faithful: float) -> float:
        chance = faithful * table.chances + (1 - faithful) * (1 - table.chances)
        return float(np.sum(np.log(np.exp(table.counts @ np.log(chance)) @ weights)))

    assert height(fit.weights, fit.faithful) == pytest.approx(fit.log_likelihood)
    for _ in range(300):
        nearby = 0.9 * fit.weights + 0.1 * rng.dirichlet(np.ones(5))
        assert (
            height(nearby, float(np.clip(fit.faithful + rng.normal() * 0.02, 0.5, 0.999))) <= fit.log_likelihood + 1e-7
        )


def test_one_deterministic_strategy_has_the_closed_form() -> None:
    moves = [[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 1]]
    played = [PlayedMatch(m, "p", own, {"cooperator": [1] * 4}) for m, own in enumerate(moves)]
    result = strategy_frequencies(played, unit="match", rng=np.random.default_rng(0), resamples=100)
    assert result.error.value == pytest.approx(2 / 12, abs=1e-6)
    assert result.log_likelihood == pytest.approx(10 * np.log(10 / 12) + 2 * np.log(2 / 12))
    assert result.aic == pytest.approx(2 - 2 * result.log_likelihood)
    assert result.bic == pytest.approx(np.log(3) - 2 * result.log_likelihood)


def test_candidates_that_never_differ_are_one_group() -> None:
    rng = np.random.default_rng(0)
    own = [[int(x) for x in rng.random(8) < 0.9] for _ in range(30)]
    # Nobody ever meets a defection, so tit for tat and the cooperator prescribe the same everywhere.
    played = [
        PlayedMatch(m, "p", mine, prescriptions(mine, [1] * 8, ["tit_for_tat", "defector", "cooperator"]))
        for m, mine in enumerate(own)
    ]
    result = strategy_frequencies(played, unit="match", rng=rng, resamples=100)
    assert [line.strategies for line in result.weights] == [("tit_for_tat", "cooperator"), ("defector",)]
    assert result["cooperator"] is result["tit_for_tat"] and result.n_parameters == 2
    assert result["cooperator"].name == "tit_for_tat | cooperator"
    assert result.as_dict()["weights"][0]["strategies"] == ["tit_for_tat", "cooperator"]


def test_weights_that_can_be_traded_are_marked_as_undetermined() -> None:
    # After one round there are two patterns only: a coin is as good as half cooperators, half defectors.
    played = [PlayedMatch(m, "p", [m % 2], {"cooperator": [1], "defector": [0], "coin": [0.5]}) for m in range(40)]
    result = strategy_frequencies(played, unit="match", rng=np.random.default_rng(0), resamples=100)
    assert not any(line.determined for line in result.weights)


def test_a_coin_is_told_from_errors() -> None:
    rng = np.random.default_rng(8)
    played = play({"coin": 0.5, "tit_for_tat": 0.5}, matches=150, error=0.02, rng=rng)
    result = strategy_frequencies(played, unit="match", rng=rng, resamples=200)
    assert 0.5 in result["coin"].share and 0.5 in result["tit_for_tat"].share
    assert result.error.value == pytest.approx(0.02, abs=0.02)


def test_both_seats_of_a_match_are_resampled_together() -> None:
    rng = np.random.default_rng(2)
    twins = []
    for match, item in enumerate(play({"cooperator": 0.5, "defector": 0.5}, matches=60, error=0.05, rng=rng)):
        twins += [PlayedMatch(match, seat, item.moves, item.prescribed) for seat in (1, 2)]
    halves = [item for item in twins if item.player == 1]
    pair = ["cooperator", "defector"]
    both = strategy_frequencies(twins, unit="match", rng=np.random.default_rng(0), candidates=pair, resamples=400)
    one = strategy_frequencies(halves, unit="match", rng=np.random.default_rng(0), candidates=pair, resamples=400)
    assert (both.n_units, both.n_clusters) == (120, 60)
    assert both["defector"].share.se == pytest.approx(one["defector"].share.se, rel=0.02)


def test_leaving_out_a_strategy_hurts_when_it_was_played() -> None:
    rng = np.random.default_rng(4)
    played = play({"defector": 0.5, "tit_for_tat": 0.5}, matches=80, error=0.05, rng=rng)
    lost = {line.strategies[0]: line for line in leave_one_out(played, unit="match")}
    assert lost["defector"].p < 1e-6 and lost["tit_for_tat"].p < 1e-6 and lost["defector"].bic_loss > 10
    assert lost["cooperator"].likelihood_ratio < 3 and lost["cooperator"].bic_loss < 0
    lines = list(lost.values())
    assert [line.p_holm for line in lines] == pytest.approx(holm([line.p for line in lines]))
    assert all(line.p <= line.p_holm <= 1 for line in lines)


def test_candidates_that_few_moves_tell_apart_are_named() -> None:
    same = [0.0] * 50
    other = [1.0, *same[1:]]
    match = PlayedMatch(1, "p", [1] * 50, {"a": same, "b": other, "c": [1.0] * 50, "d": same})
    assert near_twins([match]) == [("a", "b", 1, 50), ("b", "d", 1, 50)]


Array = np.ndarray[Any, np.dtype[np.float64]]


def plain_climb(
    table: Array, chances: Array, load: Array, weights: Array, faithful: Array, tolerance: float, most: int
) -> tuple[Array, Array, Array]:
    """EM as it is written down, everything computed anew in every step."""
    weights, faithful, height = weights.copy(), faithful.copy(), np.full(len(load), -np.inf)
    active = np.arange(len(load))
    for _ in range(most):
        w, f, n = weights[active], faithful[active], load[active]
        with np.errstate(divide="ignore"):
            joint = log_likelihoods(table, chances, f) + np.log(w)[:, None, :]
        top = joint.max(axis=2, keepdims=True)
        share = np.exp(joint - top)
        total = share.sum(axis=2, keepdims=True)
        height[active] = np.sum(n * (top + np.log(total))[:, :, 0], axis=1)
        share *= n[:, :, None] / total
        weights[active] = share.sum(axis=1) / n.sum(axis=1, keepdims=True)
        expected = share.reshape(len(n), -1) @ table.reshape(-1, chances.size)
        telling = np.abs(chances - 0.5) > 1e-9
        kept = expected * np.outer(f, chances) / (np.outer(f, chances) + np.outer(1 - f, 1 - chances))
        moves = expected[:, telling].sum(axis=1)
        rate = np.where(moves > 0, kept[:, telling].sum(axis=1) / np.maximum(moves, 1e-300), f)
        faithful[active] = np.clip(rate, 0.5, SURE)
        moved = np.maximum(np.abs(weights[active] - w).max(axis=1), np.abs(faithful[active] - f))
        active = active[moved > tolerance]
        if not active.size:
            break
    return weights, faithful, height


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed in (5, 7) else []) for seed in range(8)]
)
def test_the_climb_ends_where_the_plain_one_ends_and_never_lower(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = list(STRATEGIES)[: 3 + seed % 3]
    played = play(MIXTURE, matches=20 + 10 * seed, error=0.05 + 0.05 * seed, rng=rng, names=names)
    table = choice_table(played, unit="match", resample="match")
    for keep in [names, *([n for n in names if n != out] for out in names)]:
        counts = table.only(keep).counts
        load = np.vstack([np.ones(len(counts)), rng.integers(0, 4, size=(2, len(counts)))]).astype(float)
        start = np.full((3, len(keep)), 1 / len(keep))
        given = (counts, table.chances, load, start, np.array(STARTS))
        ours, plain = maximise(*given, tolerance=1e-9, most=3_000), plain_climb(*given, 1e-9, 20_000)
        assert np.all(ours[2] >= plain[2] - 1e-6)
        assert np.allclose(ours[2], plain[2], atol=1e-4)
        # A few cycles are never lower than as many plain steps: every jump that lowers is taken back.
        for most in (1, 3, 9):
            few = maximise(*given, tolerance=1e-9, most=most)[2]
            assert np.all(few >= plain_climb(*given, 1e-9, most)[2] - 1e-9)


def test_results_repeat_with_the_same_generator() -> None:
    played = play(MIXTURE, matches=30, error=0.1, rng=np.random.default_rng(1))
    one, two = (
        strategy_frequencies(played, unit="match", rng=np.random.default_rng(5), resamples=100) for _ in range(2)
    )
    assert one == two


@pytest.mark.parametrize(
    ("played", "problem"),
    [
        ([], "found none"),
        ([PlayedMatch(1, "p", [1, 0], {})], "at least one candidate"),
        ([PlayedMatch(1, "p", [1, 2], {"a": [1, 1]})], "only 0 and 1"),
        ([PlayedMatch(1, "p", [1, 0], {"a": [1]})], "prescribes 1 moves, 2 were made"),
        ([PlayedMatch(1, "p", [1, 0], {"a": [1, 1.5]})], "between 0 and 1"),
        ([PlayedMatch(1, "p", [1], {"a": [1]}), PlayedMatch(2, "p", [1], {"b": [1]})], "candidates differ"),
        ([PlayedMatch(1, "p", [1], {"a": [1]})] * 2, "given twice"),
        ([PlayedMatch(1, "p", [1], {"a": [1]})], "at least 2 clusters"),
    ],
)
def test_unusable_matches_are_named(played: list[PlayedMatch], problem: str) -> None:
    with pytest.raises(BadSample, match=problem):
        strategy_frequencies(played, unit="match", rng=np.random.default_rng(0))


def test_fewer_candidates_are_named_from_those_that_are_there() -> None:
    played = [PlayedMatch(1, "p", [1, 0], {"a": [1, 0], "b": [1, 1], "c": [0, 0]})]
    table = choice_table(played, unit="match", resample="match")
    assert table.n_choices == 2 and table.chances.tolist() == [0.0, 1.0]
    kept = table.only(["c", "a"])
    assert kept.candidates == ("c", "a") and kept.counts.tolist() == [[[1.0, 1.0], [0.0, 2.0]]]
    for names, says in ((["x"], r"'x' \(known: a, b, c\)"), ([], "none"), (["a", "a"], "named twice")):
        with pytest.raises(BadSample, match=says):
            table.only(names)
