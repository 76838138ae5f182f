"""A small Markdown dialect for texts that people read; all markup is escaped.

Only headings, paragraphs, lists, tables, **strong**, *emphasis*, links to http, https and mailto addresses, and
pictures that lie beside the texts become markup.
"""

import re
from collections.abc import Callable
from html import escape

from markupsafe import Markup

PICTURE = re.compile(r"!\[([^\]\[\n]{0,1000})\]\(([^\s()]{0,500})\)")
_LINK = re.compile(r"\[([^\]\[]{1,500})\]\(((?:https?://|mailto:)[^\s()<>\"']{1,1000})\)")
_STRONG = re.compile(r"\*\*(?=\S)(.{1,2000}?)(?<=\S)\*\*")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*]{1,2000}?)(?<=\S)\*(?![\w*])")
_ITEM = re.compile(r"(?:[-*+]|([0-9]{1,3})[.)])\s+")
_RULE = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_BAR = re.compile(r"(?<!\\)\|")

Addresses = Callable[[str], str]
"""A function from a picture's name to its URL."""


def render(text: str, picture: Addresses = lambda name: name) -> Markup:
    """Render a text in simple Markdown as HTML; tags in the text itself are escaped.

    >>> str(render("# Hello <b>\\n\\nYou *may* leave.\\n- one\\n- two"))
    '<h1>Hello &lt;b&gt;</h1>\\n<p>You <em>may</em> leave.</p>\\n<ul>\\n<li>one</li>\\n<li>two</li>\\n</ul>'
    """
    blocks: list[str] = []
    paragraph: list[str] = []
    items: list[str] = []
    kind = "ul"

    def close() -> None:
        if paragraph:
            blocks.append(f"<p>{_inline(' '.join(paragraph), picture)}</p>")
            paragraph.clear()
        if items:
            blocks.append(
                "\n".join((f"<{kind}>", *(f"<li>{_inline(one, picture)}</li>" for one in items), f"</{kind}>"))
            )
            items.clear()

    lines = text.replace("\r\n", "\n").split("\n")
    number = 0
    while number < len(lines):
        raw, number = lines[number], number + 1
        line = raw.strip()
        level = len(line) - len(line.lstrip("#"))
        item = _ITEM.match(line)
        if not line:
            close()
        elif _begins_table(lines, number - 1):
            close()
            end = next((i for i in range(number, len(lines)) if "|" not in lines[i]), len(lines))
            blocks.append(_table([_cells(row) for row in (raw, *lines[number + 1 : end])], picture))
            number = end
        elif 1 <= level <= 4 and line[level : level + 1] == " ":
            close()
            blocks.append(f"<h{level}>{_inline(line[level:].strip(), picture)}</h{level}>")
        elif item is not None:
            sort = "ul" if item[1] is None else "ol"
            if paragraph or (items and sort != kind):
                close()
            kind = sort
            items.append(line[item.end() :])
        elif items and raw[:1] in (" ", "\t"):
            items[-1] += f" {line}"
        else:
            if items:
                close()
            paragraph.append(line)
    close()
    return Markup("\n".join(blocks))


def _begins_table(lines: list[str], at: int) -> bool:
    """Return whether a line is a table header: cells, and below them dashes for as many columns."""
    head, rule = lines[at], lines[at + 1].strip() if at + 1 < len(lines) else ""
    is_table = "|" in head and "|" in rule and len(rule) <= 1000 and _RULE.fullmatch(rule) is not None
    return is_table and len(_cells(head)) == len(_cells(rule))


def _cells(line: str) -> list[str]:
    """The cells of a row.

    >>> _cells("| a | b \\\\| c | |")
    ['a', 'b | c', '']
    """
    line = line.strip().removeprefix("|")
    cells = _BAR.split(line)
    if line.endswith("|") and not line.endswith("\\|"):
        cells.pop()
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _table(rows: list[list[str]], picture: Addresses) -> str:
    """Return a table as HTML; every row has as many cells as the header."""
    head, *body = rows
    top = "".join(f'<th scope="col">{_inline(cell, picture)}</th>' for cell in head)
    filled = ((row + [""] * len(head))[: len(head)] for row in body)
    lines = ("".join(f"<td>{_inline(cell, picture)}</td>" for cell in row) for row in filled)
    start = f'<div class="scroll" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>'
    return "\n".join((start, *(f"<tr>{line}</tr>" for line in lines), "</tbody></table></div>"))


def _inline(text: str, picture: Addresses) -> str:
    before, *rest = PICTURE.split(text)  # then description, name and the text after, for each picture
    images = (
        f'<img src="{escape(picture(name))}" alt="{escape(about)}">{_linked(after)}'
        for about, name, after in zip(rest[::3], rest[1::3], rest[2::3], strict=True)
    )
    return "".join((_linked(before), *images))


def _linked(text: str) -> str:
    before, *rest = _LINK.split(text)  # then words, address and the text after, for each link
    links = (
        f'<a href="{escape(address)}" rel="noreferrer">{_marked(words)}</a>{_marked(after)}'
        for words, address, after in zip(rest[::3], rest[1::3], rest[2::3], strict=True)
    )
    return "".join((_marked(before), *links))


def _marked(text: str) -> str:
    return _EMPHASIS.sub(r"<em>\1</em>", _STRONG.sub(r"<strong>\1</strong>", escape(text)))
