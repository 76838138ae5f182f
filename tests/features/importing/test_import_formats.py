"""Files as strangers write them: labels that change row by row, JSON, other encodings, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.features.comparing import compare_run
from ostrom.features.importing import Imported, import_rounds, load_mapping
from ostrom.features.importing.moves import recognised
from ostrom.games import build_game
from ostrom.ground.errors import StudyError
from ostrom.reports.declared import panels
from ostrom.studies.run import open_run

GAME = (
    "game_number,game_name,round,player1,player2,answer1,answer2,points1,points2,total1,total2,"
    "choice_option1,choice_option2,option_order"
)


def write(folder: Path, content: str | bytes, name: str = "rounds.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def bring(file: Path, how: str | dict[str, Any], name: str = "in", **more: Any) -> Imported:
    if isinstance(how, dict):
        mapping = file.parent / "mapping.yaml"
        mapping.write_text(yaml.safe_dump(how))
        how = str(mapping)
    return import_rounds([file], how, name=name, runs=file.parent / "runs", **more)


def matches(folder: Path, name: str = "in") -> list[dict[str, Any]]:
    with open_run(name, folder / "runs") as run:
        return list(run.rows.matches())


def shipped(name: str, **changes: Any) -> dict[str, Any]:
    data = load_mapping(name)[0].model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {key: value for key, value in {**data, **changes}.items() if value is not None}


class TestLabelsByRow:
    """Game 67 is the Prisoner's Dilemma: first is to cooperate, ranks 3 1 / 4 2."""

    LINES = (GAME, '67,PD,1,act_gpt4,b,N,N,3,3,3,3,N,B,"[0, 1]"', '67,PD,2,act_gpt4,b,N,B,1,4,4,7,B,N,"[1, 0]"')

    def test_two_columns_say_which_letter_is_which_option(self, tmp_path: Path) -> None:
        # In round 2 the letters have changed places: N is the second option there.
        text = "\n".join(self.LINES).replace("N,B,1,4,4,7,B,N", "N,B,4,1,7,4,B,N")
        bring(write(tmp_path, text + "\n"), "repeated-games-all")
        with open_run("in", tmp_path / "runs") as run:
            rows = list(run.rows.decisions())
        assert [(d["action"], d["label"], d["option_order"]) for d in rows] == [
            ("first", "N", "[0, 1]"), ("first", "N", "[0, 1]"), ("second", "N", "[1, 0]"), ("first", "B", "[1, 0]"),
        ]  # fmt: skip
        assert [row["agent"] for row in matches(tmp_path)] == ["GPT-4", "b"]

    def test_the_letters_decide_and_not_their_order(self, tmp_path: Path) -> None:
        done = bring(write(tmp_path, "\n".join(self.LINES) + "\n"), "repeated-games-all")
        assert done.folder is None and {c.kind for c in done.refused} == {"payoff"}

    def test_a_letter_that_is_no_option_of_its_row_is_named(self, tmp_path: Path) -> None:
        text = "\n".join(self.LINES[:2]).replace("b,N,N", "b,N,Q") + "\n"
        (cause,) = bring(write(tmp_path, text), "repeated-games-all").refused
        assert "line 2, column answer2: is no answer that the mapping knows (found 'Q'; allowed: B, N)" in str(cause)

    def test_actions_may_be_left_out_with_ordinal_games(self, tmp_path: Path) -> None:
        """Written as the game calls them, or not at all: the payoffs of a strict game tell the cell."""
        how = shipped("repeated-games-all", options=None)
        text = "\n".join(self.LINES[:2]).replace("b,N,N", "b,first,1") + "\n"
        assert bring(write(tmp_path, text), how).folder is not None
        seats = {n: {"player": f"player{n}", "payoff": f"points{n}"} for n in (1, 2)}
        hidden = {**how, "seats": seats}
        assert bring(write(tmp_path, text), hidden, name="hidden").folder is not None
        assert [m["score"] for m in matches(tmp_path, "hidden")] == [3, 3]


