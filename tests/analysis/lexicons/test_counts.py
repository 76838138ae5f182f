"""Counts stream in bounded memory, undefined figures are None, and both kinds of mean are what they say."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.analysis.lexicons import (
    RATIOS,
    Ratio,
    count_batches,
    count_traces,
    defection,
    keyword_profile,
    mean_of_group_ratios,
    memory_curse,
    persona_keywords,
    summarize,
)
from ostrom.errors import UnknownName

LISTS = (*memory_curse(), defection("A1"))


def test_a_trace_is_counted_by_list_and_by_word() -> None:
    (trace,) = count_traces([("t", "Long-term trust - despite the risk that P2 plays A1.")], LISTS)
    assert trace.counts == {
        "forward_looking": 1,
        "history_following": 1,
        "paranoia": 1,
        "cooperation": 2,
        "defection": 1,
    }
    assert trace.words == 10  # the lone dash is one: words are what white space separates
    assert trace.per_1000_words("cooperation") == 200
    assert trace.ratio("forward_looking_ratio") == 1 / 2
    assert trace.ratio("paranoia_ratio") == 1 / 3
    assert trace.ratio("cooperation_ratio") == 2 / 3
    assert trace.ratio(Ratio("own", "defection", "paranoia")) == 1 / 2
    assert trace.mentions("defection")


@pytest.mark.parametrize(("text", "words"), [("", 0), (" \n", 0), ("Hm.", 1)])
def test_what_has_no_denominator_is_none(text: str, words: int) -> None:
    (trace,) = count_traces([("t", text)], LISTS)
    assert trace.words == words
    assert trace.per_1000_words("paranoia") == (None if words == 0 else 0)
    assert [trace.ratio(ratio) for ratio in RATIOS] == [None, None, None]
    assert not trace.mentions("defection")
    summary = summarize(count_batches([("t", text)], LISTS), group=str)["t"]
    assert (
        summary.ratio_of_sums("paranoia_ratio") is None and summary.mean_of_ratios("paranoia_ratio") is None
    )
    assert summary.per_1000_words_of_sums("paranoia") == summary.mean_of_per_1000_words("paranoia")
    assert summary.per_1000_words_of_sums("paranoia") == (None if words == 0 else 0)
    assert summary.share_of_traces("defection") == 0


def test_no_traces_give_no_groups() -> None:
    assert list(count_batches([], LISTS)) == []
    assert summarize(count_batches([], LISTS), group=str) == {}
    assert keyword_profile([], LISTS) == {}


def test_batches_hold_no_more_than_they_may() -> None:
    taken = 0

    def endless() -> Iterator[tuple[int, str]]:
        nonlocal taken
        while True:
            taken += 1
            yield taken, "risk " * 10

    batches = count_batches(endless(), LISTS, max_traces=7)
    assert [len(next(batches).keys) for _ in range(3)] == [7, 7, 7] and taken == 21
    taken = 0
    small = count_batches(endless(), LISTS, max_characters=120)
    assert next(small).keys == (1, 2, 3) and taken == 3


vocabulary = ["risk", "trust", "future", "pattern", "defect", "A1", "fair", "hm", "the", ""]
streams = st.lists(
    st.tuples(st.sampled_from("abc"), st.lists(st.sampled_from(vocabulary), max_size=9).map(" ".join)),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(streams, st.integers(1, 9))
def test_groups_are_sums_over_their_traces_whatever_the_batches(
    stream: list[tuple[str, str]], size: int
) -> None:
    summaries = summarize(count_batches(stream, LISTS, max_traces=size), group=lambda key: key)
    assert summaries == summarize(count_batches(stream, LISTS), group=lambda key: key)
    assert list(summaries) == list(dict.fromkeys(key for key, _ in stream))
    for group, summary in summaries.items():
        traces = [trace for trace in count_traces(stream, LISTS) if trace.key == group]
        assert summary.traces == len(traces)
        assert summary.words == sum(trace.words for trace in traces)
        for name in summary.names:
            matches = sum(trace.counts[name] for trace in traces)
            assert summary.matches[name] == matches
            assert summary.share_of_traces(name) == mean(trace.mentions(name) for trace in traces)
            assert summary.per_1000_traces(name) == 1000 * matches / len(traces)
            rates = [rate for trace in traces if (rate := trace.per_1000_words(name)) is not None]
            assert summary.mean_of_per_1000_words(name) == (pytest.approx(mean(rates)) if rates else None)
            expected = 1000 * matches / summary.words if summary.words else None
            assert summary.per_1000_words_of_sums(name) == expected
        for ratio in RATIOS:
            values = [value for trace in traces if (value := trace.ratio(ratio)) is not None]
            assert summary.traces_with_ratio[ratio.name] == len(values)
            assert summary.mean_of_ratios(ratio.name) == (pytest.approx(mean(values)) if values else None)
            part, other = summary.matches[ratio.part], summary.matches[ratio.other]
            assert summary.ratio_of_sums(ratio.name) == (part / (part + other) if part + other else None)


def test_settings_are_averaged_as_ratios_and_those_without_one_are_left_out() -> None:
    stream = [("a", "future future future risk"), ("b", "future risk"), ("b", "hm"), ("c", "hm")]
    summaries = summarize(count_batches(stream, LISTS), group=str)
    assert mean_of_group_ratios(summaries.values(), "forward_looking_ratio") == ((0.75 + 0.5) / 2, 2)
    assert mean_of_group_ratios([summaries["c"]], "forward_looking_ratio") == (None, 0)


def test_only_ratios_of_counted_lists_are_offered() -> None:
    batches = list(count_batches([("a", "risk")], [defection()]))
    assert summarize(batches, group=str)["a"].ratios == ()
    with pytest.raises(UnknownName, match="unknown lexicon 'paranoia'"):
        summarize(batches, group=str, ratios=RATIOS[1:])


def test_keyword_profiles_count_per_thousand_rationales() -> None:
    rationales = [("q", "Nash equilibrium, best response."), ("q", "I adjust."), ("q", "payoff"), ("m", "")]
    profile = keyword_profile(rationales, persona_keywords())
    use = profile["q"]["game_theoretic"]
    assert (use.occurrences, use.rationales, use.rationales_with_one) == (4, 3, 2)
    assert use.per_1000_rationales == pytest.approx(4000 / 3) and use.share_with_one == pytest.approx(2 / 3)
    assert profile["q"]["social_moral"].occurrences == 0
    assert profile["m"]["game_theoretic"].share_with_one == 0
