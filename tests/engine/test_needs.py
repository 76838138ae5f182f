"""A match whose preparation did not come to an outcome has no decisions of its own in the tables."""

from collections.abc import Callable
from pathlib import Path

from ostrom.engine.play_options import PlayOptions
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile
from ostrom.testing.replies import answer
from ostrom.testing.server import LoopbackServer

Small = Callable[..., StudyFile]


def test_matches_without_their_preparations_are_skipped_with_the_reason(small: Small, runs: Path) -> None:
    with LoopbackServer(lambda body: "I would rather not say") as server:
        study = small(
            agent={"style": "direct"},
            types={"model": {"model": server.model}},
            mechanism="mediation",
            seating="self",
            vary={}, seeds=1, invalid={"retries": 0, "policy": "fail"},
        )  # fmt: skip
        result = play(study, runs=runs)
    assert not result.complete and result.tally.failed and result.tally.skipped
    with open_run(runs / "small") as run:
        matches, decisions = list(run.rows.matches()), list(run.rows.decisions())
    skipped = [row for row in matches if row["state"] == "skipped"]
    assert skipped and all("the preparation of model at seat" in row["reason"] for row in skipped)
    assert all(row["score"] is None and row["rounds_played"] == 0 for row in skipped)
    assert not {row["match"] for row in decisions} & {row["match"] for row in skipped}


def test_a_closed_run_stays_closed_where_a_preparation_had_failed(small: Small, runs: Path) -> None:
    silent = True
    with LoopbackServer(lambda body: "I would rather not say" if silent else answer(body)) as server:
        study = small(
            agent={"style": "direct"}, types={"model": {"model": server.model}}, mechanism="mediation", seating="self",
            vary={}, seeds=2, invalid={"retries": 0, "policy": "fail"},
        )  # fmt: skip
        assert not play(study, runs=runs).complete
        assert play(study, runs=runs, options=PlayOptions(close=True)).complete
        silent, asked = False, server.count
        again = play(study, runs=runs, options=PlayOptions(ask_again=True))
        assert again.complete and not again.tally.done and server.count == asked
