"""Renders pages from plain data. Values are escaped: markup, control characters and characters of text direction."""

import math
import re
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

import jinja2
import orjson

from ostrom.features.transcript.transcript import tried
from ostrom.ground.terminal import escaped
from ostrom.ground.version import __version__
from ostrom.reports.words import labels, number, pretty, share, shortened, written

DIGITS = "0123456789"
_SAME = re.compile(r"(.)\1*", re.S)
TOPS = (3, 7, 5, 1, 8)
"""The top of the bars (0 is full height) for the first, second, ... action where a game has no cooperative action."""
MOST_ODDS = 6
"""The most options whose probabilities a page shows."""
SQUARES = 60
"""The most rounds for which a strip has a mark each; a longer strip has one for each stretch of the same action."""


THEMES = {
    "cooperation": "trust and cooperation",
    "defection": "betrayal",
    "forward_looking": "the future",
    "history_following": "what happened before",
    "normative": "duty and fairness",
    "paranoia": "fear and suspicion",
}
"""What the words of each word group are about."""


def draw(template: str, **context: Any) -> str:
    """Render a page, or a part of one, by the name of its template."""
    return environment().get_template(f"view/{template}.html").render(context)


@lru_cache(maxsize=1)
def environment() -> jinja2.Environment:
    """The Jinja environment with the viewer's templates and their filters."""
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("ostrom.web"), autoescape=True, undefined=jinja2.StrictUndefined,
        auto_reload=False, trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: escaped(value) if type(value) is str else value,
    )  # fmt: skip
    env.filters.update(
        number=number, pretty=pretty, written=written, short=shortened, duration=duration, size=size,
        money=money, spark=spark, compact=compact, address=address, lanes=lanes, model=model, levels=levels,
        tried=tried, paid=payment, odds=odds,
        theme=lambda group: f"about {THEMES.get(group, pretty(group))}",
    )  # fmt: skip
    env.globals.update(version=__version__, query=query, without=without)
    return env


def address(name: str) -> str:
    """A name, quoted as one segment of a URL.

    >>> address("a/b c")
    'a%2Fb%20c'
    """
    return quote(name, safe="")


def levels(cell: Any) -> str:
    """The levels of a cell in words.

    >>> levels({"history_length": 3, "style": "direct"})
    'history length 3, style direct'
    """
    return ", ".join(f"{pretty(str(name))} {written(level)}" for name, level in cell.items())


def query(values: Any, **changes: Any) -> str:
    """The query of a URL with some values changed; a value of None is removed.

    >>> query([("a", "1"), ("b", "2")], b=None, c=3)
    '?a=1&c=3'
    """
    pairs = [(k, v) for k, v in (values.items() if hasattr(values, "items") else values) if k not in changes]
    pairs += [(name, str(value)) for name, value in changes.items() if value is not None]
    return "?" + urlencode(pairs)


def without(values: Any, names: Any) -> str:
    """The query of a URL without the values under these names.

    >>> without([("a", "1"), ("b", "2")], ["a"])
    '?b=2'
    """
    return query(values, **dict.fromkeys(names))


def duration(seconds: float | None) -> str:
    """A number of seconds as text with its units.

    >>> duration(75), duration(4000), duration(200_000), duration(0.26), duration(None), duration(2e-5)
    ('1 min 15 s', '1 h 06 min', '2 d 7 h', '0.26 s', '–', 'under 0.01 s')
    """
    if seconds is None:
        return "–"
    total = int(seconds)
    words = {
        0.01: "under 0.01 s",
        10: f"{seconds:.2g} s",
        60: f"{total} s",
        3600: f"{total // 60} min {total % 60:02d} s",
        86400: f"{total // 3600} h {total % 3600 // 60:02d} min",
        math.inf: f"{total // 86400} d {total % 86400 // 3600} h",
    }
    return next(text for limit, text in words.items() if seconds < limit)


