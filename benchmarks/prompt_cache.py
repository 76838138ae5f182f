"""How much of the prompts of every built-in study a server could have read from its cache, asked in both ways."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable

from benchmarks.result import Result
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import OstromError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.files import builtin_names
from ostrom.studies.load import load_study
from ostrom.studies.run import play
from ostrom.testing.replies import answer

MATCHES = 6
"""The first so many matches of a study's preset small are played."""
BLOCK = 64
"""Characters that are compared at a time, about 16 tokens."""
LEAST = 4096
"""Characters that a beginning must have to be cached, about the 1,024 tokens that servers ask for."""
REASONS = "The other side has kept to its word so far, and a quarrel would cost both of us more than it brings. " * 4
GROUP = (
    "prompts that a cache could have had (first 6 matches of each study's preset `small`; tokens of 4 characters; "
    "beginnings of at least 1,024 tokens, which OpenAI and most Claude models ask for, in brackets of any length)"
)


def share(prompts: Iterable[str]) -> tuple[float, float]:
    """The share of all prompts that some earlier prompt began with: of any length, and where servers would cache it.

    >>> share(["a" * 6400, "a" * 6400])
    (0.5, 0.5)
    """
    known: set[bytes] = set()
    total = alike = cached = 0
    for prompt in prompts:
        data = prompt.encode()
        digest, same, seen = hashlib.blake2b(digest_size=12), 0, True
        for end in range(BLOCK, len(data) + 1, BLOCK):
            digest.update(data[end - BLOCK : end])
            seen = seen and digest.digest() in known
            same = end if seen else same
            known.add(digest.digest())
        total += len(data)
        alike += same
        cached += same if same >= LEAST else 0
    return (alike / total, cached / total) if total else (0.0, 0.0)


def prompts_of(name: str, conversation: str) -> list[str]:
    """What the models of a study are sent, in order, as one text per call."""
    sent: list[str] = []

    def reply(request: Request) -> str:
        messages = [{"role": m.role, "content": m.content} for m in request.messages]
        sent.append("\n".join(f"{m['role']}: {m['content']}" for m in messages))
        text = answer({"messages": messages, "seed": len(sent)})
        return f"{REASONS}\n{text}" if "First think" in messages[-1]["content"] else text

    register("bench", reply)
    try:
        study = load_study(
            name, preset="small", models=["scripted/bench"], changes=[f"agent.conversation={conversation}"]
        )
        study = study.model_copy(update={"invalid": study.invalid.model_copy(update={"policy": "uniform"})})
        with tempfile.TemporaryDirectory() as folder:
            play(study, runs=folder, options=PlayOptions(limit=MATCHES))
    finally:
        unregister("bench")
    return sent


def measure() -> list[Result]:
    """One line per study: the share in a dialogue, against that in self-contained prompts."""
    results = []
    for name in builtin_names():
        found: dict[str, tuple[float, float] | None] = {}
        why = ""
        for how in ("prompt", "dialogue"):
            try:
                found[how] = share(prompts_of(name, how))
            except OstromError as error:
                found[how], why = None, str(error).partition(" (")[0][:120]
        one, other = found["prompt"], found["dialogue"]
        against = "" if one is None else f"prompt: {one[1]:.0%} (any length {one[0]:.0%})"
        note = why if other is None else f"any length {other[0]:.0%}"
        value = None if other is None else other[1] * 100
        results.append(Result(GROUP, name, value, "% in a dialogue", against, note=note))
    return results
