"""Tools of an MCP server: offered, called, journaled, never called again; whatever a server does, the match goes on."""

import asyncio
import multiprocessing
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.agents.test_tools import called, study
from tests.run_tables import tables
from tests.view.viewed import viewed

import ostrom
from ostrom.agents.config import AgentConfig
from ostrom.agents.tools import LONGEST_RESULT
from ostrom.costs.forecast import forecast
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result
from ostrom.features.transcript.transcript import transcript
from ostrom.ground.errors import OstromError, UsageError
from ostrom.models.base import Reply, Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import plan_of
from ostrom.studies.resolve import resolve
from ostrom.studies.run import open_run, play

SERVER = Path(__file__).with_name("tool_server.py")
Script = Callable[[Request], Reply | str]


def command(*how: str) -> list[str]:
    return [sys.executable, "-S", "-E", str(SERVER), *how]


def served(*how: str, **more: Any) -> dict[str, Any]:
    return {"mcp": {"command": command(*how), **more}}


def played(
    runs: Path,
    tools: list[Any],
    script: Script,
    rounds: int = 1,
    allowed: bool = True,
    calls: int | None = None,
    seeds: int = 1,
    **more: Any,
) -> Result:
    """Play a study whose model answers by a script, with every command of it allowed."""
    data = {**study(tools, rounds), "budget": {"calls": calls}, "seeds": seeds}
    commands = [shlex.join(tool["mcp"]["command"]) for tool in tools if isinstance(tool, dict)]
    register("caller", script)
    try:
        options = PlayOptions(allow_command=commands if allowed else None, **more)
        return play(load_study(data), runs=runs, options=options)
    finally:
        unregister("caller")


def answers(runs: Path, kind: str) -> list[dict[str, Any]]:
    with open_run("run", runs) as run:
        return [orjson.loads(row["answer"]) for row in run.rows.decisions() if row["kind"] == kind]


def results(request: Request) -> list[str]:
    return [orjson.loads(message.content)["result"] for message in request.messages if message.role == "tool"]


def calling(times: int, tool: str = "count") -> Script:
    """A model that calls a tool so many times before it answers."""

    def script(request: Request) -> Reply | str:
        done = len(results(request))
        return called((tool, {"n": done})) if done < times else "[A0]"

    return script


def test_a_server_is_asked_like_any_tool(tmp_path: Path) -> None:
    asked: list[Request] = []

    def script(request: Request) -> Reply | str:
        asked.append(request)
        return calling(2)(request)

    assert played(tmp_path, ["calculator", served("count")], script, rounds=2).complete
    assert [tool.name for tool in asked[0].tools] == ["calculate", "expected_payoffs", "count"]
    calls = answers(tmp_path, "tool")
    # One process for the player and the match: it goes on counting in the second round.
    assert [call["result"] for call in calls] == ["count 1 0", "count 2 1", "count 3 0", "count 4 1"]
    assert [call["failed"] for call in calls] == [False] * 4
    (offer,) = answers(tmp_path, "tool_list")
    assert offer["server"] == shlex.join(command("count")) and offer["left_out"] == []
    assert [(tool["name"], tool["schema"]["type"]) for tool in offer["tools"]] == [("count", "object")]
    with open_run("run", tmp_path) as run:
        assert [row["tool"] for row in run.rows.tool_calls()] == ["count"] * 4
        assert [one["kind"] for one in transcript(run, 0, player=1)] == ["act", "act"]


