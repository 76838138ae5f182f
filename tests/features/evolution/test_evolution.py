"""Evolution on the tournaments of a run and on foreign payoff files is the dynamics on the same scores."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostrom.features.evolution.evolution import (
    DYNAMICS,
    Tournament,
    check_settings,
    entry_of,
    evolve,
    replicator_paths,
    run_tournaments,
    type_names,
    write_evolution,
)
from ostrom.features.evolution.process import Fermi, alpha_rank, deviation_rating, rare_mutation_shares
from ostrom.features.evolution.replicator import exponential_replicator
from ostrom.features.evolution.tensor import ScoredMatch, mean_scores, payoff_tensor
from ostrom.ground.errors import RunError, StudyError, UnknownName, UsageError
from ostrom.ground.validation import validate
from ostrom.replications.coopeval.payoff_readers.tournaments import read_payoff_files
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

TYPES = {"c": "cooperator", "d": "defector", "tft": "tit_for_tat"}


def played(runs: Path, **changes: Any) -> str:
    data = {
        "name": "tour",
        "game": {"name": "prisoners_dilemma", "preset": "coopeval"},
        "types": TYPES,
        "seating": "ordered",
        "vary": {"mechanism": ["none", {"name": "repetition", "rounds": 4, "discount": 0.8}]},
        "seeds": 2,
    }
    assert play(validate(StudyFile, {**data, **changes}, "test"), runs=runs).complete
    return str(runs / str(changes.get("name", "tour")))


def of_run(folder: str, by: Sequence[str] = ("game", "mechanism"), *, expected: bool = False) -> list[Tournament]:
    with open_run(folder) as run:
        return run_tournaments(run.rows.matches(), run.plan.unit, by, expected=expected)


def test_a_tournament_worked_out_by_hand(tmp_path: Path) -> None:
    none, repeated = of_run(played(tmp_path))
    # One shot: cooperator and tit for tat both cooperate, the defector takes 3 from them and 1 from itself.
    assert none.types == ("c", "d", "tft")
    assert none.means() == {"c": (2 + 2 + 0 + 0 + 2 + 2) / 6, "d": 14 / 6, "tft": 8 / 6}
    assert none.tensor().values.tolist() == [[2, 0, 2], [3, 1, 3], [2, 0, 2]]
    # Four rounds at 0.8: tit for tat loses 0 once to the defector, then 1: weights .2, .16, .128, .512.
    d_against_tft = 0.2 * 3 + 0.8 * 1
    assert repeated.tensor().values[1, 2] == pytest.approx(d_against_tft)
    assert repeated.tensor().values[2, 1] == pytest.approx(0.8)
    assert evolve(none).shares["final"]["d"] == pytest.approx(1.0, abs=1e-9)
    assert evolve(repeated).shares["final"]["tft"] > 0.5


def test_evolving_on_a_run_is_the_dynamics_on_the_same_scores(tmp_path: Path) -> None:
    folder = played(tmp_path, types={**TYPES, "r": "random:0.4"})
    with open_run(folder) as run:
        rows = [row for row in run.rows.matches() if row["mechanism"] == "none"]
    seats: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        seats.setdefault(row["match"], []).append(row)
    matches = [
        ScoredMatch(tuple(p["agent"] for p in players), tuple(p["score"] for p in players))
        for players in seats.values()
    ]
    tensor = payoff_tensor(matches, ("c", "d", "tft", "r"))
    tournament = of_run(folder)[0]
    assert tournament.means() == mean_scores(matches)
    assert np.array_equal(tournament.tensor().values, tensor.values)

    def got(dynamics: str, name: str, **given: Any) -> list[float]:
        return list(evolve(tournament, dynamics, given).shares[name].values())

    assert got("replicator", "final", eta=0.2, steps=50) == (
        exponential_replicator(tensor.values, eta=0.2, steps=50).final.tolist()
    )
    start = {"c": 0.5, "d": 0.5}
    assert got("replicator", "final", start=start, steps=7) == (
        exponential_replicator(tensor.values, [0.5, 0.5, 0, 0], steps=7).final.tolist()
    )
    assert got("fermi", "long_run", beta=2.0, population=12) == (
        rare_mutation_shares(tensor.values, Fermi(2.0), 12).tolist()
    )
    assert got("alpha-rank", "mass", alpha=3.0) == alpha_rank(tensor.values, alpha=3.0).tolist()
    assert got("deviation", "rating") == deviation_rating(tensor.values).ratings.tolist()


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_every_dynamics_gives_shares_that_sum_to_one_and_depends_on_the_seed_alone(dynamics: str) -> None:
    tournament = Tournament(
        {"game": "hawk_dove"},
        ("hawk", "dove"),
        tuple(
            ScoredMatch(types, scores)
            for types, scores in [
                (("hawk", "hawk"), (-1.0, -1.0)),
                (("hawk", "dove"), (2.0, 0.0)),
                (("dove", "hawk"), (0.0, 2.0)),
                (("dove", "dove"), (1.0, 1.0)),
            ]
        ),
    )
    given = {"samples": 30, "steps": 600} if dynamics == "basins" else {}
    once, twice = evolve(tournament, dynamics, given), evolve(tournament, dynamics, given)
    assert once.shares == twice.shares and once.facts == twice.facts
    for name, shares in once.shares.items():
        if name not in ("rating", "rank"):
            assert sum(shares.values()) == pytest.approx(1.0)
    if dynamics in ("replicator", "continuous"):
        assert once.shares["final"]["hawk"] == pytest.approx(0.5, abs=1e-3)


def test_many_paths_at_once_are_the_paths_one_by_one() -> None:
    values = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    starts = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    together = replicator_paths(values, starts, eta=0.1, steps=200)
    for number, start in enumerate(starts):
        alone = exponential_replicator(values, start, eta=0.1, steps=200, tolerance=0.0).states
        assert np.allclose(together[:, number], alone, rtol=1e-12, atol=0.0)


def test_a_random_start_depends_on_the_seed_and_the_cell() -> None:
    def first(cell: str, seed: int) -> list[float]:
        matches = tuple(ScoredMatch((a, b), (1.0, 1.0)) for a in "xy" for b in "xy")
        path = evolve(Tournament({"game": cell}, ("x", "y"), matches), settings={"start": "random", "seed": seed}).path
        assert path is not None
        return list(path.states[0])

    assert first("a", 1) == first("a", 1) != first("a", 2)
    assert first("a", 1) != first("b", 1)


def test_settings_that_a_dynamics_does_not_take_are_refused() -> None:
    with pytest.raises(UsageError, match=r"moran takes no setting 'eta'.*population"):
        check_settings("moran", {"eta": 0.1})
    with pytest.raises(UnknownName, match="replicator"):
        check_settings("replicate", {})
    assert check_settings("basins", {})["steps"] == 5000


def test_a_society_has_averages_and_says_why_nothing_evolves(tmp_path: Path) -> None:
    vary = {"mechanism": [{"name": "reputation", "rounds": 3}]}
    (tournament,) = of_run(played(tmp_path, vary=vary, seeds=1))
    assert tournament.society and set(tournament.means()) == set(TYPES)
    entry, evolved = entry_of(tournament, "replicator", {})
    assert evolved is None and "one society" in entry["why"] and "final" not in entry


def test_cells_never_played_are_named(tmp_path: Path) -> None:
    folder = played(tmp_path, seating="self", vary={}, seeds=1)
    (tournament,) = of_run(folder)
    entry, _ = entry_of(tournament, "replicator", {})
    assert entry["mean"] == {"c": 2.0, "d": 1.0, "tft": 2.0}
    assert "6 cells of the payoff tensor were never played: c against d" in entry["why"]


def test_seeds_are_pooled_unless_they_tell_tournaments_apart(tmp_path: Path) -> None:
    folder = played(tmp_path)
    assert [len(t.matches) for t in of_run(folder)] == [18, 18]
    apart = of_run(folder, ("mechanism", "seed"))
    assert [(t.cell["mechanism"], t.cell["seed"], len(t.matches)) for t in apart] == [
        ("none", 0, 9), ("repetition", 0, 9), ("none", 1, 9), ("repetition", 1, 9),
    ]  # fmt: skip
    with pytest.raises(UnknownName, match="column of matches"):
        of_run(folder, ("weather",))


def test_one_name_with_two_configurations_is_two_types(tmp_path: Path) -> None:
    vary = {"memory": {"set": "agent.memory", "to": ["full", "window:1"]}}
    folder = played(tmp_path, vary=vary, seeds=1)
    (pooled,) = of_run(folder, ("game",))
    assert len(pooled.types) == 6 and all("#" in name for name in pooled.types)
    assert [t.types for t in of_run(folder, ("memory",))] == [("c", "d", "tft")] * 2
    assert type_names([{"agent": "a", "agent_id": "1"}, {"agent": "a", "agent_id": "1"}]) == {("a", "1"): "a"}


def test_exact_expectations_take_the_place_of_samples_where_they_exist(tmp_path: Path) -> None:
    folder = played(tmp_path, types={"r": "random:0.5"}, vary={}, seeds=1)
    (exact,) = of_run(folder, expected=True)
    assert exact.means() == {"r": 1.5}
    repeated = played(
        tmp_path, name="tour2", types={"r": "random:0.5"}, vary={}, seeds=1,
        mechanism={"name": "repetition", "rounds": 3},
    )  # fmt: skip
    with pytest.raises(RunError, match="odds that are not known"):
        of_run(repeated, expected=True)


def profile(first: str, second: str, *matches: list[list[float]]) -> dict[str, Any]:
    players = [{"model": first, "player_id": 1}, {"model": second, "player_id": 2}]
    return {"players": players, "payoffs": list(matches)}


FILE = {
    "discount": 0.5,
    "profile": [
        profile("a", "a", [[2, 2], [4, 4]]),
        profile("a", "b", [[0, 3], [0, 1]]),
        profile("b", "a", [[3, 0], [1, 0]]),
        profile("b", "b", [[1, 1], [1, 1]]),
    ],
}


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def test_a_folder_is_walked_and_files_keep_their_names(tmp_path: Path) -> None:
    write(tmp_path / "pd" / "run1" / "payoffs.json", FILE)
    write(tmp_path / "pd" / "run2" / "payoffs.json", {**FILE, "discount": 0.8})
    write(tmp_path / "pd" / "run1" / "averages.json", {"a": 1.5})
    write(tmp_path / "broken.json", {"profile": [{"players": []}]})
    read = read_payoff_files([tmp_path])
    assert [t.cell["file"] for t in read.tournaments] == ["pd/run1/payoffs.json", "pd/run2/payoffs.json"]
    assert read.others == ("pd/run1/averages.json",)
    assert len(read.wrong) == 1 and "broken.json: profile[0]" in read.wrong[0]
    with pytest.raises(StudyError, match=r"profile\[0\]"):
        read_payoff_files([tmp_path / "broken.json"])


def test_a_folder_without_payoff_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no JSON file"):
        read_payoff_files([tmp_path])
    write(tmp_path / "averages.json", {"a": 1.5})
    with pytest.raises(UsageError, match="none of 1 JSON files is a payoff file"):
        read_payoff_files([tmp_path])


def test_tables_hold_every_digit(tmp_path: Path) -> None:
    tournament = read_payoff_files([write(tmp_path / "f.json", FILE)]).tournaments[0]
    entry, evolved = entry_of(tournament, "replicator", {"steps": 3, "start": {"a": 0.3, "b": 0.7}})
    write_evolution(tmp_path / "out", "csv", {"tournaments": [entry]}, [tournament], [evolved])
    with (tmp_path / "out" / "trajectories.csv").open() as file:
        rows = list(csv.DictReader(file))
    path = exponential_replicator([[3.0, 0.0], [2.0, 1.0]], [0.3, 0.7], steps=3)
    assert [float(row["share"]) for row in rows] == path.states.ravel().tolist()
    assert [row["step"] for row in rows] == ["0", "0", "1", "1", "2", "2", "3", "3"]
    written = json.loads((tmp_path / "out" / "evolution.json").read_text())
    assert written["tournaments"][0]["final"] == entry["final"]
    with (tmp_path / "out" / "evolution.csv").open() as file:
        assert [float(row["final"]) for row in csv.DictReader(file)] == list(entry["final"].values())
