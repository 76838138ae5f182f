"""A dialogue shows what memory allows and no more; every mechanism plays both ways; a kill changes no chat."""

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.costs.forecast import forecast
from ostrom.costs.lengths import CHARACTERS_PER_TOKEN
from ostrom.features.attribution.plan import attribute, remembered_rounds
from ostrom.features.branching.branch import branch
from ostrom.ground.errors import StudyError
from ostrom.mechanisms import mechanisms
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import Run, open_run, play

SEEN = re.compile(r"\bR(\d+):|[Rr]ound (\d+)\b|mark-(\d+)-")
"""Everything in a message that speaks of a round: lines of the past, questions, the marks in replies."""


def marking(request: Request) -> str:
    """Writes the number of the round into every reply, so that a reply that stays too long gives itself away."""
    text = request.messages[-1].content
    numbers = re.findall(r"(?:This is round|Before round|talk before round) (\d+)", text) or re.findall(
        r"Round (\d+) of", text
    )
    mark = f"mark-{numbers[-1] if numbers else 0}-"
    draw = zlib.crc32(orjson.dumps([m.content for m in request.messages]))
    last = text.rpartition("\n\n")[2]
    if '"message"' in last:
        return f'{{"message": "{mark}{draw}"}}'
    if "note to yourself" in text:
        return "All went well."
    if '"rounds"' in last:
        return f'{{"rounds": [{re.findall(r"[0-9]+", last)[1]}]}}'
    if "JSON" in last:
        keys = re.findall(r'"([^"]+)"', last)
        return f"{mark}\n" + orjson.dumps(dict.fromkeys(keys, draw % 2)).decode()
    options = re.findall(r"\[(A\d)\]", last)
    return f"{mark}\n[{options[draw % len(options)]}]" if options else f"{mark} noted"


@pytest.fixture(autouse=True, scope="module")
def model() -> Iterator[None]:
    register("marking", marking)
    yield
    unregister("marking")


def study(mechanism: Any, memory: Any = "full", **agent: Any) -> dict[str, Any]:
    asked = {"model": "scripted/marking", "style": "reasoned", "conversation": "dialogue", "memory": memory}
    return {
        "name": "talk",
        "game": "prisoners_dilemma",
        "mechanism": mechanism,
        "agent": {**asked, **agent},
        "seeds": 1,
    }


def asked(run: Run, match: int = 0) -> dict[tuple[int, int], list[list[str]]]:
    """The messages of the call that settled every decision, by step and player."""
    found = {}
    for row in run.rows.calls(match):
        if row["part"] == "try0":
            found[row["step"], row["player"] - 1] = run.journal.prompt(row["id"]) or []
    return found


MEMORIES: list[Any] = [
    "full", "window:0", "window:1", "window:3", "tally", "retrieval:3",
    {"name": "forgetting", "rate": 0.4}, {"name": "forgiving", "m": 1},
    {"name": "summary", "keep": 1, "every": 2}, "curated:2", "asked:2",
    {"name": "edited", "of": "window:3", "back": 2},
    {"name": "edited", "of": "full", "back": 1, "edit": "flip", "seat": 2},
]  # fmt: skip
MECHANISMS: list[Any] = [
    {"name": "repetition", "rounds": 7},
    {"name": "repetition", "rounds": 6, "predict": "players", "noise": 0.3},
    {"name": "cheap_talk", "rounds": 5},
    {"name": "punishment", "rounds": 5},
    {"name": "reputation", "rounds": 5, "window": 2, "own": "memory", "state": ["during"], "state_as": "words"},
    {"name": "repetition", "rounds": 4, "talk": {"turns": 2}},
    {"name": "repetition", "rounds": 4, "talk": {"when": "after", "order": "in_turn"}},
    {"name": "society", "rounds": 4, "meeting": "pair", "own": "memory"},
]


