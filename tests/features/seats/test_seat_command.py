"""`ostrom seat` as an agent's host starts it, agents that a study starts itself, and kills in between."""

import asyncio
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.cli.conftest import Command
from tests.features.seats.playing import plan_of, said, stated
from tests.run_tables import tables

from ostrom.engine.play_options import PlayOptions
from ostrom.features.seats.server import connected
from ostrom.ground.errors import UsageError
from ostrom.studies.run import open_run, play_plan

if TYPE_CHECKING:
    from mcp import Client

EXAMPLE = Path(__file__).parents[3] / "examples" / "seat_agent.py"
OSTROM = [sys.executable, "-m", "ostrom"]


def write(folder: Path, **changes: Any) -> None:
    (folder / "s.yaml").write_text(yaml.safe_dump(stated(**changes)))


def options_for(command: list[str]) -> PlayOptions:
    return PlayOptions(allow_command=[shlex.join(command)])


def against(command: list[str], **more: Any) -> dict[str, Any]:
    return {"mine": {"mcp": {"command": command, **more}}, "tft": {"strategy": "tit_for_tat"}}


def program(folder: Path, code: str) -> list[str]:
    (folder / "program.py").write_text(code)
    return [sys.executable, str(folder / "program.py")]


def actions(run: Path) -> list[Any]:
    with open_run(run) as opened:
        return [row["action"] for row in opened.rows.decisions() if row["player"] == 1]


def test_a_study_starts_its_own_agent_for_each_match_where_that_is_allowed(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE)]
    plan = plan_of(types=against(command))
    with pytest.raises(UsageError, match=re.escape(f"add --allow-command '{shlex.join(command)}'")):
        play_plan(plan, name="s", runs=tmp_path)
    assert not (tmp_path / "s").exists()
    assert play_plan(plan, name="s", runs=tmp_path, options=options_for(command)).complete
    assert actions(tmp_path / "s") == ["cooperate"] * 3
    with pytest.raises(UsageError, match="--allow-command"):  # a run brings no permission of its own
        play_plan(plan_of(types=against(command), seeds=2), name="s", runs=tmp_path)


def test_the_process_of_an_agent_finds_its_seat_and_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OSTROM_API_KEY", "LAB_KEY"):
        monkeypatch.setenv(name, "opensesame")
    command = program(tmp_path, "import json, os; json.dump(dict(os.environ), open('found.json', 'w'))")
    monkeypatch.chdir(tmp_path)
    play_plan(plan_of(types=against(command)), name="s", runs=tmp_path, options=options_for(command))
    found = json.loads((tmp_path / "found.json").read_text())
    assert "opensesame" not in found.values()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", found["OSTROM_SEAT_URL"])
    assert len(found["OSTROM_SEAT_TOKEN"]) >= 32


def test_a_process_that_ends_early_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAB_KEY", "open-sesame-open")
    command = program(tmp_path, "import sys; print('no luck open-sesame-open', file=sys.stderr); sys.exit(3)")
    result = play_plan(plan_of(types=against(command)), name="fails", runs=tmp_path, options=options_for(command))
    assert "missed a decision, and the study has no rule" in result.tally.failures[0]
    said = capsys.readouterr().err
    assert said.count("program.py: ended with status 3 before the match was over (stderr: no luck [key])") == 1
    rules = {"name": "repetition", "rounds": 3, "missed": "default:defect"}
    plan = plan_of(types=against(command), mechanism=rules)
    assert play_plan(plan, name="s", runs=tmp_path, options=options_for(command)).complete
    assert actions(tmp_path / "s") == ["defect"] * 3
    with open_run(tmp_path / "s") as run:
        notes = [row["note"] for row in run.rows.decisions() if row["player"] == 1]
    assert notes[0].endswith("program.py: ended with status 3 before the match was over")


def test_a_program_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    rules = {"name": "repetition", "rounds": 1, "missed": "default:defect"}
    with pytest.raises(UsageError, match="there is no program no-such-program here"):
        plan = plan_of(types=against(["no-such-program"]), mechanism=rules)
        play_plan(plan, name="s", runs=tmp_path, options=options_for(["no-such-program"]))
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    plan = plan_of(types=against([str(broken)]), mechanism=rules)
    assert play_plan(plan, name="s", runs=tmp_path, options=options_for([str(broken)])).complete
    with open_run(tmp_path / "s") as run:
        note = next(row["note"] for row in run.rows.decisions() if row["player"] == 1)
    assert note.startswith(f"{broken}: cannot be started: ")


