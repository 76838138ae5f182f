"""The panels of the persona study: right numbers, everything escaped, honest where there is nothing."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.analysis.claims import references
from ostrom.analysis.comparison import compare_run
from ostrom.analysis.estimate import estimate
from ostrom.analysis.hypothesis import test as tested
from ostrom.data.rundata import RunData, run_data
from ostrom.features.replicate.pages import _picture
from ostrom.features.replicate.results import PaperRun, replication
from ostrom.features.reporting.as_paper import write_as_paper
from ostrom.games import build_game
from ostrom.games.scenarios import shipped_cast
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.replications.personas.profiles import profiles_of
from ostrom.replications.personas.rates import rates, regrets
from ostrom.reports.build import build_report
from ostrom.reports.declared import panel_of, panels
from ostrom.reports.exhibits.declared import exhibits_of
from ostrom.reports.panel import Drawn
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.testing import check_measure

NAMES = [name for name in panels if name.startswith("personas_")]


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


@pytest.mark.slow
def test_the_map_shows_the_rate_of_every_cell(data: RunData) -> None:
    found = {
        (r["scenario type"], r["persona"], r["payoffs"]): r["share"]
        for r in rows(draw(data, "personas_nash_map"), "personas_nash_rate")
    }
    # Green is no equilibrium of economic scenarios; the neutral player with payoffs plays the tragedy.
    assert found["economic", "yes", "visible"] == 0 and found["economic", "no", "visible"] == 1
    assert found["environmental", "yes", "hidden"] == 1 and found["environmental", "no", "visible"] == 0
    assert found["all", "yes", "hidden"] == 5 / 8


@pytest.mark.slow
def test_selection_counts_every_profile_once(data: RunData) -> None:
    found = rows(draw(data, "personas_selection"), "personas_selection")
    assert sum(r["profiles"] for r in found if r["scenario type"] == "all") == 4 * 8 * 2
    (one,) = [
        r for r in found if (r["scenario type"], r["persona"], r["payoffs"]) == ("economic", "no", "visible")
    ]
    assert one["defective equilibrium"] == one["profiles"] == 6


@pytest.mark.slow
def test_effects_and_the_interaction(data: RunData) -> None:
    drawn = draw(data, "personas_interaction")
    found = {(r["scenario type"], r["effect"], r["at"]): r["points"] for r in rows(drawn, "personas_effects")}
    assert found["economic", "persona", "visible"] == 100 and found["economic", "persona", "hidden"] == 0
    assert found["economic", "interaction", "both"] == 100
    said = {(r["scenario type"], r["effect"], r["at"]): r for r in rows(drawn, "personas_effects")}
    clear = said["economic", "persona", "visible"]
    assert clear["scenarios"] == 3 and clear["low"] < 50 and clear["high"] == 100  # three scenarios are few
    assert any("separation" in note for note in drawn.notes)


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_whole_report_is_made(data: RunData) -> None:
    report = build_report(data)
    assert report.failures == ()
    page = Path(report.path).read_text(encoding="utf-8")
    assert "<b>should</b>" not in page
    assert all(title in page for title in ("Equilibrium selection", "Words of the rationales", "Scenarios"))


@pytest.mark.sample(2)
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


def by_goal(request: Request) -> str:
    """Green unless the prompt names an equilibrium: in the paper's arms that is so where payoffs are visible."""
    text = "\n".join(message.content for message in request.messages)
    found = re.search(r'"action", one of (.*?), and "rationale"', text)
    assert found is not None
    grey = "Identify a Nash equilibrium" in text
    wanted = {a.key for role in shipped_cast("commons").roles for a in role.actions if a.green != grey}
    action = next(o for o in re.findall(r'"(\w+)"', found.group(1)) if o in wanted)
    return orjson.dumps({"action": action, "rationale": "Strategy."}).decode()


TWO = "vary.scenario={set: game, to: {from: scenarios, family: commons, names: [debt_crisis, water_crisis]}}"


