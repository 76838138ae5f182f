"""Keeps keys out of everything that is stored or shown.

The rule: a run of at least 16 consecutive characters of a key (of a key with fewer than 20: all but four, and never
fewer than 8) is replaced by ``[key]``, in any case of letters, also with white space in between, percent-encoded or
as JSON or HTML escapes; likewise 48 characters of it in base64 or hexadecimal. Keys with fewer than 8 characters
protect nothing, and masking them in replies could change data: they are masked in error messages only, and only whole.
"""

import base64
import html
import json
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from ostrom.models.base import Reply

MASK = "[key]"
_SHORTEST, _RUN, _ENCODED_RUN, _ANCHOR = 8, 16, 48, 6
_SMALL = bytes(range(256)).lower()
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|gsk|pk|rk|key|xai|hf)[-_][^\s'\"]{6,}|\bBearer\s+[^\s'\"]+", re.I)
_BETWEEN = re.compile(r"[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+")
"""Invisible characters that can be inside a key: white space, and characters of no width."""
_ESCAPE = re.compile(
    r"%([0-9a-f]{2})|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})|&#x([0-9a-f]{1,6});|&#([0-9]{1,7});|\\(.)"
    rf"|({_BETWEEN.pattern})|(.)",
    re.I | re.S,
)
_HAS_ESCAPES = re.compile(rb"%[0-9a-f]{2}|\\u00|\\x[0-9a-f]|&#|\\[^\w\s()[\]{}]")


def redact(text: str, secrets: Iterable[str]) -> str:
    """Remove every secret, and everything that looks like one, from a text.

    >>> redact("Incorrect API key provided: sk-ab****wxyz. key=opensesame", ["opensesame"])
    'Incorrect API key provided: [key] key=[key]'
    """
    real_secrets = tuple(filter(None, secrets))
    text = redactor(real_secrets).clean(text)
    for secret in real_secrets:
        if len(secret) < _SHORTEST:
            text = re.sub(re.escape(secret), MASK, text, flags=re.I)
    return _LOOKS_LIKE_A_KEY.sub(MASK, text)


def environment_secrets() -> tuple[str, ...]:
    """The values of all variables of the environment that are named like keys."""
    return tuple(value for name, value in sorted(os.environ.items()) if name.endswith(("_KEY", "_TOKEN", "_SECRET")))


