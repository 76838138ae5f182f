"""An agent outside plays a seat: it reads what a model reads, is read by the same readers, and breaks nothing."""

import asyncio
import socket
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.features.seats.playing import agent, plan_of, play, said

from ostrom.agents.config import AgentConfig
from ostrom.answers import Choice
from ostrom.engine.plan import Seated
from ostrom.engine.play_options import PlayOptions
from ostrom.features.attribution.plan import check_measure
from ostrom.features.seats.host import SeatHost
from ostrom.features.seats.server import connected, remote_seats
from ostrom.ground.errors import OstromError, UsageError
from ostrom.studies.run import open_run, play_plan
from ostrom.testing.server import LoopbackServer


def decisions(runs: Path) -> list[dict[str, Any]]:
    with open_run(runs / "s") as run:
        return list(run.rows.decisions())


def actions(runs: Path, player: int) -> list[Any]:
    return [row["action"] for row in decisions(runs) if row["player"] == player and row["kind"] == "act"]


def asked(told: list[tuple[str, str]]) -> list[str]:
    return [text for state, text in told if state == "decide"]


def test_an_agent_reads_word_for_word_what_a_model_at_its_seat_reads(tmp_path: Path) -> None:
    persona = {"persona": "You are a patient trader.", "persona_in": "system", "style": "reasoned"}
    result, [told] = play(plan_of(agent=persona), tmp_path, agent("I like it.\n[A0]"))
    assert result.complete
    heard: list[str] = []

    def reply(body: dict[str, Any]) -> str:
        heard.append("\n\n".join(message["content"] for message in body["messages"]))
        return "I like it.\n[A0]"

    with LoopbackServer(reply) as server:
        types = {"coder": {"model": server.model}, "tft": {"strategy": "tit_for_tat"}}
        play_plan(plan_of(agent=persona, types=types), name="model", runs=tmp_path)
    assert len(heard) == 3 and asked(told) == heard


def test_rubbish_is_told_what_is_wrong_and_then_the_study_decides(tmp_path: Path) -> None:
    plan = plan_of(invalid={"retries": 2, "policy": "default:defect"})
    result, [told] = play(plan, tmp_path, agent("whatever"))
    assert result.complete and actions(tmp_path, 1) == ["defect"] * 3
    assert [state for state, _ in told[:4]] == ["decide", "again", "again", "refused"]
    assert "names none of the options [A0] or [A1]: 'whatever'" in told[1][1]
    rows = [row for row in decisions(tmp_path) if row["player"] == 1]
    assert {row["reading"] for row in rows} == {"policy"} and result.tally.invalid == 9


def test_rubbish_fails_the_match_where_the_study_says_so(tmp_path: Path) -> None:
    result, [told] = play(plan_of(invalid={"retries": 0}), tmp_path, agent("whatever"))
    assert not result.complete and "no valid answer" in result.tally.failures[0]
    assert [state for state, _ in told] == ["decide", "refused", "match_over", "run_over"]
    assert told[2][1] == "The match is over. It was broken off."


SILENT = {"coder": {"mcp": {"time": 0.2}}, "tft": {"strategy": "tit_for_tat"}}


async def silent(host: SeatHost) -> None:
    """An agent that looks once and says nothing."""
    async with connected(host.url, host.chair(1).token) as client:
        assert (await said(client, "look"))[0] == "decide"


def test_a_decision_without_an_answer_in_time_is_missed_by_the_rule_of_the_study(tmp_path: Path) -> None:
    rules = {"name": "repetition", "rounds": 3, "missed": "mark"}
    result, _ = play(plan_of(types=SILENT, mechanism=rules), tmp_path, silent)
    assert result.complete
    own = [row for row in decisions(tmp_path) if row["player"] == 1]
    assert [row["reading"] for row in own] == ["missed"] * 3 and [row["action"] for row in own] == [None] * 3


def test_a_missed_decision_fails_the_match_where_the_study_has_no_rule(tmp_path: Path) -> None:
    result, _ = play(plan_of(types=SILENT), tmp_path, silent)
    assert not result.complete and "missed a decision, and the study has no rule" in result.tally.failures[0]


