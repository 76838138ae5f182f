"""Secrets on channels: a random word in every message is read by its readers and by the researcher, nowhere else."""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.agents.test_tools import called
from tests.cli.in_process import caller
from tests.people.crawling import crawl_together
from tests.people.served import Visitor, served
from tests.people.test_mechanisms import people_study

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.features.exporting import export_run
from ostrom.features.transcript.transcript import transcript
from ostrom.features.trees.plan import tree_names
from ostrom.ground.errors import StudyError
from ostrom.models.base import Reply, Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import plan_of
from ostrom.studies.run import open_run, play
from ostrom.testing.replies import answer
from ostrom.view.match import match_of

SECRET = re.compile(r"zq[0-9]{4}kx")
READERS = {"ring": {1, 2}, "hall": {1, 2, 3}}


@dataclass
class Members:
    """Three players and an observer who write a new word into whatever they write, and what each was sent."""

    overseen: bool = False
    """Whether observers read the ring."""
    readers: dict[str, set[int]] = field(default_factory=dict)
    sent: list[tuple[int, str]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1000))

    def secret(self, *readers: int) -> str:
        """A word that only these players may ever read; 0 is an observer."""
        word = f"zq{next(self._numbers)}kx"
        self.readers[word] = set(readers)
        return word

    def __call__(self, request: Request) -> Reply | str:
        """Answer what is asked in a form that is valid."""
        text = "\n".join(message.content for message in request.messages)
        found = re.search(r"You are Player ([0-9])\.", text)
        me = int(found[1]) if found else 0
        self.sent.append((me, text))
        last = [m.content for m in request.messages if m.role == "user"][-1].rpartition("\n\n")[2]
        if '"message": your message' in last:
            to = "ring" if me < 3 else "hall"
            readers = READERS[to] | ({0} if self.overseen and to == "ring" else set())
            message = {"message": self.secret(*readers)}
            return json.dumps({"to": to, **message} if '"to"' in last else message)
        if "Answer with the text alone" in last:
            return self.secret(me)
        results = [message for message in request.messages if message.role == "tool"]
        if request.tools and not results:
            return called(
                ("write_note", {"text": self.secret(me)}), ("read_notes", {}), ("look_back", {"first": 1, "last": 9})
            )
        body = {"messages": [{"role": m.role, "content": m.content} for m in request.messages if m.role != "tool"]}
        said = answer(body)
        if '"intend"' in last:
            said = said.replace("Noted.", self.secret(1, 2, 3))  # all players read a negotiation
        return f"{self.secret(me)}\n{said}" if "think" in last and "JSON" not in last else said

    def leaks(self) -> list[tuple[int, str]]:
        """Who was sent a word that is not for it."""
        return [
            (who, word) for who, text in self.sent for word in SECRET.findall(text) if who not in self.readers[word]
        ]


@pytest.fixture
def members() -> Iterator[Members]:
    made = Members()
    register("member", made)
    yield made
    unregister("member")


def talked(members: Members, runs: Path, channels: Any = None, **changes: Any) -> None:
    """Play a study in which these members talk."""
    mechanism = {
        "name": "repetition", "rounds": 4,
        "talk": {"channels": channels or {"ring": [1, 2], "hall": "everybody"}, "shown": "all"},
        **changes.pop("mechanism", {}),
    }  # fmt: skip
    agent = {"style": "reasoned", "memory": "full", **changes.pop("agent", {})}
    study = {
        "name": "talks", "game": "public_goods", "mechanism": mechanism, "agent": agent,
        "types": {"m": {"model": "scripted/member"}}, "seating": "self", "seeds": 1, **changes,
    }  # fmt: skip
    assert play(load_study(study), runs=runs).complete
    assert {who for who, text in members.sent if SECRET.search(text)} >= {1, 2}, "members read each other"
    assert {1, 2} in [readers - {0} for readers in members.readers.values()]


WRITTEN = {"name": "summary", "keep": 1, "every": 1}
slow = pytest.mark.slow


