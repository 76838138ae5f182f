"""Renders charts: SVG for the page, SVG, PNG and PDF as files beside it, without a browser or a network.

On a page a chart stands twice, drawn for a wide screen and for a phone; the style of the page shows one of them. The
charts of a large run are drawn in a separate process, while the report computes its next panel: the renderer holds the
interpreter for as long as it draws, so a thread would gain nothing. The process reads one JSON request a line and
writes one JSON answer a line.
"""

import base64
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import orjson
from markupsafe import Markup

from ostrom.ground.errors import OstromError
from ostrom.ground.terminal import escaped, one_line
from ostrom.reports.canvas import PHONE, WIDE, Canvas
from ostrom.reports.theme import INK, LINE, MAIN, PALETTE, QUIET, RULE, colours, config

SCALE = 2.0
"""Pixels of a PNG per pixel of the chart: sharp on paper and on dense screens."""

TONES: Mapping[str, str] = {
    f'="{INK}"': '="var(--ink)"',
    f'="{QUIET}"': '="var(--quiet)"',
    f'="{RULE}"': '="var(--rule)"',
    f'="{LINE}"': '="var(--line)"',
    '="white"': '="var(--paper)"',
    f'="{PALETTE[6].lower()}"': '="var(--grey)"',
    f'="{MAIN.lower()}"': f'="var(--blue, {MAIN})"',
    f'="{PALETTE[5].lower()}"': f'="var(--sky, {PALETTE[5]})"',
    **{
        f'="{tone}"': f'="var(--tone-{round(9 * i / (n - 1))}, {tone})"'
        for n in range(2, 13)
        for i, tone in enumerate(colours(range(n), ordered=True))
    },
}
"""Colours of text, lines and paper become CSS variables, so that a chart works in light and dark mode.

Blue lines have variables that only a dark page sets.
"""

TONE = re.compile("|".join(map(re.escape, TONES)), re.IGNORECASE)
PLACES = re.compile(r' (?:d|transform|x|y|x1|x2|y1|y2|width|height)="[^"]*"')
LONG = re.compile(r"-?\d+\.\d{2,}")
"""A coordinate with more digits than are visible."""
IDS = re.compile(r'(?<=\sid=")(?=[^"])|(?<=url\(#)|(?<=href="#)')
"""Where an id, or a reference to one, begins."""
ROLES = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')
BACKGROUND = re.compile(r'<rect width="[\d.]+" height="[\d.]+" fill="white"\s*/>')

FONT_FILE = "FONTCONFIG_FILE"
LETTER = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><text y="1">x</text></svg>'
"""A drawing of one letter."""

HINT = "a report needs {}: pip install 'ostrom[report]'"


def need_extras() -> None:
    """Raise an error that names a missing package, before any work is done."""
    for name in ("vl_convert", "duckdb", "polars"):
        try:
            __import__(name)
        except ImportError:
            raise OstromError(HINT.format(name.replace("_", "-"))) from None


BINARY_KINDS = ("png", "pdf")
"""Files of a figure in which no text can be replaced."""


class RenderedChart(NamedTuple):
    """A chart as files, and as the markup of a page."""

    svg: str
    png: bytes
    pdf: bytes
    markup: Markup


def render(chart: Any, canvas: Canvas = WIDE) -> tuple[str, bytes]:
    """Render a chart as SVG text and PNG bytes, in the house style."""
    svg = _svg(spec_of(chart, canvas))
    return svg, _png(svg)


def as_pdf(svg: str) -> bytes:
    """Convert a drawing to a PDF page of its size, with searchable text."""
    return bytes(_converter().svg_to_pdf(svg))


def picture(wide: dict[str, Any], narrow: dict[str, Any], prefix: str) -> RenderedChart:
    """Render both specifications of a chart; its ids in a page begin with ``prefix``."""
    svg = _svg(wide)
    return RenderedChart(svg, _png(svg), as_pdf(svg), _shown(svg, wide, narrow, prefix))


def _converter() -> Any:
    """Return the renderer."""
    import vl_convert

    return with_own_fonts(vl_convert)


