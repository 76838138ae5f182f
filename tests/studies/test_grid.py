"""Which combinations of levels a study plays: all of them, or those that ``only`` keeps."""

from typing import Any

import pytest

from ostrom.ground.errors import StudyError
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan


def plan(only: Any, **more: Any) -> StudyPlan:
    return StudyPlan(
        load_study(
            {
                "name": "part",
                "game": "stag_hunt",
                "types": {"a": {"strategy": "cooperator"}},
                "mechanism": {"name": "repetition", "rounds": 2},
                "vary": {
                    "rounds": {"set": "mechanism.rounds", "to": [1, 2, 3]},
                    "who": {"a": {"agent.memory": "full"}, "b": {"agent.memory": "window:1"}},
                },
                **({} if only is None else {"only": only}),
                **more,
            }
        )
    )


def cells(of: StudyPlan) -> list[tuple[Any, Any]]:
    return [(unit.cell["rounds"], unit.cell["who"]) for unit in of.units() if unit.seed == 0]


def test_only_keeps_the_combinations_that_one_entry_allows() -> None:
    kept = plan([{"rounds": 1, "who": "a"}, {"rounds": [2, 3], "who": "b"}], seeds=2)
    assert sorted(cells(kept)) == [(1, "a"), (2, "b"), (3, "b")]
    assert (kept.cells, len(kept)) == (3, 6)
    for index in range(len(kept)):  # every unit is found by its number
        assert kept.unit(index).index == index
    assert len(plan(None)) == 6 and sorted(cells(plan([{"who": "b"}]))) == [(n, "b") for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("only", "key", "says"),
    [
        ([{"whom": "a"}], "only.0", "did you mean 'who'"),
        ([{"who": "a"}, {"rounds": 4}], "only.1.rounds", "allowed: 1, 2, 3"),
        ([{"who": []}], "only", "keeps no combination"),
    ],
)
def test_what_only_cannot_mean_is_refused_in_one_line(only: Any, key: str, says: str) -> None:
    with pytest.raises(StudyError) as refused:
        plan(only)
    assert refused.value.key == key and says in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.slow
def test_a_large_grid_of_which_a_part_is_kept_is_checked_by_levels() -> None:
    many = {"set": "mechanism.rounds", "to": list(range(1, 1202))}
    vary = {"rounds": many, "who": {"a": {"agent.memory": "full"}, "b": {"agent.memory": "window:1"}}}
    part = plan([{"who": ["a", "b"]}], vary=vary)
    assert part.cells == 2402 and part.unit(2401).cell["rounds"] == 1201
    bad = {**vary, "who": {"a": {"agent.memory": "full"}, "b": {"agent.memory": "windo:1"}}}
    with pytest.raises(Exception, match="windo"):
        plan([{"who": ["a", "b"]}], vary=bad)
