"""Tools within a decision: what they give is exact, journaled and bounded; nothing that a model writes breaks play."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.replications.killing import calm_and_killed
from tests.run_tables import tables

from ostrom.agents.tools import LONGEST_RESULT, Scene, ToolFailed, calculated, tools, used
from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.data.tables import export_rows
from ostrom.features.transcript.transcript import transcript
from ostrom.games import build_game
from ostrom.ground.errors import MalformedReply, OstromError
from ostrom.mechanisms.protocol import History, Round, View
from ostrom.models.asking import arguments_of, tool_calls, tool_turn
from ostrom.models.base import Reply, Request, Usage
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.resolve import resolve
from ostrom.studies.run import open_run, play
from ostrom.testing.server import LoopbackServer

PD = build_game("prisoners_dilemma")
LABELS = {"cooperate": "A0", "defect": "A1"}
PLAYED = [Round(1, (0, 1), (0.0, 5.0)), Round(2, (1, 1), (1.0, 1.0))]


def scene(seat: int = 0, *earlier: dict[str, Any]) -> Scene:
    return Scene(View(PD, seat, "repetition", 3, History(PLAYED)), LABELS, earlier)


def use(tool: str, name: str, where: Scene | None = None, **arguments: Any) -> str:
    return asyncio.run(used([tools.build(tool)], where or scene(), name, json.dumps(arguments)))[0]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("-(2 - 5) ^ 3", "27"),
        ("1/3 + 1/6", "1/2 (about 0.5)"),
        ("0.1 + 0.2", "3/10 (about 0.3)"),
        ("2 ** -2", "1/4 (about 0.25)"),
    ],
)
def test_arithmetic_is_exact(expression: str, value: str) -> None:
    assert calculated(expression) == value


@pytest.mark.parametrize(
    ("expression", "line"),
    [
        ("1/0", "a division by 0"),
        ("9**9**9", "power"),
        ("99999 ** 200", "digits"),
        ("10**200 * 10**200 * 10**200 * 10**200 * 10**200", "digits"),
        ("__import__('os')", "only numbers"),
        ("(1).__class__", "only numbers"),
        ("True + 1", "only numbers"),
        ("1 +", "no arithmetic"),
        ("((" * 200, "no arithmetic"),
        ("1" * 501, "at most 500 characters"),
        (7, "at most 500 characters"),
    ],
)
def test_what_is_no_small_arithmetic_is_an_error(expression: Any, line: str) -> None:
    with pytest.raises(ToolFailed, match=line):
        calculated(expression)


def test_a_look_back_tells_the_rounds_from_the_own_side() -> None:
    assert use("past", "look_back", first=1, last=2) == (
        "round 1: you A0 (0), player_2 A1 (5)\nround 2: you A1 (1), player_2 A1 (1)"
    )
    assert use("past", "look_back", scene(1), first=1, last=1) == "round 1: player_1 A0 (0), you A1 (5)"
    assert use("past", "look_back", first=3, last=9) == "no such round has been played"
    assert "at most 100 rounds" in use("past", "look_back", first=1, last=101)
    assert "whole numbers" in use("past", "look_back", first=2, last=1)
    missed = Scene(replace(scene().view, history=History([PLAYED[0], Round(2, (), (0.0, 0.0))])), LABELS)
    assert use("past", "look_back", missed, first=1, last=2) == "round 1: you A0 (0), player_2 A1 (5)"


def test_notes_are_those_that_the_player_kept() -> None:
    kept = {"tool": "write_note", "arguments": '{"text": "he defects"}', "result": "", "failed": False, "step": 0}
    lost = {**kept, "arguments": '{"text": "x"}', "failed": True}
    assert use("notes", "read_notes") == "there are no notes"
    assert use("notes", "read_notes", scene(0, kept, lost, kept)) == "1. he defects\n2. he defects"
    assert use("notes", "write_note", scene(0, kept), text="again") == "kept as note 2"
    assert "at most 2000 characters" in use("notes", "write_note", text="x" * 2001)
    long = {**kept, "arguments": json.dumps({"text": "x" * 2000})}
    assert len(use("notes", "read_notes", scene(0, long, long, long))) == LONGEST_RESULT


@pytest.mark.parametrize("arguments", ["[1]", "{", "", '{"expression": 1, "more": 2}', "null"])
def test_whatever_a_model_writes_is_answered(arguments: str) -> None:
    result, failed = asyncio.run(used([tools.build("calculator")], scene(), "calculate", arguments))
    assert failed and result.startswith("error: ")
    assert (
        asyncio.run(used([tools.build("past")], scene(), "rm -rf", "{}"))[0]
        == "error: there is no tool 'rm -rf' (there are: look_back)"
    )


def test_calls_of_a_reply_are_bounded() -> None:
    with pytest.raises(MalformedReply, match="more than 32 tools"):
        tool_calls([("a", "b", "{}")] * 33, "m")
    with pytest.raises(MalformedReply, match="more than 20000 characters"):
        tool_calls([("a", "b", "x" * 20_001)], "m")
    with pytest.raises(MalformedReply, match="without a name"):
        tool_calls([("a", None, "{}")], "m")
    assert tool_calls([(None, "b", {"x": 1})], "m") == [{"id": "call_0", "name": "b", "arguments": '{"x":1}'}]
    assert arguments_of("[]") is None


def study(tool: list[Any], rounds: int = 3, **agent: Any) -> dict[str, Any]:
    return {
        "name": "run",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": rounds},
        "types": {"m": {"model": "scripted/caller", "tools": tool, **agent}, "tft": "tit_for_tat"},
        "agent": {"style": "direct", "memory": "window:0"},
        "seating": "seats",
        "seeds": 1,
        "invalid": {"retries": 1, "policy": "uniform"},
    }


def called(*calls: tuple[str, dict[str, Any]]) -> Reply:
    made = [{"id": f"c{n}", "name": name, "arguments": json.dumps(given)} for n, (name, given) in enumerate(calls)]
    return Reply(tool_turn("", made).content, finish="tools", usage=Usage(10, 5))


def played(runs: Path, tool: list[str], script: Callable[[Request], Reply | str], **agent: Any) -> list[dict[str, Any]]:
    register("caller", script)
    try:
        assert play(load_study(study(tool, **agent)), runs=runs).complete
    finally:
        unregister("caller")
    with open_run("run", runs) as run:
        return list(run.rows.decisions())


def test_a_notebook_lasts_from_round_to_round(tmp_path: Path) -> None:
    read: list[str] = []

    def script(request: Request) -> Reply | str:
        results = [orjson.loads(m.content) for m in request.messages if m.role == "tool"]
        text = request.messages[0].content
        if not results:
            number = text.partition("This is round ")[2].partition(".")[0]
            return called(("write_note", {"text": f"seen {number}"}), ("read_notes", {}))
        read.append(results[-1]["result"])
        return "[A0]"

    rows = played(tmp_path, ["notes"], script)
    assert read[:3] == ["1. seen 1", "1. seen 1\n2. seen 2", "1. seen 1\n2. seen 2\n3. seen 3"]
    kinds = [row["kind"] for row in rows if row["agent"] == "m" and row["match"] == 0]
    assert kinds.count("tool") == 6 and kinds.count("act") == 3
    with open_run("run", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        assert {e.key["agent"]: e.value for e in estimate(data, "tool_calls", ["agent"])} == {"m": 6.0}
        calls = data.records("SELECT * FROM tool_calls ORDER BY match, step")
        assert [(row["round"], row["tool"]) for row in calls[:2]] == [(1, "write_note"), (1, "read_notes")]
        assert calls[1]["result"] == "1. seen 1" and not calls[1]["failed"] and calls[1]["agent"] == "m"
        written = export_rows(run.rows, "csv", tmp_path / "csv")
        assert written["tool_calls"][1] == len(calls) == 6
        told = list(transcript(run, 0, player=1))
    assert [one["kind"] for one in told] == ["act"] * 3 and len(told[0]["calls"]) == 2
    assert told[0]["calls"][1]["part"] == "try0.after2"


def test_a_model_that_never_answers_is_stopped_by_the_limit(tmp_path: Path) -> None:
    asked: list[str] = []

    def script(request: Request) -> Reply | str:
        asked.append(request.messages[-1].content)
        return called(("calculate", {"expression": "1+1"}))

    rows = played(tmp_path, ["calculator"], script, tool_limit={"calls": 2})
    acts = [row for row in rows if row["agent"] == "m" and row["kind"] == "act"]
    assert {row["reading"] for row in acts} == {"policy"} and {row["complaints"] for row in acts} == {2}
    assert any("no more tools may be called: answer now" in text for text in asked)
    assert sum(row["kind"] == "tool" for row in rows if row["agent"] == "m") == len(acts) * 2 * 2


def test_tokens_of_tools_are_limited(tmp_path: Path) -> None:
    rows = played(
        tmp_path, ["calculator"], lambda _: called(("calculate", {"expression": "1"})), tool_limit={"tokens": 12}
    )
    acts = sum(row["kind"] == "act" and row["agent"] == "m" for row in rows)
    assert sum(row["kind"] == "tool" for row in rows) == acts * 2 * 2  # two calls of 5 tokens, in each of two tries


PLAY = """
import json, sys
from pathlib import Path
from ostrom.models.base import Reply
from ostrom.models.providers.scripted import register
from ostrom.studies.load import load_study
from ostrom.studies.run import play
STUDY = json.loads(%r)
def script(request):
    results = sum(m.role == "tool" for m in request.messages)
    if results < 3:
        given = json.dumps({"text": f"{len(request.messages)} " + "x" * 300})
        calls = [{"id": "c", "name": "write_note", "arguments": given}]
        return Reply(json.dumps({"text": "", "calls": calls}), finish="tools")
    return "[A0]" if "x" * 300 in request.messages[-1].content or results %% 2 else "[A1]"
