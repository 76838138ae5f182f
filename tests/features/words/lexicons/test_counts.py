"""Counts stream in bounded memory, by list and by word."""

from collections.abc import Iterator

from ostrom.features.words.lexicons import count_batches, defection, memory_curse

LISTS = (*memory_curse(), defection("A1"))


def test_a_trace_is_counted_by_list_and_by_word() -> None:
    ((trace,),) = count_batches([("t", "Long-term trust - despite the risk that P2 plays A1.")], LISTS)
    assert trace.counts == {
        "forward_looking": 1,
        "history_following": 1,
        "paranoia": 1,
        "cooperation": 2,
        "defection": 1,
    }
    assert trace.words == 10  # the lone dash is one: words are what white space separates


def test_no_traces_give_no_batches() -> None:
    assert list(count_batches([], LISTS)) == []


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
