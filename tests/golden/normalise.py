"""What of an output differs from machine to machine or from day to day, and nothing else.

Each normaliser says why it is there; `test_normalisers.py` holds each against a change that it must not hide.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostrom.ground.version import __version__

DIGITS = 9
"""Significant digits of a number that count: the last bits differ between processors."""


@dataclass(frozen=True)
class Normaliser:
    """A pattern, what stands in its place, and why."""

    name: str
    pattern: str
    replacement: str | Callable[[re.Match[str]], str]
    reason: str

    def __call__(self, text: str) -> str:
        return re.sub(self.pattern, self.replacement, text)


def _rounded(match: re.Match[str]) -> str:
    text = match[0]
    digits = re.sub(r"e.*$", "", text).replace(".", "").lstrip("-0")
    return text if len(digits) <= DIGITS else str(float(f"{float(text):.{DIGITS}g}"))


NORMALISERS = (
    Normaliser(
        "time",
        r"\b20\d\d-[01]\d-[0-3]\d[T ][0-2]\d:[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|\+00:00| UTC)?",
        "TIME",
        "when something was played or written",
    ),
    Normaliser(
        "seconds",
        r"(?<![\w.])(\d+(\.\d+)?) (s|ms|min|seconds?|minutes?)(?= (ago|per call|in all|so far)\b)"
        r"|(?<=\bin )\d+(\.\d+)? s\b",
        "SECONDS",
        "how long the machine took",
    ),
    Normaliser(
        "latency",
        r'(?<="latency": )\d+(\.\d+)?(e-\d+)?|(?<=\nlatency {9})\d+(\.\d+)?',
        "0",
        "how long a call of `ostrom models check` took",
    ),
    Normaliser(
        "progress",
        r"(?m)^\d+/\d+ matches(?: and designs)? · \d+\.\d decisions/s.*\n",
        "",
        "a line every few seconds while a run is played: none where the machine is quick enough",
    ),
    Normaliser(
        "version",
        rf"(?<![\w.]){re.escape(__version__)}(?![\d.])",
        "VERSION",
        "the version that is installed; kept runs name their own",
    ),
    Normaliser(
        "hash",
        r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])([0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"
        r"|(?<=registration )[0-9a-f]{16}\b",
        "HASH",
        "ids that are drawn, and hashes over times, paths and versions, such as that of a registration",
    ),
    Normaliser(
        "person", r"(?<=Your personal code\n)(\s+<p\.code>\s+)[a-z0-9]{10}\b", r"\1PERSON", "codes of people are drawn"
    ),
    Normaliser("port", r"(?<=127\.0\.0\.1:)\d{2,5}\b", "PORT", "ports are drawn by the system"),
    Normaliser(
        "number",
        r"(?<![\w.])-?\d+\.\d+(e[-+]?\d+)?(?![\w.])",
        _rounded,
        f"more than {DIGITS} significant digits of a number are those of a processor",
    ),
)


def normalised(text: str, home: Path) -> str:
    """A text without what differs between machines and days; ``home`` is the folder that it was made in."""
    for place in sorted({str(home), str(home.resolve())}, key=len, reverse=True):
        text = text.replace(place, "HOME")
    for normaliser in NORMALISERS:
        text = normaliser(text)
    return text


def plain(value: Any, digits: int = DIGITS) -> Any:
    """A JSON document whose floats have so many significant digits."""
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {key: plain(part, digits) for key, part in value.items()}
    return [plain(part, digits) for part in value] if isinstance(value, list) else value


def document(text: str) -> str:
    """JSON with one value on a line; short lists of plain values stay on one line."""
    return _written(plain(json.loads(text)), "") + "\n"


def _written(value: Any, margin: str) -> str:
    if isinstance(value, dict | list) and value:
        flat = json.dumps(value, ensure_ascii=False)
        inner = value.values() if isinstance(value, dict) else value
        if len(margin) + len(flat) <= 100 and not any(isinstance(part, dict | list) for part in inner):
            return flat
        deeper = margin + " "
        if isinstance(value, dict):
            lines = [
                f"{deeper}{json.dumps(key, ensure_ascii=False)}: {_written(part, deeper)}"
                for key, part in value.items()
            ]
        else:
            lines = [f"{deeper}{_written(part, deeper)}" for part in value]
        begin, end = "{}" if isinstance(value, dict) else "[]"
        return f"{begin}\n" + ",\n".join(lines) + f"\n{margin}{end}"
    if isinstance(value, str) and len(value) > LONG:
        pieces = [piece for line in value.splitlines(keepends=True) for piece in broken(line)]
        return f"\n{margin} ".join(json.dumps(piece, ensure_ascii=False) for piece in pieces)
    return json.dumps(value, ensure_ascii=False)


LONG = 150
"""Characters of a line of an output, so that a difference is a line that one can read."""


def broken(line: str) -> list[str]:
    """A long line in pieces, each of which ends with a blank or a comma."""
    pieces = [""]
    for part in re.split(r"(?<=[ ,])", line):
        if pieces[-1] and len(pieces[-1]) + len(part) > LONG:
            pieces.append("")
        pieces[-1] += part
    return pieces


def folded(text: str) -> str:
    """A text whose long lines are broken; what follows a break is indented by a mark."""
    return "\n".join("\n    > ".join(broken(line)) if len(line) > LONG else line for line in text.split("\n"))
