"""The small version of ``python -m chaos asked``: the server's own books, and that they notice what is wrong."""

from collections import Counter
from pathlib import Path

import pytest
from chaos import asked
from chaos.asked import Asked, Bookkeeper, _Books, kept_books


def test_no_answered_call_is_asked_again_by_the_count_of_the_server() -> None:
    found = kept_books(kills=2, matches=4, rounds=6)
    assert found.verdict == "held", found


def compared(
    monkeypatch: pytest.MonkeyPatch, requests: list[str], answered: str, tries: str, killed: bool = True
) -> tuple[_Books, list[str]]:
    """The books after a session that made these requests, where the journal then holds these calls."""
    books, server = _Books(), Bookkeeper(0.0)
    books.answered, books.tries = Counter("a"), Counter("ab")
    server.fault_counts["hang"] += 1
    server.books = [Asked(-1, "a"), Asked(-1, "b"), *(Asked(0, call, sent=True) for call in requests)]
    monkeypatch.setattr(asked, "journaled", lambda _: (Counter(tries), Counter(answered)))
    books.compare(server, Path("journal.db"), killed)
    return books, books.problems(server)


def test_books_that_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    books, problems = compared(monkeypatch, ["b", "c", "d"], answered="abc", tries="abbc")
    assert problems == [] and [entry.call for entry in books.lost] == ["d"]


@pytest.mark.parametrize(
    ("requests", "answered", "tries", "killed", "said"),
    [
        (["a", "c"], "a", "aab", True, "1 answered calls asked again"),
        (["c", "d"], "aacc", "abcc", True, "an answer is in the journal twice"),
        (["c"], "a", "ab", False, "1 requests of the last session are not in the journal"),
        (["c"], "ac", "abc", True, "nothing was tried"),
    ],
)
def test_books_that_do_not_agree(
    requests: list[str], answered: str, tries: str, killed: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said in compared(monkeypatch, requests, answered, tries, killed)[1]