@pytest.fixture(scope="module")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunData]:
    """The preset that crosses the instruction with persona and payoffs."""
    runs = tmp_path_factory.mktemp("runs")
    register("by-goal", by_goal)
    changes = [TWO, "seeds=1"]
    try:
        play(
            load_study("personas", preset="instruction", models=["scripted/by-goal"], changes=changes),
            name="p",
            runs=runs,
        )
    finally:
        unregister("by-goal")
    with open_run("p", runs) as run:
        made = run_data(run.rows, run.folder.path, run.manifest)
    yield made
    made.close()


@pytest.mark.slow
def test_every_exhibit_takes_the_arms_of_the_paper_and_pools_no_instruction(crossed: RunData) -> None:
    assert write_as_paper(crossed).failures == ()
    tables = crossed.folder / "report" / "as-paper" / "tables"
    with (tables / "Figure-4-green_rate_by_agent_condition.csv").open(encoding="utf-8") as file:
        figure = {row["condition"]: float(row["green_rate"]) for row in csv.DictReader(file)}
    # Whoever sees payoffs is told to find an equilibrium, and by-goal is grey then; nobody else is.
    assert figure == {
        "persona, hidden payoffs": 1.0,
        "persona, visible payoffs": 0.0,
        "no persona, hidden payoffs": 1.0,
        "no persona, visible payoffs": 0.0,
    }
    with (tables / "Table-10-figures.csv").open(encoding="utf-8") as file:
        table = {
            (row["payoffs"], row["persona"]): float(row["value"])
            for row in csv.DictReader(file)
            if row["whose"] == "ours" and row["measure"] == "green_rate"
        }
    assert table == {
        ("hidden", "yes"): 100, ("visible", "yes"): 0, ("hidden", "no"): 100, ("visible", "no"): 0
    }  # fmt: skip
    page = (crossed.folder / "report" / "as-paper" / "index.html").read_text(encoding="utf-8")
    folded = page[page.index("<h2>Careful (") :]
    assert "20 of 28 matches are not of the paper&#39;s arms (another instruction)" in folded
    assert "32 model calls" in page


@pytest.mark.slow
def test_claims_and_comparison_take_the_arms_of_the_paper(crossed: RunData) -> None:
    made = replication("personas", [PaperRun(crossed, 112, 0.0)])
    values = [line.estimate.value for line in made.claims if line.estimate is not None]
    # Nash in economic scenarios with personas (hidden 0, visible 1); without minus with; visible minus hidden; green.
    assert values == [0.5, 0.0, 1.0, 0.0]
    assert any("20 of 28 matches are not of the paper's arms" in remark for remark in made.remarks)
    shares = {line.own.value for line in compare_run(crossed).lines if line.cell[-1] == "green_rate"}
    assert shares == {0.0, 100.0}


@pytest.mark.slow
def test_a_condition_names_in_what_it_differs_from_the_paper(crossed: RunData) -> None:
    found = {e.key["condition"]: e.value for e in estimate(crossed, "green_rate", ["condition"])}
    assert len(found) == 14 and set(found.values()) == {0.0, 1.0}
    assert found["persona, hidden payoffs"] == 1 and found["persona, hidden payoffs, instruction nash"] == 0
    left = rows(draw(crossed, "personas_interaction"), "personas_effects")
    assert {r["points"] for r in left if r["effect"] == "visibility"} <= {-100.0, 0.0, 100.0}
    assert "20 of 28 profiles are of other arms than the paper's and are left out." in " ".join(
        draw(crossed, "personas_interaction").notes
    )


@pytest.mark.slow
def test_a_run_without_the_factors_of_the_paper_has_none_of_its_arms(crossed: RunData) -> None:
    paper = references.build("personas")
    assert paper.of_arms(crossed).records("SELECT count(DISTINCT match) AS n FROM decisions") == [{"n": 8}]
    assert paper.of_arms(crossed) is paper.of_arms(crossed)
    assert paper.of_arms(paper.of_arms(crossed)) is paper.of_arms(crossed)

    class Other(type(paper)):  # type: ignore[misc]
        arms_differ_by = ("persona", "presentation")

    assert Other().of_arms(crossed).records("SELECT count(*) AS n FROM matches") == [{"n": 0}]
    assert Other().left_out(crossed) == [
        "The run does not vary presentation: none of its matches is of the paper's arms."
    ]


