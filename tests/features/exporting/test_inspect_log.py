"""Inspect logs: what Inspect's own reader finds in them, and the way back."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.features.exporting.conftest import Foreign

import ostrom
from ostrom.features.importing.inspect_log import import_logs, is_log
from ostrom.ground.errors import StudyError, UsageError

READ = """
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.analysis import evals_df, samples_df
folder = {folder!r}
logs = [read_eval_log(info) for info in list_eval_logs(folder)]
frame = samples_df(folder)
first = sorted(logs, key=lambda log: log.eval.task_args["style"])[1].samples[0]
event = next(e for e in first.events if e.event == "model")
print(json.dumps({{
    "match": first.id, "status": [log.status for log in logs],
    "samples": len(frame), "evals": len(evals_df(folder)),
    "cooperation": sorted(frame["score_cooperation"].tolist()),
    "style": sorted(log.eval.task_args["style"] for log in logs),
    "roles": sorted(logs[0].eval.model_roles),
    "asked": event.input[-1].text, "replied": event.output.completion,
    "reasoning": [c.reasoning for c in event.output.choices[0].message.content if c.type == "reasoning"],
    "messages": len(first.messages), "tokens": sum(u.total_tokens for u in first.model_usage.values()),
    "rounds": first.metadata["rounds"][0],
}}))
"""


def test_inspect_reads_every_prompt_reply_and_reasoning(played: ostrom.Run, tmp_path: Path, foreign: Foreign) -> None:
    written = played.export(format="inspect", out=tmp_path)
    assert len(written) == 2 and all(path.parent == tmp_path for path in written.values())
    seen = json.loads(foreign("inspect_ai", READ.format(folder=str(tmp_path))))
    assert seen["status"] == ["success"] * 2 and seen["samples"] == 4 and seen["evals"] == 2
    assert seen["style"] == ["direct", "reasoned"] and seen["roles"] == ["llm"]
    per_match = played.sql("SELECT avg(cooperation) AS c FROM matches GROUP BY match ORDER BY c")
    assert seen["cooperation"] == pytest.approx(per_match["c"].to_list())
    told = next(t for t in played.transcript(seen["match"]) if t["calls"])
    assert seen["asked"] == told["calls"][0]["messages"][-1]["content"]
    assert seen["replied"] == told["calls"][0]["reply"] and seen["reasoning"] == ["They may defect."]
    assert seen["messages"] >= 6 and seen["tokens"] > 0
    assert seen["rounds"] == {
        "round": 1, "player": 1, "seat": 1, "agent": "llm", "action": told["action"], "payoff": told["payoff"],
    }  # fmt: skip


def test_our_own_logs_are_read_back_with_the_same_actions_and_payoffs(played: ostrom.Run, tmp_path: Path) -> None:
    logs = list(played.export(format="inspect", out=tmp_path / "logs").values())
    assert all(is_log(log) for log in logs)
    done = import_logs(logs, name="back", runs=tmp_path)
    assert done.folder is not None and not done.disagreements
    again = ostrom.open_run(done.folder)
    query = "SELECT style, agent, round, action, payoff FROM decisions WHERE kind = 'act' ORDER BY ALL"
    assert again.sql(query).rows() == played.sql(query).rows()
    mechanisms = again.sql("SELECT DISTINCT source_mechanism FROM matches")["source_mechanism"].to_list()
    assert mechanisms == ["repetition"]


def test_the_same_run_gives_the_same_bytes(played: ostrom.Run, tmp_path: Path) -> None:
    one = played.export(format="inspect", out=tmp_path / "one").values()
    other = played.export(format="inspect", out=tmp_path / "other").values()
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in other]
    assert [p.name for p in one] == [p.name for p in other]


def test_foreign_and_damaged_logs_are_refused_in_one_line(played: ostrom.Run, tmp_path: Path) -> None:
    log = next(iter(played.export(format="inspect", out=tmp_path).values()))
    whole = json.loads(log.read_bytes())
    changes: tuple[tuple[Callable[[Any], object], str], ...] = (
        (lambda d: d["eval"]["metadata"].pop("ostrom"), "is no log that ostrom export"),
        (lambda d: d["eval"]["metadata"]["ostrom"].update(format=9), "another version"),
        (lambda d: d["samples"][1]["metadata"].pop("rounds"), "sample 2"),
        (lambda d: d["eval"]["metadata"]["ostrom"].update(game=None), "no file can state"),
    )
    for change, word in changes:
        damaged = json.loads(json.dumps(whole))
        change(damaged)
        path = tmp_path / "damaged.json"
        path.write_text(json.dumps(damaged))
        with pytest.raises(StudyError, match=word):
            import_logs([path], name="x", runs=tmp_path)
    assert not is_log(tmp_path / "absent.json")


def test_options_of_other_formats_are_refused(played: ostrom.Run) -> None:
    with pytest.raises(UsageError, match="--texts is for --format hf and every-eval, not for inspect"):
        played.export(format="inspect", texts=True)
    with pytest.raises(UsageError, match="allowed: parquet, csv, jsonl, inspect, hf, otree"):
        played.export(format="xlsx")