def test_a_command_of_a_study_runs_only_where_it_is_allowed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    tools = [served("log", str(log))]
    line = f"--allow-command {shlex.quote(shlex.join(command('log', str(log))))}"
    with pytest.raises(UsageError) as refused:
        played(tmp_path, tools, calling(1), allowed=False)
    assert line in str(refused.value) and not (tmp_path / "run").exists()
    register("caller", calling(1))
    try:
        resolve(study(tools))  # what `validate` and `--dry-run` do
        ostrom.study(study(tools)).forecast()
        with pytest.raises(UsageError, match="--allow-command"):
            ostrom.play(study(tools), runs=tmp_path, progress=False, allow_command=["true"])
        given = [shlex.join(command("log", str(log)))]
        assert not log.exists()
        run = ostrom.play(study(tools, 1), runs=tmp_path, progress=False, allow_command=given, limit=0)
        with pytest.raises(UsageError, match=r"run\.json: agent.tools: .* --allow-command"):
            ostrom.commands.resume(str(run.path))  # the run folder brings no permission
        ostrom.commands.resume(str(run.path), allow_command=given)
    finally:
        unregister("caller")
    assert log.read_text() == "count 0\n"


@pytest.mark.slow
def test_looking_at_a_run_starts_no_command(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert played(tmp_path, [served("log", str(log))], calling(1)).complete
    log.unlink()
    run = ostrom.open_run(tmp_path / "run")
    assert run.report() and run.export() and len(run.decisions)
    with viewed(tmp_path) as server:
        assert "logged 0" in server.page("/run/run/match/0?step=0&player=1")
    assert not log.exists()


def test_a_run_is_read_alike_whatever_keys_its_reader_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert played(tmp_path, [served("count", "open-sesame-open")], calling(1)).complete
    before = tables(tmp_path / "run", tmp_path / "before")
    monkeypatch.setenv("LAB_KEY", "open-sesame-open")
    assert tables(tmp_path / "run", tmp_path / "after") == before
    with pytest.raises(OstromError, match="must not hold a key") as refused:
        types = {"m": {"model": "openai/gpt-4o-mini", "tools": [served("count", "open-sesame-open")]}}
        ostrom.study({"name": "own", "game": "chicken", "types": types})
    assert "sesame" not in str(refused.value)


def test_validate_shows_the_commands_and_starts_none(tmp_path: Path) -> None:
    log, file = tmp_path / "log", tmp_path / "own.yaml"
    named = command("log", str(log))
    tools = orjson.dumps([{"mcp": {"command": named}}]).decode()
    file.write_text(f"name: own\ngame: chicken\ntypes: {{m: {{model: openai/gpt-4o-mini, tools: {tools}}}}}\n")
    assert ostrom.commands.validate(str(file))["commands"] == shlex.join(named) and not log.exists()


def test_a_call_that_was_journaled_is_not_made_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    seen: list[Request] = []

    def script(request: Request) -> Reply | str:
        seen.append(request)
        return calling(2)(request)

    tools = [served("log", str(log))]
    stopped = played(tmp_path, tools, script, rounds=2, calls=5)
    made = "count 0\ncount 1\n" * 2
    assert not stopped.complete and log.read_text() == made
    seen.clear()
    assert played(tmp_path, tools, script, rounds=2).complete
    # The server offers another tool by now; the match goes on with what it was offered, and nothing is called again.
    assert [tool.name for tool in seen[0].tools] == ["count"] and results(seen[0]) == ["logged 0", "logged 1"]
    assert log.read_text() == made and len(seen) == 1


@pytest.mark.parametrize(
    ("how", "line", "failed"),
    [
        ("fail", "error: no luck", True),
        ("large", "error: the server wrote more than 1,048,576 bytes at once", True),
        pytest.param("binary", "[image/png: 4000 characters, left out]", False, marks=pytest.mark.slow),
        pytest.param("odd", "a\ufffdb?c", False, marks=pytest.mark.slow),
        pytest.param("change", "count 1 0", False, marks=pytest.mark.slow),
        pytest.param("noise", "count 1 0", False, marks=pytest.mark.slow),
    ],
)
def test_whatever_a_server_gives_back_is_one_bounded_answer(how: str, line: str, failed: bool, tmp_path: Path) -> None:
    assert played(tmp_path, [served(how)], calling(2)).complete
    calls = answers(tmp_path, "tool")
    assert len(calls) == 2 and calls[0]["result"].startswith(line) and calls[0]["failed"] is failed
    assert calls[1]["failed"] is failed


def test_requests_of_a_server_are_answered_before_its_result(tmp_path: Path) -> None:
    assert played(tmp_path, [served("asks")], calling(1)).complete
    (call,) = answers(tmp_path, "tool")
    assert orjson.loads(call["result"]) == [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": "x", "error": {"code": -32601, "message": "no such method"}},
    ]


def test_a_long_result_is_cut(tmp_path: Path) -> None:
    assert played(tmp_path, [served("long")], calling(1)).complete
    (call,) = answers(tmp_path, "tool")
    assert len(call["result"]) == LONGEST_RESULT and call["result"].endswith("[cut: 100,000 characters]")


def test_a_server_that_hangs_is_ended_and_started_anew(tmp_path: Path) -> None:
    assert played(tmp_path, [served("hang", timeout=12)], calling(2)).complete
    first, second = answers(tmp_path, "tool")
    assert first["result"] == "error: the server did not answer within 12 seconds and was ended"
    assert second["result"] == "count 1 1"


def test_a_server_that_dies_is_started_anew_with_nothing_of_what_it_knew(tmp_path: Path) -> None:
    assert played(tmp_path, [served("die")], calling(3)).complete
    assert [call["result"] for call in answers(tmp_path, "tool")] == [
        "count 1 0",
        "error: the server has ended",
        "count 1 2",
    ]


def test_why_a_server_died_is_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert played(tmp_path, [served("die")], calling(2)).complete
    assert f"{shlex.join(command('die'))}: the server has ended (stderr: out of dice)" in caplog.messages
    assert "out of dice" not in str(answers(tmp_path, "tool"))  # the model reads what it reads


def test_an_error_with_the_code_of_an_end_is_an_error_of_a_server_that_goes_on(tmp_path: Path) -> None:
    assert played(tmp_path, [served("own_end")], calling(2)).complete
    first, second = answers(tmp_path, "tool")
    assert first["result"].startswith("error: there is no") and second["result"] == "count 2 1"


def test_hostile_names_and_schemas_are_renamed_or_left_out(tmp_path: Path) -> None:
    seen: list[Request] = []

    def script(request: Request) -> Reply | str:
        seen.append(request)
        return calling(1, "calculate_2")(request)

    assert played(tmp_path, [served("hostile"), "calculator"], script).complete
    names = [tool.name for tool in seen[0].tools]
    assert names == [
        "count",
        "count_2",
        "calculate_2",
        "______etc_passwd__2J",
        "x" * 60,
        "calculate",
        "expected_payoffs",
    ]
    told = seen[0].tools[3].description
    assert "\x1b" not in told and "\u202e" not in told and len(told) <= 1000
    (call,) = answers(tmp_path, "tool")
    assert call["result"] == "calculate 1 0"  # the server's own, called by its own name
    (offer,) = answers(tmp_path, "tool_list")
    assert [line.partition(":")[0] for line in offer["left_out"]] == ["huge"]


def test_a_tool_that_is_described_wrongly_is_left_out_by_name(tmp_path: Path) -> None:
    assert played(tmp_path, [served("wrong")], calling(1)).complete
    (offer,) = answers(tmp_path, "tool_list")
    assert [tool["name"] for tool in offer["tools"]] == ["count"]
    assert [line.partition(":")[0] for line in offer["left_out"]] == ["bare", "listed", "typeless", "?", "?"]
    assert answers(tmp_path, "tool")[0]["result"] == "count 1 0"


def test_an_offer_is_bounded_as_a_whole(tmp_path: Path) -> None:
    assert played(tmp_path, [served("many")], calling(0)).complete
    (offer,) = answers(tmp_path, "tool_list")
    assert len(offer["tools"]) < 64 and "more than 64 tools" in offer["left_out"][0]
    assert len(orjson.dumps(offer)) < 50_000


@pytest.mark.parametrize(
    ("how", "line"),
    [
        ("broken", "the server has ended (stderr: no dice: [key])"),
        ("deep", "none of its tools can be used (deep: its schema is none of an object"),
        ("stranger", "the server does not speak MCP (there is no 'such version')"),
        ("array", "none of its tools can be used (list: its schema is none of an object"),
    ],
)
def test_a_match_is_not_played_without_the_tools_of_its_study(
    how: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "open-sesame-open")
    result = played(tmp_path, [served(how)], calling(0))
    assert not result.complete and line in result.tally.failures[0]


def test_a_server_that_stays_is_killed_at_the_end_of_its_match(tmp_path: Path) -> None:
    async def played_by_then() -> list[str]:
        data, given = study([served("stay")], 1), [shlex.join(command("stay"))]
        await ostrom.play_async(data, runs=tmp_path, progress=False, allow_command=given)
        return _running("stay")

    register("caller", calling(1))
    try:
        assert asyncio.run(played_by_then()) == []
    finally:
        unregister("caller")


def test_a_server_finds_none_of_our_keys_and_brings_none_into_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "open-sesame-open")
    monkeypatch.setenv("PYTHONPATH", "anywhere")
    assert played(tmp_path, [served("environment")], calling(1)).complete
    (call,) = answers(tmp_path, "tool")
    assert "PATH" in call["result"].split() and "OPENAI_API_KEY" not in call["result"]
    assert "PYTHONPATH" not in call["result"]
    assert call["result"].endswith("[key]")  # whatever it says is searched for them, too


