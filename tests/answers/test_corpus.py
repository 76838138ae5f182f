"""Every reply of the corpus, and every row of the table in the docstring, is read as it says there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ostrom.answers import Answer, Invalid, choice, read_choice

Case = tuple[tuple[str, ...], str, str, str]


def corpus() -> Iterator[Case]:
    for group in yaml.safe_load(Path(__file__).with_name("corpus.yaml").read_text(encoding="utf-8")):
        for reading, label, reply in group["cases"]:
            yield tuple(group["labels"]), reading, label, reply


def table() -> Iterator[Case]:
    for row in (choice.__doc__ or "").splitlines():
        if row.count(" | ") + row.endswith(" |") == 2 and "reading" not in row:
            reply, reading, label = row.rsplit("|", 2)
            yield ("A0", "A1"), reading.strip(), label.strip(), reply.strip().replace("↵", "\n")


def test_the_corpus_is_large_and_the_table_is_found() -> None:
    assert len(list(corpus())) >= 120
    assert len(list(table())) >= 30


@pytest.mark.parametrize("case", [*corpus(), *table()], ids=lambda case: f"{case[1]}: {case[3]!r:.60}")
def test_the_reply_is_read_as_the_corpus_says(case: Case) -> None:
    labels, reading, label, reply = case
    keys = {f"option {i}": shown for i, shown in enumerate(labels)}
    found = read_choice(reply, keys)
    if reading == "invalid":
        assert isinstance(found, Invalid), found
    else:
        assert isinstance(found, Answer), found
        assert (found.reading, keys[found.value]) == (reading, label)


@pytest.mark.parametrize("case", list(corpus()), ids=lambda case: f"{case[1]}: {case[3]!r:.60}")
def test_strict_keeps_the_exact_readings_and_no_others(case: Case) -> None:
    labels, reading, _, reply = case
    keys = {shown: shown for shown in labels}
    assert isinstance(read_choice(reply, keys, strict=True), Answer) == (reading == "exact")
    assert isinstance(read_choice(reply, keys, cut=True), Invalid)
