"""Does this runtime play the adapter that was trained? Its log-probabilities against those of the training.

The training writes the likeliest tokens after a few beginnings (``logprobs.json``); the embedded runtime is asked for
the same ones, on the weights in float32, which are those of the training. The four likeliest tokens must be within 0.2
at every place: a right adapter is within 0.02, one that is converted wrongly or not played is off by as much as
training moved it. (On a quantised file the runtime rounds activations to 8 bits, which moves them by about 0.1 at a
place, with an adapter or without.)
"""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostrom.ground.errors import ModelError, UsageError
from ostrom.ground.files import write_whole
from ostrom.models.embedded.adapters import dequantised
from ostrom.models.embedded.runtime import Load, Runtime
from ostrom.probe.training.base import Tokens, needed

PROBES = "logprobs.json"
EXAMPLES, WRITTEN = 2, 8
PLACES = (0, 8)
"""After so many tokens of the reply."""


def write_probes(
    folder: Path,
    model: Any,
    layers: dict[str, Any],
    tokens: Tokens,
    rows: Sequence[dict[str, Any]],
    most: int,
) -> None:
    """The likeliest tokens after a few beginnings of replies, with the adapter and without it."""
    found = []
    for row in rows[:EXAMPLES]:
        *told, answer = row["messages"]
        prompt = tokens.encode(tokens.prompt(told))
        reply = tokens.encode(answer["content"])
        for place in PLACES:
            begun = tokens.tokenizer.decode(reply[:place])
            # A beginning that would be cut into other tokens (or that is stripped) cannot be compared.
            if place >= len(reply) or len(prompt) + place > most or begun != begun.rstrip():
                continue
            if tokens.encode(begun) != reply[:place] and place:
                continue
            ids = [*prompt, *reply[:place]]
            with_adapter = _top(model, tokens, ids)
            scales = {name: layer.scale for name, layer in layers.items()}
            for layer in layers.values():
                layer.scale = 0.0
            without = _top(model, tokens, ids)
            for name, layer in layers.items():
                layer.scale = scales[name]
            found.append({"messages": told, "begun": begun, "adapter": with_adapter, "base": without})
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    write_whole(folder / PROBES, text.encode())


def _top(model: Any, tokens: Tokens, ids: list[int]) -> list[list[Any]]:
    """Number, text and log-probability of the likeliest tokens."""
    torch = needed("torch")
    device = next(model.parameters()).device
    with torch.no_grad():
        decoder = getattr(model, model.base_model_prefix)
        hidden = decoder(input_ids=torch.tensor([ids], device=device), use_cache=False).last_hidden_state[
            0, -1
        ]
        odds = torch.log_softmax(model.get_output_embeddings()(hidden).float(), -1)
        best = torch.topk(odds, WRITTEN)
    return [
        [i, tokens.tokenizer.decode([i]), round(v, 4)]
        for i, v in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


TOP, TOLERANCE, ASKED = 4, 0.2, 64


@dataclass(frozen=True, slots=True)
class Parity:
    """The largest difference over the four likeliest tokens of all places."""

    places: int
    adapter: float
    """Between the runtime and the training, with the adapter."""
    base: float
    """The same without it."""
    moved: float
    """How far the adapter moved the same tokens in training: a difference near this means that it is not played."""

    @property
    def held(self) -> bool:
        """Whether the adapter plays as it was trained."""
        return self.adapter <= TOLERANCE


def parity(folder: Path, adapter: Path, model: Path, threads: int = 2) -> Parity:
    """Ask the embedded runtime at every place of ``logprobs.json``; without the adapter at the first one."""
    try:
        places: list[dict[str, Any]] = json.loads((folder / PROBES).read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / PROBES}: cannot be read ({type(error).__name__})") from None
    if not places:
        raise UsageError(f"{folder / PROBES}: names no place to compare at")
    runtime = Runtime(Load(dequantised(model), 1, threads, 4096, keep_prompts=False), [adapter])
    try:
        tuned = max(_difference(place["adapter"], _asked(runtime, place, 1.0)) for place in places)
        base = _difference(places[0]["base"], _asked(runtime, places[0], 0.0))
    finally:
        runtime.close()
    moved = max(_difference(p["adapter"], {i: v for i, _, v in p["base"]}) for p in places)
    return Parity(len(places), tuned, base, moved)


def read_parity(path: Path) -> Parity | None:
    """What was found and kept; None where nothing was."""
    try:
        return Parity(**json.loads(path.read_bytes())) if path.is_file() else None
    except (ValueError, TypeError):
        return None


def _difference(trained: Sequence[Sequence[Any]], found: dict[int, float]) -> float:
    """The largest difference; a token that is not among those reported is at most as likely as the least of them."""
    least = min(found.values())
    return max(abs(float(value) - found.get(token, least)) for token, _, value in trained[:TOP])


def _asked(runtime: Runtime, place: dict[str, Any], scale: float) -> dict[int, float]:
    messages = list(place["messages"])
    if place["begun"]:
        messages.append({"role": "assistant", "content": place["begun"]})
    pieces: list[dict[str, Any]] = []
    body = {
        "messages": messages, "max_tokens": 1, "temperature": 0.0, "logprobs": True, "top_logprobs": ASKED,
        "cache_prompt": False, "lora": [{"id": 0, "scale": scale}],
    }  # fmt: skip
    runtime.chat(body, threading.Event(), pieces.append)
    for piece in pieces:
        if "error" in piece:
            raise ModelError(f"the runtime refused: {piece['error']}")
        for choice in piece.get("choices") or ():
            for token in (choice.get("logprobs") or {}).get("content") or ():
                return {int(one["id"]): float(one["logprob"]) for one in token["top_logprobs"]}
    raise ModelError("the runtime gave no log-probabilities")
