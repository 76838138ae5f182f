"""`ostrom power` against a second simulation of the same assumptions, and against those of a pilot's exported table."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.cli.in_process import Call, caller
from tests.recomputed import draws
from tests.recomputed.power_cells import CELLS, CONDITIONS, STUDIES, Cell

QUICK = [CELLS[n] for n in (0, 4, 7, 9, 11, 15)]
OURS, OWN = 200, 500


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    folder = tmp_path_factory.mktemp("power")
    for name, text in STUDIES.items():
        (folder / f"{name}.yaml").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        yield caller(patch, folder)


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("cell", QUICK, ids=lambda cell: f"{cell.study}-{cell.measure}-{cell.seeds}")
def test_power_and_error_are_those_of_a_second_simulation(call: Call, cell: Cell) -> None:
    done = call("power", *cell.options, "--simulations", str(OURS))
    assert done.code == 0, done.err
    (point,) = [one for one in json.loads(done.out)["points"] if one["seeds"] == cell.seeds]
    power, error = cell.rates(OWN)
    assert draws.apart(point["power"], OURS, power, OWN) < 4, (point["power"], power)
    assert draws.apart(point["error"], OURS, error, OWN) < 4 and point["error"] <= 0.08, (point["error"], error)


@pytest.mark.slow
def test_what_a_pilot_shows_is_read_from_its_table(call: Call) -> None:
    assert call("run", "conditions.yaml").code == 0
    assert call("export", "conditions", "--format", "csv", "--out", ".").code == 0
    told = json.loads(
        call(
            "power", "conditions.yaml", "--measure", "cooperation", "--contrast", "p=high-low", "--from", "conditions",
            "--seeds", "10", "--effect", "0.1", "--simulations", str(OURS), "--json",
        ).out
    )  # fmt: skip
    values = _values(Path("matches.csv"))
    low, high = (
        np.array([values[side, game] for game in ("prisoners_dilemma", "stag_hunt")]) for side in ("low", "high")
    )
    assert CONDITIONS.count("stag_hunt") == 1 and low.shape == (2, 40)
    rest = np.concatenate([low - low.mean(1, keepdims=True), high - high.mean(1, keepdims=True)])
    middle = np.concatenate([low.mean(1), high.mean(1)])
    share = (rest**2).sum() / (39 * middle * (1 - middle)).sum()
    baseline = float(low.mean())
    sd = float(np.sqrt(share * baseline * (1 - baseline)))
    tied = (rest[:2] * rest[2:]).sum() / np.sqrt((rest[:2] ** 2).sum() * (rest[2:] ** 2).sum())
    assert told["assumed"]["baseline"] == pytest.approx(baseline)
    assert told["assumed"]["sd"] == pytest.approx(sd) and told["assumed"]["correlation"] == pytest.approx(
        tied, abs=1e-5
    )
    # With baselines by condition as in the pilot, a second simulation finds as much.
    rng, truth = np.random.default_rng(4), draws.Truth(baseline, sd)
    shape = (OWN, 10)
    first, second = np.empty((2, OWN, 20))
    for column, mean in enumerate(low.mean(1)):
        one, two = rng.random(shape), rng.random(shape)
        same = rng.random(shape) < abs(tied)
        two = np.where(same, one if tied > 0 else 1 - one, two)
        first[:, column::2], second[:, column::2] = truth.at(mean + 0.1, one), truth.at(mean, two)
    power = draws.excluded(draws.paired(first, second, (0.0, 1.0), 2), 1)
    (point,) = [one for one in told["points"] if one["seeds"] == 10]
    assert draws.apart(point["power"], OURS, power, OWN) < 4, (point, power)


def test_the_bayes_factor_of_looks_is_that_of_a_second_quadrature() -> None:
    from tests.recomputed.stopping import bayes_factor

    from ostrom.analysis.statistics.means import jzs_paired

    rng = np.random.default_rng(2)
    for n in (3, 5, 20, 100):
        first, second = rng.random((2, n))
        off = first - second
        t = float(off.mean() / (off.std(ddof=1) / np.sqrt(n)))
        assert bayes_factor(t, n) == pytest.approx(jzs_paired(first, second, unit="match").bf10, rel=1e-4)


def _values(path: Path) -> dict[tuple[str, str], list[float]]:
    import csv

    found: dict[tuple[str, str, int], list[float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["p"], row["game"], int(row["seed"])), []).append(float(row["cooperation"]))
    made: dict[tuple[str, str], list[float]] = {}
    for (side, game, _), of in sorted(found.items()):
        made.setdefault((side, game), []).append(sum(of) / len(of))
    return made