def test_no_key_comes_into_a_run_by_what_a_server_offers_or_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "open-sesame-open")
    assert played(tmp_path, [served("keys")], calling(1)).complete
    (call,), (offer,) = answers(tmp_path, "tool"), answers(tmp_path, "tool_list")
    assert "[key]" in call["result"] and "open-sesame" not in str([call, offer])
    assert [tool["name"] for tool in offer["tools"]] == ["count"]
    assert offer["left_out"] == ["other: its name or schema holds a key of the environment"]


def test_blank_lines_before_an_answer_are_passed_over(tmp_path: Path) -> None:
    assert played(tmp_path, [served("blank")], calling(1)).complete
    (call,) = answers(tmp_path, "tool")
    assert call["result"] == "count 1 0"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"executor": "ray"}, "--executor ray: the commands of a study run beside its matches"),
        ({"batch": True}, "--batch: the commands of a study run beside its matches"),
    ],
)
def test_commands_run_on_this_machine_beside_their_match(options: dict[str, Any], line: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=line):
        played(tmp_path, [served("count")], calling(1), **options)


@pytest.mark.parametrize(
    ("tool", "line"),
    [
        ({"mcp": {}}, "tool mcp needs 'command'"),
        ({"mcp": {"command": "python x.py"}}, "command must be a list of a program and its arguments"),
        ({"mcp": {"command": ["a\x1b[2J"]}}, "without control characters"),
        ({"mcp": {"command": ["a"], "timeout": 0}}, "timeout must be a number above 0"),
        ({"mcp": {"command": ["a"], "shell": True}}, "unknown key 'shell' of tool mcp"),
    ],
)
def test_a_server_that_is_written_wrongly_is_refused(tool: dict[str, Any], line: str) -> None:
    register("caller", "[A0]")
    try:
        with pytest.raises(OstromError, match=line) as refused:
            resolve(study([tool]))
    finally:
        unregister("caller")
    assert "\x1b" not in str(refused.value)


