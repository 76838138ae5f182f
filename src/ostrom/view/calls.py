"""Prompts and replies of one match, read in pieces: a reply may have ten million characters."""

import sqlite3
from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from typing import Any

import orjson

from ostrom.engine.entries import UNREADABLE, resolve_prompt, unpacked
from ostrom.ground.errors import RunError, UsageError

CUT = 20_000
"""The part of a text that a page shows at first, in bytes."""
MOST_LINES = 400
"""The most lines compared one by one; beyond this all count as changed."""
AROUND, LEAST_FOLD = 2, 5
"""Lines shown around a change, and the fewest hidden lines."""
TEXTS = ("reply", "reasoning", "error", "logprobs")
FACTS = (
    "id step player part try at model params reasoning_kind finish tokens_in tokens_out tokens_cached "
    "tokens_reasoning usd version latency source status"
).split()


@dataclass(frozen=True)
class Excerpt:
    """A part of a text: its content, its end, and the length of the text, in bytes."""

    text: str
    end: int
    length: int

    @property
    def rest(self) -> int:
        """Return the number of bytes after this part."""
        return max(0, self.length - self.end)


def piece(raw: bytes, start: int, length: int) -> Excerpt:
    """Return the part from a byte on; a character cut at its end belongs to the next part.

    >>> piece("aé".encode()[:2], 0, 3)
    Excerpt(text='a', end=1, length=3)
    """
    decoder = getincrementaldecoder("utf-8")("replace")
    return Excerpt(
        decoder.decode(raw, final=start + len(raw) >= length), start + len(raw) - len(decoder.getstate()[0]), length
    )


def _column(name: str) -> str:
    """Return SQL for a part of a text and its length; as bytes, because SQLite texts end at a NUL."""
    return f"substr(CAST({name} AS BLOB), ?, ?), length(CAST({name} AS BLOB))"


@dataclass(frozen=True)
class SentMessage:
    """A message of a prompt; ``marks`` are its parts: new since the last prompt, unchanged, or folded."""

    role: str
    content: Excerpt
    marks: list[tuple[str, str]] = field(default_factory=list)
    gone: int = 0
    """The number of lines of the last prompt that are gone."""


@dataclass(frozen=True)
class CallTry:
    """One try at a call."""

    facts: dict[str, Any]
    texts: dict[str, Excerpt]
    messages: list[SentMessage]
    before: int = 0
    """The number of messages repeated from the try before."""

    @property
    def settings(self) -> dict[str, str]:
        """Describe the call's settings, and the source of its reply."""
        params = orjson.loads(self.facts["params"] or "{}")
        options = params.items() if isinstance(params, dict) else ()
        settings = {
            **{name: self.facts[name] for name in ("model", "version", "source")},
            **{str(name): value for name, value in options},
            "begun": datetime.fromtimestamp(self.facts["at"] or 0, UTC).isoformat(" ", "seconds"),
            "call": self.facts["id"],
        }
        return {
            name: value if type(value) is str else orjson.dumps(value).decode()
            for name, value in settings.items()
            if value is not None
        }


def called_decisions(connection: sqlite3.Connection, match: int) -> Iterator[tuple[int, int]]:
    """The steps and players of a match for which a model was called."""
    yield from (
        (step, player + 1)
        for step, player in connection.execute("SELECT DISTINCT step, player FROM calls WHERE unit=?", (match,))
    )


def tries_of(connection: sqlite3.Connection, match: int, step: int, player: int) -> list[CallTry]:
    """Return all tries for one decision, with the new parts of each prompt since this player's last one."""
    names = ", ".join([*FACTS, *map(_column, TEXTS)])
    query = f"SELECT {names} FROM calls WHERE unit=? AND step=? AND player=? ORDER BY id"
    tries: list[CallTry] = []
    sent: list[list[str]] = []
    for row in connection.execute(query, (*(1, CUT) * len(TEXTS), match, step, player - 1)).fetchall():
        facts = {**dict(zip(FACTS, row, strict=False)), "player": player}
        pairs = zip(row[len(FACTS) :: 2], row[len(FACTS) + 1 :: 2], strict=True)
        texts = {
            name: piece(raw, 0, int(size)) for name, (raw, size) in zip(TEXTS, pairs, strict=True) if raw is not None
        }
        messages = prompt_of(connection, facts["id"])
        if sent and messages[: len(sent)] == sent:
            tries.append(CallTry(facts, texts, _marked(messages[len(sent) :], None), len(sent)))
        else:
            tries.append(
                CallTry(facts, texts, _marked(messages, _last_prompt(connection, match, step, player, facts["part"])))
            )
        sent = messages
    return tries


def prompt_of(connection: sqlite3.Connection, call: int) -> list[list[str]]:
    """The messages of one call as [role, content] pairs."""
    row = connection.execute("SELECT prompt, nth FROM calls WHERE id=?", (call,)).fetchone()
    if row is None:
        raise UsageError(f"call {call}: there is no such call")

    def read(package: int) -> list[Any]:
        (texts,) = connection.execute("SELECT texts FROM prompts WHERE id=?", (package,)).fetchone()
        return unpacked(texts)

    try:
        return resolve_prompt(row[0], row[1], read)
    except UNREADABLE as error:
        raise RunError(f"call {call}: its prompt cannot be read: the journal is damaged ({error})") from None


