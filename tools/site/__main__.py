"""`make docs`: build the site into ``site/``; exit code 1 where a link leads nowhere or a page loads from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tools.site import gallery, reference
from tools.site.links import problems

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = f"{PROJECT['urls']['Repository']}/blob/main"
WORK = ROOT / ".site"
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def main() -> None:
    """Collect pages, build, check."""
    shutil.rmtree(WORK, ignore_errors=True)
    pages = WORK / "docs"
    shutil.copytree(ROOT / "docs", pages)
    (pages / "changelog.md").write_text((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), encoding="utf-8")
    for path in pages.rglob("*.md"):
        home = ROOT / "docs" if path.name != "changelog.md" else ROOT
        path.write_text(
            _linked(path.read_text(encoding="utf-8"), home / path.relative_to(pages).parent), encoding="utf-8"
        )
    (pages / "reference").mkdir()
    for name, text in reference.pages().items():
        (pages / "reference" / f"{name}.md").write_text(text, encoding="utf-8")
    (pages / "gallery").mkdir()
    (pages / "gallery" / "index.md").write_text(gallery.build(WORK / "gallery", WORK), encoding="utf-8")
    shutil.copy(ROOT / "zensical.toml", WORK / "zensical.toml")
    subprocess.run([sys.executable, "-m", "zensical", "build", "--clean"], cwd=WORK, check=True)
    shutil.rmtree(ROOT / "site", ignore_errors=True)
    shutil.move(WORK / "site", ROOT / "site")
    # Beside the pages, not among them: the reports hold Markdown tables that must stay as they are.
    shutil.copytree(WORK / "gallery", ROOT / "site" / "gallery", dirs_exist_ok=True)
    found = problems(ROOT / "site")
    sys.stderr.write("".join(f"{line}\n" for line in found))
    count = sum(1 for _ in (ROOT / "site").rglob("*.html"))
    sys.stderr.write(f"{count} pages in site/, {len(found)} broken links\n")
    sys.exit(1 if found else 0)


def _linked(text: str, folder: Path) -> str:
    """Links to files that are no pages of the site lead to the repository."""

    def target(found: re.Match[str]) -> str:
        path = (folder / found[1]).resolve()
        docs = ROOT / "docs"
        if path.is_relative_to(docs):
            inside = path.relative_to(docs)
            here = folder.relative_to(docs) if folder.is_relative_to(docs) else Path()
            return f"]({'../' * len(here.parts)}{inside.as_posix()}{found[2] or ''})"
        if path == ROOT / "CHANGELOG.md":
            return f"]({'../' * len(folder.relative_to(docs).parts)}changelog.md{found[2] or ''})"
        return f"]({REPOSITORY}/{path.relative_to(ROOT).as_posix()})" if path.is_relative_to(ROOT) else found[0]

    return LINK.sub(target, text)


if __name__ == "__main__":
    main()