@lru_cache(2)
def with_own_fonts(converter: Any) -> Any:
    """Return the renderer with its own Liberation Sans instead of an installed one.

    The renderer maps an installed font file into memory again for every letter that it measures, its own font never.
    """
    home = Path(os.environ.get("HOME") or "/")
    roots = [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), home / ".fonts", home / ".local/share/fonts"]
    folders = [folder for root in roots for folder in other_fonts(root)]
    if sys.platform != "linux" or FONT_FILE in os.environ or folders == roots:
        return converter
    with NamedTemporaryFile("w", suffix=".conf", encoding="utf-8") as file:
        named = "".join(f"<dir>{escape(str(folder))}</dir>" for folder in folders)
        file.write(f'<?xml version="1.0"?><fontconfig>{named}</fontconfig>')
        file.flush()
        os.environ[FONT_FILE] = file.name
        try:
            converter.svg_to_png(LETTER)  # fonts are loaded with the first drawing
        finally:
            del os.environ[FONT_FILE]
    return converter


def other_fonts(folder: Path) -> list[Path]:
    """Return the folder itself if it lacks Liberation Sans, else its largest subfolders that lack it."""
    return (
        [folder]
        if not any(folder.rglob("LiberationSans-*"))
        else [font for path in sorted(path for path in folder.iterdir() if path.is_dir()) for font in other_fonts(path)]
    )


@lru_cache(2)
def _png(svg: str) -> bytes:
    """Render a drawing as PNG."""
    return bytes(_converter().svg_to_png(svg, scale=SCALE))


def both_widths(chart: Any, prefix: str, canvas: Canvas = WIDE) -> Markup:
    """Return a chart for a page: one SVG for wide screens and one for phones."""
    wide, narrow = both_specs(chart, canvas)
    return _shown(_svg(wide), wide, narrow, prefix)


def both_specs(chart: Any, canvas: Canvas = WIDE) -> tuple[dict[str, Any], dict[str, Any]]:
    """The specifications of a chart for a canvas and for a phone."""
    return spec_of(chart, canvas), spec_of(chart, Canvas(min(PHONE.width, canvas.width)))


def _shown(svg: str, wide: dict[str, Any], narrow: dict[str, Any], prefix: str) -> Markup:
    if wide == narrow or _width(svg) <= PHONE.width:
        return Markup(for_page(svg, prefix))
    return Markup('<div class="wide">{}</div><div class="narrow">{}</div>').format(
        Markup(for_page(svg, prefix)), Markup(for_page(_svg(narrow), f"{prefix}-n"))
    )