@pytest.mark.parametrize(
    "changes",
    [
        {"agent": {"tools": ["notes", "past"]}, "mechanism": {"state": "after", "state_as": "words"}},
        {"agent": {"memory": WRITTEN}, "mechanism": {"predict": "players", "recognise": True}},
        {"agent": {"conversation": "dialogue", "earlier_reasoning": "kept"}},
        {"agent": {"conversation": "dialogue", "memory": "window:1"}},
        {"mechanism": {"predict": "observer"}, "observers": ["m"]},
        {"mechanism": {"name": "negotiation", "rounds": 2, "turns": 3}},
        {"mechanism": {"name": "negotiation", "rounds": 2, "turns": 3}, "agent": {"conversation": "dialogue"}},
        {
            "game": {"name": "public_goods_amounts", "n": 3},
            "mechanism": {"name": "negotiation", "rounds": 2, "turns": 3, "bound": 9},
        },
        *(
            pytest.param({"agent": {"memory": memory}}, marks=slow)
            for memory in (
                "full", "window:2", "tally", "retrieval:1", "asked:1", "curated:1", "forgetting:0.5", "sanitized",
            )
        ),
        *(pytest.param({"agent": {"style": style}}, marks=slow) for style in ("direct", "social", "best_response")),
    ],
)  # fmt: skip
def test_no_prompt_of_a_player_holds_a_word_that_is_not_for_it(
    changes: dict[str, Any], members: Members, tmp_path: Path
) -> None:
    talked(members, tmp_path, **changes)
    assert members.leaks() == []


@pytest.mark.parametrize("overseen", ["told", "secret"])
def test_observers_read_what_is_overseen_and_nothing_else(overseen: str, members: Members, tmp_path: Path) -> None:
    members.overseen = True
    channels = {"ring": {"members": [1, 2], "overseen": overseen}, "hall": "everybody"}
    talked(members, tmp_path, channels, mechanism={"predict": "observer"}, observers=["m"])
    assert members.leaks() == []
    assert any(who == 0 and SECRET.search(text) for who, text in members.sent)


def everything(folder: Path) -> str:
    """All that the files of a folder hold, as one text."""
    texts = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            texts += [str(frame[column].to_list()) for column in frame.columns]
        else:
            texts.append(path.read_text(errors="replace"))
    return "\n".join(texts)


def test_exports_for_others_hold_no_word_and_those_for_the_researcher_all(members: Members, tmp_path: Path) -> None:
    talked(
        members,
        tmp_path,
        mechanism={"name": "negotiation", "rounds": 2, "turns": 3, "state": "after", "state_as": "words"},
        agent={"tools": ["notes"], "memory": WRITTEN},
    )
    words: dict[str, set[str]] = {}
    with open_run("talks", tmp_path) as run:
        for name in ("shared", "otree", "every-eval", "jsonl", "inspect"):
            export_run(run, name, tmp_path / name)
            words[name] = set(SECRET.findall(everything(tmp_path / name)))
    assert words["shared"] == words["otree"] == words["every-eval"] == set()
    assert words["jsonl"] == words["inspect"] == set(members.readers)
    with open_run(tmp_path / "shared") as run, run_data(run.rows, tmp_path / "shared", run.manifest) as data:
        assert [e.value for e in estimate(data, "agreement", [])], "what was agreed is no text"


def test_short_messages_of_cheap_talk_are_not_shared(tmp_path: Path, members: Members) -> None:
    rules = {"name": "cheap_talk", "rounds": 2}
    study = {"name": "cheap", "game": "public_goods", "mechanism": rules, "types": {"m": "scripted/member"}, "seeds": 1}
    assert play(load_study(study), runs=tmp_path).complete
    with open_run("cheap", tmp_path) as run:
        export_run(run, "shared", tmp_path / "shared")
    assert members.readers and not SECRET.search(everything(tmp_path / "shared"))


