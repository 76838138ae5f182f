"""Inputs that once crashed a reader or kept it busy: each is read, or refused in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from ostrom.features.importing.mapping import load_mapping
from ostrom.features.importing.table import read_table
from ostrom.games import build_game
from ostrom.games.amounts import Amounts
from ostrom.ground.errors import OstromError, StudyError
from ostrom.studies import checks
from ostrom.studies.factors import set_path
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan

SMALL = {"name": "x", "game": "chicken", "types": {"a": "random"}}

MAPPING = """game: chicken
match: {by: [m]}
rounds: 3
players: {player: p, action: a, seat: s}
actions: {C: 1, D: 2}
"""


@pytest.mark.parametrize("key", ["ro[unds", "mechanism:], [[2, 0]", "str", "dict", "list[any]"])
def test_an_unknown_key_is_named_whatever_it_looks_like(key: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="there is no such key") as found:
        load_study({**SMALL, key: 1})
    assert found.value.key == key
    path = tmp_path / "mapping.yaml"
    path.write_text(json.dumps({"game": "chicken", "rounds": 3, key: 1}))
    with pytest.raises(StudyError, match="there is no such key") as found:
        load_mapping(path)
    assert found.value.key == key


@pytest.mark.parametrize("path", [".".join(["a"] * 3000), "agent." + "x." * 61 + "y", "rm." * 700 + "x"])
def test_a_path_of_hundreds_of_keys_is_refused(path: str) -> None:
    with pytest.raises(StudyError, match="names more than 60 levels of keys") as found:
        load_study(SMALL, changes=[f"{path}=1"])
    assert len(str(found.value).splitlines()) == 1
    with pytest.raises(OstromError, match=r"names more than 60 levels of keys|cannot be varied"):
        StudyPlan(load_study({**SMALL, "vary": {"deep": {"set": path, "to": [1, 2]}}}))


def test_only_plain_digits_of_a_path_are_numbers() -> None:
    data: dict[str, Any] = {}
    for path in ("seats.1.x", "seats.².x", f"seats.{'9' * 5000}.x", "seats.٣"):
        set_path(data, path, 0)
    assert list(data["seats"]) == [1, "²", "9" * 5000, "٣"]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"\xef\xbb\xbf", b"\xef\xbb\xbf \n", b" \r\n\t"])
def test_a_table_with_nothing_but_a_mark_is_empty(content: bytes, tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.yaml"
    mapping.write_text(MAPPING)
    table = tmp_path / "table.csv"
    table.write_bytes(content)
    with pytest.raises(StudyError, match=r"table\.csv: is empty"):
        read_table(table, *load_mapping(mapping))


def test_what_waiting_is_worth_takes_few_steps_of_a_large_pie(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    value = Amounts.value

    def counted(self: Amounts, index: int) -> int | float:
        nonlocal looks
        looks += 1
        return value(self, index)

    monkeypatch.setattr(Amounts, "value", counted)
    game = build_game({"name": "alternating_offers", "pie": 1_000_000, "step": 0.5})
    assert looks < 1000
    assert game.theory is not None
    # By hand: 0, then 0.9 of the pie, then 0.9 of what is left, and so on for six offers.
    waiting = 0.0
    for turn in range(6, 0, -1):
        assert game.theory(0, "offer", {"turn": turn}) == pytest.approx(waiting, abs=0.5)
        waiting = 0.9 * (1_000_000 - waiting)


def test_the_smallest_offer_that_is_accepted_lies_on_the_grid() -> None:
    for pie, step, discount, offers in ((100, 1, 0.9, 6), (10, 0.25, 0.7, 5), (7, 1, 1, 4), (3, 3, 0.5, 3)):
        spec = {"name": "alternating_offers", "pie": pie, "step": step, "discount": discount, "offers": offers}
        theory = build_game(spec).theory
        assert theory is not None
        waiting = 0.0
        for turn in range(offers, 0, -1):
            grid = [k * step for k in range(int(pie / step) + 1)]
            least = next(amount for amount in grid if amount >= waiting - 1e-9)
            assert theory(0, "offer", {"turn": turn}) == least
            waiting = discount * (pie - least)


def test_a_strategy_is_tried_once_for_all_seats_alike_of_a_large_group(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []
    monkeypatch.setattr(checks, "_try_moves", lambda strategy, game, seat, mechanism: tries.append(seat))
    for n, expected in ((16, 16), (17, 1), (1000, 1)):
        tries.clear()
        StudyPlan(load_study({**SMALL, "game": {"name": "minimum_effort", "n": n}}))
        assert len(tries) == expected
