"""The released rounds give the published figures with the published recipe, and other ones per match."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from ostrom.analysis.statistics import cohens_d, jzs_two_sample, welch_t

MODEL = "act_gpt4"


def rounds(game: str) -> list[dict[str, str]]:
    """Rows of a released file: under OSTROM_DATA, or ../shared/data beside the repository."""
    repository = Path(__file__).resolve().parents[3]
    root = Path(os.environ.get("OSTROM_DATA") or repository.parent / "shared" / "data")
    file = root / "repeated-games" / f"experiment_{game}.csv"
    if not file.is_file():
        pytest.skip(f"released rounds not found: {file.name} (set OSTROM_DATA to the data folder)")
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def published_recipe(rows: list[dict[str, str]]) -> tuple[list[float], list[float]]:
    """Points of every seat-1 round, and of round 10 alone from seat 2: the model against everybody else."""
    seats = [(row["player1"], float(row["points1"])) for row in rows]
    seats += [(row["player2"], float(row["points2"])) for row in rows if row["round"] == "10"]
    return [x for who, x in seats if who == MODEL], [x for who, x in seats if who != MODEL]


def match_totals(rows: list[dict[str, str]]) -> tuple[list[float], list[float]]:
    """Final total of each seat of each match."""
    last = [row for row in rows if row["round"] == "10"]
    seats = [(row[f"player{s}"], float(row[f"total{s}"])) for row in last for s in (1, 2)]
    return [x for who, x in seats if who == MODEL], [x for who, x in seats if who != MODEL]


def test_prisoners_dilemma_recipe() -> None:
    ours, others = published_recipe(rounds("pd"))
    test, d = welch_t(ours, others, unit="round"), cohens_d(ours, others, unit="round")
    assert (len(ours), len(others)) == (88, 616)
    assert round(test.statistic, 3) == pytest.approx(3.916) and round(test.df, 2) == 153.44
    assert round(test.p, 5) == pytest.approx(0.00013, abs=1e-5)
    assert round(d.value, 3) == 0.326 and [round(x, 2) for x in (d.low, d.high)] == [0.10, 0.55]
    assert round(jzs_two_sample(ours, others, unit="round").bf10, 2) == 6.13


def test_battle_of_the_sexes_recipe() -> None:
    ours, others = published_recipe(rounds("bos"))
    test, d = welch_t(ours, others, unit="round"), cohens_d(ours, others, unit="round")
    assert (len(ours), len(others)) == (99, 792)
    assert round(test.statistic, 3) == 2.83 and round(test.df, 2) == 128.28 and round(test.p, 4) == 0.0054
    assert round(d.value, 3) == 0.284 and [round(x, 3) for x in (d.low, d.high)] == [0.075, 0.494]
    assert round(jzs_two_sample(ours, others, unit="round").bf10, 3) == 3.562


@pytest.mark.parametrize(
    ("game", "n", "df", "t", "p"),
    [("pd", (16, 112), 33.0, 2.01, 0.053), ("bos", (18, 144), 20.9, 0.53, 0.60)],
)
def test_match_totals_tell_a_weaker_story(
    game: str, n: tuple[int, int], df: float, t: float, p: float
) -> None:
    ours, others = match_totals(rounds(game))
    test = welch_t(ours, others, unit="match")
    assert test.sizes == n
    assert round(test.df, 1) == df and round(test.statistic, 2) == t
    assert test.p == pytest.approx(p, abs=0.001)
    assert jzs_two_sample(ours, others, unit="match").bf10 < 1