def test_whoever_leaves_misses_the_rest_of_the_match_and_may_come_again(tmp_path: Path) -> None:
    async def leaving(host: SeatHost) -> Any:
        async with connected(host.url, host.chair(1).token) as client:
            assert (await said(client, "look"))[0] == "decide"
            assert (await said(client, "act", answer="[A0]"))[0] == "taken"
            assert (await said(client, "leave"))[0] == "left"
        return await agent("[A0]")(host)

    rules = {"name": "repetition", "rounds": 3, "missed": "default:defect"}
    result, [told] = play(plan_of(mechanism=rules, seeds=2), tmp_path, leaving)
    assert result.complete
    assert actions(tmp_path, 1) == ["cooperate", "defect", "defect"] + ["cooperate"] * 3
    assert told[0] == ("match_over", "The match is over. Your score: 3 (points per round).")


def test_a_token_belongs_to_one_seat(tmp_path: Path) -> None:
    types = {"one": {"mcp": "seat"}, "two": {"mcp": "seat"}}
    refused: list[tuple[str, str]] = []

    async def curious(host: SeatHost) -> Any:
        async with connected(host.url, host.chair(1).token) as client:
            for tool, more in (("look", {}), ("rules", {}), ("act", {"answer": "[A0]"}), ("leave", {})):
                refused.append(await said(client, tool, seat=2, **more))
            refused.append(await said(client, "look", seat="1"))
            assert (await said(client, "look", seat=1))[0] == "decide"
        return await agent("[A0]")(host)

    result, _ = play(plan_of(types=types), tmp_path, curious, agent("[A1]", seat=2))
    assert result.complete and set(refused) == {("refused", "That seat is not yours (yours: 1).")}


def test_calls_that_make_no_sense_are_answered_with_one_line(tmp_path: Path) -> None:
    from mcp import MCPError

    async def clumsy(host: SeatHost) -> Any:
        told = []
        async with connected(host.url, host.chair(1).token) as client:
            while not host._waiting[1]._turns:
                await asyncio.sleep(0.01)
            told.append(await said(client, "act", answer="[A0]"))
            await said(client, "look")
            told.append(await said(client, "act", answer="A" * 20_001))
            told.append(await said(client, "look", wait="long"))
            told.append(await said(client, "look", wait=True))
            told.append(await said(client, "look", wiat=3))
            told.append(await said(client, "act", answer=7))
            told.append(await said(client, "act"))
            told.append(await said(client, "cheat"))
            with pytest.raises(MCPError, match=r"^A request has at most 131,072 bytes\.$"):
                await said(client, "act", answer="A" * 10_000_000)
            assert (await said(client, "act", answer="[A0]"))[0] == "taken"
        await agent("[A0]")(host)
        return told

    result, [told] = play(plan_of(), tmp_path, clumsy)
    assert result.complete and result.tally.invalid == 0
    assert [state for state, _ in told] == ["refused"] * 8
    assert [text for _, text in told] == [
        "You have not read what there is to decide: call look first.",
        "An answer has at most 20,000 characters (found 20,001).",
        *["wait must be a number of seconds from 0 to 50."] * 2,
        "look has no argument 'wiat' (allowed: seat, wait).",
        "answer must be a text.",
        "answer must be a text.",
        "There is no tool 'cheat' (allowed: look, rules, act, leave).",
    ]


def test_calls_after_the_end_are_answered(tmp_path: Path) -> None:
    async def lingering(host: SeatHost) -> Any:
        told: Any = []
        async with connected(host.url, host.chair(1).token) as client:
            while not told or told[-1][0] != "match_over":
                told.append(await said(client, "look"))
                if told[-1][0] == "decide":
                    told.append(await said(client, "act", answer="[A0]"))
            return [await said(client, "act", answer="[A0]"), await said(client, "rules"), await said(client, "look")]

    result, [told] = play(plan_of(), tmp_path, lingering)
    assert result.complete and [state for state, _ in told] == ["refused", "refused", "run_over"]


def test_the_rules_can_be_looked_up_and_say_nothing_else(tmp_path: Path) -> None:
    async def reading(host: SeatHost) -> Any:
        async with connected(host.url, host.chair(1).token) as client:
            _, first = await said(client, "look")
            found = [first, (await said(client, "rules"))[1]]
            await said(client, "act", answer="[A0]")
            await said(client, "look")
            found.append((await said(client, "rules"))[1])
        await agent("[A0]")(host)
        return found

    _, [[prompt, rules, later]] = play(plan_of(agent={"system": "Be brief please."}), tmp_path, reading)
    assert prompt.startswith(rules) and "Be brief please." in rules and later == rules
    assert "round 1" not in rules and "[A0] or [A1]" not in rules


