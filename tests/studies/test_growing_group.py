"""A game of another package in which the group grows: its tables, pages and report, and a rule that changes."""

import csv
import json
from pathlib import Path

import pytest
from tests.replications.packages import install
from tests.studies.test_packages import ostrom
from tests.view.viewed import viewed

from ostrom.ground.registry import changed_packages

SOURCE = Path(__file__).parent / "growing"
POINTS = "[ostrom.games]\nclub = growing.club:build\n[ostrom.prompts]\ngrowing = growing.prompts\n"
STUDY = """\
name: club
game: {name: club, n: 4}
mechanism: {name: repetition, rounds: 5}
agent: {strategy: random}
seeds: 12
"""


def site(folder: Path, bonus: int = 0) -> Path:
    """The package, installed, with a rule that pays a bonus to those who let somebody in."""
    files = {f"growing/{file.relative_to(SOURCE)}": file.read_text() for file in SOURCE.rglob("*.txt")}
    rule = (SOURCE / "club.py").read_text().replace("BONUS = 0", f"BONUS = {bonus}")
    files |= {"growing/__init__.py": "", "growing/prompts/__init__.py": "", "growing/club.py": rule}
    return install(folder, "growing", files, POINTS)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_growing_group_reads_well_and_a_changed_rule_is_refused(tmp_path: Path) -> None:
    old = site(tmp_path / "old")
    (tmp_path / "club.yaml").write_text(STUDY)
    played = ostrom(tmp_path, "run", "club.yaml", installed=old)
    assert played.returncode == 0, played.stderr
    for command in (("export", "club", "--format", "csv", "--out", "old-rows"), ("report", "club")):
        assert (done := ostrom(tmp_path, *command, installed=old)).returncode == 0, done.stderr
    run = tmp_path / "runs" / "club"

    rows = list(csv.DictReader((tmp_path / "old-rows" / "decisions.csv").read_text().splitlines()))
    members = {(row["match"], row["round"]): json.loads(row["facts"])["members"] for row in rows if row["facts"]}
    assert set(members.values()) == {2, 3, 4} and len(members) == 12 * 5
    for (match, number), count in members.items():
        here = [row for row in rows if (row["match"], row["round"]) == (match, number)]
        assert {row["seat"] for row in here if row["stage"] == "pay"} == {str(seat + 1) for seat in range(count)}
        assert sum(row["stage"] == "vote" for row in here) == (count if count < 4 else 0)
    page = (run / "report" / "index.html").read_text()
    assert "games.club: growing 1.0" in page and "With ostrom" in page and "and growing 1.0:" in page

    new = site(tmp_path / "new", bonus=5)
    before = contents(run)
    refused = ostrom(tmp_path, "run", "club.yaml", "--seeds", "13", installed=new)
    assert refused.returncode != 0 and refused.stderr.count("\n") == 1
    assert "games.club was played with growing 1.0 and is now of growing 1.0 with other code" in refused.stderr
    assert contents(run) == before
    exported = ostrom(tmp_path, "export", "club", "--format", "csv", "--out", "new-rows", installed=new)
    assert exported.returncode == 0 and "its rows are read as they were written" in exported.stderr
    for name in ("matches.csv", "rounds.csv", "decisions.csv"):
        assert (tmp_path / "new-rows" / name).read_bytes() == (tmp_path / "old-rows" / name).read_bytes()
    assert ostrom(tmp_path, "check", "club", installed=new).returncode != 0
    grown = ostrom(tmp_path, "run", "club.yaml", "--seeds", "13", installed=old)
    assert grown.returncode == 0, grown.stderr
    with viewed(tmp_path / "runs") as viewer:
        match = viewer.page("/run/club/match/0")
        assert "candidate" in match and "(told to all)" in match and "(told to nobody)" in match


def test_a_part_that_is_not_installed_is_not_said_to_have_changed() -> None:
    assert changed_packages({"ostrom.games.nowhere": "nowhere 1.0"}, {"ostrom.games.nowhere": "0"}) == []
