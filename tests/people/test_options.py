"""Options of the commands for people that no other test names."""

import json
from pathlib import Path

import pytest
import yaml
from tests.people.served import served, small_study
from tests.people.test_pilot_command import Command


@pytest.mark.slow
def test_visits_of_a_trial_never_count_and_few_join_at_once(tmp_path: Path) -> None:
    with served(tmp_path, small_study(), "--test", "--joins-a-minute", "2") as server:
        statuses = [server.visitor(join=True).status for _ in range(3)]
        assert statuses == [200, 200, 429]
        people = json.loads(server.ostrom("people", "small", "list", "--json").stdout)
        assert [one["test"] for one in people] == [True, True]


@pytest.mark.slow
def test_recruiting_is_closed_and_opened_again(tmp_path: Path) -> None:
    with served(tmp_path, small_study()) as server:
        assert "closed" in server.ostrom("people", "small", "close").stderr
        assert "open" in server.ostrom("people", "small", "close", "--open").stderr
        assert server.visitor(join=True).status == 200


def test_a_pilot_keeps_the_waiting_times_of_the_study_where_it_is_told_to(ostrom: Command, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(small_study(time={"reveal": [0.01, 0.02]})))
    kept = {}
    for name, options in (("short", ()), ("real", ("--real-time",))):
        done = ostrom("pilot", "study.yaml", "--people", "1", "--name", name, *options)
        assert done.returncode == 0, done.stderr
        manifest = json.loads((tmp_path / "runs" / name / "run.json").read_text())
        kept[name] = manifest["study"]["people"]["time"].get("reveal")
    assert kept == {"short": None, "real": [0.01, 0.02]}


@pytest.mark.slow
def test_exports_hold_what_people_answered_only_where_that_is_asked_for(ostrom: Command, tmp_path: Path) -> None:
    assert ostrom("pilot", "repeated-games-people", "--preset", "smoke", "--people", "2", "--name", "p").returncode == 0
    columns, visits = {}, {}
    for name, options in (("without", ()), ("with", ("--visits",))):
        for format in ("otree", "hf"):
            done = ostrom("export", "p", "--format", format, "--out", str(tmp_path / format / name), *options)
            assert done.returncode == 0, done.stderr
        (table,) = (tmp_path / "otree" / name).rglob("*.csv")
        columns[name] = set(table.read_text().splitlines()[0].split(","))
        visits[name] = len(list((tmp_path / "hf" / name).rglob("visits.parquet")))
    assert columns["without"] < columns["with"] and visits == {"without": 0, "with": 1}
