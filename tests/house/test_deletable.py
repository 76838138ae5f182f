"""A feature can be deleted: in a copy without it, only what its README names is broken."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.house.source import SOURCE

ROOT = SOURCE.parents[1]
FEATURES = sorted(path.parent.name for path in (SOURCE / "features").glob("*/README.md"))
GROUPS = [FEATURES[start::3] for start in range(3)]
"""Features that are deleted together: collecting all tests anew for each of them would take long."""
TABLES = ("ground/commands.py", "ground/moved.py", "studies/extensions.py")
"""Files in which a feature has entries, which a README names and whoever deletes a feature takes out."""
LOADERS = {"src/ostrom/analysis/measure.py", "src/ostrom/reports/declared.py"}
"""Files that import what YAML files name; test_readmes holds those files against the READMEs."""
IMPORTS = """
import importlib, pathlib, sys, traceback
source = pathlib.Path(sys.argv[1])
for path in sorted((source / "ostrom").rglob("*.py")):
    parts = path.relative_to(source).with_suffix("").parts
    if parts[-1] == "__main__" or "integrations" in parts:
        continue
    try:
        importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    except ImportError as error:
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        print([name for name in files if name.startswith(str(source))][-1], error.name)
"""


def named(feature: str) -> set[str]:
    """The paths that a README names for whoever deletes its feature, as they are below the root."""
    text = (SOURCE / "features" / feature / "README.md").read_text("utf-8").partition("To remove it")[2]
    names = {name.rstrip("/") for name in re.findall(r"`([\w./-]+)`", text)}
    bases = {ROOT: "", SOURCE: "src/ostrom/", SOURCE.parent: "src/"}
    return {prefix + name for name in names for base, prefix in bases.items() if (base / name).exists()}


def is_named(path: str, names: set[str]) -> bool:
    return bool({path, *map(str, Path(path).parents)} & names)


def without_entries(text: str, feature: str) -> str:
    """A file without the entries of tables that name a module of a feature.

    >>> without_entries('T = {"a": "ostrom.features.a.b", "c": "ostrom.features.ab"}', "a")
    'T = {"c": "ostrom.features.ab"}'
    """
    module = re.compile(rf"\bostrom\.features\.{feature}\b")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()
    spans = [
        (starts[key.lineno - 1] + key.col_offset, starts[value.end_lineno - 1] + value.end_col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if key is not None and value.end_lineno is not None and value.end_col_offset is not None
        if not isinstance(value, ast.Dict) and module.search(ast.get_source_segment(text, value) or "")
    ]
    for start, end in sorted(spans, reverse=True):
        comma = re.compile(rb"\s*,\s*").match(data, end)
        data = data[:start] + data[comma.end() if comma else end :]
    return data.decode()


@pytest.mark.slow
@pytest.mark.parametrize("features", GROUPS, ids=lambda names: f"{names[0]}-{names[-1]}")
def test_without_a_feature_only_what_its_readme_names_is_broken(features: list[str], tmp_path: Path) -> None:
    """What remains is imported, helps and is collected."""
    for folder in ("src", "tests", "chaos", "tools", "benchmarks", "docs", "examples", ".ci"):
        if (ROOT / folder).is_dir():
            skip = shutil.ignore_patterns("__pycache__", "outputs", "*.egg-info")
            shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=skip)
    for file in (*ROOT.glob("*.toml"), *ROOT.glob("*.md"), *ROOT.glob("Makefile")):
        shutil.copy(file, tmp_path)
    names = {feature: named(feature) for feature in features}
    for feature in features:
        shutil.rmtree(tmp_path / "src/ostrom/features" / feature)
        shutil.rmtree(tmp_path / "tests/features" / feature, ignore_errors=True)
        for table in TABLES:
            file = tmp_path / "src/ostrom" / table
            text = without_entries(file.read_text("utf-8"), feature)
            file.write_text(text, "utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path / 'src'}{os.pathsep}{tmp_path}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def python(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    unnamed: set[str] = set()

    def check(path: str, module: str) -> None:
        feature = (re.findall(r"^(?:ostrom|tests)\.features\.(\w+)", module) or [""])[0]
        every = set().union(*names.values())
        again = is_named(module.replace(".", "/") + ".py", every)  # a module that failed before is not imported again
        if not is_named(path, names.get(feature, set())) and not again and path not in LOADERS:
            unnamed.add(f"{path} imports {module}")

    imports = python("-c", IMPORTS, str(tmp_path / "src"))
    assert imports.returncode == 0, imports.stderr
    for line in imports.stdout.splitlines():
        place, module = line.split()
        check(str(Path(place).relative_to(tmp_path)), module)
    listed = python("-m", "ostrom", "--help")
    assert listed.returncode == 0 and "run" in listed.stdout, listed.stderr
    words = ("--collect-only", "-q", "--tb=short", "-n", "0", "-p", "no:cacheprovider", "--color=no", "tests")
    collected = python("-m", "pytest", *words)
    sections = re.split(r"^_+ ERROR collecting \S+ _+$", collected.stdout, flags=re.MULTILINE)
    assert collected.returncode in (0, 2) and (collected.returncode == 0) == (len(sections) == 1), collected.stdout
    for section in sections[1:]:
        missing = re.search(r"No module named '([\w.]+)'|cannot import name '\w+' from '([\w.]+)'", section)
        assert missing, section
        check(re.findall(r"^([^/\s]\S*\.py):\d+: in ", section, re.MULTILINE)[-1], missing[1] or missing[2])
    assert not unnamed, f"no README names {sorted(unnamed)}"
