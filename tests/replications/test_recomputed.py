"""What Ostrom reports is what an independent script finds in the exported tables, and both are what theory says."""

from __future__ import annotations

import ast
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.replications import recomputed

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.data.tables import export_rows
from ostrom.features.inference.said import statements
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

PD = np.array([[2.0, 0.0], [3.0, 1.0]])
"""The Prisoner's Dilemma of CoopEval: 0 cooperates, 1 defects."""


def exported(folder: Path, **spec: Any) -> Path:
    """The tables of a study that strategies play, as CSV files."""
    study = load_study({"name": "played", "game": "prisoners_dilemma:coopeval", **spec})
    assert play(study, runs=folder).complete
    with open_run("played", folder) as run:
        export_rows(run.rows, "csv", folder / "csv")
    return folder / "csv"


def test_the_script_is_independent() -> None:
    source = Path(recomputed.__file__).read_text(encoding="utf-8")
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert not {name for name in imported if name.startswith(("ostrom", "tests"))}


@pytest.mark.slow
def test_a_defector_takes_over_as_often_as_moran_says(tmp_path: Path) -> None:
    size, births, strength, seeds = 4, 6, 0.6, 80
    tables = exported(
        tmp_path,
        mechanism={
            "name": "evolution", "under": {"name": "society", "rounds": 1}, "population": size,
            "generations": births + 1, "selection": {"rule": "moran", "strength": strength}, "mutation": {"share": 0},
            "genomes": ["Be a defector.", *["Be a cooperator."] * (size - 1)],
        },
        types={"member": "instructed"},
        seeds=seeds,
    )  # fmt: skip
    last = [g for g in recomputed.generations(tables) if g["generation"] == births]
    assert len(last) == seeds
    found = [sum(sentence == "Be a defector." for sentence in g["now"]) for g in last]
    expected = recomputed.moran(size, 1, births, strength, PD)
    for mutants, chance in enumerate(expected):
        gap = found.count(mutants) / seeds - chance
        assert abs(gap) < 4 * sqrt(chance * (1 - chance) / seeds), (mutants, chance)
    forever = recomputed.moran(size, 1, 10_000, strength, PD)
    assert forever[size] == pytest.approx(recomputed.fixation(size, strength, PD))
    assert recomputed.fixation(size, 0.0, PD) == pytest.approx(1 / size)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["death-birth", "imitation"])
def test_cooperation_spreads_in_a_society_as_ohtsuki_says(rule: str, tmp_path: Path) -> None:
    degree, imitation, strength = 4, rule == "imitation", 1.0
    ratios = []
    for size in (14, 30):
        tables = exported(
            tmp_path / str(size),
            mechanism={
                "name": "society", "network": f"ring:{degree}", "members": size, "rounds": 3,
                "imitation": {"rule": rule, "strength": strength, "members": size},
            },
            types={"good": "cooperator", "bad": "defector"},
            seeds=8,
        )  # fmt: skip
        ratios.append(recomputed.critical_ratio(recomputed.network(tables), imitation=imitation))
    n, k = 30, degree
    exact = ((k + 2) * n - 2 * k - 2) / (n - 2 * k - 2) if imitation else (n - 2) / (n / k - 2)
    assert ratios[1] == pytest.approx(exact), "Taylor, Day and Wild (2007)"
    assert ratios[0] > ratios[1] > (k + 2 if imitation else k), "from above, towards k or k + 2"
    own, other = (
        recomputed.adoption(tables, strength, imitation=which) for which in (imitation, not imitation)
    )
    assert abs(own[0]) < 4
    assert own[1] > other[1], "members change over by their own rule, not by the other one"


def test_statements_are_scored_alike(tmp_path: Path) -> None:
    tables = exported(
        tmp_path,
        mechanism={
            "name": "repetition",
            "rounds": 6,
            "state": "after",
            "state_as": "memory_one",
            "noise": 0.2,
        },
        types={"tft": "tit_for_tat", "bad": "defector"},
        seating="unordered",
        seeds=3,
    )
    found = recomputed.said(tables)
    with open_run("played", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        ours = {(str(s.match), str(s.player)): (s.agreement, s.log_loss) for s in statements(data)}
        means = {e.key["agent"]: e.value for e in estimate(data, "said_agreement", ["agent"])}
    assert len(found) == len(ours) == 18
    for (match, player, _), scores in found.items():
        assert scores == pytest.approx(ours[match, player])
    assert all(0 < mean < 1 for mean in means.values()), "noise breaks some statements"
