"""Shared runs: no texts, the same figures, no way on, and a page over a folder of them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.in_process import Call, caller

from ostrom.features.exporting.shared import without_texts
from ostrom.models.providers import scripted

STUDY: dict[str, Any] = {
    "name": "s", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 3},
    "types": {"a": "scripted/wordy"}, "seeds": 5, "vary": {"agent.style": ["reasoned", "direct"]},
}  # fmt: skip
SECRET = "my-very-own-thought"


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    folder = tmp_path_factory.mktemp("shared")
    (folder / "s.yaml").write_text(yaml.safe_dump(STUDY))
    replies = iter([f"{SECRET} [A{mark}]" if mark != "x" else SECRET for mark in "0010x01" * 100])
    scripted.register("wordy", lambda request: next(replies))
    with pytest.MonkeyPatch.context() as patch:
        made = caller(patch, folder)
        assert made("run", "s.yaml").code in (0, 1)
        done = made("export", "s", "--format", "shared", "--out", "shared/lab", "--json")
        assert done.code == 0, done.err
        assert set(json.loads(done.out)) == {"matches", "rounds", "decisions", "calls", "manifest"}
        yield made


def test_nothing_that_was_written_is_in_it(call: Call) -> None:
    import polars as pl

    assert call is not None
    calls = pl.read_parquet("shared/lab/calls.parquet")
    assert calls.height > 10 and calls["reply"].null_count() == calls.height and calls["tokens_out"].null_count() == 0
    for file in Path("shared/lab").iterdir():
        data = file.read_bytes()
        assert SECRET.encode() not in data and str(Path.cwd()).encode() not in data, file
    for name in ("matches", "decisions"):
        table = pl.read_parquet(f"shared/lab/{name}.parquet")
        assert SECRET not in str(table.to_dicts()) and table.height
    assert pl.read_parquet("shared/lab/decisions.parquet")["action"].null_count() == 0


def test_it_gives_the_figures_of_the_run(call: Call) -> None:
    for arguments in (
        ("cooperation", "--by", "style"),
        ("cooperation", "--contrast", "style=reasoned-direct"),
        ("score",),
    ):
        whole, part = (
            json.loads(call("estimate", run, *arguments, "--json").out)["estimates"] for run in ("s", "shared/lab")
        )
        assert whole == part and whole
    Path("g.yaml").write_text(yaml.safe_dump({"gates": [{"name": "g", "measure": "cooperation", "at_least": 0.45}]}))
    own, other = (json.loads(call("gate", run, "--gates", "g.yaml", "--json").out) for run in ("s", "shared/lab"))
    assert own["judged"][0]["estimate"] == other["judged"][0]["estimate"]
    assert own["answer"] == "undecided", own
    assert own["more"] is not None and other["more"] is None and other["judged"][0]["more"] > 0
    assert re.search(r"about \d+ match(es)? more would decide", other["judged"][0]["reason"])
    done = call("report", "shared/lab")
    assert done.code == 0, done.err


def test_a_run_that_is_not_at_its_end_says_how_far_it_is(call: Call) -> None:
    assert call("run", "s.yaml", "--name", "part", "--limit", "3").code in (0, 1)
    assert call("export", "part", "--format", "shared", "--out", "parts/part").code == 0
    own, other = (call("estimate", run, "cooperation") for run in ("part", "parts/part"))
    assert "so far: 3 of 10 matches" in other.out + other.err and "so far: 3 of 10" in own.out + own.err


def test_what_needs_more_is_refused_in_one_line(call: Call) -> None:
    for arguments in (
        ("transcript", "shared/lab", "--match", "0"), ("resume", "shared/lab"), ("check", "shared/lab"),
        ("export", "shared/lab", "--format", "inspect", "--out", "x"), ("export", "shared/lab", "--format", "shared"),
    ):  # fmt: skip
        done = call(*arguments)
        assert done.code == 2 and "shared run" in done.err and "Traceback" not in done.err, (arguments, done)
    for out, words in (("runs/s", "is the run itself"), ("runs/other", "holds a run")):
        if out == "runs/other":
            Path(out).mkdir()
            Path(out, "run.json").write_text("{}")
        done = call("export", "s", "--format", "shared", "--out", out)
        assert done.code == 2 and words in done.err


def test_a_changed_or_missing_table_is_refused(call: Call) -> None:
    assert call("export", "s", "--format", "shared", "--out", "shared/bad").code == 0
    table = Path("shared/bad/matches.parquet")
    table.write_bytes(Path("shared/lab/decisions.parquet").read_bytes())
    assert "is not the table that was shared" in call("estimate", "shared/bad", "cooperation").err
    table.unlink()
    done = call("estimate", "shared/bad", "cooperation")
    assert done.code in (1, 2) and "Traceback" not in done.err and "matches.parquet" in done.err


def test_answers_that_name_an_option_or_a_number_stay() -> None:
    row = {"answer": "A", "options": '["A","B"]', "action": None, "rationale": "why", "facts": None}
    assert without_texts(row) == {**row, "rationale": None}
    assert without_texts({"answer": "42.5", "options": None})["answer"] == "42.5"
    assert without_texts({"answer": "defect", "action": "defect", "options": "x"})["answer"] == "defect"
    assert without_texts({"answer": "C", "options": '["A","B"]', "action": None})["answer"] is None
    long = json.loads(without_texts({"facts": json.dumps({"a": ["x" * 41, "x" * 40], "n": 2})})["facts"])
    assert long == {"a": ["", "x" * 40], "n": 2}


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        ({"answer": "B", "options": '["A", "B"]'}, {"answer": "B", "options": '["A", "B"]'}),
        ({"answer": "C", "options": '["A", "B"]'}, {"answer": None, "options": '["A", "B"]'}),
        ({"answer": "B", "options": "A,B"}, {"answer": "B", "options": "A,B"}),
        ({"answer": "B", "options": '{"B": 1}'}, {"answer": None, "options": '{"B": 1}'}),
        ({"answer": "B", "options": None}, {"answer": None, "options": None}),
        ({"answer": "words", "action": "defect"}, {"answer": "words", "action": "defect"}),
        ({"answer": " -1.50 "}, {"answer": " -1.50 "}),
        ({"answer": "1.50 for you"}, {"answer": None}),
        ({"reply": "x", "reason": "y", "score": 1}, {"reply": None, "reason": None, "score": 1}),
        ({"facts": '{"a":["' + "b" * 40 + '","' + "b" * 41 + '"]}'}, {"facts": '{"a":["' + "b" * 40 + '",""]}'}),
        ({"facts": '{"reasons":["a",1],"who":"a"}'}, {"facts": '{"reasons":["",1],"who":"a"}'}),
        ({"facts": None}, {"facts": None}),
        ({"at": 1795100000.12345, "latency": 0.41259}, {"at": 1795100000.123, "latency": 0.413}),
        ({"at": None, "latency": None}, {"at": None, "latency": None}),
    ],
)
def test_what_was_chosen_is_shared_and_what_was_written_is_not(row: dict[str, Any], kept: dict[str, Any]) -> None:
    assert without_texts(row) == kept