def size(count: int) -> str:
    """A number of bytes as text with its unit.

    >>> size(900), size(12_345), size(3_400_000_000)
    ('900 B', '12.3 kB', '3.4 GB')
    """
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def compact(count: float | None) -> str:
    """A large number as short text.

    >>> compact(950), compact(12_345), compact(3_400_000), compact(None)
    ('950', '12.3 k', '3.40 M', '–')
    """
    if count is None:
        return "–"
    if count < 1000:
        return f"{count:,.0f}"
    if count < 1_000_000:
        return f"{count / 1000:.1f} k"
    return f"{count / 1e6:.2f} M" if count < 1e9 else f"{count / 1e9:.2f} G"


def model(name: Any) -> str:
    """The name of a model or an agent on pages, without the address of its server.

    >>> model("http://127.0.0.1:8000/v1#llama-8b")
    'llama-8b'
    """
    return labels([name], 44)[name]


def money(usd: float | None) -> str:
    """Dollars as text; sums below 10 cents have two significant digits.

    >>> money(12.5), money(0.00123), money(0), money(None)
    ('$12.50', '$0.0012', '$0.00', '–')
    """
    return "–" if usd is None else f"${usd:,.2f}" if usd >= 0.1 or not usd else f"${usd:.2g}"


def payment(value: float) -> str:
    """A payment as text: whole numbers as they are, others with two decimals, small ones with two significant digits.

    >>> payment(3.0), payment(1.94553), payment(-0.004), payment(12000)
    ('3', '1.95', '-0.004', '12,000')
    """
    if math.isfinite(value) and value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


def odds(text: str) -> str:
    """The probabilities of a decision (a JSON object) in words, the likeliest first.

    >>> odds('{"defect": 0.25, "cooperate": 0.75}')
    'cooperate 75.0 %, defect 25.0 %'
    """
    try:
        ranked = sorted(orjson.loads(text).items(), key=lambda one: -one[1])
        parts = [f"{pretty(name)} {share(chance)}" for name, chance in ranked[:MOST_ODDS]]
    except (ValueError, TypeError, AttributeError):
        return f"odds {text}"
    return ", ".join(parts) + (f" and {len(ranked) - MOST_ODDS} more" if len(ranked) > MOST_ODDS else "")


def lanes(strip: str) -> list[tuple[str, str]]:
    """The SVG path of each kind of action in a strip: C is full height, D low, others in between, amounts by size.

    >>> lanes("CDab")
    [('c', 'M0 0h.9v10h-.9z'), ('d', 'M1 6h.9v4h-.9z'), ('o', 'M2 3h.9v7h-.9zM3 7h.9v3h-.9z')]
    >>> lanes("09")
    [('o', 'M0 9h.9v1h-.9zM1 0h.9v10h-.9z')]
    """
    paths: dict[str, list[str]] = {"c": [], "d": [], "o": []}
    for same in _SAME.finditer(strip):
        sign, at, length = same[1], same.start(), len(same[0])
        if sign == "·":
            continue
        kind, top = _drawn(sign)
        if len(strip) <= SQUARES:
            paths[kind] += [f"M{at + i} {top}h.9v{10 - top}h-.9z" for i in range(length)]
        else:
            paths[kind].append(f"M{at} {top}h{length}v{10 - top}h-{length}z")
    return [(kind, "".join(pieces)) for kind, pieces in paths.items() if pieces]


@lru_cache(maxsize=1024)
def _drawn(sign: str) -> tuple[str, int]:
    """The kind of an action (c, d, or o for any other) by its sign, and the top of its bar."""
    if sign in "CD":
        return sign.lower(), 0 if sign == "C" else 6
    if sign in DIGITS:
        return "o", 9 - int(sign)
    return "o", TOPS[(ord(sign) - ord("a")) % len(TOPS)] if sign.islower() else 3


def spark(values: Any, width: int = 96, height: int = 24) -> str:
    """The points of a line through these values, for a polyline of this size.

    >>> spark((0, 2, 1), 20, 10)
    '0.0,9.0 10.0,1.0 20.0,5.0'
    """
    most, step = max([*values, 1]), width / max(len(values) - 1, 1)
    return " ".join(f"{i * step:.1f},{height - 1 - (height - 2) * v / most:.1f}" for i, v in enumerate(values))
