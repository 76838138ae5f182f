"""`ostrom show prompt STUDY` prints what a model is sent, to the letter."""

from pathlib import Path
from typing import Any

import pytest

from ostrom.costs.preview import preview
from ostrom.ground.errors import UsageError
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play
from ostrom.testing.server import LoopbackServer

STUDY: dict[str, Any] = {
    "name": "own",
    "game": {"name": "prisoners_dilemma", "preset": "axelrod"},
    "mechanism": {"name": "repetition", "rounds": 3},
    "agent": {"style": "direct", "framing": {"labels": "draw", "order": "shuffled", "rows": "shuffled"}},
    "types": {"script": "tit_for_tat"},
    "seating": "versus",
    "vary": {"agent.style": ["direct", "social"]},
}


@pytest.mark.parametrize("conversation", ["prompt", "dialogue"])
def test_what_is_shown_is_what_is_sent(conversation: str, tmp_path: Path) -> None:
    with LoopbackServer() as server:
        types = {"model": {"model": server.model, "conversation": conversation}, **STUDY["types"]}
        study = load_study({**STUDY, "types": types})
        play(study, runs=tmp_path, name="run")
    plan = StudyPlan(study)
    with open_run(tmp_path / "run") as run:
        for cell in (1, 2):
            calls = [call for call in run.rows.calls() if call["match"] == cell - 1 and call["step"] == 0]
            sent = [[tuple(part) for part in run.journal.prompt(call["id"]) or []] for call in calls]
            shown = preview(plan, cell).calls
            assert len(sent) == len(shown) == cell  # the second style asks for a prediction first
            assert [(m["role"], m["content"]) for m in shown[0]["messages"]] == sent[0]  # later ones state the reply


def test_a_later_round_has_a_past_and_keeps_what_is_told() -> None:
    plan = StudyPlan(load_study({**STUDY, "types": {"m": {"model": "openai/gpt-test"}, **STUDY["types"]}}))
    first, third = (preview(plan, 1, number).calls[0]["messages"][-1]["content"] for number in (1, 3))
    assert "round 3" in third.lower() and len(third) > len(first)
    assert preview(plan, 1, 3) == preview(plan, 1, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell": 3}, r"--cell 3: .* \(allowed: 1 to 2\)"),
        ({"number": 4}, r"--round 4: .* \(allowed: 1 to 3\)"),
        ({"number": 0}, r"--round 0: .* \(allowed: 1 to 3\)"),
        ({"seat": "2"}, r"--seat 2: .* \(allowed: 1 \(m\)\)"),
    ],
)
def test_what_is_out_of_range_names_what_is_allowed(options: dict[str, Any], message: str) -> None:
    plan = StudyPlan(load_study({**STUDY, "types": {"m": {"model": "openai/gpt-test"}, **STUDY["types"]}}))
    with pytest.raises(UsageError, match=message):
        preview(plan, **options)