def test_only_requests_with_the_token_from_this_machine_are_served(tmp_path: Path) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    async def strange(host: SeatHost) -> list[int]:
        own = {"authorization": f"Bearer {host.chair(1).token}", "accept": "application/json, text/event-stream"}
        cases: list[dict[str, str]] = [
            own,
            {**own, "authorization": "Bearer " + "x" * 43},
            {**own, "authorization": f"Basic {host.chair(1).token}"},
            {**own, "authorization": "Bearer \u00e9"},
            {name: text for name, text in own.items() if name != "authorization"},
            {**own, "host": "evil.example.org"},
            {**own, "origin": "https://evil.example.org"},
            {**own, "sec-fetch-site": "cross-site"},
        ]
        found = []
        import httpx2

        async with httpx2.AsyncClient() as client:
            for headers in cases:
                raw = [(name.encode(), text.encode()) for name, text in headers.items()]
                found.append((await client.post(host.url, json=body, headers=raw)).status_code)
            found.append((await client.post(host.url + "/x", json=body, headers=own)).status_code)
        await agent("[A0]")(host)
        return found

    _, [found] = play(plan_of(), tmp_path, strange)
    assert found == [200, 401, 401, 401, 401, 421, 403, 403, 404]


def test_tokens_lie_in_a_file_for_this_user_alone_and_are_gone_afterwards(tmp_path: Path) -> None:
    async def peeking(host: SeatHost) -> int:
        file = tmp_path / "s" / "seats.json"
        while not file.exists():
            await asyncio.sleep(0.01)
        mode = stat.S_IMODE(file.stat().st_mode)
        assert host.chair(1).token in file.read_text()
        await agent("[A0]")(host)
        return mode

    _, [mode] = play(plan_of(), tmp_path, peeking)
    assert mode == 0o600 and not (tmp_path / "s" / "seats.json").exists()
    held = b"".join(path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file())
    assert b"Bearer" not in held and [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_cluster_and_batches_are_refused(tmp_path: Path) -> None:
    for options in (PlayOptions(batch=True), PlayOptions(executor="ray")):
        with pytest.raises(UsageError, match=r"agents at seats \(mcp\) are asked by this process"):
            play_plan(plan_of(), name="s", runs=tmp_path, options=options)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("types", "line"),
    [
        ({"mcp": "chair"}, "mcp"),
        ({"mcp": {"time": 0}}, "must be more than 0"),
        ({"mcp": {"comand": ["x"]}}, "comand"),
        ({"mcp": {"command": "python agent.py"}}, "list"),
        ({"mcp": {"command": []}}, "list of a program"),
        ({"mcp": "seat", "model": "openai/gpt-4o"}, "exactly one way"),
        ({"mcp": "seat", "style": "logprob"}, "no style logprob"),
        ({"mcp": "seat", "tools": ["calculator"]}, "tools are for a model"),
    ],
)
def test_what_is_wrong_with_a_seat_is_said_in_one_line(types: dict[str, Any], line: str) -> None:
    with pytest.raises(OstromError, match=line) as refused:
        plan_of(types={"coder": types, "tft": {"strategy": "tit_for_tat"}})
    assert "\n" not in str(refused.value)


def test_a_seat_whose_run_has_ended_says_so() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
    told = asyncio.run(remote_seats(address, {1: "token"})("look", {}))
    assert (told.state, told.text) == ("run_over", "The run is no longer played: its process has ended.")


def test_an_agent_cannot_be_asked_the_same_decision_again() -> None:
    def opened(name: str, settings: Any) -> Any:
        raise AssertionError(name)

    seated = Seated("coder", AgentConfig.model_validate({"mcp": "seat"}))
    with pytest.raises(UsageError, match=r"^coder is an agent at a seat \(mcp\); its decision cannot be asked again$"):
        check_measure(seated, None, opened, Choice(("a", "b")))


def test_agents_at_two_seats_are_in_one_match_at_a_time() -> None:
    host = SeatHost(plan_of(types={"mine": {"mcp": "seat"}, "yours": {"mcp": "seat"}}), PlayOptions())
    host._server.close()
    assert host.at_once == 1
