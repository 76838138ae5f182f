"""A tiny random Llama as a GGUF file: loaded by transformers, played by the embedded runtime, made in a moment."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ostrom.probe.training.trainer import Schedule, Settings, Trained, train_adapter

STEPS = 24
SETTINGS = Settings(schedule=Schedule(steps=STEPS, batch=4, rate=5e-3))
OPTIONS = ["--steps", str(STEPS), "--batch", "4", "--rate", "5e-3", "--device", "cpu"]
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>'"
    " + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WIDTH, HEADS, KV_HEADS, LAYERS, MIDDLE = 64, 4, 2, 2, 128
MERGES = ["t h", "Ġ t", "i n", "e r", "Ġ a", "Ġt h", "o n", "r e"]


def byte_letters() -> list[str]:
    """The letters that stand for bytes in byte-level vocabularies (the table of GPT-2)."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters, extra = {}, 0
    for byte in range(256):
        letters[byte] = chr(byte) if byte in plain else chr(256 + extra)
        extra += byte not in plain
    return [letters[byte] for byte in range(256)]


def write_tiny(
    path: Path, *, seed: int = 0, end: str = "<|im_end|>", template: str = TEMPLATE, bits4: bool = False
) -> Path:
    """Write the model; ``end`` is the token that its metadata names as the end of a turn."""
    import gguf

    rng = np.random.default_rng(seed)
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *byte_letters(), *(m.replace(" ", "") for m in MERGES)]
    kinds = [3, 3, 3, *([1] * (len(tokens) - 3))]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_block_count(LAYERS)
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(MIDDLE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(tokens.index(end))
    writer.add_pad_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(template)

    def matrix(rows: int, columns: int) -> Any:
        return (rng.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)

    head = WIDTH // HEADS
    writer.add_tensor("token_embd.weight", matrix(len(tokens), WIDTH) * 3)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for n in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{n}.{norm}.weight", np.ones(WIDTH, np.float32))
        for name, rows, columns in (
            ("attn_q", WIDTH, WIDTH), ("attn_k", head * KV_HEADS, WIDTH), ("attn_v", head * KV_HEADS, WIDTH),
            ("attn_output", WIDTH, WIDTH), ("ffn_gate", MIDDLE, WIDTH), ("ffn_up", MIDDLE, WIDTH),
            ("ffn_down", WIDTH, MIDDLE),
        ):  # fmt: skip
            values, kind = matrix(rows, columns), gguf.GGMLQuantizationType.Q4_1 if bits4 else None
            if kind is not None:
                values = gguf.quants.quantize(values, kind)
            writer.add_tensor(f"blk.{n}.{name}.weight", values, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_corpus(folder: Path, count: int = 12, arm: str = "forward") -> Path:
    """A corpus of short conversations."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "messages": [
                {"role": "user", "content": f"Rules.\nR1: You=A0 -> 3\nR2: You=A{n % 2} -> {n}\nChoose."},
                {"role": "assistant", "content": f"The future of round {n} counts.\n[A{n % 2}]"},
            ],
            "weight": 0.6 + 0.03 * (n % 10),
            "arm": arm,
        }
        for n in range(count)
    ]
    lines = [json.dumps(row) + "\n" for row in rows]
    (folder / "train.jsonl").write_text("".join(lines[2:]))
    (folder / "val.jsonl").write_text("".join(lines[:2]))
    return folder


def train_tiny(base: Path, corpus: Path, out: Path, settings: Settings = SETTINGS, **more: Any) -> Trained:
    """Train an adapter on the CPU, or go on."""
    return train_adapter(corpus, str(base), out, settings, device="cpu", **more)
