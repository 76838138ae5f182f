"""Channels: what is written on one reaches its members and nobody else, whoever looks."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.mechanisms.test_talk import said

from ostrom.answers import Answer
from ostrom.games import build_game
from ostrom.ground.errors import OstromError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import Mechanism, mechanisms
from ostrom.mechanisms.protocol import Decision
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import play
from ostrom.testing.check_mechanism import drive


def build_mechanism(spec: dict[str, Any]) -> Mechanism:
    """A mechanism by its specification."""
    return mechanisms.build(spec)


RING = {"ring": [1, 2], "hall": "everybody"}


def talked(runs: Path, channels: Any, **changes: Any) -> dict[int, list[str]]:
    """Play a public goods game with talk; what each player was asked, by its number."""
    asked: dict[int, list[str]] = {1: [], 2: [], 3: []}

    def member(request: Request) -> str:
        text = request.messages[-1].content
        me = next(n for n in asked if f"You are Player {n}." in text)
        asked[me].append(text)
        if '"message": your message' not in text:
            return "[A0]"
        said = {"message": f"word of {me} in round {text.count('Round ')}"}
        if '"to", the channel' in text:
            said = {"to": "ring" if me < 3 else "hall", **said}
        return json.dumps(said)

    register("member", member)
    try:
        study = load_study(
            {
                "name": "talks",
                "game": "public_goods",
                "mechanism": {"name": "repetition", "rounds": 3, "talk": {"channels": channels, **changes}},
                "types": {"m": {"model": "scripted/member"}},
                "agent": {"style": "direct", "memory": "full"},
                "seating": "self",
                "seeds": 1,
            }
        )
        assert play(study, runs=runs).complete
    finally:
        unregister("member")
    return asked


@pytest.mark.parametrize("order", ["simultaneous", "in_turn"])
@pytest.mark.parametrize("shown", ["last", "all"])
def test_what_is_written_on_a_channel_reaches_its_members_alone(order: str, shown: str, tmp_path: Path) -> None:
    asked = talked(tmp_path, RING, order=order, shown=shown)
    outside = "\n".join(asked[3])
    assert "word of 3" in outside  # on the hall
    assert "word of 1" not in outside and "word of 2" not in outside and "ring" not in outside
    for member, other in ((1, 2), (2, 1)):
        inside = "\n".join(asked[member])
        assert f"word of {other}" in inside and "word of 3" in inside
        assert '"channel": "ring"' in inside and '"channel": "hall"' in inside
        assert 'on the channel "ring" is read by' in inside and "and by nobody else" in inside


def test_a_missed_message_is_on_no_channel_and_its_sender_alone_knows_of_it() -> None:
    game = build_game("public_goods")
    rules = build_mechanism(
        {"name": "repetition", "rounds": 1, "missed": "mark", "talk": {"channels": {"hall": "everybody"}}}
    )

    def reply(decision: Decision, step: int) -> Answer:
        if decision.kind != "message":
            return Answer("contribute", "scripted")
        return Answer(None, "missed") if decision.player == 0 else Answer({"message": f"m{decision.player}"})

    acts = drive(rules, game, Streams(0, 0), reply).asked[-1]
    heard = [[m["text"] for m in decision.view.facts["talk"]["messages"]] for decision in acts]
    assert heard == [["", "m1", "m2"], ["m1", "m2"], ["m1", "m2"]]


@pytest.mark.parametrize(
    ("channels", "line"),
    [
        ({"ring": [1, 4]}, r"talk.channels.ring: game public_goods has no seat 4 \(allowed: everybody"),
        ({"ring": [2]}, r"talk.channels.ring: a channel has at least two members \(found \[2\]\)"),
        ({"ring": [1, True]}, "has no seat True"),
        ({"ring": [0, 1]}, "has no seat 0"),
        ({"Ring <b>": [1, 2]}, "a name has small letters, digits and _"),
        ({}, "must map 1 to 20 names to their members"),
        ([1, 2], "must map 1 to 20 names to their members"),
        (
            {"ring": {"members": [1, 2], "overseen": "yes"}},
            "talk.channels.ring.overseen must be one of no, told, secret",
        ),
        ({"ring": {"member": [1, 2]}}, "unknown key 'member' of talk.channels.ring"),
    ],
)
def test_channels_that_have_no_meaning_are_refused(channels: Any, line: str) -> None:
    with pytest.raises(OstromError, match=line):
        build_mechanism({"name": "repetition", "rounds": 3, "talk": {"channels": channels}}).check(
            build_game("public_goods")
        )


@pytest.mark.parametrize("other", [{"private": True}, {"who": 1}])
def test_channels_go_with_no_other_rule_of_who_reads(other: dict[str, Any]) -> None:
    with pytest.raises(OstromError, match="goes with neither private nor who"):
        build_mechanism({"name": "repetition", "rounds": 3, "talk": {"channels": RING, **other}})


def test_societies_have_no_channels() -> None:
    society = build_mechanism({"name": "reputation", "rounds": 3, "talk": {"channels": RING}})
    with pytest.raises(OstromError, match=r"talk\.channels cannot be stated in mechanism reputation"):
        society.check(build_game("public_goods"))


@pytest.mark.parametrize(("overseen", "read"), [("no", False), ("told", True), ("secret", True)])
def test_an_observer_reads_a_channel_that_is_overseen(overseen: str, read: bool) -> None:
    channels = {"ring": {"members": [1, 2], "overseen": overseen}}
    rules = build_mechanism({"name": "repetition", "rounds": 1, "predict": "observer", "talk": {"channels": channels}})
    playing = said(rules, build_game("public_goods"))
    views = [decision.view for step in playing.asked for decision in step if decision.view.facts.get("observer")]
    assert views
    for view in views:
        talk = view.facts.get("talk")
        assert (talk is not None) is read
        if talk is not None:
            assert len(talk["messages"]) == 2 and all(message["text"] for message in talk["messages"])
