"""Does this runtime play the adapter that was trained? Its log-probabilities against those of the training.

The training writes the likeliest tokens after a few beginnings (``logprobs.json``); the embedded runtime is asked for
the same ones. Quantised arithmetic differs a little: over the four likeliest tokens by about 0.1 at a place, and by up
to 0.2 at the worst of a dozen places without any adapter. So the median place must be within 0.2 and the worst within
0.4; an adapter that is converted wrongly or not played is off by as much as training moved it.
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
from ostrom.models.embedded.runtime import Load, Runtime
from ostrom.probe.training.probes import PROBES

TOP, TOLERANCE, WORST, ASKED = 4, 0.2, 0.4, 64


@dataclass(frozen=True, slots=True)
class Parity:
    """The largest difference over the four likeliest tokens of every place."""

    places: int
    base: float
    """At the worst place without the adapter: what quantised arithmetic alone makes of it."""
    adapter: float
    """At the worst place with it."""
    median: float
    """At the median place with it."""
    moved: float
    """How far the adapter moved the same tokens in training: a difference near this means that it is not played."""

    @property
    def held(self) -> bool:
        """Whether the adapter plays as it was trained."""
        return self.median <= TOLERANCE and self.adapter <= WORST


def parity(folder: Path, adapter: Path, model: Path, threads: int = 2) -> Parity:
    """Ask the embedded runtime for every place of ``logprobs.json``, with scale 1 and scale 0."""
    try:
        places: list[dict[str, Any]] = json.loads((folder / PROBES).read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / PROBES}: cannot be read ({type(error).__name__})") from None
    if not places:
        raise UsageError(f"{folder / PROBES}: names no place to compare at")
    runtime = Runtime(Load(model, 1, threads, 4096, keep_prompts=False), [adapter])
    found: dict[str, list[float]] = {"adapter": [], "base": []}
    moved = 0.0
    try:
        for place in places:
            for arm, scale in (("adapter", 1.0), ("base", 0.0)):
                found[arm].append(_difference(place[arm], _asked(runtime, place, scale)))
            moved = max(moved, _difference(place["adapter"], {i: v for i, _, v in place["base"]}))
    finally:
        runtime.close()
    return Parity(len(places), max(found["base"]), max(found["adapter"]), median(found["adapter"]), moved)


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
