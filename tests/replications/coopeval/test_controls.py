"""Is it the mechanism or its words? Players that follow one of them alone show up as what they are."""

import re
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from tests.replications.recomputed import effects

from ostrom.analysis.estimate import combined, contrast
from ostrom.data.rundata import RunData, run_data
from ostrom.data.tables import export_rows
from ostrom.ground.errors import UsageError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.replications.coopeval.controls import EFFECTS
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

MECHANISMS = {
    "repetition": {"name": "repetition", "rounds": 2, "told_continuation": 0.8, "discount": 0.8},
    "reputation": {"name": "reputation", "order": "first", "rounds": 2, "window": 1, "discount": 0.8},
    "mediation": {"name": "mediation", "designs": [[1, 0], [1, 0]]},
    "contracting": {"name": "contracting", "designs": [[0, -10], [0, -10]]},
}
"""All mechanisms of the study, with fewer rounds."""
WORDS = ("contract", "mediator", "meet again and again", "on record")
PAID = re.compile(r"^- If you choose A(\d) and .* chooses A(\d), you receive (\S+) points?", re.MULTILINE)


def _replied(request: Request, cooperates: bool) -> str:
    """Approves and signs whatever is proposed, and acts."""
    text = request.messages[0].content
    if "Answer with one JSON object" in text:
        keys = re.findall(r'"(K\d|M\d|sign)"', text.rpartition("Answer with one")[2])
        return orjson.dumps(dict.fromkeys(keys, True)).decode()
    return "[A0]" if cooperates else "[A1]"


def by_incentives(request: Request) -> str:
    """Cooperates where that pays more against a player who does, and delegates to a mediator who acts for both.

    Where rounds follow and the others learn what was done, defection costs their cooperation from then on.
    """
    text = request.messages[0].content
    paid = {(own, other): float(points) for own, other, points in PAID.findall(text)}
    lasts = re.search(r"another one follows with a chance of (\d+) %", text)
    if lasts is not None and "Nobody ever learns what you choose" not in text:
        future = int(lasts[1]) / 100
        paid["1", "0"] = (1 - future) * paid["1", "0"] + future * paid["1", "1"]
    if "so it is in force" in text:
        paid = {(o, p): v - 10 * (o == "1") + 10 * (p == "1") for (o, p), v in paid.items()}
    asked = text.rpartition("Which action")
    if asked[1] and "delegate" in asked[2] and "no power" not in text:
        return "[delegate]"
    if ("2", "2") in paid:  # the induced game of mediation: to delegate is its third action
        return "[A2]"
    return _replied(request, paid["0", "0"] > paid["1", "0"])


def by_words(request: Request) -> str:
    """Cooperates wherever the rules speak of a contract, a mediator, meeting again or a record."""
    return _replied(request, any(word in request.messages[0].content for word in WORDS))


@pytest.fixture(autouse=True)
def models() -> Iterator[None]:
    register("incentives", by_incentives)
    register("words", by_words)
    yield
    unregister("incentives")
    unregister("words")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    register("incentives", by_incentives)
    register("words", by_words)
    folder = tmp_path_factory.mktemp("runs")
    study = load_study(
        "mechanisms-controls",
        preset="smoke",
        models=["scripted/incentives", "scripted/words"],
        changes=[
            "agent.constrain=never",
            "agent.framing.counterbalance=false",
            f"vary.mechanism={orjson.dumps({name: {'mechanism': m} for name, m in MECHANISMS.items()}).decode()}",
        ],
        seeds=8,
    )
    play(study, runs=folder, name="controls")
    return folder


@pytest.fixture
def data(runs: Path) -> Iterator[RunData]:
    with open_run("controls", runs) as run, run_data(run.rows, run.folder.path, run.manifest) as found:
        yield found


@pytest.mark.slow
def test_the_best_response_is_a_script_that_follows_the_incentives_of_one_round(data: RunData) -> None:
    where = {"agent": "best_response", "wording": None}
    once = {"total": 1, "incentives": 1}
    # It cooperates in the induced game, but does not see that defection costs points in later rounds.
    lasting = {"incentives": 1, "interaction": -1}
    for name, weights in EFFECTS.items():
        found = combined(data, "cooperation", "control", weights, ["mechanism"], where=where)
        assert {e.key["mechanism"]: e.value for e in found} == {
            "repetition": lasting.get(name, 0), "reputation": lasting.get(name, 0),
            "mediation": once.get(name, 0), "contracting": once.get(name, 0),
        }  # fmt: skip


@pytest.mark.slow
def test_an_independent_script_finds_the_same_parts_in_the_exported_tables(data: RunData, runs: Path) -> None:
    with open_run("controls", runs) as run:
        export_rows(run.rows, "csv", runs / "csv")
    for agent in ("scripted/words", "best_response"):
        for mechanism in MECHANISMS:
            where = {"agent": agent, "mechanism": mechanism, "wording": None}
            ours = {
                name: combined(data, "cooperation", "control", weights, where=where)[0].value
                for name, weights in EFFECTS.items()
            }
            assert effects(runs / "csv", agent, mechanism) == pytest.approx(ours)


@pytest.mark.slow
def test_parts_sum_to_the_total_and_a_difference_is_that_of_contrast(data: RunData) -> None:
    where = {"agent": "scripted/words", "mechanism": "contracting", "wording": None}
    by_name = {
        name: combined(data, "payoff", "control", weights, where=where)[0].value for name, weights in EFFECTS.items()
    }
    total = by_name.pop("total")
    assert sum(by_name.values()) == pytest.approx(total)
    (one,) = combined(data, "cooperation", "control", {"sham": 1, "none": -1}, where=where)
    (two,) = contrast(data, "cooperation", "control", "sham - none", where=where)
    assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))
    with pytest.raises(UsageError, match="must sum to zero"):
        combined(data, "cooperation", "control", {"sham": 1.0})


def test_the_paper_size_has_every_arm_and_five_wordings_of_four_mechanisms() -> None:
    plan = StudyPlan(load_study("mechanisms-controls", models=["openai/some-model"]))
    cells = [plan.unit(index).cell for index in range(len(plan) // plan.study.seeds)]
    arms = {(c["mechanism"], c["control"], c["wording"]) for c in cells}
    assert {c["mechanism"] for c in cells} == set(MECHANISMS)
    assert len(arms) == 4 * (5 + 4)
    assert {c["control"] for c in cells} == {"mechanism", "none", "length", "sham", "induced"}
