"""Low-rank adapters on linear layers (Hu et al. 2022), saved in the format of peft and converted to GGUF.

Own modules, so that a training machine needs torch and transformers alone. y = W x + (alpha / r) B A dropout(x); A is
drawn on the CPU, the same on every device, and B starts at zero, so that training starts from the base model.

``parity`` compares log-probabilities, to check that the embedded runtime plays the adapter that was trained.

The training writes the likeliest tokens after a few beginnings (``logprobs.json``); the embedded runtime is asked for
the same ones, on the weights in float32, which are those of the training. The four likeliest tokens must be within 0.2
at every place: a right adapter is within 0.02, one that is converted wrongly or not played is off by as much as
training moved it. (On a quantised file the runtime rounds activations to 8 bits, which moves them by about 0.1 at a
place, with an adapter or without.)
"""

import json
import math
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostrom.ground.errors import ModelError, UsageError
from ostrom.ground.files import draft_of, write_atomically
from ostrom.models.embedded.runtime import Load, Runtime
from ostrom.models.embedded.weights import BASE_KEY, GGUF, dequantised, gguf_metadata
from ostrom.probe.training.base import Tokens, needed

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


@dataclass(frozen=True, slots=True)
class Shape:
    """Rank, scale and dropout; the defaults are those of Liu et al. (2026, Appendix I.2)."""

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05


def attach(model: Any, shape: Shape, seed: int) -> dict[str, Any]:
    """Attach an adapter to every target layer; return the new layers by name. ``layer.scale`` 0 disables one."""
    torch = needed("torch")
    nn = torch.nn

    class LoraLinear(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, base: Any, generator: Any) -> None:
            super().__init__()
            self.base, self.scale = base, shape.alpha / shape.rank
            first = torch.empty(shape.rank, base.in_features, dtype=torch.float32)
            nn.init.kaiming_uniform_(first, a=math.sqrt(5), generator=generator)
            device = base.weight.device
            self.lora_A = nn.Parameter(first.to(device))
            self.lora_B = nn.Parameter(torch.zeros(base.out_features, shape.rank, device=device))

        def forward(self, x: Any) -> Any:
            y = self.base(x)
            if not self.scale:
                return y
            dropped = nn.functional.dropout(x, shape.dropout, self.training)
            small = nn.functional.linear(dropped, self.lora_A.to(x.dtype))
            return y + self.scale * nn.functional.linear(small, self.lora_B.to(x.dtype))

    generator = torch.Generator().manual_seed(seed)
    targets = [(n, m) for n, m in model.named_modules() if n.rpartition(".")[2] in TARGETS]
    if not targets or not all(isinstance(m, nn.Linear) for _, m in targets):
        raise UsageError(f"the base has no linear layers named {', '.join(TARGETS)}: it cannot be adapted here")
    layers = {}
    for name, module in targets:
        parent, _, last = name.rpartition(".")
        layers[name] = LoraLinear(module, generator)
        setattr(model.get_submodule(parent), last, layers[name])
    model.train(model.training)  # new layers start in training mode, in which dropout would disturb measurements
    return layers


def tensors(layers: dict[str, Any]) -> dict[str, Any]:
    """Return the trained parameters under peft's names."""
    return {
        f"base_model.model.{name}.{part}.weight": getattr(layer, part)
        for name, layer in layers.items()
        for part in ("lora_A", "lora_B")
    }


def load_into(layers: dict[str, Any], saved: dict[str, Any]) -> None:
    """Set the parameters from tensors named as in ``tensors``."""
    torch = needed("torch")
    own = tensors(layers)
    if set(own) != set(saved):
        raise UsageError("the saved adapter has other layers than this base")
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(saved[name].to(parameter.device, parameter.dtype))


