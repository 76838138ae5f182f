"""CONTRIBUTING names every package that users install, with the licence that it states itself."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ROWS = {
    row[0]: (row[1], row[2])
    for row in re.findall(r"^\| ([\w-]+) \| [^|]+ \| ([^|]*)\| ([^|]+) \|$",
                          (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.M)
    if row[0] != "package"
}  # fmt: skip


def test_every_package_stands_there_with_its_extras() -> None:
    extras: dict[str, list[str]] = {}
    for extra, lines in {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}.items():
        for line in lines if extra not in ("bench", "dev") else []:
            extras.setdefault(re.split(r"[^\w-]", line)[0], []).append(extra)
    assert {name: row[0].strip() for name, row in ROWS.items()} == {name: ", ".join(of) for name, of in extras.items()}


@pytest.mark.parametrize("name", ROWS)
def test_the_licence_is_the_one_that_the_package_states(name: str) -> None:
    try:
        stated = metadata(name)
    except PackageNotFoundError:
        pytest.skip("is not installed here")
    # What a package states as a whole; the text of a licence may speak of others that it leaves alone.
    stated_as = " ".join([*(stated.get_all("License-Expression") or []), *(stated.get_all("Classifier") or [])])
    text = stated_as + " " + " ".join(stated.get_all("License") or [])
    own, theirs = (
        {family for family in ("MIT", "BSD", "Apache", "Mozilla|MPL") if re.search(family, words)}
        for words in (ROWS[name][1], text)
    )
    assert own & theirs or (not theirs and "Copyright" in text)
    assert "GPL" not in stated_as and "Affero" not in stated_as
