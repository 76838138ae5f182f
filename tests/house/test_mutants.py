"""Verdicts of the tool that tries mutants, and those written down."""

import re
import subprocess
import sys
from pathlib import Path

from tools.mutants.__main__ import JUDGED, ROOT
from tools.mutants.operators import mutants_of


def file_of(module: str) -> Path:
    """The source of a module or package."""
    path = ROOT / "src" / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


TRIAL = """
import ast, time
from dataclasses import replace
from tools.mutants.__main__ import ROOT
from tools.mutants.operators import mutants_of
from tools.mutants.trial import begin
file = ROOT / "src/ostrom/answers/reading.py"
changed = next(m for m in mutants_of(file, "ostrom.answers.reading") if "last_object: if broken is not None" in m.name)
for mutant in (replace(changed, tree=ast.parse(file.read_text())), changed):
    tests = [f"{file.relative_to(ROOT)}::ostrom.answers.reading.last_object", "tests/answers/test_json.py"]
    trial = begin(mutant, tests, 600)
    while (outcome := trial.outcome()) is None:
        time.sleep(0.05)
    print(outcome)
"""


def test_a_module_that_is_not_changed_survives_its_own_doctests_and_other_tests() -> None:
    ran = subprocess.run([sys.executable, "-c", TRIAL], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["survived", "killed"]


def test_every_verdict_is_about_a_mutant_that_there_is() -> None:
    """A verdict whose code has moved on judges nothing."""
    sampled = JUDGED.read_text(encoding="utf-8").partition("\n## ")[0]
    names = {name.replace("\\|", "|") for name in re.findall(r"^\| `(.+?)` \|", sampled, re.MULTILINE)}
    modules = {re.split("[ :]", name)[0] for name in names}
    assert len(names) > 20 and not [module for module in modules if not file_of(module).exists()]
    assert names - {mutant.name for module in modules for mutant in mutants_of(file_of(module), module)} == set()
