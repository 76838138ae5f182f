"""Stated strategies against the histories that occurred: truth tellers score 1, liars what theory gives."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import RunData, run_data
from ostrom.features.inference.said import LEAST_CHANCE, Statement, policy_of, statements
from ostrom.games import build_game
from ostrom.ground.errors import StudyError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

PD = build_game("prisoners_dilemma:repeated_games")
SWEET = {"first": 100, "after_1_1": 100, "after_1_2": 100, "after_2_1": 100, "after_2_2": 100}


def liar(request: Request) -> str:
    """Defects in every round and says that it always cooperates."""
    text = request.messages[0].content
    if "five keys" in text:
        return orjson.dumps(SWEET).decode()
    if "machine with three states" in text:
        good = re.search(r'"state_n_action", one of "(\w+)"', text)
        assert good is not None
        return orjson.dumps(
            {f"state_{n}_{part}": good[1] if part == "action" else n for n in (1, 2, 3)
             for part in ("action", "after_1", "after_2")}
        ).decode()  # fmt: skip
    if "state the strategy" in text.lower():
        return "I always cooperate, whatever happens."
    labels = re.findall(r"\[(\w)\]", text.rpartition("Valid answers")[2])
    return f"[{labels[1]}]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    register("liar", liar)
    runs = tmp_path_factory.mktemp("runs")
    study = load_study(
        "said-and-done",
        preset="small",
        models=["scripted/liar"],
        changes=["agent.constrain=never", "agent.framing.labels=JF", "vary.form.to=[words, memory_one, automaton]"],
        seeds=1,
    )
    play(study, runs=runs, name="said")
    yield runs
    unregister("liar")


@pytest.fixture
def data(folder: Path) -> Iterator[RunData]:
    with open_run("said", folder) as run, run_data(run.rows, run.folder.path, run.manifest) as found:
        yield found


@pytest.mark.slow
def test_truth_tellers_score_one_and_diverge_nowhere(data: RunData) -> None:
    told = [s for s in statements(data) if s.agent != "scripted/liar"]
    assert {s.when for s in told} == {"before", "during", "after"}
    assert {s.agent for s in told} == {"tit_for_tat", "always_defect", "win_stay_lose_shift"}
    for s in told:
        assert s.agreement == 1 and s.log_loss == 0 and s.divergence == len(s.rounds) + 1 == 7
        assert s.would_have_earned == pytest.approx(s.earned)
        assert s.same_strategy()
    by_agent = {e.key["agent"]: e.value for e in estimate(data, "said_agreement", ["agent"], agents="all")}
    assert {by_agent[name] for name in ("tit_for_tat", "always_defect", "win_stay_lose_shift")} == {1.0}


def test_a_liar_scores_what_theory_gives(data: RunData) -> None:
    lies = [s for s in statements(data) if s.agent == "scripted/liar"]
    assert lies
    for s in lies:
        assert s.agreement == 0 and s.divergence == 1 and not s.same_strategy()
        assert s.log_loss == pytest.approx(-math.log(LEAST_CHANCE))
        other = [other for _, other in s.rounds]
        paid = {0: PD.payoff((0, 0))[0], 1: PD.payoff((0, 1))[0]}
        assert s.would_have_earned == pytest.approx(sum(paid[o] for o in other) / len(other))
        assert s.would_have_earned < s.earned
    forms = {row["form"] for row in data.records("SELECT DISTINCT form FROM decisions WHERE kind = 'state'")}
    assert forms == {"words", "memory_one", "automaton"}


def test_an_independent_walk_gives_the_same_figures() -> None:
    generous = {"first": 90, "after_1_1": 100, "after_1_2": 30, "after_2_1": 80, "after_2_2": 10}
    rounds = ((0, 0), (0, 1), (1, 1), (0, 0), (1, 0))
    s = Statement(0, 1, "m", "after", policy_of(generous, PD.actions[0]), PD, 0, rounds)
    p = [0.9, 1.0, 0.3, 0.1, 1.0]  # of the first action: in the first round, after 00, 01, 11 and 00
    done = [0.9, 1.0, 0.7, 0.1, 0.0]
    assert s.chances == p
    assert s.taken == pytest.approx(done)
    assert s.agreement == pytest.approx(sum(done) / 5)
    assert s.log_loss == pytest.approx(-sum(math.log(max(d, 0.01)) for d in done) / 5)
    assert s.divergence == 4
    assert {k: (a, b) for k, a, b in s.situations()}["after_1_1"] == (1.0, 0.5)


def test_what_cannot_be_stated_is_refused() -> None:
    def plan(**mechanism: object) -> StudyPlan:
        return StudyPlan(
            load_study(
                {
                    "name": "s",
                    "game": mechanism.pop("game", "prisoners_dilemma"),
                    "mechanism": {"name": "repetition", "rounds": 2, **mechanism},
                    "agent": {"strategy": "tit_for_tat"},
                }
            )
        )

    with pytest.raises(StudyError, match="state must be one or several of before, during, after, found 'later'"):
        plan(state="later")
    with pytest.raises(StudyError, match="state_as must be one of words, memory_one, automaton"):
        plan(state="after", state_as="song")
    with pytest.raises(StudyError, match="strategies are stated for two seats with two actions"):
        plan(state="after", game="public_goods")


def test_the_paper_size_asks_in_every_form_at_every_time() -> None:
    plan = StudyPlan(load_study("said-and-done", models=["openai/some-model"]))
    assert {plan.unit(i).cell["form"] for i in range(len(plan))} == {"words", "memory_one", "automaton"}
    assert plan.unit(0).mechanism.most_decisions(plan.unit(0).game) in (2 * 16, 2 * 13)
