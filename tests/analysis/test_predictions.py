"""Predictions beside what was done: each prediction counts once, and games by a rule are left to their own measures."""

from pathlib import Path

from ostrom.analysis.estimate import estimate
from ostrom.analysis.measure import measures
from ostrom.data.rundata import run_data
from ostrom.data.tables import import_duckdb
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play


def test_the_next_decision_of_the_predicted_player_counts_once() -> None:
    database = import_duckdb().connect(":memory:")
    database.execute(
        "CREATE TABLE decisions AS SELECT * FROM (VALUES "
        "(1, 1, 1, 0, 'predict2', 2, 1, 'a', '5', NULL), (1, 1, 1, 1, 'predict2', 2, 1, 'a', '9', NULL), "
        "(1, 2, 1, 0, 'act', NULL, 2, 'b', '5', '5'), (1, 2, 1, 1, 'act', NULL, 2, 'b', '9', '9'), "
        "(2, 2, 1, 1, 'predict1', 1, 2, 'b', '3', NULL), (2, 1, 1, 0, 'act', NULL, 1, 'a', '4', '4')"
        ") AS t(match, player, round, step, kind, target, seat, agent, answer, action)"
    ).fetchall()
    sql = measures.named("prediction_accuracy").values
    rows = database.execute(f"SELECT match, player, target_agent, value FROM ({sql}) ORDER BY ALL").fetchall()
    assert rows == [(1, 1, "b", 1), (1, 1, "b", 1), (2, 2, "a", 0)]


def test_predicted_amounts_are_judged_and_best_replies_are_for_payoff_tables(tmp_path: Path) -> None:
    def answer(request: Request) -> str:
        return "[7]" if "Do not answer that yet" in request.messages[-1].content else "[20]"

    register("predicting", answer)
    try:
        study = {"name": "x", "game": {"name": "common_pool", "n": 2}, "mechanism": "none", "seeds": 1,
                 "agent": {"model": "scripted/predicting", "style": "social", "constrain": "never"}}  # fmt: skip
        play(load_study(study), runs=tmp_path)
    finally:
        unregister("predicting")
    with open_run("x", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        (accuracy,) = estimate(data, measures.named("prediction_accuracy"), [])
        assert accuracy.value == 0 and accuracy.n == 1
        assert not [e for e in estimate(data, measures.named("best_reply_to_prediction"), []) if e.n]
