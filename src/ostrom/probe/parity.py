"""Does this runtime play the adapter that was trained? Its log-probabilities against those of the training.

The training writes the likeliest tokens after a few beginnings (``logprobs.json``); the embedded runtime is asked for
the same ones, twice. On the weights in float32, which are those of the training, the four likeliest tokens must be
within 0.2 at every place; a right adapter is within 0.02, one that is converted wrongly or not played is off by as much
as training moved it. On the quantised file the runtime rounds activations to 8 bits, which moves them by about 0.1 at a
place with or without an adapter: that is reported and decides nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from ostrom.errors import ModelError, UsageError
from ostrom.models.embedded.dequantise import dequantised
from ostrom.models.embedded.runtime import Load, Runtime
from ostrom.probe.training.probes import PROBES

TOP, TOLERANCE, ASKED = 4, 0.2, 64


@dataclass(frozen=True, slots=True)
class Parity:
    """Differences over the four likeliest tokens of a place."""

    places: int
    exact: float
    """At the worst place with the adapter, on the weights in float32."""
    adapter: float
    """At the worst place with the adapter, on the file as it is."""
    median: float
    """At the median place with the adapter, on the file as it is."""
    base: float
    """At the worst place without the adapter, on the file as it is: what quantised arithmetic alone makes of it."""
    moved: float
    """How far the adapter moved the same tokens in training: a difference near this means that it is not played."""

    @property
    def held(self) -> bool:
        """Whether the adapter plays as it was trained."""
        return self.exact <= TOLERANCE

    @property
    def quantised(self) -> bool:
        """Whether that is so on the quantised file, too."""
        return self.adapter <= TOLERANCE


def parity(folder: Path, adapter: Path, model: Path, threads: int = 2) -> Parity:
    """Ask the embedded runtime for every place of ``logprobs.json``, with the adapter and without it."""
    try:
        places: list[dict[str, Any]] = json.loads((folder / PROBES).read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / PROBES}: cannot be read ({type(error).__name__})") from None
    if not places:
        raise UsageError(f"{folder / PROBES}: names no place to compare at")
    exact = _differences(dequantised(model), adapter, places, threads, ("adapter",))["adapter"]
    found = _differences(model, adapter, places, threads, ("adapter", "base"))
    moved = max(_difference(p["adapter"], {i: v for i, _, v in p["base"]}) for p in places)
    return Parity(
        len(places), max(exact), max(found["adapter"]), median(found["adapter"]), max(found["base"]), moved
    )


def _differences(
    model: Path, adapter: Path, places: Sequence[dict[str, Any]], threads: int, arms: Sequence[str]
) -> dict[str, list[float]]:
    """The difference at every place, by arm."""
    runtime = Runtime(Load(model, 1, threads, 4096, keep_prompts=False), [adapter])
    try:
        return {
            arm: [_difference(p[arm], _asked(runtime, p, float(arm == "adapter"))) for p in places]
            for arm in arms
        }
    finally:
        runtime.close()


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
