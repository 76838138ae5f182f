"""The experiment with people: imported human rounds and a pilot in the same panels, with the published regressions."""

import random
from pathlib import Path

import pytest

from ostrom.agents.config import AgentConfig
from ostrom.analysis.hypothesis import test as tested
from ostrom.data.rundata import run_data
from ostrom.features.comparing import compare_run
from ostrom.features.importing import import_rounds
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.people.pilot import Crowd, pilot
from ostrom.studies.load import load_study
from ostrom.studies.plan import plan_of
from ostrom.studies.run import open_run, play


def human_rounds(folder: Path, people: int = 24) -> Path:
    """Rounds as released: 24 people, half of them against the prompted model, which coordinates more often."""
    draw = random.Random(1)
    lines = ["id,game,action,score,opponent,guess,coordination"]
    for person in range(people):
        prompted = person % 2 == 1
        for game in ("pd", "bos"):
            guess = "human" if draw.random() < (0.6 if prompted else 0.4) else "AI"
            for _ in range(10):
                action, same = draw.randrange(2), draw.random() < (0.7 if prompted else 0.4)
                if game == "bos":
                    score = (7 if action == 1 else 10) if same else 0
                else:
                    score = {(1, True): 8, (1, False): 0, (0, True): 5, (0, False): 10}[action, same]
                lines.append(
                    f"p{person},{game},{action},{score},{'Prompted' if prompted else 'Base'},{guess},{int(same)}"
                )
    file = folder / "human.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Imported people and simulated ones."""
    folder = tmp_path_factory.mktemp("people")
    import_rounds([human_rounds(folder)], "repeated-games-human", name="human", runs=folder)
    plan = plan_of(
        load_study("repeated-games-people", preset="script", changes=["people.time.reveal=null", "mechanism.rounds=10"])
    )
    pilot(plan, Crowd(24, AgentConfig(strategy="random")), name="own", runs=folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["human", "own"])
def test_the_published_regressions_are_one_command_each(runs: Path, name: str) -> None:
    with open_run(runs / name) as run, run_data(run.rows, runs / name, run.manifest) as data:
        who = "agent = 'you'"
        score = tested(data, "payoff_by_round", "prompting", "mixed", where=f"game = 'battle_of_the_sexes' AND {who}")
        assert score.results["fit"][0]["rows"] == 240 and score.results["coefficients"][1]["df"] == 22
        both = tested(data, "coordination_by_round", "prompting", "gee", where="game = 'battle_of_the_sexes'")
        assert both.results["fit"][0]["clusters"] == 24
        guess = tested(data, "guessed_person", "prompting", "glm")
        assert guess.results["fit"][0]["rows"] == 48, "one row per guess, not one per round"


@pytest.mark.slow
def test_people_are_compared_with_the_published_figures(runs: Path) -> None:
    with open_run(runs / "human") as run, run_data(run.rows, runs / "human", run.manifest) as data:
        made = compare_run(data)
    found = {line.cell[-1]: line for line in made.lines if line.cell[-1].startswith("people_")}
    assert len(found) == 29, "32 printed figures, three of which are inequalities"
    beta = found["people_bos_coordination_beta"]
    assert beta.value == 0.33 and beta.own is not None and beta.own.value > 0.5
    z = found["people_bos_coordination_z"].own
    assert z is not None and "clustered by match z = " in z.doubts[0]
    assert found["people_bos_score_df"].own.value == 22
    assert any("mutual DEFECTION" in doubt for doubt in found["people_pd_joint_cooperation_beta"].doubts)
    assert not any("It needs people as players" in remark for remark in made.remarks)


@pytest.mark.parametrize(("prompting", "variant"), [("base", None), ("scot", "social")])
def test_the_model_reads_with_people_what_it_reads_in_the_tournaments(
    prompting: str, variant: str | None, tmp_path: Path
) -> None:
    """Every prompt of three rounds of both games, history and social chain of thought included, to the character."""
    asked: list[list[list[tuple[str, str]]]] = []

    def first(request: Request) -> str:
        asked[-1].append([(message.role, message.content) for message in request.messages])
        return "J"

    register("reader", first)
    try:
        asked.append([])
        changes = [
            "mechanism.rounds=3",
            "agent.constrain=never",
            "types.other={model: scripted/reader, style: direct}",
            "people.time.reveal=null",
            f"vary.prompting={{{prompting}: {{types.other.style: {variant or 'direct'}}}}}",
            "vary.order={pd_first: {people.matches: [pd, bos]}}",
        ]
        plan = plan_of(load_study("repeated-games-people", changes=changes))
        pilot(plan, Crowd(1, AgentConfig(strategy="constant:0")), name="visit", runs=tmp_path)
        asked.append([])
        for name in ("pd-tournament", "bos-tournament"):
            changes = [
                "mechanism.rounds=3",
                "agent.constrain=never",
                f"agent.style={variant or 'direct'}",
                "types={model: {model: scripted/reader}, always_j: constant:0}",
                "seating=seats",
            ]
            play(load_study(name, changes=changes), runs=tmp_path)
    finally:
        unregister("reader")
    with_people, with_scripts = asked
    assert len(with_people) == 6 * (2 if variant else 1)
    assert with_people == with_scripts
