"""Tables, words and texts of games that cannot be read are refused in one line that says what was found."""

from pathlib import Path
from typing import Any

import pytest

from ostrom.games import build_game
from ostrom.games.ordinal_table import CELLS, read_table
from ostrom.games.summary import summary
from ostrom.games.text_file import read_text
from ostrom.games.words import Words
from ostrom.games.yaml_file import game_from_mapping
from ostrom.ground.errors import GameError, OstromError, StudyError

AB = ("a", "b")
TABLE = {"actions": ["a", "b"], "payoffs": [[[1, 1], [0, 2]], [[2, 0], [0, 0]]]}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"titles": ("One",)}, "words.titles has 1 entries for 2 seats"),
        ({"personas": ("", "x")}, "words.personas has an empty entry"),
        ({"actions": (("x", "y"), ("x",))}, "words.actions explains 1 of the 2 actions of seat 2"),
        ({"order": (AB, ("b", "b"))}, "words.order of seat 2 must name each of its actions once: a, b"),
        ({"order": (("a",), AB)}, "words.order of seat 1 must name each of its actions once: a, b"),
    ],
)
def test_words_that_do_not_fit_name_the_seat(words: dict[str, Any], says: str) -> None:
    with pytest.raises(GameError) as caught:
        Words(**words).check("g", (AB, AB))
    assert str(caught.value) == f"game g: {says}"
    Words(order=(("b", "a"), AB), titles=("One", "Two")).check("g", (AB, AB))


@pytest.mark.parametrize(
    ("header", "more", "says"),
    [
        (("game_number", *CELLS, CELLS[0]), [], "names a column twice"),
        (("game_number", *CELLS[1:]), [], f"lacks the columns {CELLS[0]}"),
        (("game_number", *CELLS), ["1,2"], "line 2 has 2 cells, the header has 9"),
        (("game_number", *CELLS), [" , ", "", "1,2"], "line 4 has 2 cells, the header has 9"),
    ],
)
def test_tables_of_another_form_are_refused(
    header: tuple[str, ...], more: list[str], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\n".join([",".join(header), *more]), encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        read_table(path)
    assert says in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([1, 2], "a game is a mapping with 'actions' and 'payoffs' (found 'a list of 2')"),
        (None, "a game is a mapping with 'actions' and 'payoffs' (found 'nothing')"),
        ("x" * 60, f"(found '{'x' * 60}')"),
        ("x" * 61, f"(found '{'x' * 57}...')"),
        ({"actions": ["a"]}, "lacks 'payoffs' (found ['actions'])"),
        ({"payoffs": []}, "lacks 'actions'"),
        ({**TABLE, "payofs": 1}, "unknown key 'payofs'"),
        ({**TABLE, "name": "a-b"}, "name: must be letters, digits and underscores (found 'a-b')"),
    ],
)
def test_what_is_no_game_is_told_briefly(data: Any, says: str) -> None:
    with pytest.raises(OstromError) as caught:
        game_from_mapping(data, name="g")
    assert says in str(caught.value)
    assert game_from_mapping(TABLE, name="g").payoff((0, 1)) == (0, 2)


def test_files_that_cannot_be_read_say_what_they_should_be(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"lost: k: no such table file$"):
        read_text(tmp_path / "lost", what="table", key="k")
    with pytest.raises(StudyError, match="is not a table file"):
        read_text(tmp_path, what="table")
    (tmp_path / "bad").write_bytes(b"ab\xff")
    with pytest.raises(StudyError, match=r"is not UTF-8 text \(byte 2\)$"):
        read_text(tmp_path / "bad", what="table")
    (tmp_path / "good").write_bytes(b"\xef\xbb\xbfab")
    assert read_text(tmp_path / "good", what="table") == "ab"
    with pytest.raises(OstromError, match="write FAMILY/NAME"):
        build_game("scenario:lake")


def test_offers_that_were_rejected_are_told_in_their_order() -> None:
    stages = build_game({"name": "alternating_offers", "offers": 3, "discount": 0.5}).begin()
    told = [next(stages)[0]]
    for answer in (10, "reject", 20, "reject", 40):
        told.append(stages.send([answer])[0])
    first, second = {"seat": 0, "offer": 10}, {"seat": 1, "offer": 20}
    assert [due.facts["rejected"] for due in told] == [[], [], [first], [first], [first, second], [first, second]]
    assert [(due.seat, due.facts["turn"], due.facts["left"], due.facts["worth"]) for due in told[::2]] == [
        (0, 1, 2, 100), (1, 2, 1, 50), (0, 3, 0, 25),
    ]  # fmt: skip
    with pytest.raises(StopIteration) as ended:
        stages.send(["accept"])
    assert (tuple(ended.value.value.payoffs), ended.value.value.facts) == ((15, 10), {"agreed": 3})


def test_an_ordinal_game_says_where_it_stands_in_the_table() -> None:
    assert build_game("ordinal_2x2:23").params == {
        "number": 23, "row": 2, "col": 11, "family": build_game("ordinal_2x2:23").params["family"], "label": "Battle",
    }  # fmt: skip


def test_a_summary_says_which_game_it_is_of() -> None:
    for spec in ("chicken", "ultimatum"):
        game = build_game(spec)
        found = summary(game)
        assert list(found)[:6] == ["name", "title", "citation", "params", "seats", "roles"]
        assert (found["name"], found["seats"], found["params"]) == (spec, 2, dict(game.params))
