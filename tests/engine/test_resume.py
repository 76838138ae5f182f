"""Nothing is lost: kill the process at any moment, run again, and the tables are the same bytes."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.run_tables import tables

from ostrom.studies.run import Run, open_run
from ostrom.testing.server import LoopbackServer

PLAY = """
import sys
from pathlib import Path
from ostrom.engine.retries import RetryPolicy
from ostrom.engine.play_options import PlayOptions
from ostrom.studies.load import load_study
from ostrom.studies.run import play
result = play(load_study(sys.argv[1]), name="run", runs=sys.argv[2],
              options=PlayOptions(max_connections=4, retry=RetryPolicy(first=0.001, longest=0.01)))
sys.exit(0 if result.complete else 1)
"""

STUDY = """
name: killed
game: prisoners_dilemma
mechanism: {{name: repetition, rounds: 12}}
agent: {{style: direct, memory: "window:3", framing: {{order: shuffled, counterbalance: true}}}}
types:
  model: {{model: "{model}"}}
  talker: {{model: "{model}", conversation: dialogue}}
  chance: {{strategy: "random:0.5"}}
seating: ordered
seeds: 2
"""


def start(study: Path, runs: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", PLAY, str(study), str(runs)], stderr=subprocess.DEVNULL)


def prompts(run: Run) -> dict[tuple[object, ...], object]:
    """The messages of every call, by its place."""
    return {
        (row["match"], row["step"], row["player"], row["part"]): run.journal.prompt(row["id"])
        for row in run.rows.calls()
    }


# Hundreds of moments, in processes that begin with everything imported: `make chaos` (kills, rules, shards, asked).
@pytest.mark.parametrize("most", [2, pytest.param(7, marks=pytest.mark.slow)])
def test_kills_leave_the_same_tables_and_no_question_is_asked_twice(tmp_path: Path, most: int) -> None:
    with LoopbackServer(latency=0.004) as server:
        study = tmp_path / "study.yaml"
        study.write_text(STUDY.format(model=server.model))
        undisturbed = start(study, tmp_path / "calm")
        assert undisturbed.wait(300) == 0
        calls_when_calm = server.count

        server.requests.clear()
        chance = random.Random(7)
        kills = 0
        while True:
            process = start(study, tmp_path / "killed")
            # The first second is mostly imports; the rest falls into the playing.
            deadline = time.monotonic() + (0.7 + chance.random() * 0.8 if kills < most else 120)
            while process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)
            if process.poll() is not None:
                assert process.returncode == 0
                break
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1

        assert tables(tmp_path / "killed" / "run", tmp_path / "a") == tables(tmp_path / "calm" / "run", tmp_path / "b")
        with open_run(tmp_path / "killed" / "run") as run:
            acknowledged = Counter((row["match"], row["step"], row["player"], row["part"]) for row in run.rows.calls())
            sent = prompts(run)
        with open_run(tmp_path / "calm" / "run") as run:
            assert sent == prompts(run), "a dialogue that goes on sends the same messages"
        assert len(acknowledged) == calls_when_calm
        assert set(acknowledged.values()) == {1}, "a reply that was acknowledged was asked for again"


@pytest.mark.slow
def test_results_do_not_depend_on_concurrency(tmp_path: Path) -> None:
    from ostrom.engine.play_options import PlayOptions
    from ostrom.studies.load import load_study
    from ostrom.studies.run import play

    with LoopbackServer() as server:
        study = tmp_path / "study.yaml"
        study.write_text(STUDY.format(model=server.model))
        found = []
        for connections in (1, 3, 32):
            runs = tmp_path / str(connections)
            play(load_study(study), name="run", runs=runs, options=PlayOptions(max_connections=connections))
            found.append(tables(runs / "run", tmp_path / f"t{connections}"))
    assert found[0] == found[1] == found[2] and set(found[0]) == {"matches", "decisions", "rounds"}


@pytest.mark.parametrize("limit", [1, 5])
def test_a_limit_plays_so_many_matches_and_the_next_session_goes_on(tmp_path: Path, limit: int) -> None:
    from ostrom.engine.play_options import PlayOptions
    from ostrom.studies.load import load_study
    from ostrom.studies.run import play

    study = tmp_path / "study.yaml"
    text = STUDY.format(model="none").replace('{model: "none"}', "{strategy: tit_for_tat}")
    study.write_text(text.replace('  talker: {model: "none", conversation: dialogue}\n', ""))
    first = play(load_study(study), name="run", runs=tmp_path, options=PlayOptions(limit=limit))
    assert (first.tally.done, first.complete) == (limit, False)
    second = play(load_study(study), name="run", runs=tmp_path)
    assert (second.tally.done, second.complete, second.tally.resumed) == (8, True, limit)
