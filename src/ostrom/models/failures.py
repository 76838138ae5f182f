"""Converts server failures to errors: status codes, Retry-After, and one readable line."""

import math
import re
import time
from collections.abc import Iterable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from ostrom.ground.errors import (
    AccessRefused,
    ContentRefused,
    ContextExceeded,
    ModelError,
    RateLimited,
    RequestRefused,
    ServerFailed,
    TimedOut,
)
from ostrom.models.redaction import redact

LONGEST = 300
_CONTENT = re.compile(
    r"content[ _-]?(filter|policy|management|exists risk|moderation)|responsible ?ai|moderation_blocked|"
    r"data_?inspection_?failed|invalid_prompt|usage polic|flagged|moderation|safety (system|polic|filter)",
    re.IGNORECASE,
)
"""Patterns for a prompt or reply stopped by a content filter."""
_CONTEXT = re.compile(
    r"context[ _-]?(length|window|size)|(prompt|input|request|messages?) (is|are) too (long|large)|"
    r"too many (input )?tokens|string_above_max_length|request_too_large|maximum (input|prompt) length",
    re.IGNORECASE,
)
"""Patterns for a prompt longer than the model can read."""
_PARAMETER = re.compile(r"(unknown|unsupported|missing|invalid)_(parameter|value|type|field)|param", re.IGNORECASE)

_MEANINGS: dict[int, tuple[type[ModelError], str]] = {
    401: (AccessRefused, "refused the key"),
    402: (AccessRefused, "wants to be paid first"),
    403: (AccessRefused, "refused the key"),
    408: (TimedOut, "gave up waiting"),
    409: (ServerFailed, "failed"),
    413: (ContextExceeded, "cannot read a prompt this long"),
    425: (ServerFailed, "failed"),
}
"""The error class and meaning of a status, whatever the message."""


def from_status(
    status: int, headers: Mapping[str, str], body: bytes, *, who: str, secrets: Iterable[str] = ()
) -> ModelError:
    """The error for a reply whose status is not 2xx.

    >>> from_status(429, {"retry-after": "2"}, b'{"error": {"message": "slow down"}}', who="m").retry_after
    2.0
    """
    return from_document(
        status, json_or_none(body), who=who, secrets=secrets, body=body, retry_after=retry_after(headers)
    )


def from_document(
    status: int,
    document: object,
    *,
    who: str,
    secrets: Iterable[str] = (),
    body: bytes = b"",
    retry_after: float | None = None,
) -> ModelError:
    """Return the error for a status and its JSON; ``body`` is used if that is no object."""
    return make(
        status, who, one_line(message_in(document, body), secrets), code=_code(document), retry_after=retry_after
    )


def from_error_object(error: object, *, who: str, secrets: Iterable[str] = ()) -> ModelError:
    """Return the error for an ``error`` object in a reply with status 200; unclear codes count as 5xx."""
    code = error.get("code") if isinstance(error, dict) else None
    return from_document(
        code if isinstance(code, int) and 400 <= code <= 599 else 500, {"error": error}, who=who, secrets=secrets
    )


def make(status: int, who: str, text: str, *, code: str | None = None, retry_after: float | None = None) -> ModelError:
    """Return the error for an HTTP status and the server's message."""
    kind: type[ModelError]
    match status:
        case 429 if code == "insufficient_quota":
            # The account is empty: waiting does not help, so this is no plain rate limit.
            kind, what = AccessRefused, "the account has no credit left"
        case 429:
            kind = RateLimited
            what = "asks for patience" if retry_after is None else f"asks for patience of {retry_after:,.6g} s"
        case 400 | 403 | 422 | 451 if _is_about(_CONTENT, code, text):
            kind, what = ContentRefused, "refused the content"
        case 400 | 422 if _is_about(_CONTEXT, code, text):
            kind, what = _MEANINGS[413]
        case _ if status >= 500:
            kind, what = ServerFailed, "failed"
        case _ if 300 <= status < 400:
            kind, what = RequestRefused, "redirects elsewhere; set the base URL to the final address"
        case _:
            kind, what = _MEANINGS.get(status, (RequestRefused, "refused the request"))
    return kind(f"{who} {what} ({status}){f': {text}' if text else ''}", status=status, retry_after=retry_after)


def _is_about(pattern: re.Pattern[str], code: str | None, text: str) -> bool:
    """Return whether a refusal is of a kind: by its code, or by its text unless the code blames a parameter."""
    return bool(pattern.search(code or "")) or (bool(pattern.search(text)) and not _PARAMETER.search(code or ""))


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds to wait: ``retry-after-ms``, or ``Retry-After`` as seconds or HTTP date.

    >>> retry_after({"retry-after-ms": "1500"})
    1.5
    >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, now=50.0)
    10.0
    >>> retry_after({"retry-after": "soon"}) is None
    True
    """
    low = {name.lower(): value for name, value in headers.items()}
    if (milliseconds := _seconds(low.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    wish = low.get("retry-after")
    if (seconds := _seconds(wish)) is not None or wish is None:
        return seconds
    if (then := _date(wish)) is None:
        return None
    # Use the server's clock (Date header) if present: the local clock may be wrong.
    return max(0.0, then - (_date(low.get("date", "")) or time.time() if now is None else now))


def message_in(document: object, body: bytes) -> str:
    """Return the server's message from any of the usual places."""
    if not isinstance(document, dict):
        text = body.decode("utf-8", "replace").strip()
        return "an HTML page" if text[:1] == "<" else text
    for name in ("error", "message", "detail", "errors"):
        detail = document.get(name)
        detail = detail[0] if isinstance(detail, list) and detail else detail
        if isinstance(detail, dict):
            detail = detail.get("message") or detail.get("msg") or detail.get("type") or detail.get("code")
        if detail:
            return in_text(detail)
    return ""


def in_text(value: object) -> str:
    """Return a JSON value as text; a text unchanged.

    >>> in_text("slow down"), in_text(502), in_text({"a": [None]})
    ('slow down', '502', '{"a":[null]}')
    """
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # too deeply nested to be written, though it could be read
        return "(nested too deeply to show)"


def one_line(text: str, secrets: Iterable[str] = ()) -> str:
    """Return any text as one short printable line without secrets.

    >>> one_line("two\\nlines\\x1b[31m")
    'two lines [31m'
    """
    # Redact before cutting: a key cut in half would not be recognised.
    printable = "".join(c if c.isprintable() else " " for c in redact(text, secrets)[: 8 * LONGEST])
    clean = " ".join(printable.split())
    return clean if len(clean) <= LONGEST else clean[: LONGEST - 1] + "…"


def json_or_none(body: bytes | str) -> Any:
    """The JSON document in a body; None if the body is not valid JSON."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _code(document: object) -> str | None:
    error = document.get("error") if isinstance(document, dict) else None
    named = error if isinstance(error, dict) else {}
    return next((in_text(named[name]) for name in ("code", "type") if named.get(name)), None)


def _seconds(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _date(text: str) -> float | None:
    """Parse an HTTP date to seconds; without a zone it is UTC."""
    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
