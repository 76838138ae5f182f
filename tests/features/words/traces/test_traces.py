"""What counts as reasoning, and what is counted in it, from replies to the table on disk."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.analysis.estimate import estimate
from ostrom.analysis.measure import measures
from ostrom.data.rundata import RunData, run_data
from ostrom.features.words.lexicons import Lexicon, Mode, Span
from ostrom.features.words.panels import highlighted, paired_traces
from ostrom.features.words.traces.table import (
    reasoning_of,
    sensitivity,
    trace_lexicons,
    trace_summary,
    trace_table,
    unfinished,
    without_answer,
)
from ostrom.ground.errors import StudyError, UnknownName, UsageError
from ostrom.models.base import Reply, Request
from ostrom.models.providers import scripted
from ostrom.reports.declared import panels
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

REASON = "They may defect again; the risk is real, but the future is long."


@contextmanager
def told(folder: Path, answer: str | Callable[[Request], str | Reply], **changes: Any) -> Iterator[RunData]:
    study = StudyFile.model_validate(
        {
            "name": "told",
            "game": {"name": "prisoners_dilemma", "preset": "memory_curse"},
            "mechanism": {"name": "repetition", "rounds": 3},
            "agent": {"memory": {"name": "window", "k": 2}, "constrain": "never"},
            "types": {"m": {"model": "scripted/told"}},
            "vary": {"style": {"set": "agent.style", "to": ["reasoned", "direct"]}},
            "invalid": {"retries": 1, "policy": "uniform"},
            **changes,
        }
    )
    scripted.register("told", answer)
    try:
        play(study, runs=folder)
    finally:
        scripted.unregister("told")
    with open_run(folder / "told") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield data


def by_style(request: Request) -> str:
    return f"{REASON}\n\n[A0]" if "reasons" in request.messages[-1].content else "[A0]"


@pytest.mark.parametrize(
    ("reply", "left"),
    [
        ("A0", ""),
        ("[A0]", ""),
        ("**Answer: [A0]**", ""),
        ("My final answer is A0.", ""),
        ("Action = [Option J]", ""),
        ("I see.\n```\n[A0]\n```", "I see."),
        ("I see.\n\n[A0]\n", "I see."),
        ("I see.\n- [A0].", "I see."),
        ("I see.\n$\\boxed{A1}$", "I see."),
        ('Even odds.\n```json\n{"A0": 50,\n "A1": 50}\n```', "Even odds."),
        ("They cheated, so I choose A1.", "They cheated, so I choose A1."),
        ("[A0]\nI hope that this was wise.", "[A0]\nI hope that this was wise."),
        ("The answer depends on trust.", "The answer depends on trust."),
        ("The set {a, b} is not closed}", "The set {a, b} is not closed}"),
        ("", ""),
        ("...", ""),
    ],
)
def test_only_the_final_answer_is_taken_off(reply: str, left: str) -> None:
    assert without_answer(reply) == left


@pytest.mark.parametrize("unit", [" ", "\t", "*", "[", "{", "}", "`", "answer ", "\n", "- "])
def test_long_replies_of_any_kind_are_read_in_linear_time(unit: str) -> None:
    # Quadratic time would take minutes here; the suite's timeout is the only clock.
    reply = unit * 200_000
    assert without_answer(f"I see. {reply} x y")
    without_answer(reply)


def test_a_label_of_several_words_is_an_answer_when_it_is_known() -> None:
    assert without_answer("I see.\nstay silent", "stay silent") == "I see."
    assert without_answer("I see.\nstay silent") == "I see.\nstay silent"


@given(st.text(), st.one_of(st.none(), st.text()), st.sampled_from(["raw", "summary", "none", None]))
def test_a_kind_is_named_exactly_where_there_is_text(reply: str, field: str | None, kind: str | None) -> None:
    text, made_of = reasoning_of(reply, field, kind)
    assert bool(text) == bool(made_of)
    assert set(made_of.split("+")) <= {"", "raw", "summary", "written"}
    assert without_answer(reply) in reply or not reply


def test_reasoning_of_both_kinds_is_kept_together_and_named() -> None:
    assert reasoning_of("Hm, risky.\n[A0]", "Inner voice.", "summary") == (
        "Inner voice.\n\nHm, risky.",
        "summary+written",
    )


def test_undefined_ratios_stay_undefined(tmp_path: Path) -> None:
    with told(tmp_path, "Hm hm.\n[A0]") as data:
        (row,) = trace_summary(data, trace_table(data), [])
        assert row["traces"] == 12
        assert row["paranoia_ratio_of_sums"] is None and row["paranoia_ratio_mean"] is None
        assert row["paranoia_per_1000_words"] == 0.0


def test_notes_and_forced_ends_are_no_traces(tmp_path: Path) -> None:
    agent = {"memory": {"name": "summary", "keep": 1, "every": 1, "words": 40}, "constrain": "auto"}

    def rambles(request: Request) -> str:
        return "[A0]" if request.constraint is not None else REASON

    with told(tmp_path, rambles, agent=agent) as data:
        asked = {row["part"] for row in data.records("SELECT DISTINCT part FROM calls")}
        assert {"try0", "try0.end", "note.try0"} <= asked
        table = trace_table(data)
        counted = {row["part"] for row in data.records(f"SELECT DISTINCT part FROM read_parquet('{table.path}')")}
        assert counted == {"try0"}


def test_unreadable_replies_are_traces_too(tmp_path: Path) -> None:
    with told(tmp_path, REASON) as data:
        table = trace_table(data)
        parts = {row["part"] for row in data.records(f"SELECT DISTINCT part FROM read_parquet('{table.path}')")}
        assert parts == {"try0", "try1"}
        assert table.rows == table.replies == 24


def test_traces_of_failed_matches_are_in_the_table_but_not_in_the_summary(tmp_path: Path) -> None:
    with told(tmp_path, REASON, invalid={"retries": 0, "policy": "fail"}) as data:
        table = trace_table(data)
        assert table.rows > 0
        assert trace_summary(data, table, ["agent"]) == []
        assert unfinished(data, table) == table.rows


def test_a_table_is_made_again_for_other_lexicons_only(tmp_path: Path) -> None:
    with told(tmp_path, by_style) as data:
        path = trace_table(data).path
        before = path.stat().st_mtime_ns
        data.keep_result("YES")  # stands beside the tables and changes nothing in them
        assert trace_table(data).path.stat().st_mtime_ns == before
        own = (*trace_lexicons(), Lexicon("hope", ("future",)))
        assert trace_table(data, own).lexicons[-1] == "hope"
        assert path.stat().st_mtime_ns != before
        (row,) = trace_summary(data, trace_table(data, own), ["style"])
        assert row["hope"] == 6


def test_raw_reasoning_of_direct_answers_is_found_and_named(tmp_path: Path) -> None:
    with told(tmp_path, lambda _: Reply("[A0]", reasoning=REASON, reasoning_kind="raw")) as data:
        rows = trace_summary(data, trace_table(data), ["style", "reasoning"])
        assert [(row["style"], row["reasoning"], row["traces"]) for row in rows] == [
            ("reasoned", "raw", 6),
            ("direct", "raw", 6),
        ]


def test_wrong_columns_and_clashing_lists_are_refused_by_name(tmp_path: Path) -> None:
    with told(tmp_path, by_style) as data:
        with pytest.raises(UnknownName, match=r"gme.*did you mean game"):
            trace_summary(data, trace_table(data), ["gme"])
        with pytest.raises(UsageError, match=r"lexicons\.style: the table of traces has a column of this name"):
            trace_table(data, [Lexicon("style", ("word",))])


CAREFUL = "Carefully, they defected; defections are risky. Strategies of cooperators cooperate."


@pytest.mark.slow
def test_every_list_is_counted_under_every_rule(tmp_path: Path) -> None:
    with told(tmp_path, lambda request: f"{CAREFUL}\n\n[A0]") as data:
        found = {(one["words"], one["match"]): one for one in sensitivity(data)}
        traces = found["paranoia", "word"]["traces"]
        per_trace = {key: one["matches"] / traces for key, one in found.items()}
        assert {key[1] for key, one in found.items() if key[0] == "paranoia" and one["used"]} == {"word"}
        rules: tuple[Mode, ...] = ("word", "inflected", "prefix", "substring")
        # defected, risky; with defections; with carefully.
        assert [per_trace["paranoia", rule] for rule in rules] == [2, 3, 4, 4]
        assert [per_trace["cooperation", rule] for rule in rules] == [1, 1, 1, 1]
        assert found["paranoia", "prefix"]["share_of_traces"] == 1.0
        rate = {rule: estimate(data, {"name": "word_rate", "words": "paranoia", "match": rule}) for rule in rules}
        assert [round(rate[rule][0].value * 10 / 1000, 6) for rule in rules] == [2, 3, 4, 4]
        assert estimate(data, {"name": "word_rate", "words": "paranoia"}) == rate["word"]
        assert "matched as prefix" in measures.named({"name": "word_rate", "match": "prefix"}).definition
        with pytest.raises(StudyError, match=r"match must be one of word.*found 'fuzzy'"):
            measures.named({"name": "word_mentions", "match": "fuzzy"})
        shown = panels.build("traces_matching").draw(data)
        assert shown.notes[2].startswith(f"Paranoia: {2 * traces} matches as word (the list's rule);")


def test_of_words_that_overlap_the_first_are_marked() -> None:
    first, second, third = Span(0, 2, "paranoia", "ab"), Span(1, 3, "own", "bc"), Span(2, 3, "own", "c")
    mark = '<mark style="background:{}" title="{}">{}</mark>'
    assert highlighted("abcd", [first, second]) == mark.format("#f8d3c0", "paranoia", "ab") + "cd"
    both = mark.format("#f8d3c0", "paranoia", "ab") + mark.format("#e8e8e8", "own", "c")
    assert highlighted("abcd", [first, third]) == both + "d"


@pytest.mark.parametrize(
    ("levels", "asked", "ends", "pairs"),
    [
        ("aba", None, ["a", "b"], [("c", [1, 2])]),
        ("aaa", None, [], []),
        ("abz", None, ["a", "z"], [("c", [1, 3])]),
        ("abz", ["z", "b"], ["z", "b"], [("c", [3, 2])]),
        ("aba", ["a", "a"], ["a", "a"], []),
    ],
)
def test_traces_of_a_cell_stand_beside_each_other_at_two_levels(
    levels: str, asked: list[str] | None, ends: list[str], pairs: list[Any]
) -> None:
    rows = [{"id": n, "level": level, "cell": "c"} for n, level in enumerate(levels, 1)]
    rows.append({"id": 9, "level": "a", "cell": "alone"})
    data: Any = SimpleNamespace(factors=["k"], records=lambda *_: rows)
    found = paired_traces(data, "k", asked, 1, 1)
    assert (list(found["levels"]), [tuple(pair.values()) for pair in found["pairs"]]) == (ends, pairs)
