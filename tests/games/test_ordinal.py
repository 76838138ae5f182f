"""The 144 ordinal games: generated, counted, named, and compared with tables from outside."""

import hashlib
import os
from collections import Counter
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.games import build_game
from ostrom.games.ordinal import classify, ordinal_game, ordinal_games, transposed
from ostrom.games.ordinal_table import CELLS, check_table, read_table
from ostrom.games.tensor import bimatrix
from ostrom.ground.errors import StudyError

FROZEN = "c206de832bfa6510"
BROKEN = [*range(17, 25), 58, 59, 60, 83, 84, 95, 96]


def data_file(name: str) -> Path:
    root = Path(__file__).parents[2]
    folder = Path(os.environ.get("OSTROM_DATA", root.parent / "shared" / "data")) / "repeated-games"
    if not (folder / name).exists():
        pytest.skip(f"{name} is not here (set OSTROM_DATA to the folder with the released data)")
    return folder / name


def table() -> list[dict[str, object]]:
    return [
        {
            "game_number": game.number,
            "row": game.row,
            "col": game.col,
            "family": game.family,
            **dict(zip(CELLS, (r for pair in zip(game.seat1, game.seat2, strict=True) for r in pair), strict=True)),
        }
        for game in ordinal_games()
    ]


def test_the_ranks_are_frozen() -> None:
    text = "\n".join(f"{g.number} {g.seat1} {g.seat2} {g.family} {g.name}" for g in ordinal_games())
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == FROZEN


def test_all_strict_ordinal_games_appear_exactly_once_up_to_exchanging_rows_and_columns() -> None:
    found: Counter[int] = Counter()
    for one, two in product(permutations((1.0, 2.0, 3.0, 4.0)), repeat=2):
        cells = list(zip(one, two, strict=True))
        game = bimatrix("g", (("a", "b"), ("a", "b")), [cells[:2], cells[2:]])
        entry = classify(game)
        assert entry is not None
        found[entry.number] += 1
    assert found == dict.fromkeys(range(1, 145), 4)


def test_families_have_the_published_sizes() -> None:
    assert Counter(game.family for game in ordinal_games()) == {
        "cyclic": 18,
        "win-win": 36,
        "biased": 44,
        "unfair": 19,
        "second-best": 12,
        "pd-family": 7,
        "tragic": 8,
    }


def test_a_game_and_its_mirror_share_name_and_family() -> None:
    # This is how names of the rows with typing errors were checked: each has a sound mirror.
    for game in ordinal_games():
        mirror = ordinal_game(12 * (12 - game.col) + 13 - game.row)
        assert (mirror.seat1, mirror.seat2) == (transposed(game.seat2), transposed(game.seat1))
        assert (mirror.name, mirror.family) == (game.name, game.family)


def test_symmetric_games_lie_on_the_anti_diagonal() -> None:
    names = {
        g.number: g.other_name or g.name
        for g in ordinal_games()
        if build_game(f"ordinal_2x2:{g.number}").roles[0] == "player"
    }
    assert list(names) == [12 * (row - 1) + 13 - row for row in range(1, 13)]
    assert list(names.values()) == [
        "Chicken",
        "Battle",
        "Hero",
        "Compromise",
        "Deadlock",
        "Prisoner's Dilemma",
        "Stag Hunt",
        "Assurance",
        "Coordination",
        "Peace",
        "Harmony",
        "Concord",
    ]


@pytest.mark.parametrize(
    ("spec", "number"),
    [("prisoners_dilemma", 67), ("chicken", 12), ("trust_symmetric", 67), ("stag_hunt:hare=4,both_hare=3", 78)],
)
def test_games_of_the_catalog_find_their_ordinal_class(spec: str, number: int) -> None:
    entry = classify(build_game(spec))
    assert entry is not None and entry.number == number


@pytest.mark.parametrize("spec", ["stag_hunt", "matching_pennies", "public_goods", "travelers_dilemma"])
def test_games_with_ties_or_another_shape_have_no_class(spec: str) -> None:
    assert classify(build_game(spec)) is None


