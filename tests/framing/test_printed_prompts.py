"""Folders with the wordings that papers print render to the papers' own text, to the character.

The wordings are quotations and no part of the project. OSTROM_PRINTED_PROMPTS names a folder with one folder of prompt
files per paper; the papers lie as PAPER.txt in `papers` beside it. Line breaks, emphasis and the shape of quotation
marks are those of the text file and not of the prompt, so they are not compared.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostrom.framing import Library
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import play_plan
from ostrom.studies.schema import StudyFile

PRINTED = Path(os.environ.get("OSTROM_PRINTED_PROMPTS", "unset"))
PAPERS = PRINTED.parent / "papers"
pytestmark = pytest.mark.skipif(
    not (PRINTED.is_dir() and PAPERS.is_dir()), reason="OSTROM_PRINTED_PROMPTS names no folder beside papers"
)


@pytest.fixture
def asked() -> Iterator[list[Request]]:
    """What a model that always takes its first option was asked."""
    requests: list[Request] = []

    def answer(request: Request) -> str:
        requests.append(request)
        last = request.messages[-1].content
        if key := re.search(r"^- (\w+):", last, re.M):
            return f'{{"action": "{key[1]}", "rationale": "So."}}'
        return "A0" if "A0" in last else "J"

    register("first", answer)
    yield requests
    unregister("first")


def paper(name: str) -> str:
    return plain((PAPERS / f"{name}.txt").read_text(encoding="utf-8"))


def plain(text: str) -> str:
    """A text without emphasis, escapes and footnotes, with straight quotation marks and one blank line at most."""
    text = re.sub(r"^[⁰¹²³⁴-⁹]+.*\n|^```.*\n", "", text.replace("\\_", "_").replace("**", ""), flags=re.M)
    text = text.translate(str.maketrans("’‘“”", "''\"\""))
    return re.sub(r" {2,}", " ", re.sub(r"\n{2,}", "\n\n", text))


def shown(request: Request) -> dict[str, str]:
    return {message.role: re.sub(r"\n{2,}", "\n\n", plain(message.content)) for message in request.messages}


def played(name: str, folder: Path, **changes: Any) -> None:
    data: dict[str, Any] = {
        "name": "printed",
        "game": "battle_of_the_sexes",
        "mechanism": {"name": "repetition", "rounds": 10, "told_rounds": True},
        "types": {"model": "scripted/first", "other": "constant:1"},
        "seating": "seats",
        **changes,
    }
    data["agent"] = {"style": "direct", "constrain": "never", **data.get("agent", {})}
    plan = StudyPlan(StudyFile.model_validate(data), Library(PRINTED / name))
    play_plan(plan, name="run", runs=folder)


def test_a_round_of_the_2x2_paper(tmp_path: Path, asked: list[Request]) -> None:
    """Figure 1: the prompt of the second round, up to the answer."""
    played(
        "repeated-games", tmp_path, agent={"framing": {"labels": "JF", "history": "sentences", "goal": None}}
    )
    block = paper("repeated-games").split("\nPlayer 1\n\n", 1)[1]
    assert shown(asked[1]) == {"user": block[: block.index("\nA: Option") + len("\nA: Option")]}


@pytest.mark.parametrize("observer", [False, True])
def test_a_prediction_of_the_2x2_paper(observer: bool, tmp_path: Path, asked: list[Request]) -> None:
    """Figure 6: how it begins, its question and its stub; the paper leaves out what lies between."""
    framing = {"labels": "JF", "history": "sentences", "goal": None}
    rules = {"name": "repetition", "rounds": 2, "told_rounds": True}
    if observer:
        types = {"one": "constant:0", "two": "alternator", "model": "scripted/first"}
        rules |= {"predict": "observer", "watched": 2}
        agent = {"framing": framing}
        played("repeated-games", tmp_path, types=types, mechanism=rules, observers=["model"], agent=agent)
    else:
        played("repeated-games", tmp_path, mechanism=rules, agent={"style": "social", "framing": framing})
    block = paper("repeated-games").split(f"Prediction Scenario {2 if observer else 1}\n\n")[1]
    begin, question, stub = block.splitlines()[:3]
    lines = shown(asked[0])["user"].splitlines()
    assert lines[0].startswith(begin.removesuffix("..."))
    assert lines[-2:] == [question, stub.removesuffix(" J")]


@pytest.mark.parametrize(("style", "place"), [("reasoned", 0), ("direct", 1)])
def test_the_system_prompt_of_the_memory_paper(
    style: str, place: int, tmp_path: Path, asked: list[Request]
) -> None:
    """Appendix A.2 and the ablation without reasoning; the paper gives the rules of a game and the past by name."""
    framing = {"payoffs": "formula", "words": 500, "goal": None}
    rules = {"name": "repetition", "rounds": 4, "told_continuation": 0.99}
    played(
        "memory-curse", tmp_path, game={"name": "prisoners_dilemma", "preset": "memory_curse"}, mechanism=rules,
        agent={"style": style, "memory": "window:2", "framing": framing},
    )  # fmt: skip
    text = paper("memory-curse")
    starts = [m.start() for m in re.finditer(r"^(?:''' )?You are Player \{player_id\}", text, re.M)]
    block = text[starts[place] :].split("\n\nGame-specific", 1)[0].removeprefix("''' ")
    line = re.search(r"\$(R1: .*?) *\$", text)
    assert line is not None
    past = [line[1].replace("R1", f"R{n}").replace("\\rightarrow 2.0", "→ -100.0") for n in (2, 3)]
    values = {
        "player_id": "1", "other_id": "2", "round_num": "4", "history_length": "2", "history_block": "\n".join(past),
        "game_rules": (PRINTED / "memory-curse/payoffs/formula.txt").read_text().replace("{{ names | length }}", "2"),
    }  # fmt: skip
    assert shown(asked[3])["system"] == re.sub(r"\{(\w+)\}", lambda name: values[name[1]].strip(), block)
    assert f"the required output format is {shown(asked[3])['user']}." in text


@pytest.mark.parametrize("persona", ["yes", "no"])
def test_both_arms_of_the_persona_paper(persona: str, tmp_path: Path, asked: list[Request]) -> None:
    """C.1, C.2 and C.4 for a role, C.3 for the arm without personas, at all four seats."""
    arm = {"yes": "instruction: role, names: titles, meanings: told",
           "no": "instruction: nash, names: numbers, meanings: left_out"}[persona]  # fmt: skip
    changes = [
        "agent.constrain=never", "game=scenario:commons/debt_crisis", "vary.scenario=null",
        f"only=[{{persona: '{persona}', payoffs: {'hidden' if persona == 'yes' else 'visible'}, {arm}}}]",
    ]  # fmt: skip
    study = load_study("personas", preset="paper", models=["scripted/first"], seeds=1, changes=changes)
    play_plan(StudyPlan(study, Library(PRINTED / "personas")), name="run", runs=tmp_path)
    text = paper("personas")
    frame = text.split("System Message:\n\n")[1].split("\n")[0]
    roles = dict(re.findall(r'^- ([\w ]+):\s"(.*)"$', text.split("C.2 ")[1].split("C.3 ")[0], re.M))
    neutral = re.findall(r'^- All agents: "(.*)"$', text, re.M)
    said = [frame.format(name=name, role_description=role, narrative="") for name, role in roles.items()]
    systems = [re.sub(" +", " ", one) for one in said] if persona == "yes" else neutral * 4
    assert len(asked) == len(systems) == 4
    assert [shown(request)["system"] for request in asked] == systems
    frame = text.split("User Message:\n\n")[1].split("\n\nC.2")[0]
    head, tail = frame.split("{scenario}")[0], frame.split("{action_description_2}")[1]
    listed = re.findall(r'(\w+) \("(.*?)"\)', text.split("C.4 ")[1].split("\n\nD ")[0])
    for seat, request in enumerate(asked):
        user = shown(request)["user"]
        actions = {f"- {key}: {meant}" for key, meant in listed[2 * seat : 2 * seat + 2]}
        assert user.startswith(head) and user.endswith(tail)
        assert set(re.findall(r"^- .*$", user, re.M)) == actions
        assert frame[frame.index("Available actions") :].split("\n")[0] in user
