"""The memory study's measures on small numbers by hand, and on the published tables."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.replications.memory_curse.published_rates import published_penalties, published_regimes

from ostrom.analysis.claims import references
from ostrom.analysis.estimate import estimated
from ostrom.analysis.intervals import exactly
from ostrom.analysis.references import number, published_rows
from ostrom.replications.memory_curse.played import role
from ostrom.replications.memory_curse.regimes import STEP, _Changes, _seeds, regime
from ostrom.replications.memory_curse.results import forward_link, largest


def test_all_28_published_verdicts_are_ours() -> None:
    printed = {(row["model"], row["game"]): row["regime"] for row in published_rows("memory_curse", "regimes.csv")}
    assert len(printed) == 28
    ours = {pair: verdict.printed for pair, verdict in published_regimes().items()}
    assert set(ours) == set(printed)
    # The rewards of one pair allow both verdicts; if its players act alike in a round they settle it too.
    open_pair = ("Qwen2.5-Coder-32B", "trust_game")
    assert {pair for pair, name in ours.items() if name is None} == {open_pair}
    assert {pair: name for pair, name in ours.items() if name} == {
        pair: name for pair, name in printed.items() if pair != open_pair
    }
    assert {pair: verdict.printed for pair, verdict in published_regimes(matched=True).items()} == printed


def test_most_cursed_settings_of_the_paper_are_memory_bounded_and_one_is_flat() -> None:
    names = {pair: verdict.name for pair, verdict in published_regimes().items()}
    cursed = [pair for pair, verdict in published_regimes().items() if verdict.printed == "cursed"]
    assert {name for pair, name in names.items() if pair not in cursed} == {"immune", "undecided"}
    assert names["Mistral-7B", "trust_game"] == "memory-bounded"
    assert names["Gemma-3-12B", "trust_game"] == names["GPT-OSS-20B", "prisoners_dilemma"] == "memory-bounded"
    assert {names[pair] for pair in cursed} <= {"memory-bounded", "decaying", "flat", "undecided"}


@pytest.mark.parametrize(
    ("rates", "name"),
    [
        ({0: 0.0, 2: 0.96, 80: 0.95}, "immune"),
        ({0: 0.0, 2: 0.0, 5: 0.0, 80: 0.0}, "flat"),
        ({2: 0.5, 20: 0.52, 80: 0.46}, "flat"),
        ({0: 0.93, 2: 0.96, 10: 0.92, 80: 0.94}, "flat"),
        ({2: 0.9, 20: 0.5, 80: 0.2}, "decaying"),
        ({0: 0.9, 2: 0.9, 20: 0.5, 80: 0.2}, "decaying"),
        ({0: 0.1, 2: 0.6, 5: 0.7, 20: 0.5, 80: 0.2}, "memory-bounded"),
        ({0: 0.1, 2: 0.6, 5: 0.6, 20: 0.7, 80: 0.2}, "decaying"),
        ({0: 0.1, 2: 0.2, 80: 0.6}, "rising"),
        ({2: 0.3, 20: 0.9, 80: 0.3}, "undecided"),
        ({2: 0.5}, "undecided"),
        ({2: 0.5, 80: 0.55}, "flat"),
        ({2: 0.5, 80: 0.551}, "rising"),
        ({2: 0.55, 80: 0.499}, "decaying"),
        ({0: 0.1, 5: 0.6, 6: 0.2}, "memory-bounded"),
        ({0: 0.1, 2: 0.6, 5: 0.2}, "decaying"),
        ({0: 0.1, 1: 0.7, 2: 0.6, 80: 0.6}, "memory-bounded"),
        ({0: 0.6, 2: 0.65, 80: 0.2}, "decaying"),
        ({0: 0.1, 2: 0.6, 80: 0.58}, "flat"),
    ],
)  # fmt: skip
def test_what_is_not_immune_is_told_apart(rates: dict[int, float], name: str) -> None:
    assert regime(rates).name == name
    nudged = {n: rate * (1 + 1e-15) - 1e-15 for n, rate in rates.items()}
    assert regime(nudged).name == name


def test_the_published_rule_about_all_lengths_would_not_give_the_published_verdicts() -> None:
    row = {0: 0.352, 1: 0.004, 2: 0.974, 80: 1.0}
    assert regime(row, shortest=0).printed == "cursed"
    assert regime(row).name == regime(row).printed == "immune"


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
        assert verdict.printed is None and verdict.name == "undecided" and verdict.margin is None
    else:
        assert verdict.printed == ("immune" if min(counted) >= 0.95 - 1e-9 else "cursed")
        assert verdict.lowest == min(counted)


def test_roles_come_from_the_memories_at_the_table() -> None:
    table = (2, 2, 10, 80)
    assert [role(n, table) for n in table] == ["forgiver", "forgiver", None, "grudge-holder"]
    assert role(2, (2, 2)) is None and role(2, (2, None)) is None and role(None, (None, 2)) is None


def test_a_correlation_without_variation_is_undefined_and_says_so() -> None:
    flat = forward_link(dict.fromkeys("abcd", 0.5), {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4})
    assert flat["r"] is None and "constant" in flat["note"]
    few = forward_link({"a": 0.1, "b": None}, {"a": 0.1, "b": 0.2})
    assert few["r"] is None and few["cells"] == 1


def test_the_prose_that_contradicts_table_13_is_a_doubt() -> None:
    (printed,) = [
        p for p in references.build("memory_curse").published() if p.value == 97.43 and p.source == "Appendix Table 13"
    ]
    assert printed.model == "Llama-3.3-70B" and printed.cell[3] == "2"
    assert "95.87" in printed.doubts[0]


@pytest.mark.parametrize(
    ("change", "sign"),
    [(2 * STEP, 0), (-2 * STEP, 0), (2 * STEP + 0.01, 1), (-2 * STEP - 0.01, -1), (0.0, 0), (None, None)],
)
def test_a_change_is_none_up_to_twice_the_step(change: float | None, sign: int | None) -> None:
    pair = ("game", "reasoned", "a")
    known: dict[Any, Any] = {} if change is None else {pair: estimated({}, exactly(change), 3, "match")}
    changes = _Changes(None, 0.95)  # type: ignore[arg-type]
    changes.known[80, 2] = known
    assert changes.sign(pair, 80, 2) == sign and changes.sign(pair, 2, 2) == 0


@pytest.mark.parametrize(
    ("value", "low", "high", "more"),
    [(0.9, 0.7, 1.0, 16 - 4), (0.4, 0.2, 0.6, 0), (0.5, 0.2, 0.8, None), (0.9, None, None, None)],
)
def test_more_matches_put_a_border_outside_of_an_interval(
    value: float, low: float | None, high: float | None, more: int | None
) -> None:
    """Half a width of 0.2 and a gap of 0.1: twice as near takes four times as many matches."""
    one: Any = SimpleNamespace(value=value, low=low, high=high, n=4)
    border = 0.8 if value == 0.9 else 0.5 if value == 0.5 else 0.6
    assert _seeds(one, border) == more
