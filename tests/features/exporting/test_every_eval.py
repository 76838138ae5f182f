"""Records of Every Eval Ever: the shape of schema 0.2.2, the figures of the run, no texts unless asked for."""

import hashlib
import json
from pathlib import Path

import pytest
from tests.features.exporting.conftest import Foreign

import ostrom
from ostrom.features.exporting import export_run
from ostrom.features.exporting.every_eval import _deployment
from ostrom.ground.errors import UsageError
from ostrom.studies.run import open_run

LINE = {
    "schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id", "sample_id",
    "interaction_type", "input", "output", "messages", "answer_attribution", "evaluation", "metadata",
}  # fmt: skip


def written(played: ostrom.Run, out: Path, *, texts: bool = False) -> Path:
    with open_run(played.path) as run:
        ((path, lines),) = export_run(run, "every-eval", out, texts=texts).values()
    assert lines == 4
    return path


def test_the_lines_belong_to_the_record(played: ostrom.Run, tmp_path: Path) -> None:
    path = written(played, tmp_path)
    record = json.loads(path.read_bytes())
    detailed = record["detailed_evaluation_results"]
    body = (tmp_path / detailed["file_path"]).read_bytes()
    assert detailed["checksum"] == hashlib.sha256(body).hexdigest() and detailed["total_rows"] == 4
    lines = [json.loads(line) for line in body.splitlines()]
    assert {frozenset(line) for line in lines} == {frozenset(LINE)} and b"They may defect" not in body
    for line in lines:
        assert line["evaluation_id"] == record["evaluation_id"] and line["model_id"] == record["model_info"]["id"]
        assert line["evaluation_result_id"] == record["evaluation_results"][0]["evaluation_result_id"]
        assert line["input"]["reference"] == [] and line["input"]["raw"].startswith("duel: prisoners_dilemma, seed ")
        assert line["interaction_type"] == "multi_turn" and line["evaluation_name"].startswith("ostrom.duel.")
        assert line["output"] is None and len(line["messages"]) == line["evaluation"]["num_turns"] == 3
        assert [one["is_terminal"] for one in line["answer_attribution"]] == [False, False, True]
        for one in line["answer_attribution"]:
            assert line["messages"][one["turn_idx"]]["content"] == one["extracted_value"]
        share = sum(one["content"] == "cooperate" for one in line["messages"]) / 3
        assert line["evaluation"]["score"] == pytest.approx(share)
        assert line["evaluation"]["is_correct"] == (share == 1)
    mean = sum(line["evaluation"]["score"] for line in lines) / 4
    assert record["evaluation_results"][0]["score_details"]["score"] == pytest.approx(mean)


def test_texts_are_written_where_they_are_asked_for(played: ostrom.Run, tmp_path: Path) -> None:
    path = written(played, tmp_path, texts=True)
    lines = [json.loads(line) for line in path.with_name(f"{path.stem}_samples.jsonl").read_bytes().splitlines()]
    for line in lines:
        assert [one["role"] for one in line["messages"]] == ["user", "assistant"] * 3
        assert [one["turn_idx"] for one in line["messages"]] == list(range(6)) and line["evaluation"]["num_turns"] == 6
        assert [one["turn_idx"] for one in line["answer_attribution"]] == [1, 3, 5]
        assert line["answer_attribution"][0]["source"] == "messages[1].content"


def test_a_run_without_models_has_no_record(tmp_path: Path) -> None:
    study = {"name": "s", "game": "prisoners_dilemma", "types": {"a": "cooperator"}}
    run = ostrom.play(study, runs=tmp_path, progress=False)
    with open_run(run.path) as opened, pytest.raises(UsageError, match="no model plays in it"):
        export_run(opened, "every-eval", tmp_path / "out")


def test_a_record_says_who_runs_the_model_where_its_name_tells() -> None:
    assert _deployment("openai/gpt-4o-mini") == {
        "deployment_type": "externally_managed",
        "model_availability": "closed_weights",
    }
    assert set(_deployment("embedded/smollm2-135m").values()) == {"self_deployed", "open_weights"}
    assert set(_deployment("scripted/x").values()) == {"unknown"}


def test_the_real_package_takes_the_records(played: ostrom.Run, tmp_path: Path, foreign: Foreign) -> None:
    path = written(played, tmp_path)
    lines = path.with_name(f"{path.stem}_samples.jsonl")
    foreign(
        "every_eval_ever",
        f"import os, subprocess, sys; os.chdir({str(tmp_path)!r})\n"
        f"done = subprocess.call([sys.executable, '-m', 'every_eval_ever', 'validate', "
        f"{str(path.relative_to(tmp_path))!r}, {str(lines.relative_to(tmp_path))!r}])\n"
        "sys.exit(done not in (0, 2))",  # 2: it warns that nobody knows who made a model at a bare address
    )
