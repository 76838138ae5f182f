"""Scripted players whose cooperation is known in closed form: every measure must find it.

Noise e flips each chosen action with chance e, seat by seat, independently (mechanism ``repetition``). In the
Prisoner's Dilemma of the memory study a pair earns 200 each for mutual cooperation and 100 on average
otherwise, so a round's mean reward is 100 + 100 P(both cooperate).

A scripted player with a window plays as if the match had begun with the first round it is shown. Hence with
window 0 nobody ever sees a defection; grim with window 1 is tit for tat; grim with a window as long as the
match is grim.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.data.rundata import RunData, run_data
from ostrom.replications.memory_curse.played import played
from ostrom.replications.memory_curse.regimes import regimes
from ostrom.replications.memory_curse.results import compositions
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

E, ROUNDS, SEEDS = 0.1, 20, 40
SAME = (1 - E) ** 2 + E**2
"""Chance that two players who intend the same also play the same."""


@contextmanager
def run_of(folder: Path, **changes: Any) -> Iterator[RunData]:
    study = StudyFile.model_validate(
        {
            "name": "theory",
            "game": {"name": "prisoners_dilemma", "preset": "memory_curse"},
            "mechanism": {"name": "repetition", "rounds": ROUNDS, "noise": E},
            "agent": {"memory": {"name": "window", "k": ROUNDS}},
            "seeds": SEEDS,
            **changes,
        }
    )
    play(study, runs=folder)
    with open_run(folder / "theory") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield data


def theory(agent: str, length: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Chance of cooperating and of cooperating both, round by round."""
    t = np.arange(ROUNDS)
    if agent == "random":
        # p = 0.7 before noise; the players are independent of everything.
        p = 0.7 * (1 - E) + 0.3 * E
        return np.full(ROUNDS, p), np.full(ROUNDS, p * p)
    if length == 0:
        return np.full(ROUNDS, 1 - E), np.full(ROUNDS, (1 - E) ** 2)
    if agent == "wsls":
        # Both repeat cooperation after equal actions and both shift to it after mutual defection, so both
        # always intend the same: cooperation if the last actions were equal. They are, with chance SAME in
        # any round (Nowak and Sigmund 1993, for errors of implementation).
        intend = np.where(t == 0, 1.0, SAME)
        return intend * (1 - E) + (1 - intend) * E, intend * (1 - E) ** 2 + (1 - intend) * E**2
    if length == 1:
        # Tit for tat copies, so a rate c becomes (1 - e) c + e (1 - c): c_t = 1/2 + (1 - 2e)^t / 2. Both
        # actions of a round are independent given the round before; P(both) follows from the chain over the
        # states CC, CD, DC, DD (Molander 1985).
        state = np.array([1.0, 0, 0, 0])
        rates: list[float] = []
        both: list[float] = []
        for _ in t:
            intended = state[[0, 2, 1, 3]] if rates else state
            state = np.array([_flip(intended, a, b) for a, b in ((0, 0), (0, 1), (1, 0), (1, 1))])
            rates.append(state[0] + (state[1] + state[2]) / 2)
            both.append(state[0])
        assert np.allclose(rates, 0.5 + (1 - 2 * E) ** (t + 1) / 2)
        return np.array(rates), np.array(both)
    # Grim: both at peace, one provoked, both provoked. One error of a pair provokes the other player; a
    # provoked player defects, which provokes its partner unless an error hides it; nobody ever forgives.
    peace, one, war = 1.0, 0.0, 0.0
    level: list[float] = []
    mutual: list[float] = []
    for _ in t:
        level.append(peace * (1 - E) + one / 2 + war * E)
        mutual.append(peace * (1 - E) ** 2 + one * E * (1 - E) + war * E**2)
        peace, one, war = (peace * (1 - E) ** 2, peace * 2 * E * (1 - E) + one * E, peace * E**2 + one * (1 - E) + war)
    return np.array(level), np.array(mutual)


def _flip(intended: np.ndarray[Any, Any], a: int, b: int) -> float:
    """Chance of actions a, b when the intended pair is drawn and each is flipped with chance E."""
    total = 0.0
    for i, (x, y) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
        total += intended[i] * (1 - E if a == x else E) * (1 - E if b == y else E)
    return total


def near(found: Estimate | None, expected: float) -> bool:
    """Whether an estimate has the expected value in its interval, after a check that it is not far off."""
    assert found is not None and found.low is not None and found.high is not None
    reach = max(found.high - found.low, 1e-9) / 2
    # About 2 standard errors make the reach.
    assert abs(found.value - expected) < 2 * reach, (found, expected)
    return expected in found


def test_rewards_of_certain_play_are_exact(tmp_path: Path) -> None:
    changes = {"mechanism": {"name": "repetition", "rounds": 4, "discount": 0.5}, "seeds": 1}
    with run_of(tmp_path, types={"once": "defect_once"}, **changes) as data:
        # Mutual defection once, then mutual cooperation; the study's own discount is about its score alone.
        d = 0.99
        for row in played(data):
            assert row["cooperation"] == 0.75 and row["mean_reward"] == 175.0
            assert row["discounted_reward"] == pytest.approx(
                (100 + 200 * (d + d**2 + d**3)) / (1 + d + d**2 + d**3), rel=1e-12
            )
        (found,) = estimate(data, "memory_cooperation")
        assert found.method == "exact" and (found.low, found.high) == (0.75, 0.75)


def test_a_regime_is_named_only_where_the_intervals_decide_it(tmp_path: Path) -> None:
    vary = {"history_length": {"set": "agent.memory.k", "to": [2, 10]}}
    types = {"kind": "cooperator", "grim": "grim", "often": "random:0.97"}
    with run_of(tmp_path, types=types, vary=vary, seeds=2, mechanism={"name": "repetition", "rounds": 10}) as data:
        found = {key[-1]: name for key, name in regimes(data).decided.items()}
    # Deterministic players have no sampling error; two matches of a random one decide nothing.
    assert found == {"kind": "immune", "grim": "immune", "often": "undecided"}


def test_the_gap_between_forgiver_and_grudge_holder_is_that_of_theory(tmp_path: Path) -> None:
    with run_of(tmp_path, types={"wsls": "win_stay_lose_shift"}, seats={1: {"memory": {"k": 0}}}) as data:
        (company,) = compositions(data)
    # The forgiver (window 0) always intends to cooperate. The other does if the last actions were equal:
    # I = x (1 - e) + (1 - x) e for its own chance x of having cooperated, then x' = I (1 - e) + (1 - I) e.
    x, own = 1 - E, []
    for _ in range(ROUNDS):
        own.append(x)
        intend = x * (1 - E) + (1 - x) * E
        x = intend * (1 - E) + (1 - intend) * E
    assert company.name == f"1 x HL 0 + 1 x HL {ROUNDS}"
    near(company.forgiver, 1 - E)
    near(company.grudge_holder, float(np.mean(own)))
    assert near(company.gap, 1 - E - float(np.mean(own)))
    assert company.gap is not None and company.gap.value == pytest.approx(company.seat_gaps[1].value)
    assert company.gap.method.startswith("paired")