def piece_of(connection: sqlite3.Connection, call: int, name: str, start: int, most: int = CUT) -> Excerpt:
    """Return a part of one text of a call: reply, reasoning, error, logprobs, or prompt.N for a message."""
    if name in TEXTS:
        query = f"SELECT {_column(name)} FROM calls WHERE id=?"
        row = connection.execute(query, (start + 1, most, call)).fetchone()
        if row is None or row[0] is None:
            raise UsageError(f"call {call}: has no {name}")
        return piece(row[0], start, int(row[1]))
    kind, _, nth = name.partition(".")
    if kind != "prompt" or not nth.isdecimal() or len(nth) > 6:
        raise UsageError(f"{name}: is no text of a call (allowed: {', '.join(TEXTS)}, prompt.N)")
    messages = prompt_of(connection, call)
    if int(nth) >= len(messages):
        raise UsageError(f"call {call}: its prompt has {len(messages)} messages")
    content = messages[int(nth)][1].encode("utf-8", "replace")
    return piece(content[start : start + most], start, len(content))


def _last_prompt(
    connection: sqlite3.Connection, match: int, step: int, player: int, part: str
) -> list[list[str]] | None:
    """Return this player's last prompt for the same part of a decision."""
    row = connection.execute(
        "SELECT id FROM calls WHERE unit=? AND step<? AND player=? AND part=? ORDER BY step DESC, id LIMIT 1",
        (match, step, player - 1, part),
    ).fetchone()
    return None if row is None else prompt_of(connection, row[0])


def _marked(messages: list[list[str]], last: list[list[str]] | None) -> list[SentMessage]:
    sent = []
    for i, (role, content) in enumerate(messages):
        raw = content.encode("utf-8", "replace")
        excerpt = piece(raw[:CUT], 0, len(raw))
        marks, gone = [(excerpt.text, "same" if last is None else "new")], 0
        if last is not None and i < len(last) and last[i][0] == role:
            old = last[i][1][:CUT]
            marks, gone = folded(list(changes(old, excerpt.text))), _gone(old, excerpt.text)
        sent.append(SentMessage(role, excerpt, marks, gone))
    return sent


def changes(old: str, new: str) -> Iterator[tuple[str, bool]]:
    """Yield the new text in parts, each with whether the old one lacked it; by lines, then words.

    >>> list(changes("a b c\\nd\\n", "a x c\\nd\\n"))
    [('a ', False), ('x', True), (' c\\nd\\n', False)]
    """
    for fresh, same in groupby(
        (part for part in _line_changes(old.splitlines(keepends=True), new.splitlines(keepends=True)) if part[0]),
        key=itemgetter(1),
    ):
        yield "".join(text for text, _ in same), fresh


def folded(parts: list[tuple[str, bool]]) -> list[tuple[str, str]]:
    """Fold long unchanged stretches of a prompt, except lines around changes.

    >>> [kind for _, kind in folded([("a\\n" * 20, False), ("b", True)])]
    ['fold', 'same', 'new']
    """
    pieces: list[tuple[str, str]] = []
    for i, (text, fresh) in enumerate(parts):
        lines = text.splitlines(keepends=True)
        first, last = (AROUND if i else 0), (AROUND if i + 1 < len(parts) else 0)
        if fresh or len(lines) < first + last + LEAST_FOLD:
            pieces.append((text, "new" if fresh else "same"))
            continue
        before, middle, after = lines[:first], lines[first : len(lines) - last], lines[len(lines) - last :]
        pieces += [("".join(before), "same"), ("".join(middle), "fold"), ("".join(after), "same")]
    return [part for part in pieces if part[0]]


def _line_changes(old: list[str], new: list[str]) -> Iterator[tuple[str, bool]]:
    head, tail = _common(old, new)
    yield "".join(new[:head]), False
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(middle_old), len(middle_new)) > MOST_LINES:
        yield "".join(middle_new), True
    else:
        for tag, a, b, c, d in SequenceMatcher(None, middle_old, middle_new, autojunk=False).get_opcodes():
            if tag == "replace" and b - a == d - c:
                for one, other in zip(middle_old[a:b], middle_new[c:d], strict=True):
                    yield from _word_changes(one, other)
            else:
                yield "".join(middle_new[c:d]), tag != "equal"
    yield "".join(new[len(new) - tail :]), False


def _word_changes(old: str, new: str) -> Iterator[tuple[str, bool]]:
    one, other = old.split(" "), new.split(" ")
    head, tail = _common(one, other)
    if head + tail == 0 or max(len(one), len(other)) > 2000:
        yield new, True
        return
    before, middle, after = other[:head], other[head : len(other) - tail], other[len(other) - tail :]
    yield " ".join(before) + (" " if before and (middle or after) else ""), False
    yield " ".join(middle), True
    yield (" " if middle and after else "") + " ".join(after), False


def _common(old: list[str], new: list[str]) -> tuple[int, int]:
    """Return the number of equal parts at the beginning and at the end."""
    most = min(len(old), len(new))
    head = next((i for i in range(most) if old[i] != new[i]), most)
    rest = most - head
    return head, next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)


def _gone(old: str, new: str) -> int:
    left = set(new.splitlines())
    return sum(line not in left for line in old.splitlines() if line.strip())