@pytest.mark.sample(7)
@pytest.mark.parametrize("number", range(20))
def test_no_message_speaks_of_a_round_that_memory_does_not_show(number: int, tmp_path: Path) -> None:
    memory, mechanism = MEMORIES[number % len(MEMORIES)], MECHANISMS[number % len(MECHANISMS)]
    kept = number % 4 != 0
    data = study(mechanism, memory, earlier_reasoning="kept" if kept else "dropped")
    play(load_study({**data, "seed": number}), runs=tmp_path)
    with open_run("talk", tmp_path) as run:
        unit = run.plan.unit(0)
        steps, _, answers = run.rows.replayed(unit)
        sent = asked(run)
        for step, decisions in enumerate(steps):
            for decision in decisions:
                before = {place: known for place, known in answers.items() if place[0] <= step}
                config = unit.players[decision.player].config
                shown = remembered_rounds(config, decision, unit.streams, before)
                allowed = {played.number for played in shown} | {decision.view.round}
                messages = sent[step, decision.player]
                now = re.compile(rf"[Rr]ound {decision.view.round}\b")
                texts = [_own(text) if now.search(text) else text for _, text in messages]
                told = {int(n) for text in texts for found in SEEN.findall(text) for n in found if n}
                assert told <= allowed
                assert not any("noted" in text for role, text in messages if role == "assistant")
                assert_well_formed(messages)
                if decision.kind == "act" and mechanism["name"] not in ("reputation", "society"):
                    assert told == allowed


def assert_well_formed(messages: list[list[str]]) -> None:
    """User and assistant take turns, nothing is empty, and no result and no message is told twice."""
    roles = [role for role, _ in messages]
    roles = roles[1:] if roles[0] == "system" else roles
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    assert all(text.strip() == text != "" for _, text in messages)
    told = "\n".join(text for role, text in messages if role == "user")
    for line in (r"^R\d+:", r'^\{.*"message": ".+"\}$', r"^Punishments at the end of round \d+:"):
        found = re.findall(line, told, re.M)
        assert len(found) == len(set(found))
    for over, then in re.findall(r"^Round (\d+) is over\.[\s\S]*?(?:is|[Bb]efore) round (\d+)", told, re.M):
        assert int(then) == int(over) + 1


def _own(present: str) -> str:
    """A question of the present round without what the rules tell, whatever memory shows."""
    return re.sub(r"The record of [\s\S]*?\n\n|.*[Pp]unish.* at the end of round .*\n", "", present)


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["full", "window:1", "window:0"])
def test_every_message_that_the_rules_tell_stands_once_in_the_chat(memory: str, tmp_path: Path) -> None:
    mechanism = {"name": "repetition", "rounds": 4, "talk": {"shown": "all", "turns": 2}}
    play(load_study(study(mechanism, memory, style="direct")), runs=tmp_path)
    with open_run("talk", tmp_path) as run:
        steps, _, _ = run.rows.replayed(run.plan.unit(0))
        for (step, player), messages in asked(run).items():
            view = next(d.view for d in steps[step] if d.player == player)
            chat = "\n".join(text for role, text in messages if role == "user")
            told = re.findall(r'^\{"round": (\d), .*"message": "(.*)"\}$', chat, re.M)
            assert sorted(told) == sorted((str(m["round"]), m["text"]) for m in view.facts["talk"]["messages"])


@pytest.mark.sample(4)
@pytest.mark.parametrize("mechanism", sorted(mechanisms.names()))
def test_every_mechanism_plays_as_a_dialogue(mechanism: str, tmp_path: Path) -> None:
    under = {"name": "repetition", "rounds": 2}
    spec = {"name": "evolution", "genomes": ["Be kind."], "under": under, "generations": 2, "meetings": 2}
    data = study(spec if mechanism == "evolution" else mechanism, style="direct")
    play(load_study({**data, "invalid": {"retries": 0, "policy": "uniform"}}), runs=tmp_path)
    with open_run("talk", tmp_path) as run:
        assert all(state == "done" for state in run.journal.states().values())
        for match in range(len(run.plan)):
            for messages in asked(run, match).values():
                assert_well_formed(messages)
                assert len(messages) < 6 or mechanism != "evolution"


