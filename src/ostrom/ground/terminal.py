"""Terminal output: text by models, servers and files is shown escaped, never interpreted.

Control characters (escape sequences that set the clipboard or the title, carriage returns, NUL, C1), characters that
turn the direction of text, invisible ones and lone surrogates are written as ``\\x1b`` or ``\\u202e``; passwords and
keys in URLs are masked. Nothing else in the package writes to stdout or stderr; a house test holds it to that.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from rich.console import Console

# Line ends and tabs stay, and joiners (U+200C, U+200D), which Persian and many emoji need.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
_LOGIN = re.compile(r"(?<=://)[^\s/\"'<>]*@")
_QUERY_KEY = re.compile(r"([?&][\w-]*(?:key|token|secret|password|signature|sig)=)[^&\s\"'<>#]+", re.I)
_json_wanted: ContextVar[bool] = ContextVar("json_wanted", default=False)
_json_options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def escaped(text: str) -> str:
    """Escape everything in a text that a terminal or browser would interpret or hide."""
    return _UNSAFE.sub(_escaped, text)


def escape_controls(text: str) -> str:
    """Escape everything in a text that a terminal would interpret or hide, and mask passwords.

    >>> escape_controls("\\x1b]52;c;aGk=\\x07 a\\u202eb")
    '\\\\x1b]52;c;aGk=\\\\x07 a\\\\u202eb'
    >>> escape_controls("http://me:secret@host/v1?api_key=abc")
    'http://me:***@host/v1?api_key=***'
    """
    return without_passwords(escaped(text))


def one_line(text: str) -> str:
    """The text on one line, escaped and without passwords (``escape_controls``)."""
    return escape_controls(" ".join(text.split()))


def without_passwords(text: str) -> str:
    """The text with passwords and keys in URLs masked."""
    return text if "://" not in text else _QUERY_KEY.sub(r"\1***", _LOGIN.sub(_login, text))


def write(text: object = "", *, end: str = "\n") -> None:
    """Write text to stdout."""
    _put(sys.stdout, escape_controls(str(text)) + end)


def print_stderr(text: object) -> None:
    """Write a message for a person to stderr."""
    _put(sys.stderr, escape_controls(str(text)) + "\n")
    sys.stderr.flush()


@contextmanager
def one_command() -> Iterator[None]:
    """Scope of one command: its ``--json`` ends with it."""
    token = _json_wanted.set(False)
    try:
        yield
    finally:
        _json_wanted.reset(token)


def want_json(wanted: bool) -> None:
    """State whether the command that runs now was called with ``--json``."""
    _json_wanted.set(wanted)


def json_wanted() -> bool:
    """Whether stdout is for a JSON document alone."""
    return _json_wanted.get()


def plain_data(data: Any) -> Any:
    """Return data as its JSON would be read."""
    return orjson.loads(orjson.dumps(data, option=_json_options, default=str))


def write_json(data: Any) -> None:
    """Write JSON to stdout; characters that a terminal would interpret are escaped."""
    text = orjson.dumps(data, option=_json_options, default=str).decode()
    _put(sys.stdout, without_passwords(_UNSAFE.sub(_json_escaped, text)) + "\n")


def ask(question: str) -> str:
    """Read a line from the keyboard; the question goes to stderr, so that stdout holds results alone."""
    _put(sys.stderr, escape_controls(question))
    sys.stderr.flush()
    return input()


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """A console of rich. Give it Text that went through ``escape_controls``, never markup with foreign text in it."""
    from rich.console import Console

    return Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)


def _put(stream: Any, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:  # a terminal that cannot show all of Unicode
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _login(matched: re.Match[str]) -> str:
    user, colon, _ = matched[0].partition(":")
    return f"{user}:***@" if colon else "***@"


def _escaped(matched: re.Match[str]) -> str:
    code = ord(matched[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(matched: re.Match[str]) -> str:
    code = ord(matched[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
