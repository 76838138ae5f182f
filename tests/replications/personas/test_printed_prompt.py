"""The printed prompt of the persona study (C.1, C.2, C.4) to the character, from a folder of prompt files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from ostrom.framing import Library
from ostrom.games import build_game
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import play_plan

ROLE = (
    "You run a major manufacturing conglomerate balancing profits and public scrutiny. You prefer profitability and "
    "flexibility, but repeated scandals could invite harsh regulation."
)
PERSONAS = {
    "industrialist": ROLE,
    "government": (
        "You represent the elected government balancing public welfare, economic growth, and political costs. "
        "Regulation pleases citizens and activists but angers industry; inaction risks future crises."
    ),
    "activist": (
        "You coordinate civil society pressure for ambitious climate action. Campaigning consumes resources but can "
        "shift policy; silence risks losing momentum."
    ),
    "citizen": (
        "You aggregate consumer sentiment and electoral pressure. Supporting green products costs more now but yields "
        "cleaner communities long-term."
    ),
}
NEUTRAL = (
    "You are a player in a strategic game. Choose an action based on the payoff information provided. Action A: Choose "
    "option that is a best response to others’ expected actions (Nash equilibrium). Action B: Choose option that is a "
    "best response to others’ expected actions (Nash equilibrium)."
)
MEANT = {
    "POLLUTE": "Maximize profit via lax pollution controls",
    "CLEAN": "Invest in clean production, accepting lower short-term margins",
    "REGULATE": "Impose environmental regulation with enforcement mechanisms",
    "NOREG": "Maintain status quo without new regulation",
    "CAMPAIGN": "Mobilize campaigns, media, and protests",
    "NOCAMPAIGN": "Conserve resources and wait for a better moment",
    "SUPPORT_GREEN": "Pay more for green products and vote for environmental policy",
    "BUY_CHEAP": "Prioritize low-cost goods and short-term affordability",
}
TABLE_9 = """\
Industrialist | Government | Activist | Citizen | Industrialist Payoff
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
ALL = {
    "system.txt": "You are {{ carried.title }}. {{ persona }} Decide on a concrete action.",
    "personas/role.txt": "{{ " + repr(PERSONAS) + "[role] }}",
    "personas/neutral.txt": NEUTRAL,
    "payoffs/rows.txt": """\
{% set short = {"NOREG": "NO_REG", "REGULATE": "REG", "NOCAMPAIGN": "NO_CAM", "CAMPAIGN": "CAM"} %}
Industrialist | Government | Activist | Citizen | Industrialist Payoff
{% for row in own.rows() %}
{{ row.own }} | {% for other in row.others %}{{ short.get(other.label, other.label) }} | {% endfor %}{{ row.value }}
{% endfor %}
""",
    "prompt.txt": "{% set meant = "
    + repr(MEANT)
    + """ %}
Scenario:

{{ carried.narrative }}

{% if payoffs %}
{{ payoffs }}

{% endif %}
Available actions:

{% for option in options %}
- {{ option }}: {{ meant[option] }}
{% endfor %}
""",
}
FILES = {
    "system.txt": "You are {{ carried.title }}. {{ persona }} Decide on a concrete action.",
    "personas/role.txt": f'{{% if role == "industrialist" %}}{ROLE}{{% else %}}{{{{ carried.persona }}}}{{% endif %}}',
    "prompt.txt": """\
{% set printed = {"POLLUTE": "Maximize profit via lax pollution controls", \
"CLEAN": "Invest in clean production, accepting lower short-term margins", \
"REGULATE": "Impose environmental regulation with enforcement mechanisms", \
"NOREG": "Maintain status quo without new regulation"} %}
Scenario:

{{ carried.narrative }}

Conversation transcript:
{% for entry in facts.before %}
{{ names[entry.seat] }}: {{ entry.reasons }}
{% endfor %}

Available actions:

{% for option in options %}
- {{ option }}: {{ printed[option] if option in printed else "" }}
{% endfor %}

Respond in JSON exactly as:

{
  "action": "<KEY>",
  "rationale": "<short explanation>"
}
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


def test_the_printed_prompt_is_sent_to_the_character(tmp_path: Path, asked: list[Request]) -> None:
    for name, text in FILES.items():
        path = tmp_path / "printed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    changes = [
        "agent.constrain=never", "vary.payoffs={hidden: {agent.framing.payoffs: null}}",
        "mechanism={name: in_turn, shown: words}",
        "only=[{persona: 'yes', instruction: role, names: titles, meanings: told}]",
    ]  # fmt: skip
    study = load_study("personas", preset="smoke", models=["scripted/hearing"], changes=changes)
    play_plan(StudyPlan(study, Library(tmp_path / "printed")), name="p", runs=tmp_path)
    story = build_game("scenario:commons/debt_crisis").words.narrative
    assert len(asked) == 4
    assert [(m.role, m.content) for m in asked[0].messages] == [
        ("system", f"You are Industrialist. {ROLE} Decide on a concrete action."),
        (
            "user",
            f"Scenario:\n\n{story}\n\nConversation transcript:\n\nAvailable actions:\n\n"
            "- POLLUTE: Maximize profit via lax pollution controls\n"
            "- CLEAN: Invest in clean production, accepting lower short-term margins\n\n"
            'Respond in JSON exactly as:\n\n{\n  "action": "<KEY>",\n  "rationale": "<short explanation>"\n}',
        ),
    ]
    assert (
        "Conversation transcript:\nthe Industrialist: POLLUTE it is.\n\nAvailable actions:\n\n- REGULATE: Impose"
        in (asked[1].messages[1].content)
    )


@pytest.mark.parametrize(("persona", "payoffs"), [("yes", "hidden"), ("no", "visible")])
def test_personas_actions_and_the_printed_payoffs_to_the_character(
    persona: str, payoffs: str, tmp_path: Path, asked: list[Request]
) -> None:
    for name, text in ALL.items():
        path = tmp_path / "printed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    wanted = {"yes": "instruction: role, names: titles, meanings: told",
              "no": "instruction: nash, names: numbers, meanings: left_out"}[persona]  # fmt: skip
    changes = [
        "agent.constrain=never", "game=scenario:commons/debt_crisis", "vary.scenario=null",
        f"only=[{{persona: '{persona}', payoffs: {payoffs}, {wanted}}}]",
    ]  # fmt: skip
    study = load_study("personas", preset="paper", models=["scripted/hearing"], seeds=1, changes=changes)
    play_plan(StudyPlan(study, Library(tmp_path / "printed")), name="p", runs=tmp_path)
    words = build_game("scenario:commons/debt_crisis").words
    told = PERSONAS.values() if persona == "yes" else [NEUTRAL] * 4
    assert [request.messages[0].content for request in asked] == [
        f"You are {words.titles[seat]}. {text} Decide on a concrete action." for seat, text in enumerate(told)
    ]
    shown = f"{TABLE_9}\n\n" if payoffs == "visible" else ""
    named = [
        ["POLLUTE", "CLEAN"],
        ["REGULATE", "NOREG"],
        ["CAMPAIGN", "NOCAMPAIGN"],
        ["SUPPORT_GREEN", "BUY_CHEAP"],
    ]
    actions = ["\n".join(f"- {key}: {MEANT[key]}" for key in pair) for pair in named]
    users = [request.messages[1].content for request in asked]
    assert users[0] == f"Scenario:\n\n{words.narrative}\n\n{shown}Available actions:\n\n{actions[0]}"
    assert all(text.endswith(f"Available actions:\n\n{of}") for text, of in zip(users, actions, strict=True))