ALL = {"shown": "all", "turns": 2}
GROWING: list[Any] = [
    *MECHANISMS,
    "disarmament", "mediation", "contracting", {"name": "contracting", "talk": ALL},
    {"name": "repetition", "rounds": 4, "talk": ALL},
    {"name": "repetition", "rounds": 4, "talk": {"when": "start", "private": True}},
    {"name": "punishment", "rounds": 4, "talk": {**ALL, "when": "after"}},
]  # fmt: skip


@pytest.mark.sample(6)
@pytest.mark.parametrize("number", range(len(GROWING)))
def test_with_full_memory_every_chat_begins_with_the_one_before(number: int, tmp_path: Path) -> None:
    """As it was sent: no later chat tells a turn in other words."""
    data = study(GROWING[number], style="social" if number % 3 == 1 else "reasoned")
    play(load_study({**data, "invalid": {"retries": 0, "policy": "uniform"}}), runs=tmp_path)
    with open_run("talk", tmp_path) as run:
        for player in range(2):
            chats = [
                run.journal.prompt(row["id"]) or []
                for row in run.rows.calls(len(run.plan) - 1)
                if row["player"] == player + 1 and not row["part"].endswith(".end")
            ]
            sent: list[list[str]] = []
            for chat in chats:
                assert_well_formed(chat)
                assert chat[: len(sent)] == sent
                if "state the strategy" not in chat[-1][1] and "Now put the same strategy" not in chat[-1][1]:
                    assert len(chat) == len(sent) + (2 if sent else 1)
                    sent = chat
            assert len(sent) >= 3


def test_earlier_replies_stay_as_written_or_as_their_answers_alone(tmp_path: Path) -> None:
    for how in ("kept", "dropped"):
        data = study({"name": "repetition", "rounds": 3}, earlier_reasoning=how)
        play(load_study({**data, "name": how}), runs=tmp_path)
        with open_run(how, tmp_path) as run:
            said = [text for role, text in asked(run)[2, 0] if role == "assistant"]
        assert len(said) == 2
        assert all(bool(re.fullmatch(r"mark-\d-\n\[A\d\]", text)) == (how == "kept") for text in said)
        assert all(bool(re.fullmatch(r"\[A\d\]", text)) == (how == "dropped") for text in said)


@pytest.mark.slow
def test_a_match_that_was_stopped_goes_on_with_the_same_chat(tmp_path: Path) -> None:
    data = study({"name": "cheap_talk", "rounds": 4}, "window:2", style="social")
    play(load_study(data), runs=tmp_path / "calm")
    for calls in (5, 11, 18, 999):
        play(load_study({**data, "budget": {"calls": calls}}), runs=tmp_path / "stopped")
    with open_run("talk", tmp_path / "calm") as calm, open_run("talk", tmp_path / "stopped") as stopped:
        assert asked(calm) == asked(stopped)
        assert calm.journal.spent()["calls"] == stopped.journal.spent()["calls"]


def test_a_retry_shows_the_error_and_leaves_no_trace(tmp_path: Path) -> None:
    register("stumbling", lambda request: "[A1]" if "not be taken" in request.messages[-1].content else "Hm.")
    try:
        play(load_study(study("repetition", model="scripted/stumbling", style="direct")), runs=tmp_path)
    finally:
        unregister("stumbling")
    with open_run("talk", tmp_path) as run:
        calls = [row for row in run.rows.calls() if row["player"] == 1 and row["step"] == 2]
        first, again = (run.journal.prompt(row["id"]) or [] for row in calls)
    assert [row["part"] for row in calls] == ["try0", "try1"]
    assert again[:-2] == first and again[-2] == ["assistant", "Hm."]
    assert "That could not be taken as an answer" in again[-1][1]
    assert [text for role, text in first if role == "assistant"] == ["[A1]", "[A1]"]


