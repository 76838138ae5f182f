"""Games by a rule in the viewer: strips of amounts, stages of a round, figures, side by side and a static copy."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.view.viewed import viewed

from ostrom.features.branching.branch import branch
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.view.bundle import bundle
from ostrom.view.figures import answered
from ostrom.view.index_writer import update


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("amounts") / "runs"
    study = {
        "name": "split",
        "game": "dictator",
        "mechanism": {"name": "repetition", "rounds": 3},
        "types": {"giver": {"strategy": {"name": "script", "moves": [0, 50, 100]}}, "other": "random"},
        "seating": "seats",
    }
    assert play(load_study(study), runs=folder).complete
    with open_run("split", folder) as parent:
        branch(parent, 0, 2, ["strategy=constant:10"], seat=1, name="changed", runs=folder)
    for name in ("split", "changed"):
        assert update(folder / name)
    return folder


@pytest.mark.slow
def test_pages_of_a_run_with_amounts(runs: Path) -> None:
    with viewed(runs) as server:
        page = server.page("/run/split/matches")
        # Nothing, half and all; whoever decides nothing has no mark.
        assert '<path class="o" d="M0 9h.9v1h-.9zM1 5h.9v5h-.9zM2 0h.9v10h-.9z"/>' in page
        shown = server.page("/run/split/match/0")
        assert '<span class="quiet">give</span> <strong>0</strong>' in shown and "no_move" not in shown
        beside = server.page("/run/split/beside/changed")
        assert "the first difference is action 2" in beside
        assert server.page("/run/split/beside/changed/0/0")


@pytest.mark.slow
def test_figures_speak_of_amounts(runs: Path) -> None:
    first = answered({"asked": "first", "folder": str(runs / "split")})
    assert first["findings"] == ["NO: agent: other − giver 0.00 (exact) (n = 1 match)."]
    heat = answered({"asked": "heat", "folder": str(runs / "split"), "measure": "amount_share", "rows": "agent",
                   "columns": "", "where": {}})  # fmt: skip
    assert [cell["value"] for cell in heat["cells"]] == [0.5]


def test_a_static_copy_holds_the_strips(runs: Path, tmp_path: Path) -> None:
    bundle("split", runs, tmp_path / "copy", report=False)
    assert any('"049"' in path.read_text("utf-8") for path in (tmp_path / "copy").rglob("*.js"))


def test_moves_are_named_by_their_stage(runs: Path) -> None:
    study = {
        "name": "bargain", "game": {"name": "alternating_offers", "offers": 2}, "seating": "seats",
        "types": {"a": "constant:40", "b": {"strategy": {"name": "constant", "action": {"reply": "accept"}}}},
    }  # fmt: skip
    play(load_study(study), runs=runs)
    with viewed(runs) as server:
        page = server.page("/run/bargain/match/0")
        assert "offer 40" in page and "reply accept" in page
        assert "=> offer: 40 (scripted)" in server.page("/run/bargain/match/0/decision.txt")
    bundle("bargain", runs, runs.parent / "staged", report=False)
    assert any(
        '"stage":"reply"' in path.read_text("utf-8") for path in (runs.parent / "staged").rglob("*.js")
    )


def test_messages_are_text_and_a_match_that_ended_early_says_so(runs: Path) -> None:
    study = {
        "name": "pool", "game": {"name": "common_pool", "n": 3}, "seating": "self", "types": {"a": "constant:20"},
        "mechanism": {"name": "repetition", "rounds": 10, "talk": {"when": "after", "length": 100}},
    }  # fmt: skip
    play(load_study(study), runs=runs)
    assert update(runs / "pool")
    with viewed(runs) as server:
        page = server.page("/run/pool/match/0")
        assert "no message" in page and "message&#34;" not in page and ">2 talk<" in page
        assert 'class="split many"' in page and "done: ended in round 3: collapse" in page
        assert "ended in round 3: collapse" in server.page("/run/pool/matches")
