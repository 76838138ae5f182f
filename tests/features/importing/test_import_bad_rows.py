"""Rows that contradict the game: all are named, by cause, and skipped, kept or repaired as the person says."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from ostrom.data.rundata import run_data
from ostrom.features.importing import Imported, import_rounds
from ostrom.reports.declared import panels
from ostrom.studies.run import open_run

HUMAN = "id,game,action,score,opponent,guess,coordination"
PD = [(1, 8), (1, 0), (0, 10), (0, 5), (1, 8), (1, 8), (1, 8), (0, 5), (0, 5), (0, 5)]
BOS = [(1, 7), (1, 0), (0, 0), (0, 10), (1, 7), (1, 7), (1, 7), (1, 7), (1, 7), (1, 7)]


def people(folder: Path) -> Path:
    """Two people; round 3 of one Battle of the Sexes is impossible: J never pays 10 at seat 2."""
    lines = [HUMAN]
    for person in (1, 2):
        for game, moves in (("PD", PD), ("BoS", BOS)):
            for place, (action, score) in enumerate(moves):
                if (person, game, place) == (2, "BoS", 2):
                    action, score = 1, 10
                lines.append(f"{person},{game},{action},{score},Base,Human,0")
    path = folder / "repgames.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def bring(folder: Path, policy: str | None, name: str = "in") -> Imported:
    return import_rounds([people(folder)], "repeated-games-human", name=name, runs=folder / "runs", bad_rows=policy)


def decisions(folder: Path, name: str = "in") -> list[dict[str, Any]]:
    with open_run(name, folder / "runs") as run:
        return [d for d in run.rows.decisions() if d["match"] == 3]


def test_without_a_policy_nothing_is_imported_and_the_row_is_named(tmp_path: Path) -> None:
    done = bring(tmp_path, None)
    (cause,) = done.refused
    assert done.folder is None and "repgames.csv: line 34:" in str(cause)
    assert "no action of game battle_of_the_sexes fits the payoffs written (10)" in str(cause)


def test_skip_leaves_the_round_out_and_the_other_rounds_keep_their_numbers(tmp_path: Path) -> None:
    assert bring(tmp_path, "skip").rounds == 39
    rows = decisions(tmp_path)
    assert [d["round"] for d in rows if d["seat"] == 2] == [1, 2, 4, 5, 6, 7, 8, 9, 10]
    with open_run("in", tmp_path / "runs") as run:
        scores = [m["score"] for m in run.rows.matches() if m["match"] == 3 and m["seat"] == 2]
    assert scores == [pytest.approx((7 + 0 + 10 + 6 * 7) / 9)]


def test_skip_match_leaves_the_match_out_of_the_results(tmp_path: Path) -> None:
    done = bring(tmp_path, "skip-match")
    assert len(done.skipped) == 1 and done.matches == 4
    with open_run("in", tmp_path / "runs") as run:
        assert {m["state"] for m in run.rows.matches() if m["match"] == 3} == {"skipped"}
    assert [d["round"] for d in decisions(tmp_path) if d["seat"] == 2] == [1, 2]


def test_keep_has_the_score_as_written_and_says_what_was_taken_for_the_move(tmp_path: Path) -> None:
    assert bring(tmp_path, "keep").rounds == 40
    hidden, person = [d for d in decisions(tmp_path) if d["round"] == 3]
    assert (person["action"], person["payoff"]) == ("opera", 10)
    assert person["note"] == "payoff as written; the game pays 7"
    assert hidden["action"] == "opera" and "which pays nearest to them" in hidden["note"]


def test_a_move_is_not_guessed_where_two_pay_equally_near_to_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "repgames.csv"  # 4 lies halfway between 0 and 8
    path.write_text("\n".join([HUMAN, *(f"1,PD,{a},{s},Base,Human,0" for a, s in [*PD[:9], (1, 4)])]) + "\n")
    done = import_rounds([path], "repeated-games-human", name="in", runs=tmp_path / "runs", bad_rows="keep")
    assert done.folder is None and [cause.kind for cause in done.refused] == ["action"]


def test_repair_changes_the_only_cell_that_makes_the_row_right(tmp_path: Path) -> None:
    bring(tmp_path, "repair")
    hidden, person = [d for d in decisions(tmp_path) if d["round"] == 3]
    assert (hidden["action"], person["action"], person["payoff"]) == ("football", "football", 10)
    assert person["note"] == "action of seat 2 repaired from opera to football"


@pytest.mark.sample(3)
@pytest.mark.parametrize("policy", ["skip", "skip-match", "keep", "repair"])
def test_the_manifest_and_the_report_say_what_was_done(policy: str, tmp_path: Path) -> None:
    bring(tmp_path, policy)
    manifest = orjson.loads((tmp_path / "runs" / "in" / "run.json").read_bytes())["imported"]
    (cause,) = manifest["bad_rows"]["causes"]
    assert (manifest["bad_rows"]["policy"], cause["done"], cause["rows"]) == (policy, policy, 1)
    assert cause["where"] == "repgames.csv line 34"
    with open_run("in", tmp_path / "runs") as run, run_data(
        run.rows, run.folder.path, run.manifest
    ) as data:  # fmt: skip
        drawn = panels.build("readings").draw(data)
    (table,) = [t for t in drawn.tables if t.name == "bad_rows"]
    assert table.rows[0][1:5] == [1, "rows", policy, "repgames.csv line 34"]
    assert any("Imported from repgames.csv" in note for note in drawn.notes)


HEADER = "round,player1,player2,answer1,answer2,points1,points2,total1,total2"


def rounds(folder: Path, *lines: str) -> Path:
    path = folder / "rounds.csv"
    path.write_text("\n".join((HEADER, *lines)) + "\n")
    return path


def test_the_same_wrong_cell_is_one_line_however_often_it_is_met(tmp_path: Path) -> None:
    """A table with one typing error contradicts the game in every round in which the cell was played."""
    lines = [f"{t},a,b,J,J,7,8,{7 * t},{8 * t}" for t in range(1, 9)]
    done = import_rounds([rounds(tmp_path, *lines)], "repeated-games-pd", name="in", runs=tmp_path / "runs")
    (cause,) = done.refused
    assert str(cause) == (
        "column points1 says 7, but game prisoners_dilemma pays 8 for (cooperate, cooperate): 8 rows "
        "(rounds.csv lines 2, 3, 4, 5, 6, ...)"
    )


def test_repaired_payoffs_are_the_games_and_wrong_totals_do_not_spread(tmp_path: Path) -> None:
    file = rounds(tmp_path, "1,a,b,J,J,7,8,7,8", "2,a,b,F,F,5,5,12,13")
    done = import_rounds([file], "repeated-games-pd", name="in", runs=tmp_path / "runs", bad_rows="repair")
    assert [(d.column, d.line) for d in done.disagreements] == [("points1", 2)]
    with open_run("in", tmp_path / "runs") as run:
        assert [m["score"] for m in run.rows.matches()] == [6.5, 6.5]
        assert next(run.rows.decisions())["note"] == "payoff repaired; the file says 7"


@pytest.mark.parametrize("policy", ["keep", "repair"])
def test_a_wrong_total_alone_is_named_and_harms_no_round(policy: str, tmp_path: Path) -> None:
    file = rounds(tmp_path, "1,a,b,J,J,8,8,8,8", "2,a,b,F,F,5,5,12,13")
    done = import_rounds([file], "repeated-games-pd", name="in", runs=tmp_path / "runs", bad_rows=policy)
    assert done.folder is not None and not done.refused
    assert [(d.kind, d.column, d.line) for d in done.disagreements] == [("total", "total1", 3)]


def test_what_cannot_be_kept_is_refused_and_says_how_to_leave_it_out(tmp_path: Path) -> None:
    file = rounds(tmp_path, "1,a,b,J,X,8,8,8,8", "2,a,b,F,F,none,5,13,13")
    for policy in ("keep", "repair"):
        done = import_rounds([file], "repeated-games-pd", name="in", runs=tmp_path / "runs", bad_rows=policy)
        assert done.folder is None and [c.kind for c in done.refused] == ["answer", "number"]
    done = import_rounds([file], "repeated-games-pd", name="in", runs=tmp_path / "runs", bad_rows="skip")
    assert done.folder is not None and len(done.skipped) == 1  # no round is left


def test_matches_that_cannot_be_put_together_are_left_out_and_counted(tmp_path: Path) -> None:
    good, bad = ["1,a,b,J,J,8,8,8,8", "2,a,b,J,J,8,8,16,16"], ["1,a,b,J,J,8,8,8,8", "3,a,b,J,J,8,8,16,16"]
    file = rounds(tmp_path, *good, *bad)
    done = import_rounds([file], "repeated-games-pd", name="in", runs=tmp_path / "runs", bad_rows="skip")
    assert (done.matches, [c.kind for c in done.causes]) == (1, ["match"])
    done = import_rounds([file], "repeated-games-pd", name="two", runs=tmp_path / "runs", bad_rows="keep")
    assert done.folder is None and "round 2 of the match that begins on line 4" in str(done.refused[0])


def test_identical_files_are_reported(tmp_path: Path) -> None:
    one = rounds(tmp_path, "1,a,b,J,J,8,8,8,8")
    two = tmp_path / "copy.csv"
    two.write_bytes(one.read_bytes())
    done = import_rounds([one, two], "repeated-games-pd", name="in", runs=tmp_path / "runs")
    assert done.notes == (f"{two} is identical to {one}: all of its matches count twice",)
    again = import_rounds([one], "repeated-games-pd", name="again", runs=tmp_path / "runs")
    assert again.notes == (f"{one} is identical to a file of the run in",)
    with pytest.raises(Exception, match="is named twice"):
        import_rounds([one, one], "repeated-games-pd", name="third", runs=tmp_path / "runs")
