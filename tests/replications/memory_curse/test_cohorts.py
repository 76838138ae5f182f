"""Scripted cohorts of known reasoning and conduct give every regime, and hand-counted words."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ostrom.analysis.estimate import estimate, trend
from ostrom.data.rundata import RunData, run_data
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.replications.memory_curse.regimes import _seeds, regimes
from ostrom.studies.load import load_study
from ostrom.studies.run import Run, open_run, play

COHORTS = {
    "immune": {0: False, 2: True, 5: True, 20: True},
    "decaying": {0: True, 2: True, 5: True, 20: False},
    "flat": {0: False, 2: False, 5: False, 20: False},
    "rising": {0: False, 2: False, 5: False, 20: True},
    "memory-bounded": {0: False, 2: True, 5: True, 20: False},
    "undecided": {0: True, 2: True, 5: False, 20: True},
}
"""Whether a model cooperates, by how many rounds it can see."""


def teller(name: str) -> object:
    def reply(request: Request) -> str:
        text = request.messages[-1].content
        seen = re.search(r"at most the last (\d+)", text)
        length = 0 if seen is None else int(seen[1])
        kind = COHORTS[name][length]
        why = "Mutual trust in the future." if kind else "Carefully: they defected, a risk."
        return f"{why}\n[{'A0' if kind else 'A1'}]"

    return reply


@pytest.fixture(scope="module")
def cohorts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Run, RunData]]:
    folder = tmp_path_factory.mktemp("cohorts")
    for name in COHORTS:
        register(f"cohort-{name}", teller(name))  # type: ignore[arg-type]
    types = json.dumps({name: {"model": f"scripted/cohort-{name}"} for name in COHORTS})
    try:
        study = load_study(
            "memory", preset="smoke", seeds=3,
            changes=[
                f"types={types}", "agent.constrain=never", "mechanism.rounds=3", "vary.style=null",
                "vary.history_length.to=[0, 2, 5, 20]", "agent.framing.counterbalance=false",
                "vary.game=[trust_symmetric]",
            ],
        )  # fmt: skip
        play(study, runs=folder)
    finally:
        for name in COHORTS:
            unregister(f"cohort-{name}")
    with open_run(folder / "memory") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield run, data


@pytest.mark.slow
def test_every_cohort_is_of_its_regime(cohorts: tuple[Run, RunData]) -> None:
    found = regimes(cohorts[1])
    assert {key[-1]: r.name for key, r in found.by_rates.items()} == {name: name for name in COHORTS}
    # Few matches of a model decide little, but never another regime.
    decided = {key[-1]: name for key, name in found.decided.items()}
    assert all(name in (cohort, "undecided") for cohort, name in decided.items())


def test_intervals_decide_about_players_without_sampling_error(tmp_path: Path) -> None:
    study = load_study(
        "memory", preset="smoke", seeds=2,
        changes=[
            "types={kind: cooperator, mean: defector, grim: grim}", "mechanism.rounds=3", "vary.style=null",
            "agent.style=reasoned", "vary.history_length.to=[0, 2, 20]", "vary.game=[trust_symmetric]",
        ],
    )  # fmt: skip
    play(study, runs=tmp_path)
    with open_run(tmp_path / "memory") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        found = {key[-1]: name for key, name in regimes(data).decided.items()}
    assert found == {"kind": "immune", "mean": "flat", "grim": "immune"}


def test_seeds_that_would_decide_shrink_with_the_distance_to_the_border(cohorts: tuple[Run, RunData]) -> None:
    one = estimate(cohorts[1], "memory_cooperation")[0]

    def of(value: float, half: float) -> int | None:
        return _seeds(replace(one, value=value, low=value - half, high=value + half, n=4), 0.5)

    assert of(0.7, 0.4) == 12 and of(0.3, 0.4) == 12  # half the width needs four times the matches
    assert of(0.9, 0.4) == 0 and of(0.5, 0.4) is None


def test_variance_between_seeds_is_counted_within_its_cell(tmp_path: Path) -> None:
    study = load_study(
        "memory", preset="smoke", seeds=4,
        changes=["types={c: cooperator, r: random}", "mechanism.rounds=6", "vary.style=null",
                 "vary.game=[trust_symmetric]"],
    )  # fmt: skip
    play(study, runs=tmp_path)
    with open_run(tmp_path / "memory") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        by = ["agent", "history_length"]
        spread = {tuple(e.key.values()): e for e in estimate(data, "memory_deviation", by)}
        rates = {tuple(e.key.values()): e for e in estimate(data, "memory_cooperation", by)}
        values: dict[tuple[object, ...], list[float]] = {}
        for row in data.records("SELECT match, agent, history_length, avg(cooperation) AS c FROM matches GROUP BY ALL"):
            values.setdefault((row["agent"], row["history_length"]), []).append(row["c"])
        slopes = trend(data, "memory_deviation", "history_length", ["agent"], log="1+x")
    assert set(spread) == set(rates) and spread["r", 80].n == 4
    for key, of in values.items():
        mean = sum(of) / 4
        assert spread[key].value == pytest.approx((4 / 3) ** 0.5 * sum(abs(v - mean) for v in of) / 4)
    assert spread["c", 2].value == 0 and spread["r", 2].value > 0
    assert {one.key["agent"]: one.low is not None for one in slopes} == {"c": True, "r": True}
