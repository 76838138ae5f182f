"""The study of tools is played by a server that calls them."""

from pathlib import Path

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing.server import LoopbackServer


def test_every_arm_is_played_and_calls_its_own_tools(tmp_path: Path) -> None:
    with LoopbackServer() as server:
        changes = ["agent.settings={abilities: [tools]}"]
        study = load_study("tools", preset="smoke", models=[server.model], changes=changes)
        assert play(study, runs=tmp_path).complete
    with open_run("tools", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        calls = {e.key["tools"]: e.value for e in estimate(data, "tool_calls", ["tools"])}
        used = data.records(
            "SELECT DISTINCT tools, answer->>'$.tool' AS tool FROM decisions WHERE kind = 'tool' ORDER BY ALL"
        )
    assert set(calls) == {"calculator", "notes", "past"} and all(count > 0 for count in calls.values())
    allowed = {
        "calculator": {"calculate", "expected_payoffs"},
        "notes": {"write_note", "read_notes"},
        "past": {"look_back"},
    }
    assert all(row["tool"] in allowed[row["tools"]] for row in used)