def save(folder: Path, layers: dict[str, Any], shape: Shape, base: str, dtype: str) -> None:
    """Write the adapter in peft's format."""
    torch = needed("torch")
    safetensors = needed("safetensors.torch")
    weights = {n: t.detach().to("cpu", getattr(torch, dtype)).contiguous() for n, t in tensors(layers).items()}
    write_atomically(folder / WEIGHTS, safetensors.save(weights, metadata={"format": "pt"}), sync=True)
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": shape.rank,
        "lora_alpha": shape.alpha,
        "lora_dropout": shape.dropout,
        "target_modules": list(TARGETS),
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
    }
    write_atomically(folder / CONFIG, (json.dumps(config, indent=2) + "\n").encode(), sync=True)


def read(folder: Path) -> dict[str, Any]:
    """The tensors of a saved adapter."""
    return dict(needed("safetensors.torch").load_file(str(folder / WEIGHTS)))


_NAME = re.compile(r"base_model\.model\.(?P<module>.+)\.(?P<part>lora_[AB])\.weight")
_PERMUTED = re.compile(r"\.(?:q_proj|k_proj)$")


def to_gguf(folder: Path, base: Path, base_sha256: str, alpha: float) -> Path:
    """Write ``adapter.gguf`` beside the peft adapter, for the GGUF file that is its base.

    Llama-like files hold the rows of q and k in another order (for their rotary embedding), so B, whose rows are the
    same outputs, is permuted like them.
    """
    gguf = needed("gguf")
    header = gguf_metadata(base)
    architecture = str(header["general.architecture"])
    arch_kinds = {name: kind for kind, name in gguf.MODEL_ARCH_NAMES.items()}
    if architecture not in arch_kinds:
        raise UsageError(f"{base}: adapters for the architecture {architecture} cannot be converted")
    names = gguf.get_tensor_name_map(arch_kinds[architecture], int(header[f"{architecture}.block_count"]))
    heads = int(header[f"{architecture}.attention.head_count"])
    kv_heads = int(header.get(f"{architecture}.attention.head_count_kv", heads))
    path = folder / GGUF
    draft = draft_of(path)
    writer = gguf.GGUFWriter(str(draft), architecture)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, float(alpha))
    writer.add_string(BASE_KEY, base_sha256)
    for name, tensor in sorted(read(folder).items()):
        parsed = _NAME.fullmatch(name)
        target = names.get_name(f"{parsed['module']}.weight", try_suffixes=(".weight",)) if parsed else None
        if parsed is None or target is None:
            raise UsageError(f"{folder}: {name} has no place in a GGUF file of the architecture {architecture}")
        values = tensor.float().numpy()
        if architecture == "llama" and parsed["part"] == "lora_B" and _PERMUTED.search(parsed["module"]):
            values = permuted(values, heads if parsed["module"].endswith("q_proj") else kv_heads)
        writer.add_tensor(f"{target}.{parsed['part'].lower()}", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    draft.replace(path)
    return path


def permuted(rows: Any, heads: int) -> Any:
    """Reorder rows from transformers (two halves per head) to llama.cpp (pairs).

    >>> import numpy as np
    >>> permuted(np.arange(8)[:, None], 2).ravel().tolist()
    [0, 2, 1, 3, 4, 6, 5, 7]
    """
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


PROBES = "logprobs.json"
EXAMPLES, WRITTEN = 2, 8
PLACES = (0, 8)
"""The positions in the reply, in tokens, at which logprobs are recorded."""


def write_probes(
    folder: Path, model: Any, layers: dict[str, Any], tokens: Tokens, rows: Sequence[dict[str, Any]], most: int
) -> None:
    """Write the likeliest tokens after a few reply prefixes, with and without the adapter."""
    probes = []
    for row in rows[:EXAMPLES]:
        *turns, answer = row["messages"]
        prompt = tokens.encode(tokens.prompt(turns))
        reply = tokens.encode(answer["content"])
        for place in PLACES:
            beginning = tokens.tokenizer.decode(reply[:place])
            # A prefix that tokenizes differently (or is stripped) cannot be compared.
            if place >= len(reply) or len(prompt) + place > most or beginning != beginning.rstrip():
                continue
            if tokens.encode(beginning) != reply[:place] and place:
                continue
            ids = [*prompt, *reply[:place]]
            with_adapter = _top(model, tokens, ids)
            scales = {name: layer.scale for name, layer in layers.items()}
            for layer in layers.values():
                layer.scale = 0.0
            without = _top(model, tokens, ids)
            for name, layer in layers.items():
                layer.scale = scales[name]
            probes.append({"messages": turns, "begun": beginning, "adapter": with_adapter, "base": without})
    write_atomically(folder / PROBES, (json.dumps(probes, indent=1, ensure_ascii=False) + "\n").encode())


def _top(model: Any, tokens: Tokens, ids: list[int]) -> list[list[Any]]:
    """Return id, text and log-probability of the likeliest tokens."""
    torch = needed("torch")
    device = next(model.parameters()).device
    with torch.no_grad():
        decoder = getattr(model, model.base_model_prefix)
        hidden = decoder(input_ids=torch.tensor([ids], device=device), use_cache=False).last_hidden_state[0, -1]
        best = torch.topk(torch.log_softmax(model.get_output_embeddings()(hidden).float(), -1), WRITTEN)
    return [
        [i, tokens.tokenizer.decode([i]), round(v, 4)]
        for i, v in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


TOP, TOLERANCE, TOKENS = 4, 0.2, 64


@dataclass(frozen=True, slots=True)
class Parity:
    """The largest difference in log-probability over the four likeliest tokens of all positions."""

    places: int
    adapter: float
    """The difference between runtime and training, with the adapter."""
    base: float
    """The difference without the adapter."""
    moved: float
    """The adapter's effect on the same tokens in training: a similar difference means that it is not applied."""

    @property
    def held(self) -> bool:
        """Return whether the runtime applies the adapter as trained."""
        return self.adapter <= TOLERANCE


def parity(folder: Path, adapter: Path, model: Path, threads: int = 2) -> Parity:
    """Query the embedded runtime at every position of ``logprobs.json``; without the adapter at the first."""
    try:
        places: list[dict[str, Any]] = json.loads((folder / PROBES).read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / PROBES}: cannot be read ({type(error).__name__})") from None
    if not places:
        raise UsageError(f"{folder / PROBES}: names no place to compare at")
    runtime = Runtime(Load(dequantised(model), 1, threads, 4096, keep_prompts=False), [adapter])
    try:
        tuned = max(_difference(place["adapter"], _token_chances(runtime, place, 1.0)) for place in places)
        base = _difference(places[0]["base"], _token_chances(runtime, places[0], 0.0))
    finally:
        runtime.close()
    return Parity(
        len(places), tuned, base, max(_difference(p["adapter"], {i: v for i, _, v in p["base"]}) for p in places)
    )


def read_parity(path: Path) -> Parity | None:
    """Return the stored result; None if there is none."""
    try:
        return Parity(**json.loads(path.read_bytes())) if path.is_file() else None
    except (ValueError, TypeError):
        return None


def _difference(trained: Sequence[Sequence[Any]], logprobs: dict[int, float]) -> float:
    """Return the largest difference; an unreported token counts at most as likely as the least reported."""
    least = min(logprobs.values())
    return max(abs(float(value) - logprobs.get(token, least)) for token, _, value in trained[:TOP])


def _token_chances(runtime: Runtime, place: dict[str, Any], scale: float) -> dict[int, float]:
    begun = [{"role": "assistant", "content": place["begun"]}] if place["begun"] else []
    pieces: list[dict[str, Any]] = []
    body = {
        "messages": [*place["messages"], *begun], "max_tokens": 1, "temperature": 0.0, "logprobs": True,
        "top_logprobs": TOKENS, "cache_prompt": False, "lora": [{"id": 0, "scale": scale}],
    }  # fmt: skip
    runtime.chat(body, threading.Event(), pieces.append)
    for piece in pieces:
        if "error" in piece:
            raise ModelError(f"the runtime refused: {piece['error']}")
        for choice in piece.get("choices") or ():
            for token in (choice.get("logprobs") or {}).get("content") or ():
                return {int(one["id"]): float(one["logprob"]) for one in token["top_logprobs"]}
    raise ModelError("the runtime gave no log-probabilities")
