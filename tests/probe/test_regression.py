"""Regression checks: pairs counted by hand, answers kept, readable replies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.probe.tiny import write_corpus

from ostrom.analysis.statistics.mcnemar import mcnemar
from ostrom.models.providers.scripted import ScriptedModel
from ostrom.probe.regression import ANSWERS, ask, compare, format_items


def test_mcnemar_by_hand() -> None:
    # 1 lost, 5 gained of 12: p = 2 (1 + 6) / 64
    found = mcnemar([True] * 3 + [False] * 9, [False, True, True] + [True] * 5 + [False] * 4)
    assert (found.lost, found.gained) == (1, 5) and found.p == pytest.approx(14 / 64)
    assert found.detectable is None  # three right ones are too few for any loss to show
    assert mcnemar([True] * 6, [True] * 6).detectable == 6 and mcnemar([], []).p == 1


def test_readable_replies_are_counted_in_pairs_and_never_asked_twice(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", 8)
    for part in ("train.jsonl", "val.jsonl"):
        rows = [json.loads(line) for line in (corpus / part).read_text().splitlines()]
        for row in rows:
            row["messages"][0]["content"] += "\n\nValid last lines: [A0] or [A1]."
        (corpus / part).write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = format_items(corpus, 7)
    models = {"base": ScriptedModel("b", "Well.\n[A0]"), "adapter": ScriptedModel("a", "I'm sorry, [A2]")}
    replies = ask(items, models, tmp_path, 10)
    found = {one.task: one.compared for one in compare(items, replies)}
    assert (found["format"].pairs, found["format"].lost, found["format"].p) == (7, 7, 2 / 2**7)
    assert found["no refusal"].lost == 7
    (tmp_path / ANSWERS).write_text((tmp_path / ANSWERS).read_text() + '{"arm": "ba')  # killed while writing
    again = ask(items, {arm: ScriptedModel(arm, []) for arm in models}, tmp_path, 10)
    assert again == replies
