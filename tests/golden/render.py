"""A page as text: its elements as an outline, its words and numbers in their place, one row of a table a line."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from xml.sax.saxutils import escape

from tests.golden.normalise import folded, plain

INLINE = frozenset("a abbr b bdi br cite code em i kbd mark q s small span strong sub sup time u var wbr".split())
VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
SILENT = frozenset(("script", "style"))
SHOWN = (
    "name", "type", "value", "method", "action", "for", "role", "aria-label", "aria-describedby", "aria-live",
    "alt", "title", "required", "checked", "disabled", "selected", "open", "min", "max", "step", "maxlength",
    "pattern", "placeholder", "autocomplete", "lang", "rel", "download", "data-sort", "colspan", "rowspan", "scope",
    "hx-get", "hx-post",
)  # fmt: skip
"""Attributes that a reader or a program meets."""


class Outline(HTMLParser):
    """Collects the lines of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.cells: list[str] | None = None

    @property
    def depth(self) -> int:
        """How deep the next line stands."""
        return sum(tag not in INLINE and tag != "text" for tag in self.open)

    def flush(self) -> None:
        """Write down the text so far."""
        words = " ".join("".join(self.text).split())
        self.text = []
        if not words:
            return
        if self.cells is not None:
            self.cells[-1:] = [f"{self.cells[-1]} {words}".strip()] if self.cells else [words]
        else:
            self.lines.append(f"{'  ' * self.depth}{words}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        values = dict(attrs)
        if tag in INLINE:
            if tag == "br":
                self.text.append(" ")
            elif values.get("href"):
                self.text.append(f" [{values['href']}] ")
            elif tag == "span" and values.get("title"):
                self.text.append(f"({values['title']}) ")
            if tag not in VOID:
                self.open.append(tag)
            return
        if tag in ("td", "th") and self.cells is not None:
            self.flush()
            self.cells.append("")
            self.open.append(tag)
            return
        self.flush()
        if tag == "text":  # a line of a chart
            self.open.append(tag)
            return
        if tag == "tr":
            self.cells = []
            self.open.append(tag)
            return
        if self.cells is not None:
            self.text.append(f"<{tag}{_shown(values)}> ")
        else:
            self.lines.append(f"{'  ' * self.depth}<{tag}{_shown(values)}>")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        if tag not in self.open:
            return
        if tag not in INLINE:
            self.flush()
        elif tag == "a":
            self.text.append(" ")
        while self.open:
            last = self.open.pop()
            if last == "tr" and self.cells is not None:
                self.lines.append(f"{'  ' * self.depth}| {' | '.join(self.cells)} |")
                self.cells = None
            if last == tag:
                break

    def handle_data(self, data: str) -> None:
        """Words."""
        if not self.open or self.open[-1] not in SILENT:
            self.text.append(data)


def _shown(values: dict[str, str | None]) -> str:
    marks = f"#{values['id']}" if values.get("id") else ""
    marks += "".join(f".{name}" for name in (values.get("class") or "").split())
    more = [f" {name}={values[name] or ''}" for name in SHOWN if name in values]
    return marks + "".join(one[:160] for one in more)


def outline(page: str) -> str:
    """The outline of an HTML page."""
    parser = Outline()
    parser.feed(page)
    parser.flush()
    return folded("\n".join(parser.lines) + "\n")


def chart(spec: str | dict[str, Any], **_options: object) -> str:
    """What a chart says instead of its picture: every setting that is no matter of style, and every row of its data."""
    document = json.loads(spec) if isinstance(spec, str) else spec
    lines = "".join(f"<text>{escape(line)}</text>" for line in _settings(plain(document, CHART_DIGITS), ""))
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200" viewBox="0 0 300 200">{lines}</svg>'


CHART_DIGITS = 6
"""Digits of the numbers of a chart, more than anybody can see in one."""
STYLE = ("$schema", "config", "width", "height", "padding", "autosize", "background")


def _settings(part: Any, name: str) -> Iterator[str]:
    if isinstance(part, dict):
        if part and name.endswith("]") and not any(isinstance(value, dict | list) for value in part.values()):
            yield f"{name} {json.dumps(part, ensure_ascii=False)}"
            return
        for key, value in part.items():
            if name or key not in STYLE:
                yield from _settings(value, f"{name}.{key}" if name else key)
    elif isinstance(part, list) and any(isinstance(value, dict) for value in part):
        for number, value in enumerate(part):
            yield from _settings(value, f"{name}[{number}]")
    else:
        yield f"{name}: {json.dumps(part, ensure_ascii=False)}"
