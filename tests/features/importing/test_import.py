"""Foreign rounds become a run: checked row by row, refused where wrong, analysed like any other run."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from ostrom.analysis.determinism import seeds_shared
from ostrom.data.rundata import run_data
from ostrom.features.importing import Imported, import_rounds, load_mapping, mapping_names
from ostrom.features.importing.mapping import canonical
from ostrom.ground.errors import OstromError, RunError, StudyError
from ostrom.studies.run import open_run

HEADER = "round,player1,player2,answer1,answer2,points1,points2,total1,total2"
MATCH = ["1,ann,bob,J,J,8,8,8,8", "2,ann,bob,J,F,0,10,8,18", "3,ann,bob,F,F,5,5,13,23"]
BACK = ["1,bob,ann,F,J,10,0,10,0", "2,bob,ann,F,F,5,5,15,5", "3,bob,ann,J,F,0,10,15,15"]


def write(folder: Path, *lines: str, name: str = "rounds.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def mapping(folder: Path, base: str = "repeated-games-pd", **changes: Any) -> Path:
    data = load_mapping(base)[0].model_dump(mode="json", by_alias=True, exclude_unset=True)
    for key, value in changes.items():
        if value is None:
            data.pop(key, None)
        else:
            data[key] = value
    path = folder / "mapping.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


def bring(file: Path, how: str | Path = "repeated-games-pd", name: str = "in", **more: Any) -> Imported:
    return import_rounds([file], how, name=name, runs=file.parent / "runs", **more)


def refused(file: Path, how: str | Path = "repeated-games-pd", **more: Any) -> str:
    """What is said where nothing is imported: an error, or all bad rows by cause."""
    try:
        done = bring(file, how, **more)
    except StudyError as error:
        return str(error)
    assert done.folder is None and not (file.parent / "runs" / "in" / "run.json").exists()
    lines = [str(cause) for cause in done.refused]
    assert all("\n" not in line for line in lines)
    return "\n".join(lines)


def tables(folder: Path, name: str = "in") -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the tables say; every match that was not skipped keeps its rows, and they are those of its replay."""
    with open_run(name, folder / "runs") as run:
        for end in run.journal.unit_records():
            assert (end.rows is not None) == (end.state == "done")
            run.rows.verify(end.unit)
        return list(run.rows.matches()), list(run.rows.decisions())


def test_a_file_becomes_a_run_with_the_same_tables(tmp_path: Path) -> None:
    done = bring(write(tmp_path, HEADER, *MATCH, *BACK))
    assert (done.matches, done.rounds, done.disagreements) == (2, 6, ())
    matches, decisions = tables(tmp_path)
    assert [(m["match"], m["seat"], m["agent"], m["opponents"]) for m in matches] == [
        (0, 1, "ann", "bob"), (0, 2, "bob", "ann"), (1, 1, "bob", "ann"), (1, 2, "ann", "bob"),
    ]  # fmt: skip
    assert [round(m["score"], 6) for m in matches[:2]] == [round(13 / 3, 6), round(23 / 3, 6)]
    assert matches[0]["cooperation"] == pytest.approx(2 / 3)
    first = decisions[0]
    assert (first["action"], first["label"], first["payoff"], first["reading"]) == ("cooperate", "J", 8, "imported")
    assert {d["state"] for d in decisions} == {"done"} and len(decisions) == 12


def test_an_imported_run_says_where_it_came_from(tmp_path: Path) -> None:
    bring(write(tmp_path, HEADER, *MATCH))
    manifest = orjson.loads((tmp_path / "runs" / "in" / "run.json").read_bytes())
    origin = manifest["imported"]
    assert origin["files"][0]["name"] == "rounds.csv" and len(origin["files"][0]["sha256"]) == 64
    assert origin["mapping"]["match"] == {"new_when": "round"}


