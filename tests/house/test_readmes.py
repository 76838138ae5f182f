"""The README of a folder is true: what it names exists, and it names every file."""

import re
from pathlib import Path

import pytest
from tests.house.source import SOURCE

ROOT = SOURCE.parents[1]
READMES = [path for path in sorted(SOURCE.rglob("README.md")) if path.parent.name not in ("prompts", "replications")]
FILE = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:py|yaml|sql|md))`")
PATH = re.compile(r"`((?:tests|docs|view|ground|studies|api|probe|engine|analysis|data|costs)/[\w./-]*)`")
NAMED_APART = {"__init__.py"}
PARTS = {"mappings", "templates", "data", "static", "words"}
"""Folders whose files are parts or data of one kind, named as a whole."""


@pytest.mark.parametrize("readme", READMES, ids=lambda path: str(path.parent.relative_to(SOURCE)))
def test_a_readme_names_what_is_there(readme: Path) -> None:
    text, folder = readme.read_text(encoding="utf-8"), readme.parent
    files = [file for file in folder.rglob("*") if file.suffix in (".py", ".yaml", ".sql") and file.is_file()]
    named = set(FILE.findall(text))
    known = {file.name for file in SOURCE.rglob("*") if file.is_file()}
    for name in sorted(named | set(PATH.findall(text))):
        places = [folder / name, SOURCE / name, SOURCE.parent / name, ROOT / name]
        assert any(map(Path.exists, places)) or ("/" not in name and name in known), f"{readme}: {name} is not there"
    told = {Path(name).name for name in named}
    for file in files:
        apart = file.name in NAMED_APART or PARTS & set(file.relative_to(folder).parts[:-1])
        in_folder = f"`{file.parent.name}`" in text or f"`{file.parent.name}/`" in text
        assert apart or file.name in told or in_folder, f"{readme}: does not name {file.relative_to(folder)}"


def test_a_readme_names_every_user_of_its_folder() -> None:
    """Who deletes a feature finds in its README each source file, test and tool outside that uses it, or its folder."""
    features = [path.parent for path in READMES if path.parent.parent.name == "features"]
    removal = {
        folder.name: {
            name.rstrip("/")
            for name in re.findall("`([^`]+)`", (folder / "README.md").read_text("utf-8").partition("To remove it")[2])
        }
        for folder in features
    }
    user = re.compile(r"\b(?:ostrom|tests)\.features\.(\w+)")
    folders = ("src", "tests", "chaos", "tools", "benchmarks")
    files = [file for folder in folders for kind in ("*.py", "*.yaml") for file in (ROOT / folder).rglob(kind)]
    for file in sorted(files):
        places = [file, *file.parents]
        names = {
            str(place.relative_to(base))
            for base in (SOURCE, ROOT / "src", ROOT)
            for place in places
            if base in place.parents
        }
        for feature in set(user.findall(file.read_text("utf-8"))) & removal.keys():
            inside = {SOURCE / "features" / feature, ROOT / "tests" / "features" / feature} & set(places)
            assert inside or names & removal[feature], f"features/{feature}/README.md: does not name {file}"
