"""Whether every link of the built site leads somewhere, and nothing is fetched from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Links(HTMLParser):
    """The targets and the anchors of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        for name in ("id", "name"):
            if known.get(name):
                self.anchors.add(str(known[name]))
        if tag == "a" and known.get("href"):
            self.links.append(str(known["href"]))
        if tag in ("script", "img", "iframe") and known.get("src"):
            self.loaded.append(str(known["src"]))
        if tag == "link" and known.get("href") and known.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.append(str(known["href"]))


def problems(site: Path) -> list[str]:
    """Broken links, missing anchors and things that a page would fetch from another server."""
    pages: dict[Path, _Links] = {}
    for path in site.rglob("*.html"):
        parser = _Links()
        parser.feed(path.read_text(encoding="utf-8"))
        pages[path.resolve()] = parser
    found = []
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        for link in (*page.links, *page.loaded):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    found.append(f"{where}: loads {link} from elsewhere")
                continue
            if where.name == "404.html":
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{where}: {link} leads nowhere")
                continue
            anchors = pages[target].anchors if target in pages else {parts.fragment}
            named = parts.fragment and not parts.fragment.startswith("__") and link in page.links
            if named and unquote(parts.fragment) not in anchors:
                found.append(f"{where}: {link} names no anchor there")
    return sorted(set(found))
