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
