"""The persona study in other words: what was said before, and the published order and values of a payoff table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from ostrom.framing import Library
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import play_plan

TABLE_9 = """\
POLLUTE | NO_REG | NO_CAM | BUY_CHEAP | 15.0
POLLUTE | NO_REG | NO_CAM | SUPPORT_GREEN | 14.0
POLLUTE | NO_REG | CAM | BUY_CHEAP | 13.5
POLLUTE | NO_REG | CAM | SUPPORT_GREEN | 12.5
POLLUTE | REG | NO_CAM | BUY_CHEAP | 12.0
POLLUTE | REG | NO_CAM | SUPPORT_GREEN | 11.0
POLLUTE | REG | CAM | BUY_CHEAP | 10.5
POLLUTE | REG | CAM | SUPPORT_GREEN | 9.5
CLEAN | REG | CAM | SUPPORT_GREEN | 3.0
CLEAN | REG | NO_CAM | SUPPORT_GREEN | 2.5
CLEAN | NO_REG | CAM | SUPPORT_GREEN | 1.5
CLEAN | NO_REG | NO_CAM | SUPPORT_GREEN | 1.5
CLEAN | REG | CAM | BUY_CHEAP | 0.5
CLEAN | REG | NO_CAM | BUY_CHEAP | 0.5
CLEAN | NO_REG | CAM | BUY_CHEAP | -0.5
CLEAN | NO_REG | NO_CAM | BUY_CHEAP | -0.5"""
FILES = {
    "system.txt": "{{ carried.title }}: {{ persona }}",
    "personas/role.txt": "{{ role }}",
    "personas/neutral.txt": "somebody",
    "payoffs/rows.txt": """\
{% set short = {"NOREG": "NO_REG", "REGULATE": "REG", "NOCAMPAIGN": "NO_CAM", "CAMPAIGN": "CAM"} %}
{% for row in own.rows() %}
{{ row.own }} | {% for other in row.others %}{{ short.get(other.label, other.label) }} | {% endfor %}{{ row.value }}
{% endfor %}
""",
    "prompt.txt": """\
{% if payoffs %}
{{ payoffs }}

{% endif %}
Said:
{% if facts.before is defined %}
{% for entry in facts.before %}
{{ names[entry.seat] }}: {{ entry.reasons }}
{% endfor %}
{% endif %}

{% for option in options %}
- {{ option }}:
{% endfor %}
""",
}


@pytest.fixture
def asked() -> Iterator[list[Request]]:
    heard: list[Request] = []

    def reply(request: Request) -> str:
        heard.append(request)
        last = request.messages[-1].content
        action = next(
            name for name in ("POLLUTE", "REGULATE", "CAMPAIGN", "BUY_CHEAP") if f"- {name}:" in last
        )
        return orjson.dumps({"action": action, "rationale": f"{action} it is."}).decode()

    register("hearing", reply)
    yield heard
    unregister("hearing")


def played(folder: Path, preset: str, *changes: str) -> None:
    for name, text in FILES.items():
        path = folder / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    changes = ("agent.constrain=never", *changes)
    study = load_study("personas", preset=preset, models=["scripted/hearing"], seeds=1, changes=changes)
    play_plan(StudyPlan(study, Library(folder / "mine")), name="p", runs=folder)


def test_what_was_said_before_can_be_told(tmp_path: Path, asked: list[Request]) -> None:
    played(
        tmp_path, "smoke", "vary.payoffs={hidden: {agent.framing.payoffs: null}}",
        "mechanism={name: in_turn, shown: words}",
        "only=[{persona: 'yes', instruction: role, names: titles, meanings: told}]",
    )  # fmt: skip
    assert len(asked) == 4
    assert [(m.role, m.content) for m in asked[0].messages] == [
        ("system", "Industrialist: industrialist"),
        ("user", "Said:\n\n- POLLUTE:\n- CLEAN:"),
    ]
    assert asked[1].messages[1].content == "Said:\nthe Industrialist: POLLUTE it is.\n\n- REGULATE:\n- NOREG:"


def test_the_published_table_of_payoffs_is_shown_in_its_order(tmp_path: Path, asked: list[Request]) -> None:
    arm = "instruction: nash, names: numbers, meanings: left_out"
    played(
        tmp_path, "paper", "game=scenario:commons/debt_crisis", "vary.scenario=null",
        f"only=[{{persona: 'no', payoffs: visible, {arm}}}]",
    )  # fmt: skip
    assert asked[0].messages[0].content == "Industrialist: somebody"
    assert asked[0].messages[1].content == f"{TABLE_9}\n\nSaid:\n\n- POLLUTE:\n- CLEAN:"
