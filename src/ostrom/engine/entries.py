"""The entries of a journal: what is written down, and the statements that write it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from ostrom.answers import Answer
from ostrom.engine.integrity import sealed
from ostrom.engine.prompt_chains import PromptChains
from ostrom.ground.values import value
from ostrom.models.base import Reply, Usage

ANSWER = "INSERT INTO answers VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
QUESTION = "INSERT INTO questions VALUES (?,?,?)"
CALL = "INSERT INTO calls VALUES (NULL" + ",?" * 27 + ")"
PROMPTS = "INSERT INTO prompts VALUES (?,?,?)"
BATCH = "INSERT INTO batches VALUES (NULL,?,?,?,?,?,?)"
PLAY = "INSERT INTO plays VALUES (?,?,?,?)"
UNIT = (
    "INSERT INTO units VALUES (?,?,?,?,?,?,1,?) ON CONFLICT (unit) DO UPDATE SET state=excluded.state, "
    "reason=excluded.reason, steps=excluded.steps, scores=excluded.scores, facts=excluded.facts, "
    "times=times+1, seal=excluded.seal"
)
TOGETHER = 256
"""Most prompts in one package; reading one of them decompresses the package."""

Row = tuple[Any, ...]
Place = tuple[int, int, str]
"""Step, player, part."""
Journaled = tuple[Answer, int, str | None]
"""An answer, the complaints before it, and what was asked where that is known (see ``questions``)."""


@value
class CallRecord:
    """One try at a call, as it is journaled."""

    unit: int
    step: int
    player: int
    part: str
    model: str
    key: bytes
    prompt: bytes
    """JSON list of [role, content] pairs."""
    params: Mapping[str, Any]
    try_: int
    source: str
    at: float
    latency: float
    reply: Reply | None = None
    usd: float | None = None
    error: str | None = None
    status: int | None = None


def answer_columns(answer: Answer) -> Row:
    """The columns of an answer, apart from where it was given."""
    return (
        dump(answer.value),
        answer.reading,
        None if answer.probabilities is None else dump(answer.probabilities),
        answer.note,
        None if answer.facts is None else dump(answer.facts),
    )


def call_rows(
    records: Sequence[CallRecord], first: int, chains: PromptChains
) -> Iterator[tuple[str, list[Row]]]:
    """Statements and sealed rows of tries at calls that are written together.

    Prompts of one run are much alike. Packed together they take a fraction of the space and of the time that
    each would take alone; ``first`` is the number of the first package. Those that go on from earlier ones are
    written as what is new in them (``chains``).
    """
    for number, start in enumerate(range(0, len(records), TOGETHER), first):
        some = records[start : start + TOGETHER]
        prompts = [
            chains.written(record.unit, record.player, record.prompt, number, nth)
            for nth, record in enumerate(some)
        ]
        yield PROMPTS, [sealed((number, packed(prompts)))]
        yield CALL, [sealed(_call_row(record, number, nth)) for nth, record in enumerate(some)]


def _call_row(record: CallRecord, package: int, nth: int) -> Row:
    reply = record.reply
    usage = reply.usage if reply else Usage()
    return (
        record.unit,
        record.step,
        record.player,
        record.part,
        record.try_,
        float(record.at),
        record.model,
        record.key,
        package,
        nth,
        dump({**record.params, "kept_in_cache": usage.kept} if usage.kept else record.params),
        reply.text if reply else None,
        reply.reasoning if reply else None,
        reply.reasoning_kind if reply else None,
        reply.finish if reply else None,
        usage.input,
        usage.output,
        usage.cached,
        usage.reasoning,
        None if record.usd is None else float(record.usd),
        dump(reply.logprobs) if reply and reply.logprobs is not None else None,
        reply.model if reply else None,
        float(record.latency),
        record.source,
        record.error,
        record.status,
    )


def packed(prompts: Sequence[bytes]) -> bytes:
    """Prompts, each a JSON text, as one package.

    >>> unpacked(packed([b'[["user","hi"]]', b'[["user","ho"]]']))[1]
    [['user', 'ho']]
    """
    return zlib.compress(b"[" + b",".join(prompts) + b"]", 1)


def unpacked(package: bytes) -> list[Any]:
    """The prompts of a package as they are written: [role, content] pairs, or see ``prompt_chains``."""
    prompts: list[Any] = orjson.loads(zlib.decompress(package))
    return prompts


def dump(value: Any) -> str:
    """Plain data as canonical JSON text."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY).decode()


def load(text: str | None) -> Any:
    """Plain data from JSON text; None stays None."""
    if text is None:
        return None
    if text[0] == '"' and "\\" not in text:
        return text[1:-1]  # most answers are plain words
    return orjson.loads(text)
