"""A small Markdown for the texts of a study: everything is escaped, and only these marks become markup.

Headings, paragraphs, lists, **strong**, *emphasis*, and links to http, https and mailto addresses.
"""

from __future__ import annotations

import re
from html import escape

from markupsafe import Markup

_LINK = re.compile(r"\[([^\]\[]{1,500})\]\(((?:https?://|mailto:)[^\s()<>\"']{1,1000})\)")
_STRONG = re.compile(r"\*\*(?=\S)(.{1,2000}?)(?<=\S)\*\*")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]{1,2000}?)(?<=\S)\*(?![\w*])")
_ITEM = re.compile(r"(?:[-*+]|([0-9]{1,3})[.)])\s+")


def render(text: str) -> Markup:
    """A text as markup; it can hold no tag of its own.

    >>> str(render("# Hello <b>\\n\\nYou *may* leave.\\n- one\\n- two"))
    '<h1>Hello &lt;b&gt;</h1>\\n<p>You <em>may</em> leave.</p>\\n<ul>\\n<li>one</li>\\n<li>two</li>\\n</ul>'
    """
    made: list[str] = []
    paragraph: list[str] = []
    items: list[str] = []
    kind = "ul"

    def close() -> None:
        if paragraph:
            made.append(f"<p>{_inline(' '.join(paragraph))}</p>")
            paragraph.clear()
        if items:
            made.append(
                "\n".join((f"<{kind}>", *(f"<li>{_inline(item)}</li>" for item in items), f"</{kind}>"))
            )
            items.clear()

    for raw in text.replace("\r\n", "\n").split("\n"):
        line = raw.strip()
        level = len(line) - len(line.lstrip("#"))
        item = _ITEM.match(line)
        if not line:
            close()
        elif 1 <= level <= 4 and line[level : level + 1] == " ":
            close()
            made.append(f"<h{level}>{_inline(line[level:].strip())}</h{level}>")
        elif item is not None:
            found = "ul" if item[1] is None else "ol"
            if paragraph or (items and found != kind):
                close()
            kind = found
            items.append(line[item.end() :])
        elif items and raw[:1] in (" ", "\t"):
            items[-1] += f" {line}"
        else:
            if items:
                close()
            paragraph.append(line)
    close()
    return Markup("\n".join(made))


def _inline(text: str) -> str:
    pieces, place = [], 0
    for link in _LINK.finditer(text):
        pieces += [_marked(text[place : link.start()])]
        pieces += [f'<a href="{escape(link[2])}" rel="noreferrer">{_marked(link[1])}</a>']
        place = link.end()
    return "".join([*pieces, _marked(text[place:])])


def _marked(text: str) -> str:
    return _EMPHASIS.sub(r"<em>\1</em>", _STRONG.sub(r"<strong>\1</strong>", escape(text)))
