"""The memory studies declare what the paper did (Liu et al. 2026)."""

import re
from pathlib import Path

import pytest

import ostrom.replications.memory_curse
from ostrom.costs.forecast import forecast
from ostrom.ground.errors import StudyError
from ostrom.memory import memories
from ostrom.memory.catalog.sanitized import Sanitized
from ostrom.memory.recent import Window
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.files import presets_of
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import play

NAMES = ["memory", "memory-asymmetric", "memory-sanitized"]


def plan_of(name: str, preset: str | None = None) -> StudyPlan:
    return StudyPlan(load_study(name, preset=preset, models=["openai/some-model"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_all_have_three_presets_and_any_model(name: str) -> None:
    assert presets_of(name) == ["paper", "small", "smoke"]
    full = plan_of(name)
    assert plan_of(name, "paper").resolved() == full.resolved()
    for preset in ("small", "smoke"):
        assert forecast(plan_of(name, preset)).calls < forecast(full).calls
    assert len(StudyPlan(load_study(name, preset="smoke", models=["openai/a", "openai/b"]))) == 2 * len(
        plan_of(name, "smoke")
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_are_the_papers(name: str) -> None:
    plan = plan_of(name)
    assert plan.study.seeds == 3
    for index in range(len(plan) // 3):
        unit = plan.unit(index)
        assert unit.mechanism.most_decisions(unit.game) == 500 * unit.game.seats
        for seated in unit.players:
            assert seated.config.params == {"temperature": 0.7, "max_tokens": 2000}
            assert seated.config.framing.words == 500


def test_the_sweep_is_as_large_as_published() -> None:
    plan = plan_of("memory")
    reasoned = [u for u in plan.units() if u.cell["style"] == "reasoned"]
    assert len(reasoned) * 500 * 7 == 378_000  # seven models
    assert sum(u.mechanism.most_decisions(u.game) for u in reasoned) * 7 == 850_500


def test_the_payoffs_are_the_papers() -> None:
    games = {u.game.name: u.game for u in plan_of("memory").units()}
    table: dict[str, dict[tuple[int, ...], tuple[float, ...]]] = {
        "prisoners_dilemma": {(0, 0): (200, 200), (0, 1): (-100, 300), (1, 0): (300, -100), (1, 1): (100, 100)},
        "trust_symmetric": {(0, 0): (10, 10), (0, 1): (2, 20), (1, 0): (20, 2), (1, 1): (4, 4)},
        "travelers_dilemma": {(3, 3): (5, 5), (0, 3): (4, 0), (2, 1): (1, 5), (0, 0): (2, 2)},
        "public_goods": {(0, 0, 0): (1.5, 1.5, 1.5), (0, 0, 1): (1, 1, 2), (1, 1, 1): (1, 1, 1)},
    }
    assert games.keys() == table.keys()
    for name, cells in table.items():
        for profile, pay in cells.items():
            assert games[name].payoff(profile) == pytest.approx(pay)


def test_compositions_seat_short_and_long_memories() -> None:
    plan = plan_of("memory-asymmetric")
    found = {}
    for index in range(len(plan) // 3):
        unit = plan.unit(index)
        built = [memories.build(p.config.memory) for p in unit.players]
        assert all(isinstance(m, Window) for m in built)
        label = "+".join(str(m.k) for m in built if isinstance(m, Window))
        found[unit.cell["composition"]] = f"{unit.game.name.split('_')[0]} {label}"
    assert {k.replace(" goods", "") for k in found} == set(found.values())
    assert found["trust 2+80"] == "trust 2+80"


def test_sanitized_windows_are_eighty_with_the_published_real_parts() -> None:
    plan = plan_of("memory-sanitized")
    cells = set()
    for index in range(len(plan) // 3):
        unit = plan.unit(index)
        memory = memories.build(unit.players[0].config.memory)
        assert isinstance(memory, Sanitized) and memory.window == 80
        cells.add((unit.game.name, memory.mode, memory.real))
    real = (2, 5, 10, 20, 40, 60, 70, 75, 78, 80)
    games = ("trust_symmetric", "travelers_dilemma", "prisoners_dilemma", "public_goods")
    expected = {(g, "ideal", x) for g in games for x in real}
    assert cells == expected | {("travelers_dilemma", "polar", x) for x in real}


@pytest.mark.parametrize("name", NAMES)
def test_smoke_fits_a_small_machine(name: str) -> None:
    # About 40 decisions a minute with reasoning and 90 without on two cores.
    plan = plan_of(name, "smoke")
    styles = {"reasoned": 0, "direct": 0}
    for unit in plan.units():
        styles[unit.players[0].config.style] += unit.mechanism.most_decisions(unit.game)
    assert styles["reasoned"] / 38 + styles["direct"] / 90 < 4.5


POLAR = ["agent.memory.mode=polar", "vary.sanitization=null", "game=travelers_dilemma", "vary.real_rounds.to=[2]"]


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two agents, two styles, two games and two lengths of memory, in which each plays another mix."""
    folder = tmp_path_factory.mktemp("baseline")
    register("by-style", lambda request: "[A3]" if "reasons" in request.messages[-1].content else "[A0]")
    try:
        study = load_study(
            "memory", preset="smoke",
            changes=[
                "types={c: cooperator, d: defector, m: {model: scripted/by-style}}", "agent.constrain=never",
                "agent.framing.counterbalance=false", "vary.history_length.to=[2, 12]", "mechanism.rounds=2",
                "vary.game=[travelers_dilemma, {name: travelers_dilemma, bonus: 3}]",
            ],
        )  # fmt: skip
        play(study, runs=folder)
    finally:
        unregister("by-style")
    return folder / "memory"


def polar_shares(run: Path, *changes: str) -> dict[str, dict[str, float]]:
    """The shares that every agent of the sanitized study draws from."""
    study = load_study("memory-sanitized", preset="smoke", changes=[*POLAR, f"agent.memory.from={run}", *changes])
    assert "from" not in study.agent["memory"]
    shares: dict[str, dict[str, float]] = {}
    for unit in StudyPlan(study).units():
        for seated in unit.players:
            assert isinstance(seated.config.memory, dict) and "baselines" not in seated.config.memory
            shares[seated.name] = seated.config.memory["shares"]["travelers_dilemma"]
    return shares


def test_polar_rounds_mirror_the_same_agent_style_and_game_at_the_same_length(baseline: Path) -> None:
    types = "types={c: cooperator, other name: defector, m: {model: scripted/by-style}}"
    low, high = {"claim_2, claim_2": 1.0}, {"claim_5, claim_5": 1.0}
    assert polar_shares(baseline, types) == {"c": high, "other name": low, "m": high}
    assert polar_shares(baseline, types, "agent.style=direct")["m"] == low
    one = load_study("memory-sanitized", preset="smoke", changes=[*POLAR, f"agent.memory.from={baseline}", types])
    assert len(one.agent["memory"]["baselines"]) == 3 * 2 * 2 * 2


@pytest.mark.parametrize(
    ("changes", "lacks"),
    [
        (["types={g: grim}"], "of grim, reasoned, in travelers_dilemma with a window of 12"),
        (["types={c: cooperator}", "agent.memory.window=13"], "with a window of 13"),
        (["types={c: cooperator}", "agent.style=logprob"], "of cooperator, logprob,"),
        (["types={c: cooperator}", "game={name: travelers_dilemma, bonus: 4}"], "the same payoffs"),
        (["types={c: cooperator}", "game=trust_symmetric"], "in trust_symmetric with"),
    ],
)
def test_a_run_without_the_agent_is_no_baseline(baseline: Path, changes: list[str], lacks: str) -> None:
    with pytest.raises(StudyError, match=lacks):
        polar_shares(baseline, *changes)


def test_ideal_rounds_need_no_baseline_and_polar_ones_are_played(baseline: Path, tmp_path: Path) -> None:
    study = load_study(
        "memory-sanitized", preset="smoke",
        changes=[f"agent.memory.from={baseline}", "types={c: cooperator}"],
    )  # fmt: skip
    memories_of = {
        (unit.cell["sanitization"], unit.cell["real_rounds"]): unit.players[0].config.memory
        for unit in StudyPlan(study).units()
    }
    assert {key for key, memory in memories_of.items() if "shares" in memory} == {("travelers polar", 2)}
    play(study, runs=tmp_path)


def test_a_baseline_must_be_a_run() -> None:
    with pytest.raises(StudyError, match=r"agent\.memory\.from: must be a run"):
        load_study("memory-sanitized", changes=["agent.memory.from=3"])


def test_cited_sections_are_sections_of_the_paper() -> None:
    """Five sections, of which the fourth has six parts; the questions that it leaves open stand in the last."""
    sections = {"1", "2", "3", "4", "5", *(f"4.{part}" for part in range(1, 7))}
    home = Path(str(ostrom.replications.memory_curse.__file__)).parent
    texts = {path.name: path.read_text(encoding="utf-8") for path in home.rglob("*") if path.suffix in (".yaml", ".py")}
    cited = {
        name: set(re.findall(r"[Ss]ections? (\d+(?:\.\d+)?)", text.replace("\n", " "))) for name, text in texts.items()
    }
    assert cited["memory-curation.yaml"] == cited["society.yaml"] == {"5"}
    assert set().union(*cited.values()) <= sections
