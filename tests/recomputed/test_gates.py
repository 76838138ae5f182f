"""Verdicts of `ostrom gate` on real runs, against intervals and rates computed a second time."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.in_process import Call, caller
from tests.recomputed import bets, draws, gate_cells

from ostrom.features.gates.gates import GateRule
from ostrom.models.providers import scripted

SEEDS = 90
STUDY = """\
name: same
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 5}
types: {a: "random:0.9"}
vary:
  words: {one: {agent.framing.labels: JF}, two: {agent.framing.labels: QX}}
  game: [prisoners_dilemma, stag_hunt]
"""
ALIKE = """\
name: alike
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 2}
agent: {style: direct}
types: {a: scripted/always}
vary:
  words: {one: {agent.framing.units: points}, two: {agent.framing.units: coins}}
seeds: 8
"""
ASKED: dict[str, dict[str, Any]] = {
    "level": {"measure": "cooperation", "at_least": 0.8},
    "difference": {"measure": "cooperation", "contrast": "words=one-two", "within": 0.15},
}
ALLOWED = {"level": (0.8, float("inf")), "difference": (-0.15, 0.15)}
BOUNDS = {"level": gate_cells.level_limits, "difference": gate_cells.difference_limits}


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    folder = tmp_path_factory.mktemp("recomputed")
    (folder / "same.yaml").write_text(f"{STUDY}seeds: {SEEDS}\n")
    (folder / "alike.yaml").write_text(ALIKE)
    scripted.register("always", lambda request: "[A0]")
    with pytest.MonkeyPatch.context() as patch:
        made = caller(patch, folder)
        for name in ("same", "alike"):
            done = made("run", f"{name}.yaml")
            assert done.code == 0, done.err
            assert made("export", name, "--format", "csv", "--out", name).code == 0
        yield made


def judged(call: Call, run: str, blocks: list[list[int]]) -> dict[str, list[dict[str, Any]]]:
    asked = [
        {"name": f"{kind} {n}", "where": {"seed": block}, **ASKED[kind]}
        for kind in ASKED
        for n, block in enumerate(blocks)
    ]
    Path("gates.yaml").write_text(yaml.safe_dump({"gates": asked}))
    told = json.loads(call("gate", run, "--gates", "gates.yaml", "--json").out)["judged"]
    return {kind: [one for one in told if one["gate"].startswith(kind)] for kind in ASKED}


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [1, 2, 8, 30])
def test_every_verdict_is_that_of_the_exported_table(call: Call, size: int) -> None:
    """Blocks of seeds are studies of their own: one gate each, and the same interval from the CSV file."""
    many = min(SEEDS // size, 5)
    blocks = [list(range(n * size, (n + 1) * size)) for n in range(many)]
    found = judged(call, "same", blocks)
    values = gate_cells.match_values(Path("same/matches.csv"), "cooperation")
    for kind, gates in found.items():
        assert len(gates) == many
        for block, gate in zip(blocks, gates, strict=True):
            own = BOUNDS[kind](values, block)
            assert own is not None and gate["estimate"]["low"] == pytest.approx(own[0], abs=1e-8), (kind, block)
            assert gate["estimate"]["high"] == pytest.approx(own[1], abs=1e-8), (kind, block)
            assert gate["answer"] == draws.verdict(own, *ALLOWED[kind]), (kind, block)


@pytest.mark.slow
def test_a_null_model_passes_as_often_as_power_says(call: Call) -> None:
    """`ostrom power --within` names the rate at which gates of real runs without a difference pass."""
    blocks = [list(range(n * 30, (n + 1) * 30)) for n in range(SEEDS // 30)]
    passed = [gate["answer"] == "pass" for gate in judged(call, "same", blocks)["difference"]]
    stated = json.loads(
        call(
            "power", "same.yaml", "--measure", "cooperation", "--contrast", "words=one-two", "--within", "0.15",
            "--from", "same", "--seeds", "30", "--simulations", "200", "--json",
        ).out
    )  # fmt: skip
    (point,) = [one for one in stated["points"] if one["seeds"] == 30]
    assert point["error"] <= 0.025
    assert draws.apart(sum(passed) / len(passed), len(passed), point["power"], 200) < 3.5, (passed, point)


def test_matches_that_are_all_alike_or_single_are_never_sure(call: Call) -> None:
    """Eight of eight cooperative matches of a model do not show at least .8; a single one shows nothing."""
    told = judged(call, "alike", [[*range(8)], [0]])
    values = gate_cells.match_values(Path("alike/matches.csv"), "cooperation")
    for kind in ASKED:
        whole, single = told[kind]
        own = BOUNDS[kind](values, range(8))
        assert (whole["estimate"]["low"], whole["estimate"]["high"]) == pytest.approx(own, abs=1e-8)
        assert whole["answer"] == draws.verdict(own, *ALLOWED[kind]) == "undecided"
        assert single["answer"] == "undecided" and single["reason"], single


def test_the_fewest_seeds_for_a_difference_within_a_margin_are_those_of_the_second_program() -> None:
    """Three matches a seed and side, of which that against itself weighs two seats; at best all values are alike."""
    import numpy as np

    def reach(seeds: int) -> float:
        weights = np.array([1.0, 2.0, 1.0] * 2 * seeds) / (8 * seeds)
        up = np.arange(6 * seeds) < 3 * seeds
        return 1 - 2 * bets.best(np.full(6 * seeds, 0.5), weights, up, 0.025)

    assert reach(23) < 0.05 < reach(22), "what tests/features/gates/test_gate_command.py expects"


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [name for name, _, _ in gate_cells.GENERATORS])
def test_the_verdict_of_the_second_program_is_ours_on_the_border_and_beyond(name: str) -> None:
    """Gates on drawn values: at least, at most, between; a difference of unequal samples; one that is passed."""
    import numpy as np

    from ostrom.analysis.intervals import difference_of, mean_of

    ((draw, mean),) = [(draw, mean) for one, draw, mean in gate_cells.GENERATORS if one == name]
    bounds: list[dict[str, Any]] = [
        {"at_least": mean}, {"at_most": mean}, {"at_least": mean - 0.2}, {"at_most": mean - 0.3},
        {"between": [mean - 0.25, min(1.0, mean + 0.25)]},
    ]  # fmt: skip
    for values in draw(np.random.default_rng(5), (4, 40)):
        for asked in bounds:
            gate = GateRule(name="a", measure="cooperation", **asked)
            low, high = mean_of(values, bounds=(0, 1)).guaranteed().both
            own = bets.verdicts([values], [1.0], gate_cells.SHARE, gate.allowed)
            assert gate.verdict(low, high) == own, asked
            assert bets.bounds_of([values], [1.0], gate_cells.SHARE) == pytest.approx((low, high), abs=1e-8)
        gate = GateRule(name="a", measure="cooperation", at_least=-0.3)
        low, high = difference_of(values[:8], values[8:], bounds=(0, 1)).guaranteed().both
        assert gate.verdict(low, high) == bets.verdicts(
            [values[:8], values[8:]], [1.0, -1.0], gate_cells.SHARE, gate.allowed
        )


@pytest.mark.slow
def test_gates_on_the_border_pass_wrongly_in_at_most_one_run_of_forty() -> None:
    for name, wrong in gate_cells.border(500):
        assert max(wrong) <= 0.025, (name, wrong)


@pytest.mark.slow
def test_gates_that_are_looked_at_after_every_seed_are_wrong_in_at_most_one_run_of_forty() -> None:
    """At the border, looked at 296 times."""
    for name, statement, passed, failed, _ in gate_cells.until(150):
        if statement.endswith("the truth"):
            assert passed <= 0.06 and failed <= 0.08, (name, statement)  # 150 runs are off by .03


def test_runs_that_differ_by_the_margin_are_called_equivalent_in_at_most_one_of_forty() -> None:
    from tests.recomputed import compare_cells

    for kind in ("share of 10 rounds", "all or nothing"):
        found = compare_cells.verdicts(compare_cells.differences(kind, 0.1, 300, 100), 0.1)
        assert (found == "equivalent").mean() <= 0.03 and (found == "worse").mean() <= 0.03
        none = compare_cells.verdicts(compare_cells.differences(kind, 0.0, 300, 100), 0.1)
        assert ((none == "better") | (none == "worse")).mean() <= 0.06
