"""Exports are the user's: no other command touches them, and each says which state of the run it holds."""

from pathlib import Path

import pytest
import yaml
from tests.cli.in_process import caller

STUDY = {
    "name": "s", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 3},
    "types": {"a": "tit_for_tat", "b": "random"}, "seating": "ordered", "seeds": 4,
}  # fmt: skip


def test_export_resume_estimate_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = caller(monkeypatch, tmp_path)
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(STUDY))
    assert call("run", "s.yaml", "--limit", "5").code in (0, 1)
    folder = tmp_path / "runs" / "s" / "export"
    for kind in ("csv", "parquet"):
        assert call("export", "s", "--format", kind).code == 0
    assert call("export", "s", "--format", "inspect").code == 0
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    names = {path.name for path in before}
    assert {"decisions.csv", "decisions.parquet", "matches.csv", "exported.yaml"} <= names
    first = yaml.safe_load((folder / "exported.yaml").read_text())
    assert "5 of 16 matches" in first["decisions.csv"]["so_far"] and first["decisions.csv"]["run"] == "s"

    assert call("resume", "s").code == 0
    assert call("estimate", "s", "cooperation").code == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before

    done = call("export", "s")
    record = yaml.safe_load((folder / "exported.yaml").read_text())
    assert record["decisions.parquet"]["so_far"] == "complete"
    assert record["decisions.parquet"]["entries"] > record["decisions.csv"]["entries"]
    assert record["decisions.csv"] == first["decisions.csv"]
    assert "decisions.csv: is not renewed and holds an earlier state (so far: 5 of 16 matches" in done.err
    assert "decisions.parquet: is" not in done.err

    (folder / "matches.csv").unlink()
    done = call("export", "s", "--format", "csv")
    assert "earlier state" not in done.err, "all tables are those of one state now"
    (folder / "matches.csv").unlink()
    assert "matches.csv: was there and is not any more" in call("export", "s").err


def test_a_link_in_a_run_of_a_stranger_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = caller(monkeypatch, tmp_path)
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(STUDY | {"seeds": 1}))
    assert call("run", "s.yaml").code == 0
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs" / "s" / "export").symlink_to(tmp_path / "elsewhere")
    done = call("export", "s")
    assert done.code != 0 and "is a symbolic link" in done.err
    assert not list((tmp_path / "elsewhere").iterdir())
    out = tmp_path / "out"
    out.mkdir()
    (out / "exported.yaml").write_text('{"../../x": {"so_far": "no"}, "/etc/passwd": {}, "a": 3}')
    done = call("export", "s", "--out", str(out))
    assert done.code == 0 and "passwd" not in done.err and ".." not in done.err


def test_a_dataset_leaves_the_files_of_others_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = caller(monkeypatch, tmp_path)
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(STUDY | {"seeds": 1}))
    assert call("run", "s.yaml").code == 0
    own = tmp_path / "out" / "data" / "own.parquet"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"mine")
    assert call("export", "s", "--format", "hf", "--out", "out").code == 0
    assert own.read_bytes() == b"mine"
