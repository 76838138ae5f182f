"""What commands say: the word that was wrong, where it stands, and what would have been right."""

import json
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

GOOD = """
name: good
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 2}
agent: {}
types: {tft: tit_for_tat}
invalid: {retries: 1}
"""
MODEL = "{model: openai/gpt-4o-mini, style: direct}"


@pytest.fixture
def ostrom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    return caller(monkeypatch, tmp_path)


def test_validate_takes_the_options_of_run(ostrom: Call, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(GOOD.replace("tit_for_tat", MODEL))
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "setup.txt").write_text("{{ nothing }")
    for options in (
        ["--preset", "small"],
        ["--set", "mechanism.rouns=3"],
        ["--model", "gpt-4o"],
        ["--seeds", "0"],
        ["--prompts", "nowhere"],
        ["--prompts", "prompts"],
        ["--prices", "nowhere.yaml"],
    ):
        told = [ostrom(*command, "own.yaml", *options) for command in (["validate"], ["run", "--dry-run"])]
        assert told[0].code == told[1].code == 2, (options, told)
        line = [done.err.splitlines()[-1].replace("ostrom validate", "ostrom run") for done in told]
        line[0] = line[0].replace("ostrom: validate: ", "ostrom: run: ")
        assert line[0] == line[1], (options, line)


@pytest.mark.parametrize("name", ["../x", "a/b", "/tmp/x", ".x", ""])
def test_the_name_of_a_run_leads_nowhere_else(ostrom: Call, tmp_path: Path, name: str) -> None:
    (tmp_path / "own.yaml").write_text(GOOD)
    done = ostrom("run", "own.yaml", "--name", name, "--runs", "here")
    assert (done.code == 2 and "run name" in done.err) or (not name and (tmp_path / "here" / "good").is_dir())
    assert {p.name for p in tmp_path.iterdir()} <= {"own.yaml", "here", ".state"}


def test_play_asks_on_stderr_so_that_json_is_alone(ostrom: Call) -> None:
    done = ostrom("play", "prisoners_dilemma", "--rounds", "2", "--json", keys="1\n2\n")
    assert done.code == 0 and len(json.loads(done.out)["decisions"]) == 4
    assert done.err.count("] > ") == 2


def test_designs_are_no_matches(ostrom: Call, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "name: own\ngame: prisoners_dilemma\nmechanism: mediation\ntypes: {a: tit_for_tat, b: grim}\n"
    )
    done = ostrom("run", "own.yaml", "--limit", "3", "--json")
    assert done.code == 1 and json.loads(done.out)["matches"]["planned"] == 2
    done = ostrom("run", "own.yaml", "--json")
    told = json.loads(done.out)
    assert told["matches"] == {"planned": 2, "done": 2, "skipped": 0, "failed": 0}, done
    assert told["designs"] == {"planned": 4, "done": 4, "skipped": 0, "failed": 0}
    assert "2 of 2 matches done; 4 of 4 designs done;" in done.err
    assert json.loads(ostrom("validate", "own.yaml", "--json").out)["as written"] == "1 cell, 2 matches"
    told = json.loads(ostrom("run", "own.yaml", "--dry-run", "--json").out)
    assert (told["matches"], told["designs"]) == (2, 4)