def pooled(data: RunData, chart: dict[str, Any]) -> list[str]:
    """What a chart says about levels that it pools."""
    return [note for note in draw(data, chart).notes if "pools" in note]


def test_charts_say_truly_what_they_pool(data: RunData, crossed: RunData) -> None:
    chart = {"chart": "dots", "measure": "nash_rate", "y": ["agent", "condition"]}
    # Instruction, names and meanings follow from persona and payoffs in the paper's four arms.
    assert pooled(data, chart)[0] == "Every estimate pools all levels of scenario."
    by_persona = {**chart, "y": "persona"}
    assert pooled(data, by_persona) == [
        "Every estimate pools all levels of payoffs and scenario.",
        "Every estimate pools some levels of instruction.",
    ]
    one_level = {**by_persona, "where": {"payoffs": "visible"}}
    assert pooled(crossed, one_level) == [
        "Every estimate pools all levels of scenario.", "Every estimate pools some levels of instruction."
    ]  # fmt: skip
    # Three of the eight scenarios are economic: every estimate pools some, none pools all.
    of_class = {**chart, "where": {"scenario_class": "economic"}}
    assert pooled(data, of_class)[0] == "Every estimate pools some levels of scenario."


def test_table_7_has_one_scenario_of_each_type(data: RunData) -> None:
    (one,) = [e for e in exhibits_of("personas") if e.name == "Table 7"]
    examples = rows(draw(data, one.panels[0]), "personas_examples")
    assert [(r["type"], r["scenario"]) for r in examples] == [
        ("Mixed/Complex", "Hydrogen from the Dairy"),
        ("economic", build_game("scenario:commons/trade_embargo").title),
        ("environmental", build_game("scenario:commons/carbon_tax_implementation").title),
    ]
    assert all(len(r["story"]) > 200 for r in examples)


def test_figure_3_shows_the_equilibria_without_personas(data: RunData) -> None:
    (one,) = [e for e in exhibits_of("personas") if e.name == "Figure 3"]
    drawn = draw(data, one.panels[0])
    found = {(r["scenario type"], r["payoffs"]): r for r in rows(drawn, "personas_selection")}
    assert set(found) == {
        ("all", "hidden"), ("all", "visible"), ("economic", "visible"), ("environmental", "hidden")
    }  # fmt: skip
    # Green players are in equilibrium in 5 of 8 scenarios, the others in 3; each twice.
    assert (found["all", "hidden"]["cooperative equilibrium"], found["all", "hidden"]["profiles"]) == (10, 10)
    assert (found["all", "visible"]["defective equilibrium"], found["all", "visible"]["profiles"]) == (6, 6)
    assert "without" in one.title and "persona" not in drawn.tables[0].columns


def test_figure_6_keeps_the_labels_of_all_four_conditions(data: RunData) -> None:
    (one,) = [e for e in exhibits_of("personas") if e.name == "Figure 6"]
    chart = panel_of(one.panels[0]).draw(data).figures[0].chart.to_dict()
    axis = chart["layer"][0]["encoding"]["x"]
    assert len(axis["sort"]) == 4
    assert axis["axis"]["labelOverlap"] is False and axis["axis"]["labelAngle"] == -40


@pytest.mark.slow
def test_the_picture_of_the_page_shows_the_rates_of_the_four_arms(data: RunData) -> None:
    made = replication("personas", [PaperRun(data, 0, 0.0)])
    assert made.plan.picture is not None
    drawn = _picture(made, made.plan.picture, made.paper.published())
    assert drawn is not None
    text = str(drawn.figures[0].chart.to_dict())
    # Rates by payoffs, with and without a persona; a difference of rates has another scale.
    assert all(f"'{word}'" in text for word in ("hidden", "visible", "persona", "no persona"))
    assert "minus" not in text


def test_the_documented_test_does_not_warn_of_weights_that_are_equal(data: RunData) -> None:
    made = tested(data, "nash_rate", "persona", "mixed", second="payoffs")
    assert not any("weighs" in text for text in made.warnings)
    unequal = tested(data, "green_share_of_nash", "payoffs", "welch")
    assert any("green_share_of_nash weighs its values" in text for text in unequal.warnings)
