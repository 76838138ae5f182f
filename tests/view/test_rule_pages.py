"""Games by a rule in the viewer: strips of amounts, stages of a round, figures, side by side and a static copy."""

from pathlib import Path

import pytest
from tests.view.viewed import viewed

from ostrom.features.branching.branch import branch
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
from ostrom.view.bundle import bundle
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
    assert any('"stage":"reply"' in path.read_text("utf-8") for path in (runs.parent / "staged").rglob("*.js"))


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


def test_a_match_shows_roles_and_the_facts_of_a_round_whoever_learned_them(runs: Path) -> None:
    study = {
        "name": "sale", "game": "first_price_auction", "mechanism": {"name": "repetition", "rounds": 2},
        "types": {"a": "constant:20"}, "seating": "self",
    }  # fmt: skip
    play(load_study(study), runs=runs)
    with viewed(runs) as server:
        page = server.page("/run/sale/match/0?step=1&player=1")
        with open_run("sale", runs) as run:
            rounds = (run.journal.outcome_of(0) or ("", None, None, {}))[3]["hidden"]
        assert f"values (told to nobody)</dt><dd>[{','.join(map(str, rounds[1]['values']))}]</dd>" in page
        assert "winner (told to all)</dt>" in page and "winner (told to nobody)" not in page
        split = server.page("/run/split/match/0")
        assert '<span class="quiet">dictator</span>' in split and "told to nobody" not in split
        assert "Round 1, player 1" in split and ", dictator</span></h2>" in split