def test_a_forecast_allows_for_what_a_server_may_offer() -> None:
    register("caller", "[A0]")
    try:
        none, some, more = (
            forecast(plan_of(load_study(study(tools, 1)))) for tools in ([], ["past"], ["past", served("count")])
        )
    finally:
        unregister("caller")
    likely = [one.likely["tokens_in"] or 0 for one in (none, some, more)]
    assert 0 < likely[0] < likely[1] == likely[2]
    calls, before, after = more.at_most["calls"], some.at_most["tokens_in"], more.at_most["tokens_in"]
    assert calls and before and after and after - before >= calls * 40_000 / 4


def test_a_tool_is_named_once() -> None:
    with pytest.raises(ValueError, match="names the same tool twice"):
        AgentConfig(model="openai/gpt-4o-mini", tools=[served("count"), served("count", timeout=5)])


def test_calls_and_results_are_text_in_the_viewer_and_long_ones_are_folded(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>\u202e"

    def script(request: Request) -> Reply | str:
        return "[A0]" if results(request) else called(("write_note", {"text": evil}), ("count", {"n": 1}))

    assert played(tmp_path, ["notes", served("long")], script).complete
    with viewed(tmp_path) as server:
        page = server.page("/run/run/match/0?step=0&player=1")
    assert "<script>alert" not in page and "\u202e" not in page
    assert "write_note {&#34;text&#34;: &#34;&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert '<details class="fold"><summary>All 4,020 characters</summary><div class="words">count {' in page
    assert f"{SERVER} long\ncount</strong>" in page


OFFICIAL = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("dice")
@server.tool()
def roll(sides: int) -> int:
    '''Roll a die.'''
    return sides
@server.tool()
def lose() -> str:
    '''Always fails.'''
    raise ValueError("no luck today")
server.run()
"""


@pytest.mark.slow
def test_a_server_of_the_official_package_is_understood(tmp_path: Path) -> None:
    file = tmp_path / "dice.py"
    file.write_text(OFFICIAL)

    def script(request: Request) -> Reply | str:
        calls: list[tuple[str, dict[str, Any]]] = [("roll", {"sides": 6}), ("roll", {"sides": "x"}), ("lose", {})]
        done = len(results(request))
        return called(calls[done]) if done < len(calls) else "[A0]"

    assert played(tmp_path, [{"mcp": {"command": [sys.executable, str(file)]}}], script).complete
    first, second, third = answers(tmp_path, "tool")
    assert first["result"] == "6" and second["failed"] and third["failed"]


KILLS = 50


def _play_or_die(runs: Path, kills: Path | None) -> None:
    """Play; with ``kills``, die at one of the first three calls of a session that follow the result of a tool."""
    calls = 0

    def script(request: Request) -> Reply | str:
        nonlocal calls
        done = results(request)
        if done and kills is not None and len(before := kills.read_bytes()) < KILLS:
            calls += 1
            if calls > len(before) % 3:
                kills.write_bytes(before + b"x")
                os.kill(os.getpid(), signal.SIGKILL)
        wanted: list[tuple[str, dict[str, Any]]] = [
            ("count", {"n": len(request.messages)}),
            ("write_note", {"text": f"{done} " + "x" * 300}),
            ("calculate", {"expression": f"{len(request.messages)}/7"}),
        ]
        if len(done) < len(wanted):
            return called(wanted[len(done)])
        return "[A0]" if len(done[2]) % 2 else "[A1]"

    tools = [served("twice"), "notes", "calculator"]
    assert played(runs, tools, script, rounds=16, seeds=2).complete


@pytest.mark.slow
def test_fifty_kills_between_a_result_and_the_answer_leave_the_same_tables(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.agents.test_tool_servers", "mcp"])

    def play_once(runs: Path, kills: Path | None) -> int | None:
        process = context.Process(target=_play_or_die, args=(runs, kills))
        process.start()
        process.join(300)
        return process.exitcode

    assert play_once(tmp_path / "calm", None) == 0
    kills = tmp_path / "kills"
    kills.write_bytes(b"")
    ends = [play_once(tmp_path / "killed", kills) for _ in range(KILLS)]
    assert ends == [-signal.SIGKILL] * KILLS and len(kills.read_bytes()) == KILLS
    assert play_once(tmp_path / "killed", kills) == 0
    assert tables(tmp_path / "killed" / "run", tmp_path / "one") == tables(
        tmp_path / "calm" / "run", tmp_path / "other"
    )
    assert not _running("twice")


def _running(how: str) -> list[str]:
    """The servers of that kind that are still there."""
    for _ in range(6000):
        found = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = entry.read_bytes().split(b"\0")
            except OSError:
                continue
            if str(SERVER).encode() in words and how.encode() in words:
                found.append(entry.parent.name)
        if not found:
            return []
        time.sleep(0.05)
    return found