register("caller", script)
play(load_study(STUDY), runs=Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_kills_between_a_tool_and_the_answer_leave_the_same_tables(tmp_path: Path) -> None:
    code = PLAY % json.dumps({**study(["notes"], 20), "seeds": 4})
    calm, killed = calm_and_killed(code, tmp_path, kills=6, growth=22_000)
    assert tables(calm, tmp_path / "one") == tables(killed, tmp_path / "other")


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_both_wires_call_tools(wire: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackServer() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.origin)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        model = server.model if wire == "openai" else "anthropic/claude-sonnet-4-5"
        settings = {"settings": {"abilities": ["tools"]}} if wire == "openai" else {}
        data = study(["calculator", "notes", "past"], 2)
        data["types"] = {
            "m": {"model": model, "tools": ["calculator", "notes", "past"], **settings},
            "tft": "tit_for_tat",
        }
        assert play(load_study(data), runs=tmp_path).complete
    with open_run("run", tmp_path) as run:
        rows = list(run.rows.decisions())
    acts = [row for row in rows if row["agent"] == "m" and row["kind"] == "act"]
    assert {row["reading"] for row in acts} == {"exact"}
    assert sum(row["kind"] == "tool" for row in rows) == len(acts)


def test_models_that_call_no_tools_are_refused_by_name() -> None:
    with LoopbackServer() as server:
        data = {**study([]), "types": {"m": {"model": server.model, "tools": ["past"]}, "tft": "tit_for_tat"}}
        with pytest.raises(OstromError, match="is not known to call tools"):
            resolve(data)


@pytest.mark.parametrize(
    ("agent", "line"),
    [
        ({"tools": ["calculater"]}, "did you mean calculator"),
        ({"tools": ["past"], "style": "logprob"}, "tools are for a model that writes its answer"),
        ({"tools": ["past"], "tool_limit": {"calls": 0}}, "tool_limit.calls"),
    ],
)
def test_tools_that_make_no_sense_are_refused(agent: dict[str, Any], line: str, tmp_path: Path) -> None:
    register("caller", "[A0]")
    try:
        with pytest.raises(OstromError, match=line):
            play(
                load_study({**study([]), "types": {"m": {"model": "scripted/caller", **agent}, "t": "tit_for_tat"}}),
                runs=tmp_path,
            )
    finally:
        unregister("caller")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 ** 200", "1"), ("1 ** -200", "1"), ("1" * 400 + " - 1 * 0", "1" * 400), ("+3 - -2", "5"),
        ("6 / 4 * 2", "3"),
        ("10 ** 200 / 10 ** 199", "10"), (" " * 498 + "11", "11"),
    ],
)  # fmt: skip
def test_arithmetic_goes_up_to_its_bounds(expression: str, value: str) -> None:
    assert calculated(expression) == value