class TestTables:
    def table(self, folder: Path, *rows: str) -> Path:
        cells = [f"r{r}_c{c}_p{p}" for r in (1, 2) for c in (1, 2) for p in (1, 2)]
        return write(folder, "\n".join([",".join(["game_number", *cells]), *rows]) + "\n", "games.csv")

    def run(self, folder: Path, row: str, *lines: str) -> Imported:
        how = shipped("repeated-games-all", game={"column": "game_number", "table": str(self.table(folder, row))})
        return bring(write(folder, "\n".join([GAME, *lines]) + "\n"), how)

    def test_a_game_of_a_table_is_recognised_by_the_order_of_its_payoffs(self, tmp_path: Path) -> None:
        """The Prisoner's Dilemma with rows and columns exchanged, in other amounts, under another number."""
        done = self.run(
            tmp_path, "5,20,20,50,10,10,50,30,30", '5,x,1,a,b,N,N,20,20,20,20,N,B,"[0, 1]"',
            '5,x,1,b,a,B,B,30,30,30,30,N,B,"[0, 1]"',
        )  # fmt: skip
        assert done.folder is not None and not done.notes
        assert {m["game"] for m in matches(tmp_path)} == {"ordinal_2x2:67"}
        with open_run("in", tmp_path / "runs") as run, run_data(
            run.rows, run.folder.path, run.manifest
        ) as data:  # fmt: skip
            own = {(line.own.agent, line.cell[0]): line.own.value for line in compare_run(data).lines}
            ratios = estimate(data, "score_ratio", ["agent", "family"], balance=["number"])
        # 20 and 30 of 50 each: a share of the most that could be had, not of rank 4.
        assert own["a", "pd_family"] == pytest.approx((20 / 50 + 30 / 50) / 2)
        ratio = {(one.key["agent"], one.key["family"]): one.value for one in ratios}
        assert ratio["a", "pd-family"] == pytest.approx(0.5)

    def test_a_typing_error_is_said_and_the_number_of_the_row_decides(self, tmp_path: Path) -> None:
        done = self.run(tmp_path, "17,3,4,3,2,4,1,1,3", '17,Tragic Cycle,1,a,b,N,N,3,4,3,4,N,B,"[0, 1]"')
        assert done.notes == (
            "game 17 of the table has ties: it differs from ordinal game 17 in 1 cell and is taken for it, "
            "with the payoffs of the table",
        )
        rows = matches(tmp_path)
        assert rows[0]["game"] == "ordinal_2x2:17" and rows[0]["score"] == 3

    def test_what_is_no_ordinal_game_stays_what_it_is(self, tmp_path: Path) -> None:
        done = self.run(tmp_path, "900,1,1,1,1,1,1,1,1", '900,x,1,a,b,N,N,1,1,1,1,N,B,"[0, 1]"')
        assert done.notes == ("game 900 of the table is none of the 144 ordinal games",)
        assert matches(tmp_path)[0]["game"] == "table:900"


class TestFramings:
    HEADER = "round,option1,option2,outcomes,player1,player2,answer1,answer2,points1,points2,total1,total2"

    def test_wordings_of_imported_players_are_kept_and_claims_over_them_checked(self, tmp_path: Path) -> None:
        lines = [self.HEADER]
        for labels in ("JF", "QX", "RH"):
            for units in ("points", "dollars", "coins"):
                c, d = labels
                named = (f"{c},{d}", f"{d},{c}", f"{c},{d}")
                joint = labels == "RH" and units != "coins"
                for t in (1, 2, 3):
                    mine = c if joint and t == 3 else d
                    theirs = d if t == 1 else c
                    pay = {(c, c): (8, 8), (c, d): (0, 10), (d, c): (10, 0), (d, d): (5, 5)}[mine, theirs]
                    lines.append(f"{t},{named[t - 1]},{units},GPT-4,Defect_once,{mine},{theirs},{pay[0]},{pay[1]},0,0")
        how = shipped("repeated-games-pd-wordings")
        how["seats"] = {s: {k: v for k, v in of.items() if k != "total"} for s, of in how["seats"].items()}
        file = write(tmp_path, "\n".join(lines) + "\n", "experiment_robustness_checks_game.csv")
        done = bring(file, how)
        assert done.matches == 9 and done.folder is not None
        assert {(m["labels"], m["units"]) for m in matches(tmp_path)} >= {("R H", "coins"), ("J F", "points")}
        with open_run("in", tmp_path / "runs") as run, run_data(
            run.rows, run.folder.path, run.manifest
        ) as data:  # fmt: skip
            own = {line.cell[2]: line.own.value for line in compare_run(data).lines}
            panel = panels.build("games_robustness").draw(data)
        assert own["n_variants_above_0.1"] == 2 and own["max_joint_cooperation_in_regular_variants"] == 0
        assert any("hold in every framing" in note for note in panel.notes)

    def test_a_framing_that_changes_within_a_match_is_refused_in_one_line(self, tmp_path: Path) -> None:
        lines = [
            self.HEADER, "1,J,F,points,a,b,J,J,8,8,8,8", "2,J,F,coins,a,b,J,J,8,8,16,16",
        ]  # fmt: skip
        (cause,) = bring(write(tmp_path, "\n".join(lines) + "\n"), shipped("repeated-games-pd-wordings")).refused
        assert "framing units changes within a match ('coins' and 'points')" in str(cause)


