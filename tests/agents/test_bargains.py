"""Mediators and contracts that scripts design."""

from collections.abc import Callable
from typing import Any

import pytest

from ostrom.agents.bargains import rules_of, stable_design, unfriendly_design
from ostrom.answers import Record, Text
from ostrom.ground.errors import OstromError
from ostrom.testing.check_strategy import NO_COOPERATION, PRISONERS_DILEMMA, view_of

PD = PRISONERS_DILEMMA


def record(name: str, **parts: Any) -> Record:
    return Record(name, {"type": "object", "properties": parts, "required": list(parts)})


@pytest.mark.parametrize(("most", "fine"), [(10, 2), (2, 2), (1, 0)])
def test_the_smallest_fine_makes_cooperation_dominant(most: int, fine: int) -> None:
    """Defecting pays 5 in place of 3, and 1 in place of 0."""
    part = {"type": "integer", "minimum": -most, "maximum": most}
    form = record("contract", cooperate=part, defect=part)
    assert stable_design(view_of(PD, []), form) == {"cooperate": 0, "defect": -fine}
    assert unfriendly_design(view_of(PD, []), form) == {"cooperate": 0, "defect": 0}


def test_a_mediator_defects_unless_all_delegate() -> None:
    form = record("mediator", one={"type": "string"}, all={"type": "string"})
    assert stable_design(view_of(PD, []), form) == {"one": "defect", "all": "cooperate"}
    assert unfriendly_design(view_of(PD, []), form) == {"one": "defect", "all": "defect"}
    assert stable_design(view_of(NO_COOPERATION, []), form) == {"one": "J", "all": "J"}


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: stable_design(view_of(PD, []), record("taxes")), "mediators and contracts, not 'taxes'"),
        (lambda: unfriendly_design(view_of(PD, []), Text()), "scripts design mediators and contracts"),
        (lambda: rules_of("repetition:5"), "repetition:5 has no designs that a script could judge"),
    ],
)
def test_another_design_is_refused(work: Callable[[], Any], message: str) -> None:
    with pytest.raises((OstromError, ValueError), match=message):
        work()
