"""The programs that benchmarks start from a text call what there is: mypy reads them like files."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def programs() -> Iterator[tuple[str, str]]:
    """The texts of benchmarks that are programs, by the module and the name that hold them."""
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))) if "import " in text:
                    yield f"{path.stem}_{name.lower()}", text


@pytest.mark.slow
def test_the_programs_of_benchmarks_call_what_there_is(tmp_path: Path) -> None:
    files = []
    for name, text in programs():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        files.append(str(tmp_path / f"{name}.py"))
    assert len(files) >= 5
    options = ("--config-file=", "--ignore-missing-imports", "--follow-imports=silent", "--no-incremental")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *files], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