ROUND = {
    "round": 1, "player1": "a", "player2": "b", "answer1": "J", "answer2": "F", "points1": 0, "points2": 10.0,
    "total1": 0, "total2": 10,
}  # fmt: skip


class TestJson:
    @pytest.mark.parametrize(
        ("content", "name"),
        [
            (json.dumps([ROUND]), "rounds.json"),
            (json.dumps([ROUND], indent=2), "rounds.txt"),
            (json.dumps(ROUND) + "\n" + json.dumps({**ROUND, "round": 2, "total2": 20}) + "\n", "rounds.jsonl"),
        ],
    )
    def test_lists_and_lines_of_records_are_read(self, content: str, name: str, tmp_path: Path) -> None:
        assert bring(write(tmp_path, content, name), "repeated-games-pd").folder is not None
        assert matches(tmp_path)[1]["score"] == 10

    def test_records_inside_are_found_by_a_path_and_have_what_stands_around_them(self, tmp_path: Path) -> None:
        document = {"meta": {"v": 1}, "matches": [
            {"id": 7, "temperature": 0.5, "rounds": [{"moves": ["J", "F"], "paid": {"a": 0, "b": 10}}]},
            {"id": 8, "temperature": 1, "rounds": [{"moves": ["J", "J"], "paid": {"a": 8, "b": 8}}]},
        ]}  # fmt: skip
        how = {
            "game": {"name": "prisoners_dilemma", "preset": "repeated_games"}, "records": "matches.rounds",
            "match": {"by": ["id"]}, "actions": {"J": "cooperate", "F": "defect"},
            "factors": {"temperature": "temperature"},
            "seats": {
                1: {"player": {"value": "a"}, "action": "moves.0", "payoff": "paid.a"},
                2: {"player": {"value": "b"}, "action": "moves.1", "payoff": "paid.b"},
            },
        }  # fmt: skip
        bring(write(tmp_path, json.dumps(document), "x.json"), how)
        assert [(m["temperature"], m["score"]) for m in matches(tmp_path)] == [
            (0.5, 0), (0.5, 10), (1, 8), (1, 8),
        ]  # fmt: skip

    def test_what_stands_around_keeps_its_own_name_where_a_record_has_it_too(self, tmp_path: Path) -> None:
        document = [{"round": 40 + n, "rounds": [{**ROUND, "round": 1}]} for n in range(2)]
        how = shipped("repeated-games-pd", records="rounds", match={"by": ["above.round"]})
        assert bring(write(tmp_path, json.dumps(document), "x.json"), how).matches == 2

    def test_a_bad_record_is_named_by_its_number(self, tmp_path: Path) -> None:
        (cause,) = bring(
            write(tmp_path, json.dumps([{**ROUND, "points1": 3, "total1": 3}]), "x.json"), "repeated-games-pd"
        ).refused
        assert "x.json: record 1, column points1: says 3" in str(cause)

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ('{"results": [{}]}', "name the list in the mapping, for example records: results"),
            ('[{"a": 1, "a": 2}]', "a: the key stands twice"),
            ('{"a": 1}\n{"a": 1, "a": 2}', "line 2: a: the key stands twice"),
            ('{"a": 1}\nnonsense', "line 2: is not JSON"),
            ("[{", "line 1: is not JSON"),
            ("[" * 500_000, "nested too deeply"),
            ('[{"a": ' + "[" * 60 + "]" * 60 + "}]", "record 1: is nested too deeply"),
            ("[1]", "record 1: must be an object"),
            ('[{"a": ' + "9" * 5000 + "}]", "is not JSON"),
            ('[{"a.b": 1, "a": {"b": 2}}]', "has the column 'a.b' twice"),
            ("[]", "has no records"),
        ],
    )
    def test_what_is_no_list_of_records_is_refused_in_one_line(
        self, content: str, complaint: str, tmp_path: Path
    ) -> None:
        with pytest.raises(StudyError, match=complaint) as caught:
            bring(write(tmp_path, content, "x.json"), "repeated-games-pd")
        assert "x.json" in str(caught.value) and "\n" not in str(caught.value)


HEADER = "round,player1,player2,answer1,answer2,points1,points2,total1,total2\n"
ROW = "1,é,b,J,J,8,8,8,8\n"


