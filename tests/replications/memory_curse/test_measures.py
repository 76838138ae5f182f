"""The memory study's measures on small numbers by hand, and on the published tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.analysis.span import Span
from ostrom.replications.memory_curse.decay import decay
from ostrom.replications.memory_curse.episodes import Episode
from ostrom.replications.memory_curse.estimates import difference, estimate
from ostrom.replications.memory_curse.forward import forward_link
from ostrom.replications.memory_curse.penalty import largest, penalties
from ostrom.replications.memory_curse.published import published_penalties, published_regimes
from ostrom.replications.memory_curse.recovery import recoveries
from ostrom.replications.memory_curse.regimes import regime
from ostrom.replications.memory_curse.roles import companies, role
from ostrom.studies.compare.published import number, published_rows


def one(
    match: int = 0, cooperation: float | None = 0.5, *, seed: int = 0, player: int = 1,
    length: int | None = 2,
    style: str | None = "reasoned", memory: Span | None = None, company: tuple[int | None, ...] | None = None,
    agent: str = "a", game: str = "g",
) -> Episode:  # fmt: skip
    span = memory or Span("window", length)
    return Episode(
        match, seed, player, player, game, agent, style, span, cooperation, None, None, 0.0,
        (span.length, span.length) if company is None else company,
    )  # fmt: skip


def test_all_28_published_verdicts_are_ours() -> None:
    printed = {
        (row["model"], row["game"]): row["regime"] for row in published_rows("memory_curse", "regimes.csv")
    }
    assert len(printed) == 28
    ours = {pair: verdict.name for pair, verdict in published_regimes().items()}
    assert set(ours) == set(printed)
    # The rewards of one pair allow both verdicts; if its players act alike in a round they settle it too.
    open_pair = ("Qwen2.5-Coder-32B", "trust_game")
    assert {pair for pair, name in ours.items() if name is None} == {open_pair}
    assert {pair: name for pair, name in ours.items() if name} == {
        pair: name for pair, name in printed.items() if pair != open_pair
    }
    assert {pair: verdict.name for pair, verdict in published_regimes(matched=True).items()} == printed


def test_the_published_rule_about_all_lengths_would_not_give_the_published_verdicts() -> None:
    row = {0: 0.352, 1: 0.004, 2: 0.974, 80: 1.0}
    assert regime(row, shortest=0).name == "cursed"
    assert regime(row).name == "immune"


def test_distances_from_the_border_are_those_of_the_reference() -> None:
    ours = published_regimes()
    for row in published_rows("memory_curse", "regimes.csv"):
        lowest = number(row["min_cooperation_rate_hl_ge_2"])
        if lowest is not None:
            verdict = ours[row["model"], row["game"]]
            assert verdict.lowest == pytest.approx(lowest / 100)
            assert verdict.margin == pytest.approx(lowest / 100 - 0.95)


def test_the_largest_penalties_are_those_of_table_12() -> None:
    printed = {
        row["model"]: (row["game"], float(row["value"]))
        for row in published_rows("memory_curse")
        if row["metric"] == "deliberation_penalty_pp"
    }
    assert len(printed) == 7
    ours = {model: largest(of) for model, of in published_penalties().items()}
    assert set(ours) == set(printed)
    for model, (game, value) in printed.items():
        found = ours[model]
        assert found is not None
        assert found[0] == game
        assert -100 * found[1] == pytest.approx(value, abs=1e-9)


@given(st.dictionaries(st.integers(0, 100), st.floats(0, 1), min_size=1))
def test_a_regime_depends_on_the_lowest_rate_that_counts(rates: dict[int, float]) -> None:
    verdict = regime(rates)
    counted = [rate for length, rate in rates.items() if length >= 2]
    if not counted:
        assert verdict.name is None and verdict.margin is None
    else:
        assert verdict.name == ("immune" if min(counted) >= 0.95 - 1e-9 else "cursed")
        assert verdict.lowest == min(counted)


def test_a_match_is_one_value_whatever_the_number_of_players() -> None:
    rows = [one(0, 1.0), one(0, 0.0, player=2), one(1, 1.0, seed=1), one(1, 1.0, seed=1, player=2)]
    found = estimate(rows)
    assert found is not None
    assert (found.value, found.matches, found.seeds) == (0.75, 2, 2)
    assert found.sd == pytest.approx(0.25 * 2**0.5)


def test_what_is_not_known_is_never_zero() -> None:
    assert estimate([]) is None
    assert estimate([one(0, None)]) is None
    lone = estimate([one(0, 0.4)])
    assert lone is not None and lone.low is None and lone.sd is None
    assert 0.4 not in lone
    assert difference([one(0, 0.4)], [one(1, None)]) is None
    apart = difference([one(0, 0.4)], [one(1, 0.1)])
    assert apart is not None and apart.value == pytest.approx(0.3) and apart.low is None and apart.note
    assert decay([one(0), one(1)]) is None
    assert decay([one(0, length=None, memory=Span("full", None))]) is None
    assert penalties([one(0)]) == []
    assert recoveries([one(0)]) == []


def test_a_slope_from_single_matches_is_that_of_a_regression() -> None:
    two = decay([one(0, 1.0, length=0), one(1, 0.5, length=80)])
    assert two is not None and two.low is None and two.note
    three = decay([one(0, 1.0, length=0), one(1, 0.6, length=10), one(2, 0.5, length=80)])
    assert three is not None and three.method == "ols" and three.low is not None
    flat = decay(
        [one(n, value, length=n // 2) for n, value in enumerate([0.3, 0.1, 0.1, 0.3, 0.1 + 0.2, 0.1])]
    )
    assert flat is not None and flat.slope == 0.0  # 6e-17 by plain sums
    exact = decay([one(n, 0.5, length=n) for n in range(4)])
    assert exact is not None and exact.slope == 0.0 and exact.method == "none" and exact.note


def test_the_penalty_names_the_length_at_which_it_was_taken() -> None:
    rows = [
        one(0, 0.9, length=80, style="direct"), one(1, 0.4, length=80), one(2, 0.5, length=2),
        one(3, 1.0, length=10, style="direct", game="h"), one(4, 0.25, length=10, game="h"),
        one(5, 0.0, length=80, game="h"),
    ]  # fmt: skip
    found = {p.game: p for p in penalties(rows)}
    assert found["g"].length == 80 and found["g"].penalty.value == pytest.approx(0.5)
    assert found["h"].length == 10 and found["h"].penalty.value == pytest.approx(0.75)


def test_roles_come_from_the_memories_at_the_table() -> None:
    table = (2, 2, 80)
    rows = [
        one(0, c, player=p, length=n, company=table) for p, c, n in ((1, 0.9, 2), (2, 0.7, 2), (3, 0.2, 80))
    ]
    assert [role(r) for r in rows] == ["forgiver", "forgiver", "grudge-holder"]
    assert role(one(0)) is None
    (company,) = companies(rows)
    assert company.forgiver is not None and company.forgiver.value == pytest.approx(0.8)
    assert company.gap is not None and company.gap.value == pytest.approx(0.6)
    assert company.seat_gaps[3].value == pytest.approx(0.2 - 0.8)
    assert company.overall.value == pytest.approx(0.6)


def test_recovery_is_measured_against_the_real_window() -> None:
    def cleaned(match: int, value: float, real: int) -> Episode:
        return one(match, value, memory=Span("sanitized", 80, real, "ideal"))

    rows = [cleaned(0, 0.8, 2), cleaned(1, 0.2, 80)]
    first, last = recoveries(rows)
    assert (first.real, last.real) == (2, 80)
    assert first.gain is not None and first.gain.value == pytest.approx(0.6)
    assert first.recovered == pytest.approx(0.75)
    assert last.gain is None
    (alone,) = recoveries(rows[:1])
    assert alone.gain is None and alone.recovered is None
    plain = [rows[0], one(5, 0.4, length=80)]
    assert recoveries(plain)[0].recovered == pytest.approx(0.4 / 0.6)
    full = [rows[0], cleaned(1, 1.0, 80)]
    assert recoveries(full)[0].recovered is None


def test_a_correlation_without_variation_is_undefined_and_says_so() -> None:
    flat = forward_link(dict.fromkeys("abcd", 0.5), {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4})
    assert flat.r is None and "constant" in flat.note
    few = forward_link({"a": 0.1, "b": None}, {"a": 0.1, "b": 0.2})
    assert few.r is None and few.cells == 1
