"""`ostrom new prompts`: the skeleton of a published wording, playable before and while it is filled in."""

import os
import re
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

from ostrom.features.new.command import wordings
from ostrom.framing import Library
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import play_plan
from ostrom.testing.server import LoopbackServer

PAPERS = ("memory-curse", "personas", "repeated-games")
STUDIES = {"memory-curse": ["memory"], "personas": ["personas"], "repeated-games": ["pd-tournament", "prediction"]}


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    return caller(monkeypatch, tmp_path)


def asked(study: str, folder: Path, *wordings: Path | None) -> list[list[str]]:
    """Every message that a smoke run sends in each wording, in order of its text."""
    sent = []
    with LoopbackServer() as server:  # one address: what is drawn depends on the agent
        for number, prompts in enumerate(wordings):
            server.requests.clear()
            stated = load_study(study, preset="smoke", models=[server.model], seeds=1)
            play_plan(StudyPlan(stated, Library(prompts)), name=f"{study}-{number}", runs=folder)
            sent.append(sorted(str(body["messages"]) for body in server.bodies()))
    return sent


def test_the_papers_with_printed_prompts_have_skeletons() -> None:
    assert tuple(sorted(wordings())) == PAPERS


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_every_variable_of_a_comment_can_be_used(paper: str, call: Call, tmp_path: Path) -> None:
    call("new", "prompts", "mine", "--paper", paper)
    for path, declared in wordings()[paper].files.items():
        used = " ".join(f"{{{{ {re.split('[.(]', name)[0]} is defined }}}}" for name in declared.variables)
        file = tmp_path / "mine" / path
        file.write_text(f"{file.read_text().rstrip()} {path}: {used}\n")
    for study in STUDIES[paper]:
        (texts,) = asked(study, tmp_path, tmp_path / "mine")
        told = {line for text in texts for line in re.findall(r"(\w+(?:/\w+)?\.txt:(?: (?:True|False))*)", text)}
        assert told and not any("False" in line for line in told)


@pytest.mark.skipif("OSTROM_PRINTED_PROMPTS" not in os.environ, reason="OSTROM_PRINTED_PROMPTS is unset")
@pytest.mark.parametrize("paper", PAPERS)
def test_a_skeleton_has_every_file_of_the_printed_wording(paper: str) -> None:
    folder = Path(os.environ["OSTROM_PRINTED_PROMPTS"]) / paper
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.txt")} <= set(wordings()[paper].files)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["prompts", "mine", "--paper", "persona"], "unknown paper with printed prompts 'persona'"),
        (["prompts", "mine", "--paper", "coopeval"], "memory-curse, personas, repeated-games"),
        (["prompt", "mine"], "unknown kind 'prompt'"),
        (["prompts", "../mine", "--paper", "personas"], "NAME must be"),
        (["prompts", "there", "--paper", "personas"], "there exists already"),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_line(
    arguments: list[str], problem: str, call: Call, tmp_path: Path
) -> None:
    (tmp_path / "there").mkdir()
    done = call("new", *arguments)
    assert done.code == 2 and problem in done.err and len(done.err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["there"] and not list((tmp_path / "there").iterdir())


def test_names_of_papers_are_taken_in_both_spellings(call: Call) -> None:
    assert call("new", "prompts", "mine", "--paper", "memory_curse").code == 0