@pytest.mark.parametrize(("how", "stays"), [("kept", "Hm."), ("dropped", "(no valid answer)")])
@pytest.mark.parametrize("mechanism", ["repetition", {"name": "repetition", "talk": {}}], ids=["act", "talk"])
def test_a_reply_that_never_could_be_read_stays_as_what_it_was(
    how: str, stays: str, mechanism: Any, tmp_path: Path
) -> None:
    register("mute", lambda _: "Hm.")
    try:
        data = study(mechanism, model="scripted/mute", constrain="never", earlier_reasoning=how)
        play(load_study({**data, "invalid": {"retries": 1, "policy": "uniform"}}), runs=tmp_path)
    finally:
        unregister("mute")
    with open_run("talk", tmp_path) as run:
        messages = asked(run)[2, 0]
    assert_well_formed(messages)
    assert [text for role, text in messages if role == "assistant"] == [stays] * 2


@pytest.mark.parametrize("how", ["kept", "dropped"])
def test_numbers_that_a_server_binds_as_json_stay_as_they_were_asked_for(how: str, tmp_path: Path) -> None:
    def offering(request: Request) -> str:
        return '{"amount": 30}' if request.constraint and request.constraint.schema else "I give a third."

    register("offering", offering)
    try:
        data = study({"name": "repetition", "rounds": 2}, model="scripted/offering", earlier_reasoning=how)
        play(load_study({**data, "game": "dictator"}), runs=tmp_path)
    finally:
        unregister("offering")
    with open_run("talk", tmp_path) as run:
        said = [text for role, text in asked(run)[1, 0] if role == "assistant"]
    assert said == ["I give a third.\n[30]" if how == "kept" else "[30]"]


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ({"memory": "sanitized"}, "memory sanitized shows rounds that were never played"),
        ({"tree": "auto", "params": {"temperature": 0}}, "tree needs conversation: prompt"),
        ({"conversation": "prompt", "earlier_reasoning": "dropped"}, "needs conversation: dialogue"),
    ],
)
def test_what_has_no_meaning_is_refused_in_one_line(agent: dict[str, Any], why: str) -> None:
    with pytest.raises(StudyError) as error:
        StudyPlan(load_study(study("repetition", **agent)))
    assert why in str(error.value) and "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("memory", ["full", "window:3"])
@pytest.mark.parametrize("mechanism", [{"name": "repetition", "rounds": 20}, {"name": "cheap_talk", "rounds": 8}])
def test_a_forecast_counts_the_growing_chat(mechanism: Any, memory: str, tmp_path: Path) -> None:
    data = study(mechanism, memory, params={"max_tokens": 40, "temperature": 0}, framing={"words": 5})
    bound = forecast(StudyPlan(load_study(data)))
    play(load_study(data), runs=tmp_path)
    with open_run("talk", tmp_path) as run:
        sent = sum(len(text) for row in run.rows.calls() for _, text in run.journal.prompt(row["id"]) or [])
    assert 0.9 < bound.tokens_in / (sent / CHARACTERS_PER_TOKEN) < 2.5


def test_a_branch_and_an_attribution_go_on_with_the_same_chat(tmp_path: Path) -> None:
    play(load_study(study({"name": "repetition", "rounds": 4}, "window:2")), runs=tmp_path)
    with open_run("talk", tmp_path) as run:
        chats = asked(run)
        branch(run, 0, 3, ["agent.memory=full"], runs=tmp_path, name="branched")
        _, path = attribute(run, 0, 4, measure="sample", samples=1, runs=tmp_path)
    with open_run("branched", tmp_path) as branched:
        assert re.findall(r"mark-(\d)-", str(asked(branched)[3, 0])) == ["1", "2", "3"]
    with open_run(path) as changed:
        sent = {
            changed.plan.unit(row["match"]).cell["counterfactual"]: changed.journal.prompt(row["id"]) or []
            for row in changed.rows.calls()
        }
    assert sent["as it was"] == chats[3, 0]
    assert re.findall(r"mark-(\d)-|^R(\d):", "\n".join(text for _, text in sent["R2 left out"]), re.M) == [
        ("3", ""), ("", "3"),
    ]  # fmt: skip
    flipped = "\n".join(text for _, text in sent["R3 own flipped"])
    assert "mark-2-" in flipped and "mark-3-" not in flipped and "The results of rounds 2 and 3:" in flipped
