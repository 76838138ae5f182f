"""`ostrom report` and `ostrom run --report`."""

import json
import sys
from pathlib import Path

import pytest
import yaml

from ostrom.cli import main

STUDY = {
    "name": "tiny",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 2},
    "types": {"kind": "cooperator"},
}


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a study in it, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(STUDY))
    return tmp_path


def ostrom(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Run a command in this process; gives its exit code."""
    monkeypatch.setattr(sys, "argv", ["ostrom", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


@pytest.mark.slow
def test_a_failed_panel_makes_the_command_fail_but_the_page_is_there(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ostrom.reports.build.DEFAULT_PANELS", ())
    wrong = {"chart": "curve", "measure": "cooperation", "x": "nonsense"}
    (study / "tiny.yaml").write_text(yaml.safe_dump({**STUDY, "report": {"panels": [wrong]}}))
    assert ostrom(monkeypatch, "run", "tiny.yaml", "--report") == 1
    assert "panel failed: Cooperation by nonsense: unknown column 'nonsense'" in capsys.readouterr().err
    assert ostrom(monkeypatch, "report", "tiny", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["report"] == "runs/tiny/report/index.html"
    assert len(told["failures"]) == 1
    assert (study / "runs/tiny/report/index.html").exists()


def test_an_unknown_run_is_wrong_use(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ostrom(monkeypatch, "report", "nowhere") == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert "there is no such run" in complaint


@pytest.mark.parametrize("missing", ["vl_convert", "duckdb", "polars"])
def test_a_missing_extra_gives_one_line_with_the_remedy(
    study: Path, missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    assert ostrom(monkeypatch, "report", "tiny") == 1
    name = missing.replace("_", "-")
    assert capsys.readouterr().err == f"ostrom: a report needs {name}: pip install 'ostrom[report]'\n"