class Redactor:
    """Finds keys, and long parts of them, in texts; texts without any cost a few substring searches."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._runs: dict[int, set[str]] = {}
        anchors: set[str] = set()
        for form, most in {form for secret in secrets for form in _forms(secret)}:
            length = max(_SHORTEST, min(most, len(form) - 4))
            for start in range(len(form) - length + 1):
                self._runs.setdefault(length, set()).add(form[start : start + length])
            # Any substring of this length of a key contains one of these pieces completely.
            anchors |= {form[i : i + _ANCHOR] for i in range(0, len(form) - _ANCHOR + 1, length - _ANCHOR + 1)}
        self._anchors = tuple(anchor.encode() for anchor in sorted(anchors))

    def __repr__(self) -> str:
        return "<Redactor>"

    def clean(self, text: str) -> str:
        """The text with keys masked."""
        return self._masked(text) if self._suspects(text) else text

    def clean_reply(self, reply: Reply) -> Reply:
        """The reply with keys masked in all of its texts; its facts say so."""
        if not self._anchors:
            return reply
        facts = [fact for fact in reply.facts.values() if isinstance(fact, str)] if reply.facts else ()
        # One check of all texts together: nearly always no key occurs.
        texts = (reply.text, reply.reasoning or "", reply.model or "", reply.id or "", *facts, *(reply.logprobs or ()))
        if not self._suspects("\n".join(texts)):
            return reply
        changed: dict[str, Any] = {
            name: self.clean(value)
            for name in ("text", "reasoning", "model", "id")
            if (value := getattr(reply, name)) is not None
        }
        if reply.logprobs is not None:
            changed["logprobs"] = {self.clean(token): value for token, value in reply.logprobs.items()}
        changed["facts"] = {k: self.clean(v) if isinstance(v, str) else v for k, v in reply.facts.items()}
        clean = replace(reply, **changed)
        return reply if clean == reply else replace(clean, facts={**clean.facts, "redacted": True})

    def _suspects(self, text: str) -> bool:
        """Return whether a text needs a closer check."""
        if not self._anchors or len(text) < _SHORTEST:
            return False
        # One pass lowers case and drops white space; searching bytes is the fastest way in Python.
        if not text.isascii():
            text = _BETWEEN.sub("", text)
        flat = text.encode("utf-8", "surrogatepass").translate(_SMALL, b" \t\n\r\v\f")
        for anchor in self._anchors:
            if anchor in flat:
                return True
        if not (b"%" in flat or b"\\" in flat or b"&#" in flat) or _HAS_ESCAPES.search(flat) is None:
            return False
        plain = _unescaped(text)[0].encode("utf-8", "surrogatepass")
        return any(anchor in plain for anchor in self._anchors)

    def _masked(self, text: str) -> str:
        hidden = bytearray(len(text))
        # Also unmodified: a part of a key may follow an escape (``\`` before a part that begins with x).
        for plain, spans in (_unescaped(text), _as_it_stands(text)):
            for length, runs in self._runs.items():
                for start in range(len(plain) - length + 1):
                    if plain[start : start + length] in runs:
                        first, last = spans[start][0], spans[start + length - 1][1]
                        hidden[first:last] = b"\1" * (last - first)
        pieces, last, place = [], 0, 0
        while (first := hidden.find(1, place)) >= 0:
            place = hidden.find(0, first)
            place = len(hidden) if place < 0 else place
            pieces += [text[last:first], MASK]
            last = place
        return "".join([*pieces, text[last:]])


@lru_cache(maxsize=64)
def redactor(secrets: tuple[str, ...]) -> Redactor:
    """The redactor for these secrets."""
    return Redactor(secrets)


def _forms(secret: str) -> Iterable[tuple[str, int]]:
    """Yield the encoded forms of a key in lower case, and the length that identifies it.

    Keys that are too short yield nothing. An encoding needs more characters for the same part of a key.
    """
    if len(secret) < _SHORTEST:
        return
    data = secret.encode()
    for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1], html.escape(secret)):
        yield "".join(form.lower().split()), _RUN
    yield data.hex(), _ENCODED_RUN
    for shift in range(3):  # base64 depends on the offset of the key in the encoded text
        base64_text = base64.b64encode(bytes(shift) + data).decode().rstrip("=")
        inner = base64_text[(0, 2, 3)[shift] : len(base64_text) - bool((shift + len(data)) % 3)].lower()
        yield inner, _ENCODED_RUN
        yield inner.replace("+", "-").replace("/", "_"), _ENCODED_RUN


def _unescaped(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a text in lower case without escapes and white space, and the position of each character."""
    letters: list[tuple[str, tuple[int, int]]] = []
    for match in _ESCAPE.finditer(text):
        percent, unicode, byte, hexadecimal, decimal, escaped, white, plain = match.groups()
        if white is not None:
            continue
        code = percent or unicode or byte or hexadecimal
        if code is not None or decimal is not None:
            number = int(decimal) if code is None else int(code, 16)
            letter = chr(number) if number < 0x110000 else "\ufffd"
        else:
            letter = escaped or plain
        letters += [(each, match.span()) for each in letter.lower()]
    return "".join(each for each, _ in letters), [span for _, span in letters]


def _as_it_stands(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a text in lower case without white space, and the position of each character."""
    letters = [
        (place, each) for place, letter in enumerate(text) if not _BETWEEN.match(letter) for each in letter.lower()
    ]
    return "".join(each for _, each in letters), [(place, place + 1) for place, _ in letters]
