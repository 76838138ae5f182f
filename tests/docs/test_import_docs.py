"""The pages on importing and framing say what is there: every key, and examples that work as printed."""

import re
from pathlib import Path
from typing import Any

import yaml
from tools.site import reference

from ostrom.features.importing import import_rounds
from ostrom.features.importing.mapping import Mapping, SeatColumns
from ostrom.framing import Framing
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run

DOCS = Path(__file__).parents[2] / "docs"
IMPORT, FRAMING = ((DOCS / name).read_text(encoding="utf-8") for name in ("import.md", "framing.md"))


KEYS = reference.pages()["keys"]
SAID = {"title", "about", "citation", "report", "disagreements"}
"""Keys that the page leaves to the reference."""


def blocks(text: str) -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)


def mappings() -> list[dict[str, Any]]:
    return [yaml.safe_load(b) for b in blocks(IMPORT) if re.search(r"^(seats|players):", b, re.MULTILINE)]


def test_every_example_of_a_mapping_is_valid() -> None:
    assert len(mappings()) == 3
    for example in mappings():
        Mapping.model_validate(example)


def test_every_key_is_explained() -> None:
    for model in (Mapping, SeatColumns):
        for name in model.model_fields:
            assert f"\n| `{name}` | " in KEYS, name
            assert name in SAID or f"`{name}`" in IMPORT, name


def test_the_long_example_imports_the_columns_it_shows(tmp_path: Path) -> None:
    text = next(b for b in blocks(IMPORT) if "session,period" in b)
    (tmp_path / "map.yaml").write_text(text)
    header = re.search(r"# (session,.*)", text)
    assert header is not None
    rows = ["s1,1,ann,1,1,3", "s1,1,bob,2,1,3", "s1,2,ann,1,0,5", "s1,2,bob,2,1,0"]
    (tmp_path / "long.csv").write_text("\n".join([header[1], *rows]))
    done = import_rounds([tmp_path / "long.csv"], tmp_path / "map.yaml", name="long", runs=tmp_path)
    assert done.disagreements == () and done.rounds == 2
    with open_run("long", tmp_path) as run:
        assert [m["score"] for m in run.rows.matches()] == [4.0, 1.5]


def test_the_framing_factors_of_the_page_can_all_be_crossed() -> None:
    vary = yaml.safe_load(next(b for b in blocks(FRAMING) if b.startswith("vary:")))["vary"]
    study = {"name": "all", "game": "prisoners_dilemma", "agent": {"model": "scripted/x"}, "vary": vary}
    assert StudyPlan(load_study(study)).cells == 6 * 3 * 3 * 3 * 4 * 2 * 2 * 3


def test_the_keys_of_the_framing_page_exist() -> None:
    named = re.findall(r"^\| `(\w+)` \|", FRAMING, re.MULTILINE)
    assert len(named) >= 9 and set(named) <= set(Framing.model_fields)
