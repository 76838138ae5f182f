"""The documentation site: its menu, its reference, its checker of links, and the notebooks."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from tools.site import reference
from tools.site.__main__ import REPOSITORY, _linked
from tools.site.links import problems

from ostrom.ground.version import __version__

ROOT = Path(__file__).parents[2]
MADE = {"changelog.md", "gallery/index.md", *(f"reference/{name}.md" for name in reference.pages())}


def test_the_menu_holds_every_page_and_nothing_else() -> None:
    settings = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    named = set(re.findall(r"'([\w/.-]+\.md)'", repr(settings["nav"])))
    assert named == MADE | {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert settings["theme"]["font"] is False and "repo_url" not in settings  # both would ask other servers


def test_the_reference_names_every_command_and_part() -> None:
    pages = reference.pages()
    for command in ("ostrom run", "ostrom people RUN bonuses", "ostrom models check", "ostrom more judge"):
        assert f"## {command}\n" in pages["commands"]
    assert "| `--budget-usd` |" in pages["commands"] and "### Run.estimate" in pages["python"]
    assert "| `prisoners_dilemma` |" in pages["games"] and "| `tit_for_tat` |" in pages["strategies"]
    assert "| `cooperation` |" in pages["measures"]
    assert all("<" not in re.sub(r"```.*?```|`[^`]*`", "", page, flags=re.DOTALL) for page in pages.values())


def test_links_to_files_outside_the_docs_lead_to_the_repository() -> None:
    text = _linked("[a](../examples/cooperation.R) [b](data.md#x) [c](../CHANGELOG.md)", ROOT / "docs")
    assert text == f"[a]({REPOSITORY}/examples/cooperation.R) [b](data.md#x) [c](changelog.md)"


def test_the_checker_finds_what_is_broken(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>'
        '<script src="https://cdn.example/x.js"></script><img src="data:image/png;base64,x">'
    )
    (tmp_path / "b.html").write_text('<p id="here"></p>')
    assert problems(tmp_path) == [
        "a.html: b.html#gone names no anchor there",
        "a.html: c.html leads nowhere",
        "a.html: loads https://cdn.example/x.js from elsewhere",
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_were_executed_by_this_version_without_errors(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["metadata"]["ostrom"] == __version__, "make notebooks executes them anew"
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    assert cells and all(cell["execution_count"] for cell in cells)
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert outputs and all(output["output_type"] != "error" for output in outputs)
    for cell in cells:
        compile("".join(cell["source"]), str(path), "exec")
    assert not re.search(r"/(?:home|root|work|tmp)/", path.read_text(encoding="utf-8"))