def spec_of(chart: Any, canvas: Canvas = WIDE) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart in the house style."""
    spec = chart.to_dict() if hasattr(chart, "to_dict") else chart(canvas) if callable(chart) else chart
    return {**_printable(spec), "config": config(canvas.size)}


def _svg(spec: dict[str, Any]) -> str:
    return _drawn(as_json(spec).decode())


@lru_cache(6)
def _drawn(spec: str) -> str:
    """Render a specification; results are cached, since a page often has a chart twice in a row."""
    return str(_converter().vegalite_to_svg(spec))


def as_json(spec: dict[str, Any]) -> bytes:
    """Serialize a specification with sorted keys."""
    return orjson.dumps(spec, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_SORT_KEYS)


def _width(svg: str) -> float:
    return float(size[1]) if (size := re.search(r'<svg[^>]*? width="([\d.]+)"', svg)) else 0.0


def _printable(part: Any, cache: dict[str, str] | None = None) -> Any:
    """Escape characters that XML cannot hold: a raw escape character would end the renderer's process.

    ``cache`` holds the texts that were met: the rows of a chart repeat theirs.
    """
    cache = {} if cache is None else cache
    if isinstance(part, str):
        return cache[part] if part in cache else cache.setdefault(part, escaped(part))
    if isinstance(part, dict):
        return {_printable(key, cache): _printable(value, cache) for key, value in part.items()}
    return [_printable(value, cache) for value in part] if isinstance(part, list | tuple) else part


def for_page(svg: str, prefix: str) -> str:
    """Adapt an SVG for a page with others: unique ids, and scaling with the page.

    >>> for_page('<svg width="10" height="5" viewBox="0 0 10 5"><g id="a" clip-path="url(#a)"/></svg>', "f1")
    '<svg width="10" viewBox="0 0 10 5"><g id="f1-a" clip-path="url(#f1-a)"/></svg>'
    >>> for_page('<svg><path d="M1.23456,-0.05"/><text>0.123456</text></svg>', "f1")
    '<svg><path d="M1.2,-0.1"/><text>0.123456</text></svg>'
    """
    svg = BACKGROUND.sub("", svg)
    # The figure has one text alternative; unnamed roles of single marks would be read out as blanks.
    svg = re.sub(r"<[a-z][^>]*>", lambda tag: PLACES.sub(_short, ROLES.sub("", tag[0])), svg)
    svg = TONE.sub(lambda hit: TONES[hit[0].lower()], svg)
    svg = IDS.sub(f"{prefix}-", svg)
    return re.sub(r'(<svg[^>]*? width="[\d.]+") height="[\d.]+"', r"\1", svg, count=1)


def _short(place: re.Match[str]) -> str:
    """Round coordinates to a tenth of a pixel."""
    return LONG.sub(lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), place[0])


MANY = 50_000
"""Journal entries from which a second process saves more time than its start takes."""


class Renderer(AbstractContextManager["Renderer"]):
    """Renders charts one after the other: on request, or ``apart`` in a process that ends with the report."""

    def __init__(self, *, apart: bool) -> None:
        self._thread = ThreadPoolExecutor(1) if apart else None
        self._child: subprocess.Popen[bytes] | None = None

    def draw(self, wide: dict[str, Any], narrow: dict[str, Any], prefix: str) -> Callable[[], RenderedChart]:
        """Start drawing; the returned function waits for the picture."""
        if self._thread is None:
            return lambda: picture(wide, narrow, prefix)
        return self._thread.submit(self._ask, as_json({"wide": wide, "narrow": narrow, "prefix": prefix})).result

    def _ask(self, request: bytes) -> RenderedChart:
        """Send a request to the process and read its answer."""
        if self._child is None:
            self._child = subprocess.Popen(
                [sys.executable, "-c", "from ostrom.reports.figures import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONSAFEPATH": "1"},
            )
        assert self._child.stdin is not None and self._child.stdout is not None
        try:
            self._child.stdin.write(request + b"\n")
            self._child.stdin.flush()
            answer = orjson.loads(self._child.stdout.readline())
        except (OSError, ValueError):
            raise OstromError("the process that draws the charts ended") from None
        if "problem" in answer:
            raise OstromError(answer["problem"])
        png, pdf = (base64.b64decode(answer[kind]) for kind in BINARY_KINDS)
        return RenderedChart(answer["svg"], png, pdf, Markup(answer["markup"]))

    def __exit__(self, *_: object) -> None:
        if self._child is not None:
            self._child.kill()
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
        if self._child is not None:
            self._child.communicate()


def serve_requests(answer: Callable[[Any], Any]) -> None:
    """Answer JSON requests, one a line, until the input ends; an error is answered with its ``problem`` in one line."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of libraries must not mix with answers
    for line in sys.stdin.buffer:
        try:
            reply = answer(orjson.loads(line))
        except Exception as error:
            name = "" if isinstance(error, OstromError) else f"{type(error).__name__}: "
            reply = {"problem": one_line(f"{name}{error}")[:500]}
        try:
            out.write(orjson.dumps(reply, option=orjson.OPT_NON_STR_KEYS, default=str) + b"\n")
            out.flush()
        except BrokenPipeError:  # whoever asked was killed
            os._exit(1)


def _rendered(request: dict[str, Any]) -> dict[str, str]:
    """Render the chart of a request."""
    drawn = picture(**request)
    files = {kind: base64.b64encode(getattr(drawn, kind)).decode() for kind in BINARY_KINDS}
    return {"svg": drawn.svg, "markup": drawn.markup, **files}


def main() -> None:
    """Render charts until the input ends."""
    # Ctrl-C ends it silently, unless the parent process ignores Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve_requests(_rendered)