def test_a_transcript_of_one_player_holds_what_it_read_and_that_of_all_says_who_reads(
    members: Members, tmp_path: Path
) -> None:
    talked(members, tmp_path, {"ring": {"members": [1, 2], "overseen": "secret"}}, agent={"memory": WRITTEN})
    with open_run("talks", tmp_path) as run:
        for player in (1, 2, 3):
            told = str(list(transcript(run, 0, player=player)))
            assert SECRET.search(told)  # its own notes at least
            assert all(player in members.readers[word] for word in SECRET.findall(told))
        said = [line["said"] for line in transcript(run, 0) if line["kind"] == "message"]
        shown = str(match_of(run, 0))
    assert len(said) == 8
    assert all(re.fullmatch(r"on ring \(players 1, 2, observers\): zq[0-9]{4}kx", line) for line in said)
    assert all(line in shown for line in said)


def test_no_tree_is_asked_for_a_game_with_channels() -> None:
    tree = {"model": "openai/gpt-4o-mini", "tree": "auto", "params": {"temperature": 0}}
    mechanism = {"name": "repetition", "rounds": 2, "talk": {"channels": {"ring": [1, 2]}}}
    study = {"name": "t", "game": "public_goods", "mechanism": mechanism, "types": {"m": tree}, "seating": "self"}
    with pytest.raises(StudyError, match="a tree needs plain repetition"):
        tree_names(plan_of(load_study(study)))


def test_branches_observers_and_judges_learn_nothing_more(
    members: Members, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(members, tmp_path / "runs", agent={"memory": WRITTEN})
    ostrom, before = caller(monkeypatch, tmp_path), len(members.sent)
    asked = []
    for words in (
        "branch talks --match 0 --at 3 --seeds 2 --seat 3 --set memory=full".split(),
        "observe talks --model scripted/member --set agent.memory=full".split(),
        "judge talks --model scripted/member --shortest 3".split(),
    ):
        done = ostrom(*words)
        assert done.code == 0, done.err
        asked.append(members.sent[before:])
        before = len(members.sent)
    branched, observed, judged = asked
    assert members.leaks() == [] and branched
    assert observed and not any(SECRET.search(text) for _, text in observed)
    assert judged and {who for who, _ in judged} == {1, 2, 3}, "a judge reads what one player read"


@slow
def test_no_page_of_a_participant_holds_a_word_of_a_channel_that_it_is_not_in(tmp_path: Path) -> None:
    rules = {"name": "repetition", "rounds": 3, "talk": {"channels": {"ring": [1, 2], "hall": "everybody"}}}
    pages: list[list[str]] = [[], [], []]
    words: dict[str, str] = {}
    numbers = itertools.count(1000)

    def talk(person: Visitor, number: int) -> None:
        person.settled()
        while not person.at.startswith("end"):
            pages[number].append(person.page)
            if "<textarea" in person.page:
                word = f"zq{next(numbers)}kx"
                ring = re.search(r'value="([0-9])"[^>]*><label[^>]*>ring<', person.page)
                words[word] = "hall" if ring is None else "ring"
                sent = {"f0": word} if ring is None else {"f0": ring[1], "f1": word}
                person.answer(**sent)
            else:
                person.answer(re.findall(r'name="answer" value="([^"]*)"', person.page)[0])
            person.settled()

    with served(tmp_path, people_study(3, 3, {"talks": {"mechanism": rules}})) as server:
        people = [server.visitor(join=True) for _ in pages]
        crawl_together(*(partial(talk, person, n) for n, person in enumerate(people)))
        assert all("CDONE" in person.page for person in people)
    rings = {word for word, channel in words.items() if channel == "ring"}
    assert len(rings) == 6 and len(words) == 9
    read = [set(SECRET.findall("".join(of))) for of in pages]
    assert sorted(len(of & rings) for of in read) == [0, 6, 6]
    assert [("ring" in "".join(of)) for of in pages] == [bool(of & rings) for of in read]
