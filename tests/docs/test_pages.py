"""The pages are few and short, open with a command, are all listed and linked, and lost nothing that they promised."""

import re
from functools import cache
from pathlib import Path

import pytest
from tools.site import reference

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
GENERATED = {"methods.md": "Written by `make coverage`"}
"""Generated pages that are committed, and the words by which each says so."""
MOST_WORDS, MOST_PAGES, MOST_ON_A_PAGE, MOST_FOR_AGENTS = 28_040, 40, 1_300, 2_000
LISTS = ("docs/index.md", "llms.txt")
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```|^    \S", re.MULTILINE)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


def written() -> list[Path]:
    """The pages that people write."""
    return [path for path in PAGES if name_of(path) not in GENERATED]


@cache
def anchors(path: Path) -> frozenset[str]:
    """What a link may name on a page: its headings, as the site and the repository write them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text_of(path)), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower() for heading in headings)
    return frozenset(re.sub(r"\s+", "-", heading) for heading in plain)


def test_the_pages_are_few_and_short() -> None:
    words = {name_of(path): len(text_of(path).split()) for path in written()}
    assert len(PAGES) <= MOST_PAGES
    assert {name: count for name, count in words.items() if count > MOST_ON_A_PAGE} == {}
    assert sum(words.values()) <= MOST_WORDS, f"{sum(words.values())} words"
    assert len(text_of(ROOT / "AGENTS.md").split()) <= MOST_FOR_AGENTS
    assert all(words in text_of(DOCS / name) for name, words in GENERATED.items())


@pytest.mark.parametrize("path", written(), ids=name_of)
def test_a_page_opens_with_what_most_readers_want(path: Path) -> None:
    """A command, a study or code in the first screen: at most 60 words before it."""
    text = text_of(path)
    block = BLOCK.search(text)
    assert text.startswith("# ") and block, "no title, or no block"
    assert len(re.sub(r"<!--.*?-->", "", text[: block.start()]).split()) <= 60


@pytest.mark.parametrize("listing", LISTS)
def test_every_page_is_listed_with_a_line(listing: str) -> None:
    path = ROOT / listing
    listed = {(path.parent / target).resolve() for target, _ in LINK.findall(text_of(path))}
    assert not [name_of(page) for page in PAGES if page.resolve() not in listed | {DOCS / "index.md"}]
    assert all(len(line) < 200 for line in text_of(path).splitlines() if re.match(r"[*-] \[", line))


@pytest.mark.parametrize(
    "path",
    [
        *PAGES,
        *(
            ROOT / name
            for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md", "CHANGELOG.md", "llms.txt")
        ),
    ],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_links_lead_somewhere_and_never_into_generated_pages(path: Path) -> None:
    problems = []
    for target, anchor in LINK.findall(re.sub(r"`[^`\n]*`", "", FENCED.sub("", text_of(path)))):
        place = (path.parent / target).resolve() if target else path
        if not place.exists():
            problems.append(f"{target} leads nowhere")
        elif anchor and place.suffix == ".md" and anchor not in anchors(place):
            problems.append(f"{target}#{anchor} names no heading")
    assert not problems


def test_names_of_pages_elsewhere_exist() -> None:
    """Help, errors, templates and comments name pages by their path."""
    named = {
        (name, source.relative_to(ROOT).as_posix())
        for folder in ("src", "tests", "tools", "examples", "benchmarks", "chaos")
        for source in (ROOT / folder).rglob("*")
        if source.suffix in {".py", ".yaml", ".md", ".txt", ".html"} and "outputs" not in source.parts
        for name in re.findall(r"\bdocs/([\w/-]+\.md)\b", text_of(source))
    }
    assert named and not {(name, source) for name, source in named if not (DOCS / name).exists()}


def documented() -> list[str]:
    lines = text_of(Path(__file__).with_name("documented.txt")).splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_whatever_was_documented_still_is() -> None:
    """Options, keys, columns, measures and errors that the pages promised before they were shortened."""
    others = ("README.md", "CONTRIBUTING.md", "AGENTS.md", "examples/shards.sh", "examples/shards-kubernetes.yaml")
    pages = [text_of(path) for path in (*PAGES, *(ROOT / name for name in others))]
    text = " ".join(" ".join([*pages, *reference.pages().values()]).split())
    assert len(documented()) > 1_000
    # A literal is found quickly; a pattern that begins with what must not stand before it is tried at every place.
    places = {one: [match.span() for match in re.finditer(re.escape(one), text)] for one in documented()}
    edge = re.compile(r"[\w-]")
    lost = [
        one
        for one, spans in places.items()
        if all(edge.match(text[a - 1 : a]) or edge.match(text, b) for a, b in spans)
    ]
    assert not lost
