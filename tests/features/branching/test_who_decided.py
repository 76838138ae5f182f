"""Who decided each row of a branch, and what figures count with and without what was copied."""

from pathlib import Path
from typing import Any

import pytest

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.features.branching.branch import branch
from ostrom.features.inference.runs import infer_strategies
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.studies.verify import check_run

STUDY = {
    "name": "base", "game": "prisoners_dilemma", "types": {"kind": "cooperator", "tft": "tit_for_tat"},
    "seating": "unordered", "mechanism": {"name": "repetition", "rounds": 4}, "self_play": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("branches")
    play(load_study({key: value for key, value in STUDY.items() if key != "self_play"}), runs=folder)
    return folder


def made(runs: Path, of: str, name: str, at: int, *changes: str, **more: Any) -> list[dict[str, Any]]:
    with open_run(runs / of) as run:
        match = (
            next(row["match"] for row in run.rows.matches() if row["opponents"] != row["agent"]) if of == "base" else 0
        )
        branch(run, match, at, list(changes), name=name, runs=runs, **more)
    check_run(runs / name)
    with open_run(runs / name) as run:
        return list(run.rows.rounds())


CASES: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    ("strategy", ("strategy=defector",), {}),
    ("at_a_seat", ("strategy=defector",), {"seat": 2}),
    ("memory", ("memory=window:1",), {}),
    ("nothing", (), {}),
    ("seeds", ("strategy=random",), {"seeds": 3}),
    ("longer", ("rounds=6", "strategy=defector"), {}),
    ("noise_of_a_player", ("strategy={name: random, p: 0.5}",), {"seeds": 2, "seat": 1}),
]


@pytest.mark.parametrize(("name", "changes", "more"), CASES)
def test_copied_rounds_belong_to_who_played_them(
    runs: Path, name: str, changes: tuple[str, ...], more: dict[str, Any]
) -> None:
    rows = made(runs, "base", name, 3, *changes, **more)
    assert {row["agent"] for row in rows if row["copied"]} == {"kind", "tft"}
    assert all(row["copied"] == (row["round"] < 3) for row in rows)
    with open_run(runs / name) as run:
        names = [seated.name for seated in run.plan.unit(0).players]
        asked = list(run.rows.decisions())
    assert {row["agent"] for row in rows if not row["copied"]} == set(names)
    for row in asked:
        assert (row["round"] < 3) == row["copied"] == (row["agent"] in ("kind", "tft") and row["round"] < 3)


def test_figures_count_what_was_played_anew_unless_asked(runs: Path) -> None:
    made(runs, "base", "hard", 3, "strategy=defector", seeds=3)
    with open_run(runs / "hard") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        (anew,) = estimate(data, "cooperation")
        (copied,) = estimate(data, "cooperation", where={"copied": True})
        (every,) = estimate(data, "cooperation", where={"copied": [True, False]})
        assert (anew.value, copied.value, copied.n) == (0.0, 1.0, 1)
        assert 0 < every.value < 0.5 and every.n == 3  # a shared beginning is counted once
        (paid,) = estimate(data, "payoff")
        assert paid.value == 1.0
        assert data.records("SELECT count(*) AS n FROM rounds")[0]["n"] == 24
        found = infer_strategies(data, candidates=["cooperator", "defector"], resamples=100, compare=False)
        shares = {w.name: w.share.value for one in found.estimates for w in one.ranked}
        assert shares["defector"] == 1.0


def test_a_branch_of_a_branch_names_three_generations_of_players(runs: Path) -> None:
    made(runs, "base", "first", 2, "strategy=defector", seat=1)
    rows = made(runs, "first", "second", 3, "strategy=grudger", seat=1)
    own = {row["round"]: (row["strategy"], row["copied"]) for row in rows if row["player"] == 1}
    assert [own[number][1] for number in (1, 2, 3, 4)] == [True, True, False, False]
    assert [own[number][0] for number in (2, 3, 4)] == ["defector", "grudger", "grudger"]
    assert own[1][0] in ("cooperator", "tit_for_tat")
    earlier = made(runs, "second", "third", 2, "strategy=cooperator", seat=1)
    own = {row["round"]: (row["strategy"], row["copied"]) for row in earlier if row["player"] == 1}
    assert own[1][0] in ("cooperator", "tit_for_tat") and own[1][1] and own[2] == ("cooperator", False)