def test_a_mapping_says_whether_matches_of_two_conditions_pair(tmp_path: Path) -> None:
    for name, how in (("apart", None), ("pairs", True)):
        bring(write(tmp_path, HEADER, *MATCH, *BACK), mapping(tmp_path, shared=how), name=name)
        with open_run(name, tmp_path / "runs") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
            assert seeds_shared(data) == bool(how)


def test_a_run_is_not_imported_over_another(tmp_path: Path) -> None:
    file = write(tmp_path, HEADER, *MATCH)
    bring(file)
    with pytest.raises(RunError, match="already a run of that name"):
        bring(file)


def test_a_changed_record_of_matches_is_refused(tmp_path: Path) -> None:
    bring(write(tmp_path, HEADER, *MATCH))
    units = tmp_path / "runs" / "in" / "imported.json"
    units.write_bytes(units.read_bytes().replace(b"ann", b"eve"))
    with pytest.raises(RunError, match="is not what was imported"):
        open_run("in", tmp_path / "runs")


class TestDisagreements:
    WRONG = (HEADER, MATCH[0], "2,ann,bob,J,F,3,10,11,18", "3,ann,bob,F,F,5,5,16,23")

    def test_payoffs_that_contradict_the_game_are_refused_and_every_row_is_named(self, tmp_path: Path) -> None:
        done = bring(write(tmp_path, *self.WRONG))
        assert done.folder is None and not (tmp_path / "runs" / "in" / "run.json").exists()
        (found,) = done.disagreements
        assert (found.line, found.column, found.round, found.found, found.expected) == (3, "points1", 2, 3, 0)
        assert "says 3, but game prisoners_dilemma pays 0 for (cooperate, defect)" in str(found)

    def test_kept_rows_stay_as_written_with_a_note(self, tmp_path: Path) -> None:
        done = bring(write(tmp_path, *self.WRONG), bad_rows="keep")
        assert done.folder is not None and len(done.disagreements) == 1
        matches, decisions = tables(tmp_path)
        flagged = [d for d in decisions if d["note"]]
        assert [(d["round"], d["seat"], d["payoff"], d["note"]) for d in flagged] == [
            (2, 1, 3.0, "payoff as written; the game pays 0")
        ]
        assert matches[0]["score"] == pytest.approx(16 / 3)

    def test_totals_that_do_not_add_up_are_named(self, tmp_path: Path) -> None:
        done = bring(write(tmp_path, HEADER, MATCH[0], "2,ann,bob,J,F,0,10,9,18", MATCH[2]))
        assert [(d.line, d.column, d.found, d.expected) for d in done.disagreements] == [(3, "total1", 9, 8)]

    def test_an_unknown_policy_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(StudyError, match="allowed: refuse, skip, skip-match, keep, repair"):
            bring(write(tmp_path, HEADER, *MATCH), bad_rows="ignore")


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([HEADER], "has a header and no rows"),
        ([HEADER.replace("points1", "pts1"), *MATCH], "names the column 'points1' under seats.1.payoff"),
        ([HEADER, MATCH[0], "2,ann,bob,X,F,0,10,8,18"], r"line 3, column answer1: .*'X'; allowed: F, J"),
        ([HEADER, MATCH[0], "2,ann,bob,J,F,zero,10,8,18"], "line 3, column points1: must be a number"),
        ([HEADER, MATCH[0], "2,ann,bob,J,F,nan,10,8,18"], "line 3, column points1: must be a number"),
        ([HEADER, MATCH[0], MATCH[2]], "line 3, column round: round 2 of the match that begins on line 2"),
        ([HEADER, *MATCH[1:]], "line 2, column round: round 1 of the match"),
        ([HEADER, MATCH[0], MATCH[1].replace("ann", "eve")], "line 3, column player1: the player changes"),
        ([HEADER, *MATCH, *BACK[:2]], "line 5: the match of bob and ann has 2 rounds, most others have 3"),
        ([HEADER, MATCH[0], "2,ann,bob,J,F,0,10,8"], "line 3: has 8 cells, the header has 9"),
        ([HEADER.replace("total2", "total1"), *MATCH], "names the column 'total1' twice"),
        ([HEADER, MATCH[0].replace("bob", "")], "line 2, column player2: names no player"),
        ([""], "is empty"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_file_line_and_column(lines: list[str], complaint: str, tmp_path: Path) -> None:
    said = refused(write(tmp_path, *lines))
    assert re.search(complaint, said) and "rounds.csv" in said and "\n" not in said


def test_the_file_that_breaks_off_is_named_when_the_mapping_states_the_length(tmp_path: Path) -> None:
    said = refused(write(tmp_path, HEADER, *MATCH), mapping(tmp_path, rounds=10))
    assert "has 3 rounds, the mapping says 10 (rounds: any" in said


def test_matches_of_different_lengths_are_imported_when_allowed(tmp_path: Path) -> None:
    done = bring(write(tmp_path, HEADER, *MATCH, *BACK[:2]), mapping(tmp_path, rounds="any"))
    assert (done.matches, done.rounds) == (2, 5)


class TestIllegalAnswers:
    LINES = (HEADER, MATCH[0], "2,ann,bob,banana,F,-9999,10,-9991,18", *BACK)

    def test_are_refused_unless_the_mapping_lists_them(self, tmp_path: Path) -> None:
        assert "line 3, column answer1: is no answer" in refused(
            write(tmp_path, *self.LINES), mapping(tmp_path, rounds="any")
        )

    def test_end_their_match_as_skipped_and_never_enter_a_history(self, tmp_path: Path) -> None:
        how = mapping(tmp_path, illegal=["banana"], on_illegal="skip-match", rounds="any")
        done = bring(write(tmp_path, *self.LINES), how)
        assert len(done.skipped) == 1 and "line 3, column answer1: no valid answer in round 2" in done.skipped[0]
        matches, decisions = tables(tmp_path)
        assert [m["state"] for m in matches] == ["skipped"] * 2 + ["done"] * 2
        assert matches[0]["score"] is None
        assert [d["round"] for d in decisions if d["match"] == 0] == [1, 1]

    def test_may_be_whatever_is_no_action_even_in_the_first_round(self, tmp_path: Path) -> None:
        how = mapping(tmp_path, illegal="any", on_illegal="skip-match", rounds="any")
        done = bring(write(tmp_path, HEADER, "1,ann,bob,I refuse to play,F,-9999,10,-9999,10", *BACK), how)
        assert len(done.skipped) == 1 and "'I refuse to play'" in done.skipped[0]
        matches, decisions = tables(tmp_path)
        assert [m["state"] for m in matches] == ["skipped"] * 2 + ["done"] * 2
        assert {d["match"] for d in decisions} == {1}


class TestLayouts:
    def test_semicolons_spaces_and_a_mark_at_the_beginning_are_read(self, tmp_path: Path) -> None:
        lines = [line.replace(",", " ; ") for line in (HEADER, *MATCH)]
        file = tmp_path / "rounds.csv"
        file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
        assert bring(file).rounds == 3

    def test_matches_by_columns_may_be_interleaved(self, tmp_path: Path) -> None:
        lines = [f"{i},{row}" for pair in zip(MATCH, BACK, strict=True) for i, row in enumerate(pair)]
        file = write(tmp_path, f"id,{HEADER}", *lines)
        done = bring(file, mapping(tmp_path, match={"by": ["id"]}))
        assert (done.matches, done.rounds) == (2, 6)
        assert tables(tmp_path)[0][2]["agent"] == "bob"

    def test_one_row_for_each_player_and_round(self, tmp_path: Path) -> None:
        lines = [
            "7,1,ann,1,J,8", "7,1,bob,2,J,8", "7,2,bob,2,F,10", "7,2,ann,1,J,0",
        ]  # fmt: skip
        how = mapping(
            tmp_path, seats=None, match={"by": ["id"]}, round="t",
            players={"player": "who", "action": "did", "payoff": "got", "seat": "place"},
        )  # fmt: skip
        bring(write(tmp_path, "id,t,who,place,did,got", *lines), how)
        _, decisions = tables(tmp_path)
        assert [(d["round"], d["agent"], d["payoff"]) for d in decisions] == [
            (1, "ann", 8), (1, "bob", 8), (2, "ann", 0), (2, "bob", 10),
        ]  # fmt: skip

    def test_a_match_of_several_rows_a_round_ends_where_rounds_begin_anew(self, tmp_path: Path) -> None:
        how = mapping(
            tmp_path, seats=None, match={"new_when": "t"}, round="t", players={"player": "who", "action": "did"}
        )
        lines = [f"{t},{who},J" for _ in range(2) for t in (1, 2) for who in ("ann", "bob")]
        done = bring(write(tmp_path, "t,who,did", *lines), how)
        assert (done.matches, done.rounds) == (2, 4)

    def test_a_round_that_lacks_a_player_is_named(self, tmp_path: Path) -> None:
        how = mapping(tmp_path, seats=None, match={"by": ["id"]}, round="t", players={"player": "who", "action": "did"})
        said = refused(write(tmp_path, "id,t,who,did", "7,1,ann,J", "7,1,bob,J", "7,2,ann,J"), how)
        assert "line 4: this round has 1 rows, the first round of the match has 2" in said

    def test_games_by_number(self, tmp_path: Path) -> None:
        how = mapping(
            tmp_path, game={"column": "game", "spec": "ordinal_2x2:{}"}, actions={"J": "first", "F": 2},
            factors={"model_family": "kind"},
        )  # fmt: skip
        lines = ["67,x,1,ann,bob,J,J,3,3,3,3", "78,x,1,ann,bob,J,J,4,4,4,4"]
        bring(write(tmp_path, f"game,kind,{HEADER}", *lines), how)
        matches, _ = tables(tmp_path)
        assert [(m["game"], m["model_family"]) for m in matches[::2]] == [
            ("ordinal_2x2:67", "x"),
            ("ordinal_2x2:78", "x"),
        ]

    def test_a_game_number_that_does_not_exist_is_named(self, tmp_path: Path) -> None:
        how = mapping(tmp_path, game={"column": "game", "spec": "ordinal_2x2:{}"}, actions={"J": 1, "F": 2})
        said = refused(write(tmp_path, f"game,{HEADER}", "145,1,ann,bob,J,J,3,3,3,3"), how)
        assert re.search(r"line 2, column game: .*1 to 144", said)

    def test_games_as_a_released_table_has_them(self, tmp_path: Path, data_folder: Path) -> None:
        table = data_folder / "repeated-games" / "144_games_info.csv"
        how = mapping(tmp_path, game={"column": "game", "table": str(table)}, actions={"J": 1, "F": 2})
        # Game 84 pays seat 2 a rank of 2 in the last cell of the released table; the right rank is 1.
        lines = (f"game,{HEADER}", "84,1,ann,bob,F,F,2,2,2,2")
        assert bring(write(tmp_path, *lines), how).disagreements == ()
        right = mapping(tmp_path, game={"column": "game", "spec": "ordinal_2x2:{}"}, actions={"J": 1, "F": 2})
        assert [d.expected for d in bring(write(tmp_path, *lines), right, name="other").disagreements][:1] == [1]

    def test_a_factor_that_changes_within_a_match_becomes_a_column_of_decisions(self, tmp_path: Path) -> None:
        how = mapping(tmp_path, factors={"group": "kind"}, round_columns={"clock": "t"})
        lines = [f"{k},{t},{row}" for k, t, row in zip("aba", (7, 8.5, 9), MATCH, strict=True)]
        done = bring(write(tmp_path, f"kind,t,{HEADER}", *lines), how)
        assert done.notes == ("group changes within 1 match: it is a column of the decisions table, not a factor",)
        matches, decisions = tables(tmp_path)
        assert "group" not in matches[0]
        assert [(d["group"], d["clock"]) for d in decisions[::2]] == [("a", "7"), ("b", "8.5"), ("a", "9")]
        with open_run("in", tmp_path / "runs") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
            rows = data.records("SELECT clock + 1 AS later FROM decisions WHERE seat = 1 ORDER BY round")
        assert [row["later"] for row in rows] == [8, 9.5, 10]

    def test_several_files_are_told_apart(self, tmp_path: Path) -> None:
        one, two = write(tmp_path, HEADER, *MATCH), write(tmp_path, HEADER, *BACK, name="more.csv")
        import_rounds([one, two], "repeated-games-pd", name="in", runs=tmp_path / "runs")
        assert [m["file"] for m in tables(tmp_path)[0][::2]] == ["rounds", "more"]


class TestAxelrod:
    HEADER = "Interaction index,Player index,Opponent index,Repetition,Player name,Opponent name,Actions,Score"

    def test_interaction_files_hold_a_player_a_row(self, tmp_path: Path) -> None:
        file = write(
            tmp_path, self.HEADER,
            "0,0,1,0,Tit For Tat,Defector,CDD,2", "0,1,0,0,Defector,Tit For Tat,DDD,7",
            "1,0,0,0,Tit For Tat,Tit For Tat,CC,6", "1,0,0,0,Tit For Tat,Tit For Tat,CC,6",
        )  # fmt: skip
        done = bring(file, "axelrod-scores")
        assert (done.matches, done.rounds, done.disagreements) == (2, 5, ())
        matches, _ = tables(tmp_path)
        assert [(m["agent"], m["cooperation"]) for m in matches] == [
            ("Tit For Tat", pytest.approx(1 / 3)), ("Defector", 0), ("Tit For Tat", 1), ("Tit For Tat", 1),
        ]  # fmt: skip
        assert bring(file, "axelrod", name="plain").matches == 2

    def test_a_wrong_score_is_found(self, tmp_path: Path) -> None:
        file = write(tmp_path, self.HEADER, "0,0,1,0,A,B,CC,6", "0,1,0,0,B,A,CC,7")
        (found,) = bring(file, "axelrod-scores").disagreements
        assert (found.line, found.column, found.expected) == (3, "Score", 6)

    def test_actions_of_different_lengths_are_ragged(self, tmp_path: Path) -> None:
        file = write(tmp_path, self.HEADER, "0,0,1,0,A,B,CCC,9", "0,1,0,0,B,A,CC,6")
        assert re.search(r"line 3, column Actions: .* 3 and 2 actions", refused(file, "axelrod"))

    def test_a_match_a_row_without_a_header(self, tmp_path: Path) -> None:
        bring(write(tmp_path, "0,1,Cooperator,Defector,CCC,DDD", "0,0,Cooperator,Cooperator,CC,CC"), "axelrod-matches")
        assert [(m["agent"], m["score"]) for m in tables(tmp_path)[0]] == [
            ("Cooperator", 0), ("Defector", 5), ("Cooperator", 3), ("Cooperator", 3),
        ]  # fmt: skip


class TestHumans:
    LINES = ("id,game,action,score,opponent,guess,coordination",)

    def rows(self, game: str, moves: list[tuple[int, int]]) -> list[str]:
        return [f"p1,{game},{action},{score},Base,human,0" for action, score in moves]

    def test_moves_that_were_not_stored_follow_from_the_score(self, tmp_path: Path) -> None:
        pd = [(1, 8), (1, 0), (0, 10), (0, 5)] + [(1, 8)] * 6
        bos = [(1, 7), (1, 0), (0, 0), (0, 10)] + [(0, 10)] * 6
        bring(write(tmp_path, *self.LINES, *self.rows("pd", pd), *self.rows("bos", bos)), "repeated-games-human")
        _, decisions = tables(tmp_path)
        hidden = [d for d in decisions if d["seat"] == 1]
        assert {d["note"] for d in hidden} == {"follows from the payoffs"}
        assert [d["action"] for d in hidden if d["match"] == 0][:4] == ["cooperate", "defect", "cooperate", "defect"]
        assert [d["action"] for d in hidden if d["match"] == 1][:4] == ["opera", "football", "opera", "football"]

    def test_a_score_that_no_move_explains_is_named(self, tmp_path: Path) -> None:
        moves = [(1, 9)] + [(1, 8)] * 9
        said = refused(write(tmp_path, *self.LINES, *self.rows("pd", moves)), "repeated-games-human")
        assert re.search(r"line 2: the action of seat 1 .* no action .* fits .*\(9\)", said)

    def test_a_person_who_missed_a_round_is_named(self, tmp_path: Path) -> None:
        said = refused(write(tmp_path, *self.LINES, *self.rows("pd", [(1, 8)] * 9)), "repeated-games-human")
        assert "has 9 rounds, the mapping says 10" in said


TEXTS = {place: {"player": f"p{place}", "action": f"a{place}"} for place in (1, 2)}
"""Columns of rows that hold a whole match."""


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"match": None}, "'match' must say which rows make a match"),
        ({"match": {}}, "match: say how rows make matches"),
        ({"seats": None}, "either 'seats' .* or 'players'"),
        ({"game": None}, "game: is missing"),
        ({"colour": 1}, "colour: there is no such key"),
        ({"factors": {"seat": "x"}}, "must not be called 'seat'"),
        ({"options": ["a", "b"]}, "not by both"),
        ({"encoding": "utf-9"}, "no encoding 'utf-9'"),
        ({"framing": {"colour": "x"}}, "framings have no field 'colour'"),
        ({"game": {"column": "g"}}, "exactly one way"),
        ({"game": {"column": "g", "spec": "x:{}", "table": "t.csv"}}, "exactly one way"),
        ({"players": {"player": "p"}}, "either 'seats' .* or 'players'"),
        ({"rows": "match"}, "whole match have no 'round'"),
        ({"rows": "match", "round": None}, "have a 'total', not a 'payoff'"),
        ({"rows": "match", "round": None, "seats": TEXTS, "round_columns": {"x": "y"}}, "no 'round_columns'"),
        ({"rows": "match", "round": None, "seats": TEXTS, "actions": None, "options": ["a", "b"]}, "and no 'options'"),
        ({"seats": {1: {"player": "p", "action": "a"}, 3: {"player": "q", "action": "b"}}}, r"gaps \(found \[1, 3\]\)"),
        ({"seats": {1: {"player": "p", "action": "a", "seat": "s"}}}, "'seat' belongs to 'players'"),
        ({"factors": {"x": "a"}, "round_columns": {"x": "b"}}, "'x' is both in 'factors' and in 'round_columns'"),
        ({"round_columns": {"game": "x"}}, "must not be called 'game'"),
        ({"framing": {"story": ["a", "b"]}}, "only 'labels' is read from several columns, not 'story'"),
        ({"records": "x.y"}, "'records' is for JSON files"),
        ({"separator": ";;"}, "separator: must be one character"),
        ({"game": {"column": "g", "spec": "ordinal_2x2"}}, "needs {} where the value goes"),
        ({"actions": {"J": "cooperate", "F": "hide"}}, r"takes 'F' for 'hide', which is no action of seat 2"),
    ],
)
def test_mappings_that_say_too_little_or_too_much_are_refused(
    changes: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(OstromError, match=complaint):
        bring(write(tmp_path, HEADER, *MATCH), mapping(tmp_path, **changes))


def test_shipped_mappings_are_valid_and_found_by_name() -> None:
    assert {"repeated-games-pd", "repeated-games-bos", "axelrod"} <= set(mapping_names())
    for name in mapping_names():
        assert load_mapping(name)[0].citation


def test_cells_are_compared_without_regard_to_how_numbers_are_written() -> None:
    assert [canonical(text) for text in (" 1.0", "1", "J ", "")] == ["1", "1", "J", ""]
