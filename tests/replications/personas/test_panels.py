"""The panels of the persona study: right numbers, everything escaped, honest where there is nothing."""

import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from ostrom.analysis.estimate import estimate
from ostrom.analysis.hypothesis import test as tested
from ostrom.data.rundata import RunData, run_data
from ostrom.games.scenarios import shipped_cast
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.replications.personas.profiles import profiles_of
from ostrom.replications.personas.rates import rates, regrets
from ostrom.reports.declared import panel_of
from ostrom.reports.panel import Drawn
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing import check_measure


def reply(request: Request) -> str:
    """Green in a role; a neutral player who sees payoffs takes the other action."""
    text = "\n".join(message.content for message in request.messages)
    found = re.search(r'"action", one of (.*?), and "rationale"', text)
    assert found is not None
    options = re.findall(r'"(\w+)"', found.group(1))
    grey = "no role to play" in text and "you receive" in text
    wanted = {a.key for role in shipped_cast("commons").roles for a in role.actions if a.green != grey}
    why = "The payoff decides." if grey else "As a Citizen <b>should</b>, for the future."
    return orjson.dumps({"action": next(o for o in options if o in wanted), "rationale": why}).decode()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunData]:
    runs = tmp_path_factory.mktemp("runs")
    register("role-player", reply)
    try:
        play(load_study("personas", preset="small", models=["scripted/role-player"]), name="p", runs=runs)
    finally:
        unregister("role-player")
    with open_run("p", runs) as run:
        made = run_data(run.rows, run.folder.path, run.manifest)
    yield made
    made.close()


def draw(data: RunData, spec: Any) -> Drawn:
    return panel_of(spec).draw(data)


def rows(drawn: Drawn, name: str) -> list[dict[str, Any]]:
    (table,) = [t for t in drawn.tables if t.name == name]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


@pytest.mark.parametrize("name", ["nash_rate", "green_rate", "tragedy_rate", "green_share_of_nash"])
def test_measures_and_rates_agree(data: RunData, name: str) -> None:
    check_measure(name, data=data)
    by = ("agent", "persona", "payoffs")
    asked = {
        tuple(e.key.values()): (e.value, e.low, e.high, e.n, e.unit)
        for e in estimate(data, name, by, where={"scenario_class": ["economic", "environmental"]})
    }
    told = [r for r in rates(profiles_of(data), name, by, types=["all"]) if r.estimate is not None]
    assert asked == {tuple(r.key.values()): (e.value, e.low, e.high, e.n, e.unit) for r in told if (e := r.estimate)}


def test_regret_is_a_measure(data: RunData) -> None:
    check_measure("regret", data=data)
    by = ("agent", "persona", "payoffs", "role")
    asked = {tuple(e.key.values()): (e.value, e.low, e.high, e.n) for e in estimate(data, "regret", by)}
    told = regrets(profiles_of(data), types=["all"])
    assert asked == {
        (*r["key"].values(), r["role"]): (e.value, e.low, e.high, e.n) for r in told for e in [r["estimate"]]
    }


def test_the_documented_test_does_not_warn_of_weights_that_are_equal(data: RunData) -> None:
    made = tested(data, "nash_rate", "persona", "mixed", second="payoffs")
    assert not any("weighs" in text for text in made.warnings)
    unequal = tested(data, "green_share_of_nash", "payoffs", "welch")
    assert any("green_share_of_nash weighs its values" in text for text in unequal.warnings)