@pytest.mark.parametrize(
    ("expression", "line"),
    [("1 ** 201", "power"), ("1 ** -201", "power"), ("4 ** 0.5", "power"), ("10 ** 201", "power"),
     ("123 ** 134", "digits"),
     ("(1/100) ** 134", "digits"), ("1 % 2", "only numbers"), ("~1", "only numbers"), ("1j", "only numbers")],
)  # fmt: skip
def test_arithmetic_ends_beyond_its_bounds(expression: str, line: str) -> None:
    with pytest.raises(ToolFailed, match=line):
        calculated(expression)


@pytest.mark.parametrize(
    ("share", "line"),
    [
        ({"A0": 100, "A1": 0}, "player_1: 3, player_2: 3"), ({"A0": 100.5, "A1": -0.5}, "needs percentages"),
        ({"A0": True, "A1": 99}, "needs percentages"), ({"A0": "50", "A1": 50}, "needs percentages"),
        ({"A0": 60, "A1": 41}, "add up to 101 and not to 100"), (None, "needs percentages"),
        ([100], "needs percentages"),
        ({"A0": 0.1, "A1": 99.9}, "player_1: 4.998, player_2: 0.003"),
    ],
)  # fmt: skip
def test_percentages_are_numbers_from_0_to_100_that_add_up(share: Any, line: str) -> None:
    assert line in use("calculator", "expected_payoffs", player_1=share, player_2="A0")


@pytest.mark.parametrize(
    ("first", "last", "line"),
    [
        (1, 100, "round 1: "), (2, 2, "round 2: "), (0, 1, "whole numbers"), (True, 2, "whole numbers"),
        (1, 2.0, "whole numbers"), (2, 101, "round 2: "), (2, 102, "at most 100"),
    ],
)  # fmt: skip
def test_a_look_back_has_bounds(first: Any, last: Any, line: str) -> None:
    assert line in use("past", "look_back", first=first, last=last)
    assert use("notes", "write_note", text="x" * 2000) == "kept as note 1"
    assert "at most 2000" in use("notes", "write_note", text=7)
