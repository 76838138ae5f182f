"""What tables, estimates and reports say about people; simulated participants stand in for them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostrom.agents.config import AgentConfig
from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import RunData, run_data
from ostrom.engine.journal import Journal
from ostrom.people.pilot import Crowd, pilot
from ostrom.people.records import Records
from ostrom.reports.declared import panels, shown_with
from ostrom.studies.load import load_study
from ostrom.studies.plan import plan_of
from ostrom.studies.run import open_run

PEOPLE = 24
DECIDED = "unit = 'match' AND kind = 'act' AND agent = 'you'"


def piloted(folder: Path, name: str = "p", **crowd: Any) -> Path:
    changes = ["people.quota=50", "people.time.reveal=null", "mechanism.rounds=3"]
    plan = plan_of(load_study("repeated-games-people", preset="smoke", changes=changes))
    pilot(plan, Crowd(PEOPLE, AgentConfig(strategy="random"), **crowd), name=name, runs=folder)
    return folder / name


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunData]:
    """A pilot with dropouts and missed rounds."""
    folder = piloted(tmp_path_factory.mktemp("runs"), dropout=0.4, miss=0.1, seed=2)
    with Records(folder) as records:
        assert records.pay(folder.parent / "pay.csv")[0] > 0
    with open_run(folder) as run, run_data(run.rows, folder, run.manifest) as made:
        yield made


@pytest.mark.slow
def test_there_is_one_visit_per_person_with_cell_order_end_quiz_guesses_and_signals(data: RunData) -> None:
    visits = data.records("SELECT * FROM visits ORDER BY visit")
    assert len(visits) == PEOPLE == len({v["person"] for v in visits})
    assert {"done", "departed"} <= {v["end"] for v in visits}
    for v in visits:
        assert v["quiz_tries"] >= 1 or v["cell"] is None
        if v["cell"] is not None:
            assert v["order_of_games"] == {"pd_first": "pd, bos", "bos_first": "bos, pd"}[v["order"]]
        if v["end"] == "done":
            assert {v["guess_1"], v["guess_2"]} <= {"person", "artificial"} and v["matches_done"] == 2
            assert v["survey_age"] >= 18 and v["seconds"] > 0 and v["accommodation"] == "1"
        assert v["excluded"] == (v["missed_rounds"] >= 1)
    assert "survey_comments" not in visits[0], "free text is personal and stays out of tables"


def test_a_visit_is_no_match(data: RunData) -> None:
    """A mean over the table of matches is one over matches: the points of a whole visit are no score of one."""
    assert data.records("SELECT DISTINCT unit FROM matches") == [{"unit": "match"}]
    every, matches = data.records(
        "SELECT avg(score) AS mean FROM matches WHERE agent = 'you' "
        "UNION ALL SELECT avg(score) FROM matches WHERE agent = 'you' AND unit = 'match'"
    )
    assert every == matches and every["mean"] is not None
    assert data.records("SELECT count(*) AS n FROM decisions WHERE unit = 'visit'")[0]["n"] > PEOPLE


def test_decisions_say_whose_they_are_when_and_who_was_served(data: RunData) -> None:
    rows = data.records(f"SELECT * FROM decisions WHERE {DECIDED} ORDER BY match, round")
    assert rows and all(r["person"] and 0 <= r["shown"] <= r["answered"] for r in rows)
    assert all(r["served"] == r["assigned"] and r["interrupted"] is False for r in rows)
    other = data.records("SELECT DISTINCT agent_id, match FROM decisions WHERE agent = 'other'")
    met = {r["match"]: r["agent_id"] for r in other}
    assert all(r["served"] == met[r["match"]] for r in rows if r["match"] in met)


def test_a_guess_stands_with_the_match_that_it_follows(data: RunData) -> None:
    """Own runs and imported data are read by one measure."""
    rows = data.records("SELECT * FROM matches WHERE unit = 'match' AND agent = 'you' ORDER BY match")
    visits = {v["visit"]: v for v in data.records("SELECT * FROM visits")}
    for row in rows:
        v = visits[row["visit"]]
        place = 1 + v["order_of_games"].split(", ").index({"prisoners_dilemma": "pd"}.get(row["game"], "bos"))
        assert row["guess"] == v[f"guess_{place}"] and row["excluded"] == v["excluded"]
    (all_,) = estimate(data, "guessed_person")
    said = Counter(r["guess"] for r in rows if r["guess"] and r["state"] == "done" and not r["excluded"])
    assert all_.value == pytest.approx(said["person"] / (said["person"] + said["artificial"]))


def test_whom_the_declared_rule_leaves_out_is_in_no_estimate_and_both_counts_are_told(data: RunData) -> None:
    out = {v["visit"] for v in data.records("SELECT visit FROM visits WHERE excluded")}
    assert 0 < len(out) < PEOPLE
    kept = data.records(
        "SELECT count(DISTINCT match) AS n FROM matches WHERE unit = 'match' AND state = 'done' AND NOT excluded"
    )
    (missed,) = estimate(data, "missed", where={"agent": "you"})
    assert missed.value == 0 and missed.n == kept[0]["n"]
    drawn = panels.build("people_flow").draw(data)
    assert f"{len(out)} of {PEOPLE} people missed 1 or more rounds" in drawn.notes[0]
    assert f"{PEOPLE - len(out)} remain" in drawn.notes[0]
    total = dict(zip(drawn.tables[0].columns, drawn.tables[0].rows[-1], strict=True))
    assert total["arrived"] == PEOPLE and total["left out of the analysis"] == len(out)
    assert total["finished"] <= total["paid"] <= total["assigned"], "also whoever left with points"
    paid = {v["visit"]: v["paid"] for v in data.records("SELECT * FROM visits WHERE paid IS NOT NULL")}
    assert len(paid) == total["paid"] and all(amount > 0 for amount in paid.values())
    assert total["finished"] + total["dropped out after assignment"] <= total["assigned"] <= total["agreed"]


def test_the_audit_counts_every_decision_and_finds_one_that_was_served_otherwise(data: RunData) -> None:
    drawn = panels.build("people_served").draw(data)
    count = data.records(f"SELECT count(*) AS n FROM decisions WHERE {DECIDED} AND served IS NOT NULL")[0]["n"]
    assert drawn.notes == [f"Served = assigned in {count:,} of {count:,} decisions of people (100.0 %)."]
    assert {row[-1] for row in drawn.tables[0].rows} == {1.0}
    data.connection.execute("CREATE TABLE kept AS SELECT * FROM decisions").fetchall()
    data.connection.execute("DROP VIEW decisions").fetchall()
    first = "(SELECT min(match) FROM kept WHERE served IS NOT NULL)"
    swapped = f"CASE WHEN round = 1 AND match = {first} AND served IS NOT NULL THEN 'another' ELSE served END"
    data.connection.execute(f"CREATE VIEW decisions AS SELECT * REPLACE ({swapped} AS served) FROM kept").fetchall()
    wrong = panels.build("people_served").draw(data)
    assert (
        f"in {count - 1:,} of {count:,}" in wrong.notes[0]
        and "NOT the assigned one, first in: person" in wrong.notes[1]
    )


@pytest.mark.slow
def test_tables_hold_codes_and_nothing_that_names_a_person(tmp_path: Path) -> None:
    folder = piloted(tmp_path, people := "q")
    with open_run(folder) as run:
        texts = " ".join(str(row) for name in ("matches", "decisions", "visits") for row in getattr(run.rows, name)())
        assert isinstance(run.journal, Journal) and people
    assert "pilot" not in texts.replace("'run': 'q'", ""), "the identifier of the source is in the register alone"


def test_panels_of_people_stand_in_a_report_by_a_flag() -> None:
    assert shown_with({"visits": 3}) == ["people_flow", "people_records", "people_served"]
    assert shown_with({"visits": 0, "matches": 9}) == []