def test_a_process_that_hangs_misses_its_decisions_and_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostrom.features.seats.host.FAREWELL", 0.1)
    code = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\nprint('x' * 10**6)\ntime.sleep(600)"
    command = program(tmp_path, code)
    monkeypatch.chdir(tmp_path)
    rules = {"name": "repetition", "rounds": 2, "missed": "mark"}
    plan = plan_of(types=against(command, time=1.0), mechanism=rules)
    assert play_plan(plan, name="s", runs=tmp_path, options=options_for(command)).complete
    assert actions(tmp_path / "s") == [None, None]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_nothing_runs_on_validate_or_dry_run(ostrom: Command, tmp_path: Path) -> None:
    command = program(tmp_path, "open('ran', 'w')")
    write(tmp_path, types=against(command))
    assert ostrom("validate", "s.yaml").returncode == 0
    assert ostrom("run", "s.yaml", "--dry-run").returncode == 0
    done = ostrom("run", "s.yaml")
    assert done.returncode == 2 and shlex.join(command) in done.stderr
    assert not (tmp_path / "ran").exists() and not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--seat", "2"], "--seat 2: s.yaml has no seat 2 for an agent (allowed: 1)"),
        (["--json"], "--json: needs --http; on stdin/stdout the agent and Ostrom speak MCP"),
        (["--set", "types.coder={strategy: grim}"], "has no seat 1 for an agent (a type needs `mcp: seat`)"),
    ],
)
def test_wrong_use_is_one_line(ostrom: Command, tmp_path: Path, arguments: list[str], line: str) -> None:
    write(tmp_path)
    done = ostrom("seat", "s.yaml", *arguments)
    assert done.returncode == 2 and line in done.stderr and not done.stdout
    assert not (tmp_path / "runs").exists()


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process of ostrom in a folder."""
    process = subprocess.Popen(
        [*OSTROM, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def shown_seat(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The one seat that a process with --json shows first."""
    assert process.stdout is not None and process.stderr is not None
    text = ""
    while not text.endswith("\n}\n"):
        line = process.stdout.readline()
        assert line, process.stderr.read()
        text += line
    (seat,) = json.loads(text)["seats"]
    return dict(seat)


async def _cooperate(client: "Client", most: int = 10**6) -> list[str]:
    """Cooperate so often, or until the run is over; the states on the way."""
    states, acted = [], 0
    while acted < most:
        state, text = await said(client, "look")
        states.append(state)
        if state == "run_over":
            break
        if state == "decide":
            # tit for tat, from what the text says of the last round
            last = re.findall(r"P2=(A\d)", text)
            assert (await said(client, "act", answer=f"[{last[-1] if last else 'A0'}]"))[0] == "taken"
            acted += 1
    return states


def http_agent(url: str, token: str, most: int = 10**6) -> list[str]:
    async def visit() -> list[str]:
        async with connected(url, token) as client:
            return await _cooperate(client, most)

    return asyncio.run(visit())


def stdio_agent(folder: Path, *arguments: str, most: int = 10**6) -> list[str]:
    async def visit() -> list[str]:
        from mcp import Client, StdioServerParameters

        server = StdioServerParameters(
            command=OSTROM[0], args=[*OSTROM[1:], *arguments], cwd=folder, env=dict(os.environ)
        )
        async with Client(server) as client:
            return await _cooperate(client, most)

    return asyncio.run(visit())


@pytest.mark.slow
def test_an_agent_plays_over_stdio_leaves_and_goes_on_with_the_same_command(tmp_path: Path) -> None:
    write(tmp_path, seeds=2)
    assert stdio_agent(tmp_path, "seat", "s.yaml", most=4).count("decide") == 4
    states = stdio_agent(tmp_path, "seat", "s.yaml")
    assert states == ["decide", "decide", "match_over", "run_over"]
    assert actions(tmp_path / "runs" / "s") == ["cooperate"] * 6


