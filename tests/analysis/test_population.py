"""Whom a result is about, what it averages over, one weight, and whether agents differ."""

import shutil
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.sizes import size

import ostrom
from ostrom.analysis.estimate import Estimate, Query, contrast, estimate, trend
from ostrom.analysis.hypothesis import test as tested
from ostrom.analysis.hypothesis_methods import sample_of
from ostrom.analysis.interaction import between_agents, tied_sets
from ostrom.analysis.intervals import exactly, mean_of, slope_of
from ostrom.analysis.measure import measures
from ostrom.analysis.population import (
    EARLIER,
    averaged_words,
    kinds_of,
    names_agents,
    population_words,
    refuse_mixed_people,
    studied_agents,
)
from ostrom.analysis.units import Observation, Observations, observations
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.models.providers import scripted

COOPERATION = measures.named("cooperation")
tested.__test__ = False  # type: ignore[attr-defined]


def rule(ab: float, jf: float) -> Any:
    """A model that cooperates so often under either pair of labels, whatever the order of its calls."""
    replies = {
        marks: cycle([f"[{marks[0]}]"] * round(20 * share) + [f"[{marks[1]}]"] * round(20 * (1 - share)))
        for marks, share in (("AB", ab), ("JF", jf))
    }
    return lambda request: next(replies["JF" if " J" in request.messages[-1].content else "AB"])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two models and a script; other labels lower alpha by .35 and beta by .05."""
    scripted.register("alpha", rule(0.9, 0.55))
    scripted.register("beta", rule(0.8, 0.75))
    study = {
        "name": "s", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 10},
        "agent": {"style": "direct"}, "seeds": 4,
        "types": {"tft": "tit_for_tat", "alpha": {"model": "scripted/alpha"}, "beta": {"model": "scripted/beta"}},
        "vary": {"labels": {"set": "agent.framing.labels", "to": ["AB", "JF"]}},
    }  # fmt: skip
    yield ostrom.play(study, runs=tmp_path_factory.mktemp("runs"), progress=False)


@pytest.fixture(scope="module")
def data(run: Any) -> Iterator[RunData]:
    with run.data() as opened:
        yield opened


def test_models_are_studied_and_scripts_are_company(run: Any, data: RunData) -> None:
    assert dict(kinds_of(data)) == {"tft": False, "alpha": True, "beta": True}
    assert studied_agents(data) == ["alpha", "beta"]
    assert {row["agent"] for row in observations(data, COOPERATION).rows} == {"alpha", "beta"}
    assert len(observations(data, COOPERATION, agents="all").rows) > len(observations(data, COOPERATION).rows)
    found = run.estimate("cooperation")
    assert found["agent"].to_list() == ["alpha", "beta"] and found["value"].to_list() == pytest.approx([0.725, 0.775])
    assert run.estimate("cooperation", agents="all")["agent"].to_list() == ["tft", "alpha", "beta"]
    assert run.estimate("cooperation", agents="tft, beta")["agent"].to_list() == ["tft", "beta"]
    assert run.estimate("cooperation", where={"agent": "tft"}).height == 1
    with pytest.raises(UnknownName, match="unknown agent 'gamma'"):
        run.estimate("cooperation", agents="gamma")


def test_agents_that_move_differently_are_never_one_number(run: Any, data: RunData) -> None:
    found = run.contrast("cooperation", "labels", "JF - AB")
    assert dict(zip(found["agent"], found["value"], strict=True)) == pytest.approx({"alpha": -0.35, "beta": -0.05})
    mean = run.contrast("cooperation", "labels", "JF - AB", mean_over_agents=True)
    assert mean["value"].to_list() == pytest.approx([-0.2]) and mean["averaged_over"].to_list() == [
        "averaged over agent (2)"
    ]
    answers = Query(measure="cooperation", contrast="labels=JF-AB").ask(data)
    assert [one.key["agent"] for one in answers] == ["alpha", "beta"]
    differs = between_agents(answers)
    assert differs is not None and differs.differs and differs.words.startswith("differs between agents: yes (p ")
    made = tested(data, "cooperation", "labels")
    assert [row["agent"] for row in made.results["comparisons"]] == ["alpha", "beta"]
    assert [abs(row["difference"]) for row in made.results["comparisons"]] == pytest.approx([0.35, 0.05])
    assert [row["p_holm"] for row in made.results["comparisons"]] == pytest.approx([one.p_holm for one in answers])
    assert [row["mean"] for row in made.groups] == pytest.approx([0.9, 0.55, 0.8, 0.75])


def test_measures_of_a_match_have_no_agent_and_stay(data: RunData) -> None:
    (one,) = Query(measure="joint_cooperation").ask(data)
    assert one.n == len({row["match"] for row in data.records("SELECT match FROM matches")}) and not one.key
    assert one.averaged_over == {"labels": 2}


def test_only_scripts_are_all_studied_one_row_each(small: RunData) -> None:
    rows = Query(measure="cooperation").ask(small)
    assert [one.key["agent"] for one in rows] == ["kind", "coin", "mostly", "tft"] == studied_agents(small)
    assert rows[0].averaged_over == {"game": 2, "k": 3}
    assert averaged_words(rows[0].averaged_over) == "averaged over game (2), k (3)"
    assert rows[0].as_dict()["averaged_over"] == {"game": 2, "k": 3} and [*rows[0].as_dict()][-1] == "averaged_over"


def test_what_is_fixed_shown_or_balanced_is_not_averaged_over(small: RunData) -> None:
    def over(**how: Any) -> dict[str, int]:
        return dict(Query(measure="cooperation", **how).ask(small)[0].averaged_over)

    assert over(where={"game": "stag_hunt"}) == {"k": 3} and over(by=("game",)) == {"k": 3}
    assert over(balance=("game",)) == {"k": 3} and over(over="k") == {"game": 2}
    assert over(contrast="k=16-1") == {"game": 2} and over(contrast="k=16-1", by=("game",)) == {}
    assert over(mean_over_agents=True) == {"game": 2, "k": 3, "agent": 4}
    # Two of three lengths are left, and the games of either side.
    assert over(where={"k": [1, 4]}) == {"game": 2, "k": 2}


def test_a_registered_run_keeps_the_mean_over_all_agents(data: RunData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(data.manifest, "registered", {"hash": "x"})
    query = Query(measure="cooperation", contrast="labels=JF-AB")
    (one,) = query.ask(data)
    assert one.value == contrast(data, "cooperation", "labels", "JF - AB", agents="all")[0].value
    assert one.averaged_over == {"agent": 3} and query.population([data]) == "all agents (registered)"
    named = query.model_copy(update={"agents": ("alpha", "beta")})
    assert [row.key["agent"] for row in named.ask(data)] == ["alpha", "beta"]


def test_an_earlier_run_says_that_its_population_changed(data: RunData, monkeypatch: pytest.MonkeyPatch) -> None:
    assert population_words([data]) == "studied agents"
    monkeypatch.setitem(data.manifest, "versions", {"ostrom": "1.0.0"})
    assert population_words([data]) == EARLIER == "studied agents (before 2.0: all)"
    assert population_words([data], "all") == "all agents" and population_words([data], "a,b") == "agents a, b"
    assert population_words([data], None, {"agent": "tft"}) == "agents as asked for"


def test_people_and_models_are_not_averaged() -> None:
    human: Any = SimpleNamespace(records=lambda _: [{"agent": "you"}])
    refuse_mixed_people([human], {"you"})
    refuse_mixed_people([human], {"gpt", "other"})
    with pytest.raises(UsageError, match=r"people \(you\) and other agents \(gpt\) are not averaged"):
        refuse_mixed_people([human], {"you", "gpt"})


def test_people_are_studied(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[1] / "data/1.0/people/runs/people-pilot", tmp_path / "people-pilot")
    kept = ostrom.open_run(tmp_path / "people-pilot")
    with kept.data() as opened:
        assert studied_agents(opened) == ["you"] and population_words([opened]) == EARLIER


@pytest.mark.parametrize(
    ("where", "names"),
    [("strategy IS NULL", True), ("agent_memory = 'x'", False), ("game = 'agent'", False), ('"model" = 1', True)],
)
def test_a_condition_that_says_who_is_asked_for_chooses_by_itself(where: str, names: bool) -> None:
    assert names_agents(where) is names


@st.composite
def unbalanced(draw: st.DrawFn) -> Observations:
    """Matches of two levels in which an agent holds one seat or two, with values and company by chance."""
    rows = []
    for match in range(draw(st.integers(4, 14))):
        level = draw(st.sampled_from(["a", "b"])) if match > 1 else "ab"[match]
        for player in range(draw(st.integers(1, 2))):
            columns = {
                "run": "r", "match": match, "seed": match, "player": player, "agent": "one", "factor": level,
                "opponents": "x", "x": float("ab".index(level)),
            }  # fmt: skip
            share = draw(st.integers(0, 10**6)) / 10**6  # below 1e-9 a value counts as rounding
            rows.append(Observation(share, None, (0.0, 1.0), False, columns))
    names = frozenset(rows[0].columns)
    return Observations(COOPERATION, tuple(rows), ("factor",), {}, names, draw(st.booleans()))


@settings(max_examples=size(200, 40), deadline=None)
@given(unbalanced())
def test_a_contrast_is_the_difference_of_the_levels_beside_it(found: Observations) -> None:
    levels = {one.key["factor"]: one for one in estimate(found, COOPERATION, ["factor"])}
    (difference,) = contrast(found, COOPERATION, "factor", "a - b")
    assert difference.value == pytest.approx(levels["a"].value - levels["b"].value, abs=1e-12)
    (slope,) = trend(found, COOPERATION, "x")
    if not found.shared:  # two levels, one step apart
        assert slope.value == pytest.approx(-difference.value, abs=1e-9)
    # A match counts once for each seat that the agent holds.
    for level, one in levels.items():
        values = [row.value for row in found.rows if row["factor"] == level]
        assert one.value == pytest.approx(np.mean(values), abs=1e-12)
    for row in sample_of(found, ("factor",)).groups():
        assert row["mean"] == pytest.approx(levels[row["factor"]].value, abs=1e-12)


def test_the_slope_of_weighted_units_is_that_of_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(2)
    x, y, w = rng.choice([1.0, 2.0, 5.0], 40), rng.random(40), rng.choice([1.0, 2.0], 40)
    ours = slope_of(x, y, weights=w, clusters=list(range(40)))
    theirs = sm.WLS(y, sm.add_constant(x), weights=w).fit(cov_type="HC3")
    spread = ours.spread()
    assert spread is not None and (ours.value, spread[0]) == pytest.approx((theirs.params[1], theirs.bse[1]), rel=1e-9)


def figure(agent: str, values: Any, labels: Any) -> Estimate:
    inference = mean_of(values, clusters=labels)
    return Estimate({"agent": agent}, inference.value, None, None, len(values), "match", "", inference=inference)


def test_agents_are_compared_by_welch_pairs_and_analysis_of_variance() -> None:
    from statsmodels.stats.oneway import anova_oneway

    rng = np.random.default_rng(1)
    apart = [rng.normal(mean, sd, n) for mean, sd, n in ((0, 1, 8), (0.5, 2, 9), (1, 0.5, 12))]
    alone = [figure(str(i), x, [(i, j) for j in range(len(x))]) for i, x in enumerate(apart)]
    same = rng.normal(size=(10, 3)) + 2 * rng.normal(size=(10, 1))
    paired = [figure(str(i), same[:, i], list(range(10))) for i in range(3)]

    def p(figures: list[Estimate]) -> float | None:
        made = between_agents(figures)
        assert made is not None
        return made.p_value

    assert p(alone[:2]) == pytest.approx(stats.ttest_ind(*apart[:2], equal_var=False).pvalue)
    assert p(paired[:2]) == pytest.approx(stats.ttest_rel(same[:, 0], same[:, 1]).pvalue)
    assert p(alone) == pytest.approx(anova_oneway(apart, use_var="unequal", welch_correction=True).pvalue)
    off = same[:, 1:] - same[:, :1]
    square = 10 * off.mean(0) @ np.linalg.inv(np.cov(off.T)) @ off.mean(0)
    assert p(paired) == pytest.approx(stats.f.sf(square * 8 / 18, 2, 8))
    assert between_agents(alone[:1]) is None
    single = figure("one", rng.normal(size=1), [(0, 0)])  # its spread is unknown, whatever units it shares
    assert p([alone[0], single]) is None and p([*alone[:2], single]) == p(alone[:2])
    sure = Estimate({"agent": "x"}, 0.5, 0.5, 0.5, 3, "match", "exact", inference=exactly(0.5))
    mixed = between_agents([*alone[:2], sure])
    assert mixed is not None and mixed.method == "every pair, Holm's correction"


def test_agents_that_cannot_be_told_apart_are_tied() -> None:
    rng = np.random.default_rng(3)
    made = [
        figure(name, rng.normal(mean, 0.1, 12), [(name, i) for i in range(12)])
        for name, mean in (("c", 5.0), ("a", 0.0), ("b", 0.01), ("d", 5.01))
    ]
    assert sorted(map(sorted, tied_sets(made))) == [["a", "b"], ["c", "d"]]
    assert tied_sets(made[:2]) == []