class TestText:
    @pytest.mark.parametrize(
        ("encoding", "stated"), [("utf-8-sig", None), ("utf-16", None), ("latin-1", "latin-1"), ("utf-8", None)]
    )
    def test_encodings(self, encoding: str, stated: str | None, tmp_path: Path) -> None:
        how = shipped("repeated-games-pd", encoding=stated)
        bring(write(tmp_path, (HEADER + ROW).encode(encoding)), how)
        assert matches(tmp_path)[0]["agent"] == "é"

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ((HEADER + ROW).encode("latin-1"), r"line 2: is not utf-8 text; .* encoding: latin-1"),
            ((HEADER + ROW).encode("utf-16-le"), "line 1: holds a NUL character .*utf-16-le"),
            ((HEADER + ROW + "2,\0").encode(), "line 3: holds a NUL character"),
            ((HEADER + '1,"a').encode(), "line 2: is not a table: unexpected end of data"),
            ((HEADER + f'1,"{"x" * 200_000}",b,J,J,8,8,8,8\n').encode(), "line 2: is not a table: field larger"),
            ((HEADER + "1,a,b,J,J,8,8\n").encode(), "line 2: has 7 cells, the header has 9"),
            ((HEADER + ROW + '2,"é"x,b,J,J,8,8,16,16\n').encode(), "line 3: is not a table"),
            (b"", "is empty"),
        ],
    )
    def test_what_is_no_table_is_refused_in_one_line(self, content: bytes, complaint: str, tmp_path: Path) -> None:
        with pytest.raises(StudyError, match=complaint) as caught:
            bring(write(tmp_path, content), "repeated-games-pd")
        assert "rounds.csv" in str(caught.value) and "\n" not in str(caught.value)

    @pytest.mark.parametrize("cell", ["NaN", "None", "", "inf", "1_0", "8,0"])
    def test_what_is_no_number_is_named(self, cell: str, tmp_path: Path) -> None:
        row = ROW.replace("J,J,8,", f'J,J,"{cell}",')
        (cause,) = bring(write(tmp_path, HEADER + row), "repeated-games-pd").refused
        assert "line 2, column points1: must be a number" in str(cause)

    def test_numbers_may_be_written_as_decimals(self, tmp_path: Path) -> None:
        text = HEADER + "1.0,a,b,J,J,8.0, 8 ,8.00,8e0\n"
        assert bring(write(tmp_path, text), "repeated-games-pd").folder is not None


SEATS = {1: {"player": "a", "action": "x"}, 2: {"player": "b", "action": "y"}}
ROUNDS: dict[str, Any] = {"game": "prisoners_dilemma", "actions": {"C": 1, "D": 2}, "match": {"by": ["pair"]}}


def test_a_total_of_a_row_that_holds_a_match_is_that_of_its_end(tmp_path: Path) -> None:
    seats = {seat: {**columns, "total": f"t{seat}"} for seat, columns in SEATS.items()}
    bring(write(tmp_path, "pair,a,b,x,y,t1,t2\n1,ann,bob,CC,CD,3,8\n"), {**ROUNDS, "rows": "match", "seats": seats})
    assert [row["score"] for row in matches(tmp_path)] == [1.5, 4.0]


@pytest.mark.parametrize(("cells", "number"), [([4, 3, 1, 4], 67), ([4, 4, 1, 4], 67), ([4, 4, 2, 4], None)])
def test_a_game_with_two_wrong_cells_is_still_the_one_of_its_number(cells: list[int], number: int | None) -> None:
    paid = [[cells[:2], cells[2:]], [[4, 1], [2, 2]]]
    found = recognised(build_game({"name": "t", "actions": ["first", "second"], "payoffs": paid}), "67")
    assert (found and found[0].number) == number


def test_lines_are_those_of_the_file_where_a_cell_has_several(tmp_path: Path) -> None:
    file = write(tmp_path, 'pair,n,a,b,x,y\n1,0,"ann\nlee",bob,C,C\n1,1\n')
    with pytest.raises(StudyError, match=r"line 4.*has 2 cells"):
        bring(file, {**ROUNDS, "round": "n", "first_round": 0, "seats": SEATS})


@pytest.mark.parametrize("seats", ["11", "02", "13", ("1", "1.5")])
def test_seats_of_a_round_are_numbered_each_once(seats: tuple[str, str], tmp_path: Path) -> None:
    rows = "".join(f"1,1,{name},{seat},C\n" for name, seat in zip(("ann", "bob"), seats, strict=True))
    columns = {"player": "who", "action": "x", "seat": "seat"}
    done = bring(write(tmp_path, f"pair,n,who,seat,x\n{rows}"), {**ROUNDS, "round": "n", "players": columns})
    (cause,) = done.refused
    assert "seats of a round are 1 to 2, each once" in str(cause) and done.folder is None
