"""Log-probabilities at a few places, so that another runtime can prove that it plays the same adapter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ostrom.ground.files import write_whole
from ostrom.probe.training.base import Tokens
from ostrom.probe.training.packages import needed

PROBES = "logprobs.json"
EXAMPLES, TOP = 2, 8
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
        best = torch.topk(odds, TOP)
    return [
        [i, tokens.tokenizer.decode([i]), round(v, 4)]
        for i, v in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]
