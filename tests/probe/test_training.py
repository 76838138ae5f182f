"""Training on a tiny random Llama: the same bits however it was stopped, the end token, the converted adapter."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command
from tests.probe.tiny import OPTIONS, SETTINGS, STEPS, TEMPLATE, train_tiny, write_corpus, write_tiny

from ostrom.ground.errors import StudyError, UsageError
from ostrom.models import open_model
from ostrom.models.embedded.weights import GGUF, dequantised, find_adapter
from ostrom.probe.training.base import find_base, load_tokens
from ostrom.probe.training.data import encode
from ostrom.probe.training.lora import WEIGHTS, parity
from ostrom.probe.training.trainer import CHECKPOINT, Settings, Trained


def hash_of(done: Trained) -> str:
    assert done.record is not None
    return str(done.record["adapter_sha256"])


def test_a_repeated_training_gives_the_same_bits_and_the_same_command_nothing(
    tiny: Path, corpus: Path, trained: Trained, tmp_path: Path
) -> None:
    assert hash_of(train_tiny(tiny, corpus, tmp_path)) == hash_of(trained)
    assert trained.did[:2] == ("trained", "converted") and not (trained.folder / CHECKPOINT).exists()
    before = {p.name: p.stat().st_mtime_ns for p in trained.folder.iterdir()}
    assert train_tiny(tiny, corpus, trained.folder).did == ()
    assert {p.name: p.stat().st_mtime_ns for p in trained.folder.iterdir()} == before
    losses = trained.progress.losses
    assert len(losses) == STEPS and losses[-1] < losses[0]


def test_a_stopped_training_goes_on_to_the_same_bits(
    tiny: Path, corpus: Path, trained: Trained, tmp_path: Path
) -> None:
    stops = 0
    while (done := train_tiny(tiny, corpus, tmp_path, minutes=0)).record is None:
        stops += 1
        assert done.progress.step == stops
        if stops == 3:
            done = train_tiny(tiny, corpus, tmp_path)
            break
    assert hash_of(done) == hash_of(trained) and done.progress.losses == trained.progress.losses


def test_a_killed_training_goes_on_to_the_same_bits(tiny: Path, corpus: Path, trained: Trained, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "ostrom", "train", str(corpus), "--base", str(tiny), "--out", str(out), *OPTIONS]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while not (out / CHECKPOINT).exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "training.json").exists()
    assert hash_of(train_tiny(tiny, corpus, out)) == hash_of(trained)


def test_the_command_says_in_json_how_far_it_came(
    tiny: Path, corpus: Path, trained: Trained, tmp_path: Path, ostrom: Command
) -> None:
    told = ("train", str(corpus), "--base", str(tiny), *OPTIONS, "--json", "--out")
    stopped = ostrom(*told, str(tmp_path / "new"), "--minutes", "0")
    found = json.loads(stopped.stdout)
    assert stopped.returncode == 1 and "the same command goes on" in stopped.stderr
    assert (found["complete"], found["step"], found["steps"], found["record"]) == (False, 1, STEPS, None)
    done = ostrom(*told, str(trained.folder))
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["complete"] and found["did"] == []
    assert found["record"]["adapter_sha256"] == hash_of(trained) and found["record"]["device"] == "cpu"
    wrong = ostrom(*told, str(trained.folder), "--device", "tpu")
    assert wrong.returncode == 2 and "auto, cpu, cuda" in wrong.stderr and "Traceback" not in wrong.stderr


def test_another_training_in_the_same_folder_is_refused(tiny: Path, corpus: Path, trained: Trained) -> None:
    with pytest.raises(UsageError, match="seed 0 not 1"):
        train_tiny(tiny, corpus, trained.folder, Settings(seed=1, schedule=SETTINGS.schedule))
    with pytest.raises(UsageError, match="another corpus"):
        train_tiny(tiny, write_corpus(corpus.parent / "more", 14), trained.folder)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--rank", "4"), ("--epochs", "9"), ("--micro", "1"), ("--most-tokens", "64"), ("--truncate", "left")],
)
def test_every_option_is_a_part_of_the_training(
    tiny: Path, corpus: Path, trained: Trained, ostrom: Command, option: str, value: str
) -> None:
    told = ("train", str(corpus), "--base", str(tiny), *OPTIONS, "--out", str(trained.folder))
    done = ostrom(*told, option, value)
    assert done.returncode == 2 and f"not {value}" in done.stderr, done.stderr


def test_the_end_token_is_the_one_that_the_file_states(tiny: Path, tmp_path: Path) -> None:
    tokens = load_tokens(find_base(str(tiny)))
    assert tokens.end_text == "<|im_end|>" and tokens.end == 2
    encoded = encode(_rows(1), tokens, 512, "history").examples[0]
    assert encoded.reply[-1] == 2 and tokens.tokenizer.decode(encoded.reply[:-1]) == "The future counts.\n[A0]"
    # What transformers 5.17 read from SmolLM2's file: the beginning of a turn as its end.
    with pytest.raises(UsageError, match="not prompt \\+ reply \\+ '<\\|im_start\\|>'"):
        load_tokens(find_base(str(write_tiny(tmp_path / "tampered.gguf", end="<|im_start|>"))))
    stripped = TEMPLATE.replace(" + '<|im_end|>'", "")
    with pytest.raises(UsageError, match="ends with"):
        load_tokens(find_base(str(write_tiny(tmp_path / "no_end.gguf", template=stripped))))


def _rows(rounds: int) -> list[dict[str, Any]]:
    lines = "".join(f"R{n}: You=A0, P2=A1 -> 3\n" for n in range(1, rounds + 1))
    messages = [
        {"role": "user", "content": f"The rules.\n{lines}Choose."},
        {"role": "assistant", "content": "The future counts.\n[A0]"},
    ]
    return [{"messages": messages, "weight": 1.0}]


def test_what_is_too_long_loses_its_oldest_rounds_and_keeps_its_rules(tiny: Path) -> None:
    tokens = load_tokens(find_base(str(tiny)))
    whole = encode(_rows(30), tokens, 10_000, "history").examples[0]
    fitted = encode(_rows(30), tokens, 300, "history")
    text = tokens.tokenizer.decode(fitted.examples[0].prompt)
    assert "The rules." in text and "R30:" in text and "R1:" not in text and fitted.shortened == 1
    assert fitted.examples[0].length <= 300 < whole.length
    left = encode(_rows(30), tokens, 300, "left")
    assert "The rules." not in tokens.tokenizer.decode(left.examples[0].prompt) and left.shortened == 1
    assert encode(_rows(30), tokens, 40, "history").too_long == 1


def test_an_adapter_on_a_model_that_is_not_trained_drops_nothing(tiny: Path) -> None:
    from ostrom.probe.training.base import load_model
    from ostrom.probe.training.lora import Shape, attach

    layers = attach(load_model(find_base(str(tiny)), "cpu", "float32"), Shape(), 0)
    assert not any(layer.training for layer in layers.values())


@pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT calls what Transformers is about to rename
def test_peft_reads_the_adapter_and_gives_the_same_logits(tiny: Path, trained: Trained) -> None:
    peft = pytest.importorskip("peft", reason="make train installs the extra train")
    torch = pytest.importorskip("torch")
    from ostrom.probe.training.base import load_model
    from ostrom.probe.training.lora import PROBES

    base = find_base(str(tiny))
    model = peft.PeftModel.from_pretrained(load_model(base, "cpu", "float32"), str(trained.folder))
    tokens = load_tokens(base)
    place = json.loads((trained.folder / PROBES).read_text())[0]
    ids = torch.tensor([tokens.encode(tokens.prompt(place["messages"]) + place["begun"])])
    with torch.no_grad():
        odds = torch.log_softmax(model(ids).logits[0, -1].float(), -1)
    for token, _, value in place["adapter"]:
        assert abs(float(odds[token]) - value) < 1e-3


def test_the_converted_adapter_plays_with_the_log_probabilities_of_the_training(
    tiny: Path, trained: Trained, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("xllamacpp")
    from ostrom.probe.training import lora

    found = lora.parity(trained.folder, trained.folder / GGUF, tiny, 1)
    assert found.held and found.adapter < 0.02 and found.base < 0.02 and found.moved > 1
    # Without the permutation of q and k the adapter is another one.
    monkeypatch.setattr(lora, "permuted", lambda rows, heads: rows)
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    (wrong / WEIGHTS).write_bytes((trained.folder / WEIGHTS).read_bytes())
    made = lora.to_gguf(wrong, tiny, find_base(str(tiny)).sha256, 32)
    assert lora.parity(trained.folder, made, tiny, 1).adapter > 0.05


def test_a_quantised_base_plays_as_trained_on_its_weights_in_float32(
    tiny: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("xllamacpp")
    base = write_tiny(tmp_path / "bits4.gguf", bits4=True)
    found = train_tiny(base, corpus, tmp_path / "adapter").parity
    assert found is not None and found.held and found.adapter < 0.02 and found.base < 0.02
    with monkeypatch.context() as patch:  # on the quantised file itself the runtime's arithmetic is seen
        patch.setattr("ostrom.probe.training.lora.dequantised", lambda path: path)
        rounded = parity(tmp_path / "adapter", tmp_path / "adapter" / GGUF, base, 1)
        assert rounded.adapter > 2 * found.adapter and rounded.base > 2 * found.base
    made = dequantised(base)
    stamp = made.stat().st_mtime_ns
    assert dequantised(base) == made and made.stat().st_mtime_ns == stamp and dequantised(tiny) != made
    # The adapter belongs to the file that it was trained on, in either form, and to no other.
    model = open_model(f"embedded/{base}", adapter=str(tmp_path / "adapter"), precision="float32")
    assert model.describe()["file"] == made.name and tiny.is_file()
    with pytest.raises(StudyError, match="was trained on another model"):
        open_model(f"embedded/{tiny}", adapter=str(tmp_path / "adapter"), precision="float32")
    with pytest.raises(StudyError, match="allowed: file, float32"):
        open_model(f"embedded/{base}", precision="float64")


def test_an_adapter_of_another_base_is_refused(tiny: Path, trained: Trained, tmp_path: Path) -> None:
    other = write_tiny(tmp_path / "other.gguf", seed=1)
    assert find_adapter(str(trained.folder), tiny).path == trained.folder / GGUF
    with pytest.raises(StudyError, match="was trained on another model"):
        find_adapter(str(trained.folder), other)
    with pytest.raises(StudyError, match="no adapter"):
        find_adapter(str(tiny), tiny)
    with pytest.raises(StudyError, match="there is no adapter"):
        find_adapter(str(tmp_path), tiny)
