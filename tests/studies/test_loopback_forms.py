"""The loopback server answers every form that the product asks for, so that every study can be rehearsed against it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import caller

from ostrom.framing.library import OWN
from ostrom.studies.files import builtin_names, presets_of
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile
from ostrom.testing.replies import answer
from ostrom.testing.server import LoopbackServer

CLAUDE = "anthropic/claude-sonnet-4-5"
REPEATED = {"name": "repetition", "rounds": 4}
SOCIETY = {"name": "society", "rounds": 4, "members": 6, "links": {"share": 1.0}, "network": "ring"}
VOTES = {"contract": "contracting", "signature": "contracting", "ballot": "contracting", "mediator": "mediation"}
RECORDS: Mapping[str, dict[str, Any]] = {
    "accept": {"mechanism": SOCIETY},
    "automaton": {"mechanism": {**REPEATED, "state": "before", "state_as": "automaton"}},
    "cap": {"mechanism": "disarmament", "agent": {"answer": "mixture"}},
    "explained": {"agent": {"answer": "explained"}},
    "keep": {"agent": {"memory": "curated:1"}},
    "links": {"mechanism": SOCIETY},
    "memory_one": {"mechanism": {**REPEATED, "state": ["before", "after"], "state_as": "words"}},
    "message": {"mechanism": "cheap_talk"},
    "channel_message": {
        "mechanism": {**REPEATED, "talk": {"channels": {"pair": [1, 2], "all": "everybody"}}},
        "game": {"name": "public_goods", "n": 3},
    },
    "offer": {"mechanism": {"name": "negotiation", "turns": 2}},
    "recognition": {"mechanism": {**REPEATED, "recognise": True}},
    "reply": {"mechanism": {"name": "negotiation", "turns": 2}},
    "private_message": {"mechanism": {**REPEATED, "talk": {"private": True}}, "game": {"name": "public_goods", "n": 3}},
    "punishment": {"mechanism": "punishment"},
    "recall": {"agent": {"memory": "asked:1"}},
    **{name: {"mechanism": rules} for name, rules in VOTES.items()},
    **{
        f"{name}.plain": {"mechanism": rules, "agent": {"framing": {"wording": "plain"}}}
        for name, rules in VOTES.items()
    },
}
"""A study that asks for each record; those of derived runs are asked for below."""
DERIVED = {"motives", "scores", "story", "reading"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    with LoopbackServer() as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.origin)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        yield running


def rehearsed(folder: Path, asked: Mapping[str, Any], model: dict[str, Any]) -> tuple[Counter[str], set[str]]:
    """Play a study; how many decisions of the model were asked for by kind, and the prompt files."""
    agent = {"style": "direct", **asked.get("agent", {})}
    study = {
        "name": "forms", "game": "prisoners_dilemma", "mechanism": REPEATED, "types": {"loop": model},
        **asked, "agent": agent,
    }  # fmt: skip
    play(StudyFile.model_validate(study), runs=folder, name="run")
    return unreadable_none(folder / "run")


def unreadable_none(folder: Path) -> tuple[Counter[str], set[str]]:
    """Check that every reply of a run could be read; the kinds of its decisions, and its prompt files."""
    with open_run(folder) as run:
        rows = list(run.rows.decisions())
        assert Counter(row["kind"] for row in rows if row["complaints"] or row["invalid"]) == {}
        assert {row["state"] for row in run.rows.matches()} == {"done"}
        calls = run.rows.calls()
        assert rows and calls
        return Counter(row["kind"] for row in rows), set(run.manifest["prompts"])


def models_of(server: LoopbackServer) -> list[dict[str, Any]]:
    """Both wires, held to a form and not."""
    able = {"abilities": ["schema", "logprobs"]}
    return [
        {"model": server.model, "constrain": "never"},
        {"model": server.model, "settings": able, "constrain": "auto"},
        {"model": CLAUDE, "constrain": "never"},
        {"model": CLAUDE, "constrain": "auto"},
    ]


slow = pytest.mark.slow
OPENAI, SCHEMA, ANTHROPIC, BOTH = (
    pytest.param(0, id="openai"),
    pytest.param(1, id="openai-schema"),
    pytest.param(2, id="anthropic", marks=slow),
    pytest.param(3, id="anthropic-schema", marks=slow),
)
WIRES = pytest.mark.parametrize("wire", [OPENAI, SCHEMA, ANTHROPIC, BOTH])
WIRES_OF_LANGUAGES = pytest.mark.parametrize(
    "wire", [OPENAI, pytest.param(1, id="openai-schema", marks=slow), ANTHROPIC, BOTH]
)


def test_every_record_is_asked_for_here() -> None:
    files = {path.stem for path in (OWN / "records").glob("*.txt") if not path.stem.endswith(".page")}
    assert files == {*RECORDS, *DERIVED}


@pytest.mark.sample(6)
@WIRES
@pytest.mark.parametrize("name", RECORDS)
def test_every_record_is_answered(name: str, wire: int, server: LoopbackServer, tmp_path: Path) -> None:
    _, files = rehearsed(tmp_path, RECORDS[name], models_of(server)[wire])
    assert f"records/{name}.txt" in files


@pytest.mark.sample(2)
@WIRES_OF_LANGUAGES
@pytest.mark.parametrize("language", ["en", *sorted(path.name for path in (OWN / "languages").iterdir())])
def test_every_language_is_answered(language: str, wire: int, server: LoopbackServer, tmp_path: Path) -> None:
    """Choices, percentages, records and notes, in every style that the wire has."""
    agents = [
        {"style": style, "answer": form}
        for form in ("choice", "mixture", "explained")
        for style in ("direct", "reasoned")
    ]
    agents += [{"style": style} for style in ("social", "logprob")[: 2 if wire == 1 else 1]]
    agents += [{"memory": memory} for memory in ("curated:1", "asked:1", "summary:1")]
    framing = {"language": language}
    for number, agent in enumerate(agents):
        asked = {"agent": {**agent, "framing": framing}, "seeds": 1}
        rehearsed(tmp_path / str(number), asked, models_of(server)[wire])
    asked = {"mechanism": "cheap_talk", "agent": {"framing": {**framing, "labels": ["links", "zu zweit"]}}}
    rehearsed(tmp_path / "talk", asked, models_of(server)[wire])


@pytest.mark.sample(4)
@WIRES
@pytest.mark.parametrize("style", ["direct", "reasoned"])
@pytest.mark.parametrize("answer", ["choice", "explained"])
def test_amounts_are_answered_whatever_their_steps(
    answer: str, style: str, wire: int, server: LoopbackServer, tmp_path: Path
) -> None:
    games = ["ultimatum", "trust_amounts", {"name": "gift_exchange"}, "alternating_offers", "colonel_blotto",
             {"name": "public_goods_amounts", "n": 2}, {"name": "first_price_auction", "n": 2}]  # fmt: skip
    agent = {"style": style, "answer": answer}
    asked = {"game": "ultimatum", "mechanism": "none", "agent": agent, "seating": "self", "vary": {"game": games}}
    rehearsed(tmp_path, asked, models_of(server)[wire])


@slow
@pytest.mark.parametrize("preset", ["smoke", "small"])
@pytest.mark.parametrize("name", builtin_names())
def test_every_built_in_study_is_rehearsed(name: str, preset: str, server: LoopbackServer, tmp_path: Path) -> None:
    if (name, preset) == ("probe", "small") or preset not in presets_of(name):
        pytest.skip("plays adapters that were trained before" if name == "probe" else "has no such preset")
    able = ["agent.settings={abilities: [tools]}"] if name == "tools" else []
    study = load_study(name, preset=preset, models=[server.model], changes=able)
    if study.people is not None:
        pytest.skip("played by people; a pilot is rehearsed below")
    play(study, runs=tmp_path, name="run")
    unreadable_none(tmp_path / "run")


@slow
def test_coopeval_is_replicated(server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = caller(monkeypatch, tmp_path)("replicate", "coopeval", "--model", server.model, "--preset", "small")
    assert done.code == 0, done.err
    for folder in (tmp_path / "replicate" / "coopeval-small" / "runs").iterdir():
        unreadable_none(folder)


@pytest.mark.parametrize(
    ("messages", "replies"),
    [
        (['Choose.\n- STAY: wait\n- GO: leave\n\nAnswer:\n\n{\n  "action": "<KEY>",\n  "why": "<short>"\n}'],
         {'{"action":"STAY","why":"Noted."}', '{"action":"GO","why":"Noted."}'}),
        (["- STAY: wait\n- GO: leave", 'Again, please:\n\n{"action": "<KEY>"}'],
         {'{"action":"STAY"}', '{"action":"GO"}'}),
        (["Which Option do you choose, Option J or Option F?\nA: Option"], {"J", "F"}),
        (["Write one of these.\n\n[A1 or A0]"], {"[A1]", "[A0]"}),
    ],
)  # fmt: skip
def test_blanks_stubs_and_brackets_that_offer_two_are_understood(messages: list[str], replies: set[str]) -> None:
    """The forms in which published prompts ask; every option is met over some seeds."""
    dialogue = [{"role": "user", "content": text} for text in messages]
    assert {answer({"messages": dialogue, "seed": seed}) for seed in range(20)} == replies
