"""What training needs before any weights: examples that fit, batches, steps, the base; and how judges agree."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.probe.conftest import collected, trace

from ostrom.ground.errors import ModelError, UsageError
from ostrom.models.base import Message, Request
from ostrom.probe.files import agreement, dataset_card, summary
from ostrom.probe.funnel import Rules, build
from ostrom.probe.scores import _answer, score_form, scored
from ostrom.probe.terms import copied_passages
from ostrom.probe.trace import Scores
from ostrom.probe.training.base import Tokens, find_base, versions
from ostrom.probe.training.data import Encoded, Truncate, batches, corpus_hash, encode, read_examples
from ostrom.probe.training.trainer import Progress, Schedule


class Letters:
    """A tokenizer whose tokens are the characters."""

    def apply_chat_template(self, messages: list[dict[str, str]], **_: Any) -> str:
        return "".join(message["content"] for message in messages)

    def __call__(self, text: str, **_: Any) -> dict[str, list[int]]:
        return {"input_ids": [ord(letter) for letter in text]}


TOKENS = Tokens(Letters(), 0, "")
TOLD = "Rules.\nR1: a\nR2: b\nGo"
GOOD = {"messages": [{"role": "user", "content": TOLD}, {"role": "assistant", "content": "x"}], "weight": 2}


@pytest.mark.parametrize(
    ("truncate", "most", "prompt", "shortened", "too_long"),
    [
        ("history", 23, TOLD, 0, 0),
        ("history", 22, "Rules.\nR2: b\nGo", 1, 0),
        ("history", 17, "Rules.\nR2: b\nGo", 1, 0),
        ("history", 16, "Rules.\nGo", 1, 0),
        ("history", 11, "Rules.\nGo", 1, 0),
        ("history", 10, None, 0, 1),
        ("left", 23, TOLD, 0, 0),
        ("left", 10, TOLD[-8:], 1, 0),
        ("left", 3, "o", 1, 0),
        ("left", 2, None, 0, 1),
    ],
)
def test_examples_are_made_to_fit(
    truncate: Truncate, most: int, prompt: str | None, shortened: int, too_long: int
) -> None:
    fitted = encode([GOOD], TOKENS, most, truncate)
    assert (fitted.shortened, fitted.too_long) == (shortened, too_long)
    texts = ["".join(map(chr, example.prompt)) for example in fitted.examples]
    assert texts == ([] if prompt is None else [prompt])
    assert [(e.reply, e.weight, e.length - len(e.prompt)) for e in fitted.examples] == [((120, 0), 2.0, 2)] * len(texts)


def with_(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **changes}


@pytest.mark.parametrize(
    ("row", "good"),
    [
        (GOOD, True), (with_(weight=0), True), (with_(weight=1e6), True), (with_(weight="0.5"), True),
        (with_(weight=-0.1), False), (with_(weight=1e6 + 1), False), (with_(weight="much"), False),
        (with_(messages=GOOD["messages"][1:]), False), (with_(messages=GOOD["messages"][:1] * 2), False),  # type: ignore[index]
        (with_(messages=[{"role": "user", "content": 1}, {"role": "assistant", "content": "x"}]), False),
        (with_(messages=[{"role": 1, "content": "a"}, {"role": "assistant", "content": "x"}]), False),
        ({"messages": GOOD["messages"]}, False), ([], False),
    ],
)  # fmt: skip
def test_a_line_that_is_no_example_is_named(tmp_path: Path, row: Any, good: bool) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps(row) + "\n")
    if good:
        assert read_examples(path) == [GOOD, row]
        return
    with pytest.raises(UsageError, match=r"train\.jsonl: line 2 is no example"):
        read_examples(path)


def test_a_corpus_that_is_not_there_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be read .*; ostrom more corpus writes it"):
        read_examples(tmp_path / "train.jsonl")


def test_the_hash_of_a_corpus_is_that_of_both_parts(tmp_path: Path) -> None:
    def sha(data: bytes) -> bytes:
        return hashlib.sha256(data).digest()

    (tmp_path / "train.jsonl").write_bytes(b"a")
    assert corpus_hash(tmp_path) == hashlib.sha256(sha(b"a") + sha(b"")).hexdigest()
    (tmp_path / "val.jsonl").write_bytes(b"b")
    assert corpus_hash(tmp_path) == hashlib.sha256(sha(b"a") + sha(b"b")).hexdigest()


def examples(*lengths: int) -> list[Encoded]:
    return [Encoded((1,) * length, (), 1.0) for length in lengths]


def test_every_epoch_has_every_example_once_and_micro_batches_are_sorted_by_length() -> None:
    made = list(batches(examples(5, 4, 3, 2, 1), 2, 1, 5, seed=3))
    flat = [[place for micro in batch for place in micro] for batch in made]
    assert [len(micro) for batch in made for micro in batch] == [1] * 10
    assert all(pair[0] > pair[1] for pair in (*flat[:2], *flat[3:]))
    assert Counter(place for batch in flat for place in batch) == dict.fromkeys(range(5), 2)
    assert len({*flat[0], *flat[1]}) == 4
    assert made == list(batches(examples(5, 4, 3, 2, 1), 2, 1, 5, seed=3))
    orders = {str(list(batches(examples(*[1] * 9), 1, 1, 9, seed=seed))) for seed in range(3)}
    assert len(orders) == 3


def test_a_batch_larger_than_the_corpus_is_the_corpus() -> None:
    made = list(batches(examples(1, 1, 1), 4, 2, 2, seed=0))
    assert [[len(micro) for micro in batch] for batch in made[:1]] == [[2, 1]]


@pytest.mark.parametrize(
    ("schedule", "examples", "steps"),
    [(Schedule(), 16, 3), (Schedule(), 17, 4), (Schedule(epochs=0.1), 1, 1), (Schedule(steps=7), 100, 7)],
)
def test_steps_of_a_training(schedule: Schedule, examples: int, steps: int) -> None:
    assert schedule.total(examples) == steps
    assert [Progress(step, steps).done for step in (steps - 1, steps, steps + 1)] == [False, True, True]


def test_the_base_is_a_file_or_a_folder_and_its_hash_covers_what_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is neither an embedded model"):
        find_base(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    folder = find_base(str(tmp_path))
    (tmp_path / "notes.txt").write_text("not loaded")
    assert not folder.gguf and find_base(str(tmp_path)).sha256 == folder.sha256
    (tmp_path / "model.safetensors").write_text("weights")
    assert find_base(str(tmp_path)).sha256 != folder.sha256
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF")
    for name in (str(file), f"embedded/{file}"):
        base = find_base(name)
        assert base.gguf and base.path == file and base.sha256 == hashlib.sha256(b"GGUF").hexdigest()
    other = tmp_path / "tiny.bin"
    other.write_bytes(b"GGUF")
    with pytest.raises(UsageError, match=r"--base .*tiny\.bin"):
        find_base(str(other))


def test_versions_of_packages_that_are_not_there_are_none() -> None:
    assert versions("numpy", "no-such-package")["no-such-package"] is None
    assert versions("numpy")["numpy"]


def test_judges_agree_by_hand() -> None:
    scores = [((9, 9, 7), (9, 9, 7)), ((8, 9, 7), (9, 9, 7)), ((5, 9, 7), (7, 9, 7))]
    traces = [trace(n, scores=tuple(Scores(*one) for one in both)) for n, both in enumerate(scores)]
    least = {"forward": 9, "quality": 9}
    forward, quality = agreement([*traces, trace(9)], least)
    assert (forward["score"], forward["traces"], forward["threshold"], forward["note"]) == ("forward", 3, 9, None)
    assert [forward[key] for key in ("same", "within_one", "kappa")] == pytest.approx([1 / 3, 2 / 3, 0.4])
    assert quality["same"] == 1 and quality["kappa"] is None and quality["note"]
    assert agreement([trace(9)], least) == []


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ("yes yes yes yes", (0, 5, 6)),
        ("A future gain, a signal and a risk.", (7, 10, 6)),
        ("", (0, 0, 6)),
        ("round 1 round 2 round 3 round 4 round 5", (0, 10, 10)),
        ("A0 a0 player 1", (0, 10, 8)),
    ],
)
def test_the_judge_that_counts_words(reply: str, scores: tuple[int, int, int]) -> None:
    assert scored(reply, "Choose.") == Scores(*scores)


def test_the_judge_that_counts_words_reads_the_shipped_prompt_alone() -> None:
    told = 'Score it.\n"a note"\n"Choose."\n"yes yes yes yes"\n'
    reply = _answer(Request((Message("user", told),)))
    assert json.loads(reply) == {"forward": 0, "quality": 5, "specificity": 6}
    with pytest.raises(ModelError, match="reads the shipped prompt of judges only"):
        _answer(Request((Message("user", '"one line"'),)))


def test_the_card_says_when_the_judge_only_counts_words() -> None:
    made = build(collected(trace(1), trace(2)), "forward", Rules(), lambda some: some, 1)
    said = [dataset_card(summary(made, Rules(), ["r"], [judge])) for judge in ("scripted/lexicon", "m")]
    assert ["counts words and understands nothing" in card for card in said] == [True, False]
    assert "from `r`, scored by `m`." in said[1]


def test_scores_are_whole_numbers_from_0_to_10() -> None:
    schema = score_form().schema
    assert schema["properties"]["quality"] == {"type": "integer", "minimum": 0, "maximum": 10}
    assert schema["required"] == ["forward", "quality", "specificity"] and not schema["additionalProperties"]


def test_a_game_that_is_left_out_is_a_stage_of_its_own() -> None:
    made = build(collected(trace(1), trace(2, game="trust")), "forward", Rules(leave_out=("trust",)), list, 1)
    stage = next(stage for stage in made.stages if stage.name == "leave out")
    assert (stage.rule, len(stage.kept), stage.reasons) == ("not of trust", 1, {"game trust": 1})


@pytest.mark.parametrize(
    ("reply", "prompt", "copied"),
    [
        ("Cooperate.", "You may cooperate. Or not.", ["Cooperate"]),
        ("I cooperate.", "You may cooperate. Or not.", []),
        ("Yes. Cooperate. No", "You may cooperate.", ["Cooperate"]),
        ("So it is\ncooperate", "You may cooperate.", ["cooperate"]),
        ("We see all future rounds count now.", "all future rounds count", ["all future rounds count"]),
    ],
)
def test_a_sentence_of_the_prompt_is_copied_and_a_word_of_it_is_not(reply: str, prompt: str, copied: list[str]) -> None:
    assert [reply[a:b] for a, b in copied_passages(reply, prompt)] == copied
