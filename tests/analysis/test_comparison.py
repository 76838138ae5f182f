"""Lines of a comparison: differences, agreement at the ends of intervals, and which published figures count."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.analysis.claims import mapping_of, read_mapping
from ostrom.analysis.comparison import Line, _beside, _by_cell, _by_policy, _protocol
from ostrom.analysis.references import Published, RunFigure, _condition, _has, doubts_in
from ostrom.ground.errors import UnknownName, UsageError

CELL = ("pd", "rate")
OWN = RunFigure(CELL, "a", 50.0, 40.0, 60.0, None, 8)
PRINTED = Published(CELL, "M", 60.0, None, "Table 1", "verified")


def line(own: RunFigure, value: float | None, low: float | None = None, high: float | None = None) -> Line:
    return Line(CELL, own, None, value, None, low, high, 1, 0, "", "")


@pytest.mark.parametrize(
    ("made", "difference", "agrees"),
    [
        (line(OWN, 60.0), -10.0, True),  # the end of the interval
        (line(OWN, 60.5), -10.5, False),
        (line(OWN, 39.5), 10.5, False),
        (line(OWN, None, 20.0, 40.0), 10.0, True),
        (line(OWN, None, 20.0, 39.0), 11.0, False),
        (line(OWN, None, 55.0, 90.0), -5.0, True),
        (line(OWN, None, 45.0, 55.0), 0.0, True),
        (line(OWN, None), None, None),
        (line(replace(OWN, low=None), 60.0), -10.0, None),
        (line(replace(OWN, high=None), 60.0), -10.0, None),
        (line(replace(OWN, value=0.3), 0.1 + 0.2), 0.0, False),
    ],
)
def test_a_difference_is_own_minus_published_and_ends_agree(
    made: Line, difference: float | None, agrees: bool | None
) -> None:
    assert made.difference == difference and made.agrees is agrees


def test_a_line_as_data_leaves_out_what_it_has_not() -> None:
    data = line(replace(OWN, low=None), None, 1.0, 2.0).as_dict(("game", "measure"))
    assert (data["own_ci"], data["published_range"], "own_word" in data) == (None, [1.0, 2.0], False)
    data = replace(line(OWN, 60.0), cell=("", "rate"), figures=(PRINTED,)).as_dict(("game", "measure"))
    assert (data["game"], data["measure"], data["own_ci"], data["published_range"]) == (
        None, "rate", [40.0, 60.0], None,
    )  # fmt: skip
    assert "word" not in data["figures"][0]


@pytest.mark.parametrize(
    ("second", "count"),
    [
        (replace(PRINTED, source="Table 2"), 1),
        (replace(PRINTED, source="Table 2", spread=3.0), 1),
        (replace(PRINTED, value=61.0), 2),
        (replace(PRINTED, model="N"), 2),
    ],
)
def test_a_number_printed_twice_is_one_figure_that_names_both_places(second: Published, count: int) -> None:
    joined = _by_cell([PRINTED, second])[CELL]
    assert len(joined) == count
    if count == 1:
        assert joined[0].source == "Table 1, Table 2" and joined[0].spread == second.spread
        assert _by_cell([*joined, second])[CELL] == joined
    other = _by_cell([replace(PRINTED, spread=1.0), replace(PRINTED, spread=2.0)])[CELL]
    assert len(other) == 2
    mixed = _by_cell([replace(PRINTED, doubts=("x",)), replace(PRINTED, status="uncertain")])[CELL]
    assert (mixed[0].doubts, mixed[0].status, mixed[0].source) == (("x",), "verified/uncertain", "Table 1")


def test_the_range_of_models_holds_what_is_in_doubt_and_names_it() -> None:
    figures = [
        PRINTED, replace(PRINTED, model="N", value=70.0), replace(PRINTED, model="O", value=10.0, doubts=("x",)),
        replace(PRINTED, model="P", value=90.0, status="uncertain"), replace(PRINTED, model="P", value=80.0),
        replace(PRINTED, model=None, value=99.0),
    ]  # fmt: skip
    [made] = _beside(OWN, figures, {})
    assert (made.low, made.high, made.models, made.doubted, made.status) == (
        10.0,
        90.0,
        4,
        2,
        "4 verified; 1 uncertain",
    )
    assert made.doubts == ("O: x", "P: the label is uncertain") and len(made.figures) == 5
    [pooled] = _beside(replace(OWN, agent=None), figures, {})
    assert (pooled.value, pooled.model) == (99.0, None)
    chosen = _beside(OWN, figures, {"a": "P"})
    assert [(one.model, one.value) for one in chosen] == [("P", 90.0), ("P", 80.0)]
    assert _beside(OWN, figures[-1:], {}) == []


def test_a_study_that_differs_from_the_paper_is_said_to() -> None:
    reference: Any = SimpleNamespace(protocol={"mechanism.rounds": 10, "seeds": 5, "agent.noise": None})
    data: Any = SimpleNamespace(study={"mechanism": {"rounds": 9}, "seeds": 5, "agent": {"noise": 0.1}})
    assert _protocol(reference, data) == [
        "The study has mechanism.rounds = 9, the paper 10.", "The study has agent.noise = 0.1, the paper none.",
    ]  # fmt: skip
    assert _protocol(reference, SimpleNamespace(study={"mechanism": "none"})) == []  # type: ignore[arg-type]


def test_actions_of_the_policy_are_said_from_five_percent_on() -> None:
    rows = [{"agent": "a", "share": 0.05}, {"agent": "b", "share": 0.049}, {"agent": "c", "share": None}]
    data: Any = SimpleNamespace(records=lambda _: rows)
    assert _by_policy(data) == ["a: 5 % of the actions were given by the policy."]


def test_which_model_each_agent_stands_beside() -> None:
    agents, models = ["a", "b=c"], ["M", "N"]
    assert read_mapping(["b=c=N", "M"], agents, models) == {"a": "M", "b=c": "N"}
    assert read_mapping(["x=M"], [], models) == {"x": "M"}
    for chosen, words in (("x=M", "agent"), ("a=O", "published model")):
        with pytest.raises(UnknownName, match=words):
            read_mapping([chosen], agents, models)
    with pytest.raises(UsageError, match="prints no figures of single models"):
        read_mapping(["M"], agents, [])
    own = [replace(OWN, agent=name) for name in ("M", "N", "M against N", "z", None)]
    printed = [PRINTED, replace(PRINTED, model="N"), replace(PRINTED, model=None)]
    imported: Any = SimpleNamespace(manifest={"imported": True})
    assert mapping_of(printed, own, imported, []) == {"M": "M", "N": "N", "M against N": "M against N"}
    assert mapping_of(printed, own, imported, ["M=N"])["M against N"] == "N against N"
    both = [*printed, replace(PRINTED, model="M against N")]
    assert mapping_of(both, own, imported, ["M=N"])["M against N"] == "M against N"
    strangers = [*own, replace(OWN, agent="z against M")]
    assert "z against M" not in mapping_of(printed, strangers, imported, [])
    assert mapping_of(printed, own, SimpleNamespace(manifest={}), ["M=N"]) == {"M": "N"}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("level", "wanted", "has"),
    [(2, "2", True), ("2", [1, 2], True), (3, [1, 2], False), (None, None, True), (None, "none", False),
     (None, "None", False), (0, None, False)],
)  # fmt: skip
def test_a_level_is_compared_by_its_text(level: Any, wanted: Any, has: bool) -> None:
    assert _has(level, wanted) == has


def test_conditions_name_the_columns_that_a_run_has() -> None:
    levels = {"style": "direct", "k": [1, 2], "noise": None, "lost": 1}
    said = "CAST(\"style\" AS VARCHAR) IN ('direct') AND CAST(\"k\" AS VARCHAR) IN ('1', '2') AND "
    assert _condition(levels, ["style", "k", "noise"]) == f'{said}CAST("noise" AS VARCHAR) IS NULL'
    assert _condition(levels, []) == "true"
    assert doubts_in("SUSPICIOUS: x CONFLICT: y") == ("SUSPICIOUS: x CONFLICT: y",)
    assert doubts_in("see CONFLICT: y") == ("CONFLICT: y",)
