"""What the package says about itself, and whether its wheel works where nothing else is."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml

import ostrom

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_has_one_source() -> None:
    assert (
        "version" not in PROJECT["project"]
        and PROJECT["tool"]["hatch"]["version"]["path"] == "src/ostrom/ground/version.py"
    )
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(cited["version"]) == ostrom.__version__


def test_the_metadata_is_complete() -> None:
    assert {"Repository", "Issues", "Changelog"} <= set(PROJECT["project"]["urls"])
    for name in (
        "SECURITY.md",
        "CODE_OF_CONDUCT.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "LICENSE",
        ".pre-commit-config.yaml",
    ):
        assert (ROOT / name).is_file(), name
    for form in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        assert yaml.safe_load(form.read_text(encoding="utf-8"))


def test_the_address_of_the_repository_stands_in_one_file() -> None:
    address = PROJECT["project"]["urls"]["Repository"].removeprefix("https://").encode()
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    named = [path for path in listed.splitlines() if (ROOT / path).is_file() and address in (ROOT / path).read_bytes()]
    assert not listed or named == ["pyproject.toml"]


def test_images_of_the_readme_are_files_of_the_project() -> None:
    images = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert images and all((ROOT / image).is_file() for image in images)


def test_windows_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from ostrom.cli import main

    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2 and "does not run on Windows" in capsys.readouterr().err
    with pytest.raises(ImportError, match="WSL 2"):
        _ = ostrom.play


@pytest.mark.skipif("OSTROM_PACKAGE" not in os.environ, reason="builds and installs the package: make package")
def test_the_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    def run(*line: str | Path) -> str:
        done = subprocess.run([str(part) for part in line], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", ROOT)
    files = sorted((tmp_path / "dist").iterdir())
    assert [f.suffix for f in files] == [".whl", ".gz"]
    run(sys.executable, "-m", "build", "--outdir", tmp_path / "again", ROOT)
    for file in files:
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes(), file.name
    with ZipFile(files[0]) as wheel:
        held = wheel.namelist()
    own = ("ostrom/", "ostrom_verifiers/", f"ostrom-{ostrom.__version__}.dist-info/")
    assert all(name.startswith(own) for name in held)
    assert not [name for name in held if "__pycache__" in name or "golden" in name or name.endswith(".db")]
    assert "PASSED" in run(sys.executable, "-m", "twine", "check", "--strict", *files)
    run(sys.executable, "-m", "venv", tmp_path / "empty")
    python = tmp_path / "empty" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", files[0])
    command = tmp_path / "empty" / "bin" / "ostrom"
    assert run(command, "--version").strip() == f"ostrom {ostrom.__version__}"
    assert "prisoners_dilemma" in run(command, "list", "games")
    assert '"complete": true' in run(command, "run", "pd-tournament", "--preset", "smoke", "--json")
    assert (tmp_path / "runs" / "pd-tournament" / "journal.db").is_file()
    run(python, "-W", "error", "-c", "import ostrom; ostrom.study('memory', preset='smoke', models=['openai/x'])")
    # Somebody else's package beside it: installed by pip, found by entry points, its own tests pass.
    plugin = shutil.copytree(ROOT / "examples" / "ostrom-plugin", tmp_path / "plugin")
    run(python, "-m", "pip", "install", "--quiet", f"{files[0]}[analysis]", f"{plugin}[test]")
    run(python, "-m", "pytest", "-q", "-c", plugin / "pyproject.toml", plugin / "tests")
    assert "irrigation" in run(command, "list", "games")
    assert '"complete": true' in run(command, "run", "river", "--preset", "smoke", "--json")
