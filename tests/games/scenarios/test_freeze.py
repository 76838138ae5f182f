"""The frozen tables are what the models in the same files give, written by the script in ``tools``."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import ostrom.games.scenarios as package

ROOT = Path(__file__).parents[3]
FILES = sorted(
    file for file in (Path(package.__file__).parent / "families").glob("*/*.yaml") if file.name != "cast.yaml"
)


@pytest.fixture(scope="module")
def freeze() -> ModuleType:
    spec = importlib.util.spec_from_file_location("freeze", ROOT / "tools" / "scenarios" / "freeze.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_shipped_table_is_up_to_date(freeze: ModuleType) -> None:
    assert [file.name for file in FILES if freeze.frozen(file) != file.read_text("utf-8")] == []
    assert len(FILES) == 75


def test_a_changed_effect_changes_the_table_and_nothing_above_it(freeze: ModuleType, tmp_path: Path) -> None:
    source = next(file for file in FILES if file.name == "water_crisis.yaml")
    (tmp_path / "cast.yaml").write_text(source.with_name("cast.yaml").read_text("utf-8"), "utf-8")
    text = source.read_text("utf-8").replace("CLEAN & REGULATE: 6", "CLEAN & REGULATE: 6.5", 1)
    copy = tmp_path / source.name
    copy.write_text(text, "utf-8")
    written = freeze.frozen(copy)
    assert written.split("payoffs:")[0] == text.split("payoffs:")[0]
    before, after = (t.split("payoffs:")[1].splitlines() for t in (text, written))
    changed = [line.split(":")[0].split() for line, old in zip(after, before, strict=True) if line != old]
    assert len(changed) == 4
    assert all(profile[:2] == ["CLEAN", "REGULATE"] for profile in changed)
