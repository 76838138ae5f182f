"""A system prompt is a factor like any other; a persona lives there or in the user's turn."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostrom.costs.forecast import forecast
from ostrom.features.transcript.transcript import transcript
from ostrom.framing import Library
from ostrom.ground.errors import StudyError, UnknownName
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

ROLE = "You run the ferry and dislike delays."
HEARD: list[list[tuple[str, str]]] = []


def listener(request: Request) -> str:
    HEARD.append([(message.role, message.content) for message in request.messages])
    return "[A0]"


@pytest.fixture(autouse=True)
def model() -> Iterator[None]:
    HEARD.clear()
    register("listener", listener)
    yield
    unregister("listener")


def study(**agent: Any) -> dict[str, Any]:
    return {
        "name": "systems",
        "game": "prisoners_dilemma",
        "agent": {"model": "scripted/listener", "style": "direct", "constrain": "never", **agent},
    }


def test_the_levels_of_a_system_prompt_are_said_and_recorded(tmp_path: Path) -> None:
    data = {**study(), "vary": {"agent.system": [None, "Answer like a judge {{ words }}."]}}
    play(load_study(data), runs=tmp_path)
    with open_run("systems", tmp_path) as run:
        said = {
            row["system"]: [m["role"] for m in next(iter(transcript(run, row["match"])))["calls"][0]["messages"]]
            for row in run.rows.decisions()
        }
    assert said == {None: ["user"], "Answer like a judge {{ words }}.": ["system", "user"]}
    assert {heard[0][1] for heard in HEARD if len(heard) == 2} == {"Answer like a judge {{ words }}."}, (
        "a text is said as it stands: it is no template"
    )


def test_a_file_of_ones_own_is_filled_in_and_belongs_to_the_run(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "systems").mkdir(parents=True)
    (folder / "systems" / "brief.txt").write_text("Pick an {{ words.option }}, nothing else.\n")
    library = Library(folder)
    loaded = load_study(study(system="brief"))
    assert "systems/brief.txt" in StudyPlan(loaded, library).prompts
    play(loaded, prompts=folder, runs=tmp_path)
    assert HEARD[0][0] == ("system", "Pick an action, nothing else.")


def test_a_persona_moves_into_the_system_turn_and_out_of_the_question(tmp_path: Path) -> None:
    data = study(persona=ROLE, system="Be brief, please.")
    play(load_study({**data, "vary": {"agent.persona_in": ["user", "system"]}}), runs=tmp_path)
    below, _, above, _ = sorted(HEARD)  # matches are played at the same time
    assert len(below) == len(above) == 2
    assert below[0] == ("system", "Be brief, please.")
    assert ROLE in below[1][1]
    assert above[0] == ("system", f"Be brief, please.\n\n{ROLE}")
    assert above[1][1] == below[1][1].replace(f"{ROLE}\n\n", "")


def test_a_system_prompt_counts_in_the_forecast_and_in_the_identity() -> None:
    short, long = (StudyPlan(load_study(study(system=text))) for text in (None, "word " * 700))
    assert forecast(long).tokens_in - forecast(short).tokens_in == pytest.approx(2 * 700 * 5 / 3.5, rel=0.05)
    assert long.agents[0].identity != short.agents[0].identity


def test_a_name_that_no_file_bears_is_refused() -> None:
    with pytest.raises(UnknownName, match=r"systems: agent\.system: unknown system .* 'breif'"):
        StudyPlan(load_study(study(system="breif")))


def test_a_place_for_a_persona_without_one_is_refused() -> None:
    with pytest.raises(StudyError, match="persona_in: system needs a persona"):
        StudyPlan(load_study(study(persona_in="system")))