@given(st.integers(1, 144), st.floats(0.5, 10), st.floats(-100, 100), st.booleans(), st.booleans())
def test_the_class_survives_rescaling_and_exchanges(
    number: int, scale: float, shift: float, rows: bool, columns: bool
) -> None:
    payoffs = build_game(f"ordinal_2x2:{number}").payoffs * scale + shift
    if rows:
        payoffs = np.flip(payoffs, axis=0)
    if columns:
        payoffs = np.flip(payoffs, axis=1)
    entry = classify(bimatrix("g", (("a", "b"), ("a", "b")), payoffs.tolist()))
    assert entry is not None and entry.number == number


def test_the_repaired_table_is_the_generated_one() -> None:
    assert check_table(data_file("games_144_repaired.csv")) == []


def test_the_released_table_has_fifteen_broken_rows_and_each_is_named() -> None:
    problems = check_table(data_file("144_games_info.csv"))
    assert [int(p.split(":")[0].removeprefix("game ")) for p in problems] == BROKEN
    assert all("tie: player" in p for p in problems)
    assert problems[0] == "game 17: r1_c1_p1 should be 2 (found 3); tie: player 1 has rank 3 in 2 cells"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("prefix", ["", "game_"])
def test_both_layouts_and_all_separators_are_read(tmp_path: Path, separator: str, prefix: str) -> None:
    header = ["game_number", f"{prefix}row", f"{prefix}col", f"{prefix}family", *CELLS]
    lines = [separator.join(header)]
    lines += [separator.join(str(value).replace("-", " ").title() for value in row.values()) for row in table()]
    path = tmp_path / "table.csv"
    path.write_text("\ufeff" + "\n".join(lines) + "\n", encoding="utf-8")
    # "Win Win", "Pd Family": spelling of families is not a fault.
    assert len(read_table(path)) == 144 and check_table(path) == []


@given(st.integers(0, 143), st.sampled_from(CELLS), st.integers(1, 4))
def test_any_single_wrong_cell_is_found(place: int, cell: str, value: int) -> None:
    rows = table()
    right = rows[place][cell]
    rows[place][cell] = value
    problems = check_table(rows)
    if value == right:
        assert problems == []
    else:
        assert len(problems) == 1 and f"game {place + 1}: {cell} should be {right} (found {value})" in problems[0]


@pytest.mark.parametrize("between", [" ", "_", "-"])
def test_families_may_be_written_as_people_write_them(between: str) -> None:
    rows = table()
    for row in rows:
        row["family"] = str(row["family"]).replace("-", between).title()
    assert any(between in str(row["family"]) for row in rows) and check_table(rows) == []


def test_other_faults_of_a_table_are_named() -> None:
    rows = table()
    rows[1]["family"] = "tragic"
    rows[2]["row"] = 7
    rows[3]["r2_c2_p1"] = ""
    rows[5] = dict(rows[4])
    rows[6]["game_number"] = "x"
    first = rows[0]
    for seat in (1, 2):
        for col in (1, 2):
            one, two = f"r1_c{col}_p{seat}", f"r2_c{col}_p{seat}"
            first[one], first[two] = first[two], first[one]
    problems = check_table(rows)
    assert problems[0].startswith("game 1: ") and problems[0].endswith("same game with rows exchanged")
    assert problems[1:] == [
        "game 2: family should be biased (found 'tragic')",
        "game 3: row should be 1 (found 7)",
        "game 4: r2_c2_p1 should be 1 (found nothing)",
        "row 7: game_number must be 1 to 144 (found 'x')",
        "game 5: listed 2 times",
        "game 6: missing",
        "game 7: missing",
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"game_number,row\n1,1\n", "lacks the columns r1_c1_p1"),
        (b"\xff\xfe\x00", "is not UTF-8"),
        (",".join(["game_number", *CELLS]).encode() + b"\n1,2\n", "line 2 has 2 cells, the header has 9"),
    ],
)
def test_files_that_are_no_tables_are_one_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(StudyError, match=says):
        check_table(path)
