"""The panels of the persona study: right numbers, everything escaped, honest where there is nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import RunData, run_data
from ostrom.games.scenarios import shipped_cast
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.replications.personas.profiles import profiles_of
from ostrom.replications.personas.rates import rates, regrets
from ostrom.reports import Drawn, build_report
from ostrom.reports.declared import panels
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing import check_measure

NAMES = [name for name in panels if name.startswith("personas_")]


def reply(request: Request) -> str:
    """Green in a role; a neutral player who sees payoffs takes the other action."""
    text = request.messages[0].content
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
    return panels.build(spec).draw(data)


def rows(drawn: Drawn, name: str) -> list[dict[str, Any]]:
    (table,) = [t for t in drawn.tables if t.name == name]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_the_map_shows_the_rate_of_every_cell(data: RunData) -> None:
    found = {
        (r["scenario type"], r["persona"], r["payoffs"]): r["share"]
        for r in rows(draw(data, "personas_nash_map"), "personas_nash_rate")
    }
    # Green is no equilibrium of economic scenarios; the neutral player with payoffs plays the tragedy.
    assert found["economic", "yes", "visible"] == 0 and found["economic", "no", "visible"] == 1
    assert found["environmental", "yes", "hidden"] == 1 and found["environmental", "no", "visible"] == 0
    assert found["all", "yes", "hidden"] == 5 / 8


def test_selection_counts_every_profile_once(data: RunData) -> None:
    found = rows(draw(data, "personas_selection"), "personas_selection")
    assert sum(r["profiles"] for r in found if r["scenario type"] == "all") == 4 * 8 * 2
    (one,) = [
        r for r in found if (r["scenario type"], r["persona"], r["payoffs"]) == ("economic", "no", "visible")
    ]
    assert one["defective equilibrium"] == one["profiles"] == 6


def test_effects_and_the_interaction(data: RunData) -> None:
    drawn = draw(data, "personas_interaction")
    found = {(r["scenario type"], r["effect"], r["at"]): r["points"] for r in rows(drawn, "personas_effects")}
    assert found["economic", "persona", "visible"] == 100 and found["economic", "persona", "hidden"] == 0
    assert found["economic", "interaction", "both"] == 100
    said = {(r["scenario type"], r["effect"], r["at"]): r for r in rows(drawn, "personas_effects")}
    clear = said["economic", "persona", "visible"]
    assert clear["scenarios"] == 3 and clear["low"] < 50 and clear["high"] == 100  # three scenarios are few
    assert any("separation" in note for note in drawn.notes)


def test_an_error_that_does_not_exist_does_not_take_the_model_away(data: RunData) -> None:
    found = {r["term"]: r for r in rows(draw(data, "personas_interaction"), "personas_logistic")}
    # With hidden payoffs the persona changes nothing in any scenario: an estimate, but nothing to judge it by.
    unmoved = found["persona[yes]"]
    assert (unmoved["estimate"], unmoved["odds ratio"]) == (0.0, 1.0)
    assert (unmoved["se"], unmoved["p"], unmoved["low"], unmoved["high"]) == (None,) * 4
    assert "no standard error" in unmoved["note"]
    others = [found[term] for term in ("intercept", "payoffs[visible]", "persona[yes]:payoffs[visible]")]
    assert all(r["p"] == pytest.approx(0.5405, abs=1e-4) and r["note"] is None for r in others)


@pytest.mark.parametrize("name", ["nash_rate", "green_rate", "tragedy_rate", "green_share_of_nash"])
def test_measures_and_rates_agree(data: RunData, name: str) -> None:
    check_measure(name, data=data)
    by = ("agent", "persona", "payoffs")
    asked = {
        tuple(e.key.values()): (e.value, e.low, e.high, e.n, e.unit)
        for e in estimate(data, name, by, where={"scenario_class": ["economic", "environmental"]})
    }
    told = [r for r in rates(profiles_of(data), name, by, types=["all"]) if r.estimate is not None]
    assert asked == {
        tuple(r.key.values()): (e.value, e.low, e.high, e.n, e.unit) for r in told if (e := r.estimate)
    }


def test_regret_is_a_measure(data: RunData) -> None:
    check_measure("regret", data=data)
    by = ("agent", "persona", "payoffs", "role")
    asked = {tuple(e.key.values()): (e.value, e.low, e.high, e.n) for e in estimate(data, "regret", by)}
    told = regrets(profiles_of(data), types=["all"])
    assert asked == {
        (*r.key.values(), r.role): (r.mean, r.estimate.low, r.estimate.high, r.estimate.n) for r in told
    }


def test_the_browser_tells_story_payoffs_equilibria_and_play(data: RunData) -> None:
    drawn = draw(data, "personas_scenarios")
    assert len(drawn.html) == 8
    block = next(str(part) for part in drawn.html if "One Year to Balance the Books" in str(part))
    assert "Creditors have given the republic" in block and "lenders&#39; review" in block
    assert "POLLUTE / NOREG / NOCAMPAIGN / BUY_CHEAP (strict; pays 15, 9, 2.5, 7)" in block
    assert block.count("<tr>") == 1 + 16 + 1 + 4


def test_roles_regrets_and_distances(data: RunData) -> None:
    drawn = draw(data, "personas_roles")
    shares = [r["share"] for r in rows(drawn, "personas_roles") if r["persona"] == "yes"]
    assert shares and all(share == 1 for share in shares)
    found = [r for r in rows(drawn, "personas_regret") if r["scenario type"] == "environmental"]
    assert all(r["mean regret"] == 0 for r in found if r["persona"] == "yes")


def test_the_whole_report_is_made(data: RunData) -> None:
    report = build_report(data)
    assert report.failures == ()
    page = Path(report.path).read_text(encoding="utf-8")
    assert "<b>should</b>" not in page
    assert all(title in page for title in ("Equilibrium selection", "Words of the rationales", "Scenarios"))


@pytest.mark.parametrize("name", NAMES)
def test_panels_say_why_they_have_nothing_to_show(tmp_path: Path, name: str) -> None:
    register("mute", "no")
    try:
        changes = ["invalid.retries=0"]
        play(
            load_study("personas", preset="smoke", models=["scripted/mute"], changes=changes),
            name="p",
            runs=tmp_path,
        )
    finally:
        unregister("mute")
    with open_run("p", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as made:
        drawn = draw(made, name)
    assert drawn.notes and not drawn.figures and not drawn.tables
