"""The study of a common stock: it lasts as the recurrence says, models talk, kills change nothing."""

from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.features.comparing import compare_run
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

MONTHS = 12


def months(share: float) -> int:
    """In which month a stock collapses of which five players take a share each, by the recurrence; 12: it lasts."""
    stock = 100
    for month in range(1, MONTHS + 1):
        wanted = 5 * ceil(Fraction(str(share)) * stock - Fraction(1, 2))  # the nearest, of two the lower one
        left = max(0, stock - wanted)
        if left < 5:
            return month
        stock = min(100, 2 * left)
    return MONTHS


@pytest.mark.sample(3)
@pytest.mark.parametrize("share", [0.05, 0.1, 0.12, 0.15, 0.2])
def test_the_stock_lasts_as_long_as_the_recurrence_says(share: float, tmp_path: Path) -> None:
    study = load_study("commons", changes=[f"types={{taker: 'proportional:{share}'}}"], seeds=1)
    assert play(study, runs=tmp_path).complete
    with open_run("commons", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        found = {e.key["talk"]: e.value for e in estimate(data, "survival_time", ["talk"])}
    assert found == {"talk": months(share), "silence": months(share)}


def test_a_run_without_talk_has_no_published_figure(tmp_path: Path) -> None:
    study = {"name": "quiet", "game": "common_pool", "mechanism": {"name": "repetition", "rounds": 3},
             "types": {"a": "proportional:0.1"}, "seating": "self", "seeds": 1}  # fmt: skip
    play(load_study(study), runs=tmp_path)
    with open_run("quiet", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        found = compare_run(data, reference="commons")
    assert not found.lines and any("no finished match" in remark for remark in found.remarks)