def begun(journal: Path) -> bool:
    """Whether the journal of a run that is being played has an answer."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as db:
        return bool(db.execute("SELECT count(*) FROM calls").fetchone()[0])
    return False


def said_in(runs: Path) -> list[tuple[Any, ...]]:
    """What was asked and answered at seats, without the clocks."""
    with open_run(runs / "s") as run:
        calls = sorted(run.rows.calls(), key=lambda call: (call["match"], call["step"], call["player"]))
        return [(call["match"], call["step"], call["part"], call["reply"]) for call in calls]


@pytest.mark.slow
def test_a_run_with_agents_of_its_own_is_killed_and_gives_the_same_tables(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE)]
    types = {"one": {"mcp": {"command": command}}, "two": {"mcp": {"command": command}}}
    write(tmp_path, types=types, seeds=2, mechanism={"name": "repetition", "rounds": 4, "noise": 0.3})
    allowed = ["--allow-command", shlex.join(command)]
    whole = subprocess.run(
        [*OSTROM, "run", "s.yaml", "--runs", "whole", *allowed], cwd=tmp_path, capture_output=True, text=True
    )
    assert whole.returncode == 0, whole.stderr
    refused = subprocess.run(
        [*OSTROM, "resume", "whole/s", "--seeds", "5"], cwd=tmp_path, capture_output=True, text=True
    )
    assert refused.returncode == 2 and "--allow-command" in refused.stderr
    with started(tmp_path, "run", "s.yaml", "--runs", "killed", *allowed) as process:
        while not begun(tmp_path / "killed" / "s" / "journal.db"):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    assert len(said_in(tmp_path / "killed")) < len(said_in(tmp_path / "whole"))
    with started(tmp_path, "resume", "killed/s", *allowed) as process:
        assert process.wait(300) == 0
    assert tables(tmp_path / "whole" / "s", tmp_path / "a") == tables(tmp_path / "killed" / "s", tmp_path / "b")
    assert said_in(tmp_path / "whole") == said_in(tmp_path / "killed")


@pytest.mark.slow
def test_a_huge_message_on_stdio_is_answered_with_one_line(tmp_path: Path) -> None:
    write(tmp_path)

    async def visit() -> list[tuple[str, str]]:
        arguments = [*OSTROM[1:], "seat", "s.yaml"]
        from mcp import Client, StdioServerParameters

        server = StdioServerParameters(command=OSTROM[0], args=arguments, cwd=tmp_path, env=dict(os.environ))
        async with Client(server) as client:
            await said(client, "look")
            huge = await said(client, "act", answer="A" * 10_000_000)
            return [huge, await said(client, "act", answer="[A0]")]

    assert asyncio.run(visit()) == [
        ("refused", "An answer has at most 20,000 characters (found 10,000,000)."),
        ("taken", "Taken. Call look for what comes next."),
    ]


@pytest.mark.slow
def test_a_second_agent_joins_the_run_that_another_process_plays(tmp_path: Path) -> None:
    write(tmp_path, types={"one": {"mcp": "seat"}, "two": {"mcp": "seat"}})
    with started(tmp_path, "run", "s.yaml") as process:
        while not (tmp_path / "runs" / "s" / "seats.json").exists():
            assert process.poll() is None
            time.sleep(0.05)
        shown = subprocess.run(
            [*OSTROM, "seat", "s", "--seat", "2", "--http", "--json"], cwd=tmp_path, capture_output=True, text=True
        )
        (second,) = json.loads(shown.stdout)["seats"]
        refused = subprocess.run([*OSTROM, "seat", "s", "--seat", "3"], cwd=tmp_path, capture_output=True, text=True)
        assert refused.returncode == 2 and "--seat 3: allowed: 1, 2" in refused.stderr

        async def both() -> list[str]:
            other = asyncio.create_task(asyncio.to_thread(http_agent, second["url"], second["token"]))
            states = await asyncio.to_thread(stdio_agent, tmp_path, "seat", "s", "--seat", "1")
            await other
            return states

        assert asyncio.run(both())[-1] == "run_over"
        assert process.wait(300) == 0
        _, told = process.communicate()
    assert "waiting for agents at seat 1, 2: ostrom seat runs/s --seat 1" in told
    assert actions(tmp_path / "runs" / "s") == ["cooperate"] * 3


@pytest.mark.slow
def test_an_interrupted_run_stops_cleanly_while_a_seat_waits(tmp_path: Path) -> None:
    write(tmp_path)
    with started(tmp_path, "run", "s.yaml") as process:
        while not (tmp_path / "runs" / "s" / "seats.json").exists():
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 130
        _, told = process.communicate()
    assert "Traceback" not in told and not (tmp_path / "runs" / "s" / "seats.json").exists()


@pytest.mark.slow
def test_neither_help_nor_validate_imports_the_package_of_mcp(tmp_path: Path) -> None:
    write(tmp_path)
    for arguments in (["--help"], ["validate", "s.yaml"], ["seat", "--help"]):
        code = f"import sys; sys.argv = ['ostrom', *{arguments!r}]\nfrom ostrom.cli import main\n"
        code += "try: main()\nexcept SystemExit: pass\nassert 'mcp' not in sys.modules"
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
