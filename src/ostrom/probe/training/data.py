"""From a corpus to tokens: examples are read, fitted to a length, and batched by the seed alone."""

import hashlib
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ostrom.ground.errors import UsageError
from ostrom.probe.training.base import Tokens

Truncate = Literal["history", "left"]
TRUNCATE: tuple[str, ...] = ("history", "left")
_ROUND = re.compile(r"^[ \t]*(?:R|Round )(\d+):[^\n]*\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example as tokens; the reply's tokens, with the end token, are learnt."""

    prompt: tuple[int, ...]
    reply: tuple[int, ...]
    weight: float

    @property
    def length(self) -> int:
        """Return the number of tokens of prompt and reply."""
        return len(self.prompt) + len(self.reply)


@dataclass
class Fitted:
    """Encoded examples, and what was shortened or dropped."""

    examples: list[Encoded] = field(default_factory=list)
    shortened: int = 0
    too_long: int = 0


def read_examples(path: Path) -> list[dict[str, Any]]:
    """Return the examples of a corpus file; an invalid line is refused by its number."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); ostrom more corpus writes it") from None
    examples = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            messages, weight = row["messages"], float(row["weight"])
            good = (
                len(messages) > 1
                and messages[-1]["role"] == "assistant"
                and all(isinstance(m["content"], str) and isinstance(m["role"], str) for m in messages)
                and 0 <= weight <= 1e6
            )
        except (ValueError, KeyError, TypeError):
            good = False
        if not good:
            raise UsageError(
                f"{path}: line {number} is no example (needs messages that end with the assistant's, and a weight)"
            )
        examples.append(row)
    return examples


def corpus_hash(folder: Path) -> str:
    """The sha256 over both parts of a corpus."""
    digest = hashlib.sha256()
    for name in ("train.jsonl", "val.jsonl"):
        path = folder / name
        digest.update(hashlib.sha256(path.read_bytes() if path.is_file() else b"").digest())
    return digest.hexdigest()


def encode(rows: Sequence[dict[str, Any]], tokens: Tokens, most: int, truncate: Truncate) -> Fitted:
    """Encode examples, at most ``most`` tokens each.

    ``history`` drops the oldest lines of the past from the prompt until it fits (what cannot fit is left out and
    counted); ``left`` cuts tokens from the left as Liu et al. (2026) do, which cuts the rules of the game first.
    """
    result = Fitted()
    for row in rows:
        *turns, answer = row["messages"]
        reply = (*tokens.encode(answer["content"]), tokens.end)
        prompt = tokens.encode(tokens.prompt(turns))
        if len(prompt) + len(reply) > most and truncate == "history":
            result.shortened += 1
            for shorter in _without_history(turns):
                prompt = tokens.encode(tokens.prompt(shorter))
                if len(prompt) + len(reply) <= most:
                    break
        elif len(prompt) + len(reply) > most:
            result.shortened += 1
            prompt = prompt[max(0, len(prompt) + len(reply) - most) :]
        if len(prompt) + len(reply) > most or not prompt:
            result.shortened -= 1
            result.too_long += 1
            continue
        result.examples.append(Encoded(tuple(prompt), reply, float(row["weight"])))
    return result


def _without_history(messages: list[dict[str, str]]) -> Iterator[list[dict[str, str]]]:
    """Yield the messages with one more of the oldest rounds removed each time."""
    rounds = sorted({int(m[1]) for message in messages for m in _ROUND.finditer(message["content"])})
    return ([{**message, "content": _since(message["content"], last)} for message in messages] for last in rounds)


def _since(text: str, last: int) -> str:
    """Return the text without lines about rounds up to this one.

    >>> _since("Rules.\\nR1: You=A0\\nR2: You=A1\\nChoose.", 1)
    'Rules.\\nR2: You=A1\\nChoose.'
    """
    return _ROUND.sub(lambda m: "" if int(m[1]) <= last else m[0], text)


def batches(examples: Sequence[Encoded], size: int, micro: int, steps: int, seed: int) -> Iterator[list[list[int]]]:
    """Yield batches, each as a list of micro-batches of example indexes; every epoch is shuffled anew.

    A batch is a random draw, sorted by length before it is cut into micro-batches, so that little is padded.
    """
    queue: list[int] = []
    epoch = 0
    for _ in range(steps):
        while len(queue) < min(size, len(examples)):
            order = list(range(len(examples)))
            random.Random(f"{seed}:{epoch}").shuffle(order)
            queue += order
            epoch += 1
        batch, queue = queue[:size], queue[size:]
        batch.sort(key=lambda i: (examples[i].length, i))
        yield [batch[start : start + micro] for start in range(0, len(batch), micro)]
