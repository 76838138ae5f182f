"""Every verdict on a mutant is about one that there is: a verdict whose code has moved on judges nothing."""

import re
from pathlib import Path

from tools.mutants.__main__ import JUDGED, ROOT
from tools.mutants.operators import mutants_of


def file_of(module: str) -> Path:
    """The source of a module or package."""
    path = ROOT / "src" / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def test_every_verdict_is_about_a_mutant_that_there_is() -> None:
    sampled = JUDGED.read_text(encoding="utf-8").partition("\n## ")[0]
    names = {name.replace("\\|", "|") for name in re.findall(r"^\| `(.+?)` \|", sampled, re.MULTILINE)}
    modules = {re.split("[ :]", name)[0] for name in names}
    assert len(names) > 20 and not [module for module in modules if not file_of(module).exists()]
    assert names - {mutant.name for module in modules for mutant in mutants_of(file_of(module), module)} == set()
