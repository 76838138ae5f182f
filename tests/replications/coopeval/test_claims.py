"""Every claim of the paper is judged: a model that does as reported agrees, its contrary differs."""

from functools import partial
from pathlib import Path

import pytest
from tests.replications import claims
from tests.replications.claims import verdicts
from tests.replications.coopeval.rules import CAPABLE, CONTRARY, LONER, Ruled

from ostrom.features.replicate.papers import paper_plan

judged, played = partial(claims.judged, "coopeval"), partial(claims.played, "coopeval")
PLAN = paper_plan("coopeval")[1]
EVOLUTION = "Mechanisms are more effective under evolution"
LENGTH = "Referee: a longer text does not"


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "answer"), [(CAPABLE, "agrees"), (CONTRARY, "differs")])
def test_who_does_as_reported_agrees_and_its_contrary_differs(rule: Ruled, answer: str, tmp_path: Path) -> None:
    made = judged(played(tmp_path, {"ruled": rule}, ("mechanisms", "direct", "controls", "phrasing")))
    found = verdicts(made)
    assert found.pop(EVOLUTION) == {"not comparable"}  # one type alone cannot evolve
    assert found.pop(LENGTH) == {"agrees"}  # neither minds the length of a text
    assert len(found) == len(PLAN.claims) - 2
    assert set(map(tuple, found.values())) == {(answer,)}, found


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "answers"), [(CAPABLE, {"agrees"}), (Ruled(reciprocal=False), {"agrees", "differs"})])
def test_evolution_helps_where_cooperation_is_kept_from_defectors(
    rule: Ruled, answers: set[str], tmp_path: Path
) -> None:
    made = judged(played(tmp_path, {"ruled": rule, "loner": LONER}, ("mechanisms",)))
    lines = [line for line in made.claims if line.claim.claim == EVOLUTION]
    found = {str(line.estimate.key["mechanism"]): line for line in lines if line.estimate is not None}
    assert set(found) == {"repetition", "mediation", "contracting"} and {line.agent for line in lines} == {"all agents"}
    assert {line.verdict.answer for line in lines} == answers
    # Whoever cooperates with defectors is driven out of a repetition.
    assert (found["repetition"].verdict.answer == "differs") is not rule.reciprocal
