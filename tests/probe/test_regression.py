"""Regression checks: pairs counted by hand, answers kept, readable replies."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Command
from tests.probe.tiny import write_corpus

from ostrom.analysis.statistics.counts import McNemar, mcnemar
from ostrom.ground.errors import UsageError
from ostrom.models.providers.scripted import ScriptedModel
from ostrom.probe.regression import ANSWERS, Item, ReplyFile, format_items, gym_items
from ostrom.testing.server import LoopbackServer


def test_mcnemar_by_hand() -> None:
    # 1 lost, 5 gained of 12: p = 2 (1 + 6) / 64
    found = mcnemar([True] * 3 + [False] * 9, [False, True, True] + [True] * 5 + [False] * 4)
    assert (found.lost, found.gained) == (1, 5) and found.p == pytest.approx(14 / 64)
    assert found.detectable is None  # three right ones are too few for any loss to show
    # With one gain, 8 losses would have p = .039: a net loss of 7.
    assert mcnemar([True] * 10 + [False], [False] * 3 + [True] * 8).detectable == 7
    assert mcnemar([True] * 6, [True] * 6).detectable == 6 and mcnemar([], []).p == 1


def compared(models: dict[str, ScriptedModel], items: list[Item], folder: Path) -> dict[str, McNemar]:
    """Base and adapter over these items, by task."""
    found = asyncio.run(ReplyFile(models, folder).compare(items, 10))
    return {one.task: one.compared for one in found}


def test_readable_replies_are_counted_in_pairs_and_never_asked_twice(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", 8)
    for part in ("train.jsonl", "val.jsonl"):
        rows = [json.loads(line) for line in (corpus / part).read_text().splitlines()]
        for row in rows:
            row["messages"][0]["content"] += "\n\nValid last lines: [A0] or [A1]."
        (corpus / part).write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = format_items(corpus, 7)
    models = {"base": ScriptedModel("b", "Well.\n[A0]"), "adapter": ScriptedModel("a", "I'm sorry, [A2]")}
    found = compared(models, items, tmp_path)
    assert (found["format"].pairs, found["format"].lost, found["format"].p) == (7, 7, 2 / 2**7)
    assert found["no refusal"].lost == 7
    (tmp_path / ANSWERS).write_text((tmp_path / ANSWERS).read_text() + '{"arm": "ba')  # killed while writing
    silent = {"base": ScriptedModel("b", []), "adapter": ScriptedModel("a", [])}
    assert compared(silent, items, tmp_path) == found
    held_out = json.loads((corpus / "val.jsonl").read_text().splitlines()[0])
    assert items[0].messages[0][1] == held_out["messages"][0]["content"]


def test_an_answer_after_a_line_that_was_cut_short_is_kept(tmp_path: Path) -> None:
    items = format_items(write_corpus(tmp_path / "corpus"), 1)
    (tmp_path / ANSWERS).write_text('{"arm": "ba')
    models = {arm: ScriptedModel(arm, "[A0]") for arm in ("base", "adapter")}
    found = compared(models, items, tmp_path)
    assert compared({arm: ScriptedModel(arm, []) for arm in models}, items, tmp_path) == found


def test_another_model_or_longer_replies_are_asked_anew(tmp_path: Path) -> None:
    async def ask(model: str, reply: str, max_tokens: int) -> str:
        answers = ReplyFile({"base": ScriptedModel(model, reply)}, tmp_path)
        return await answers.reply("base", [("user", "Well?")], {"max_tokens": max_tokens})

    replies = [asyncio.run(ask(*given)) for given in (("a", "1", 5), ("b", "2", 5), ("a", "3", 6), ("a", "4", 5))]
    assert replies == ["1", "2", "3", "1"]


def test_regress_prints_json_alone_from_answers_that_are_there(ostrom: Command, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus")
    (tmp_path / "adapter").mkdir()
    with LoopbackServer(lambda _: "[A0]") as server:
        options = ("--model", server.model, "--adapter-model", server.model, "--corpus", str(corpus))
        for _ in range(2):
            done = ostrom("more", "regress", "adapter", *options, "--items", "2", "--json")
            assert done.returncode == 0, done.stderr
            form, refusal = json.loads(done.stdout)["tasks"]
            assert (form["task"], form["pairs"], refusal["task"]) == ("format", 2, "no refusal")
            assert (refusal["before"], refusal["after"], refusal["p"]) == (2, 2, 1)
        assert server.count == 2  # two prompts, one model behind both names


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "nothing to ask: give --corpus DIR, --reasoning-gym TASK or --task TASK"),
        (["--corpus", "none", "--items", "2"], "none"),
        (["--task", "gsm8k"], "pip install 'lm-eval[api]'"),
        (["--corpus", "corpus", "--allow-code-execution"], "belong to --task, which is missing"),
        (["--corpus", "corpus", "--task-folder", "x"], "belong to --task, which is missing"),
    ],
)
def test_regress_refuses_in_one_line(
    tmp_path: Path, ostrom: Command, monkeypatch: pytest.MonkeyPatch, options: list[str], words: str
) -> None:
    monkeypatch.setattr("ostrom.probe.lm_eval.PROGRAM", "no_such_program")
    write_corpus(tmp_path / "corpus")
    (tmp_path / "adapter").mkdir()
    done = ostrom("more", "regress", "adapter", *options)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr
    missing = ostrom("more", "regress", "nowhere", *options)
    assert missing.returncode == 2 and "nowhere: is no folder of an adapter" in missing.stderr


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
