"""What people are paid: to the penny, never less than nothing, never more than was said."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ostrom.people.payment import Payment, add_payments, due, owed, pays_for, read_payments
from ostrom.people.schema import Pay


@pytest.mark.parametrize(
    ("end", "points", "more", "base", "bonus"),
    [
        ("done", 125, {}, "3.00", "0.13"),  # half a penny is rounded up
        ("done", -40, {}, "3.00", "0.00"),  # nobody owes anything
        ("done", 5000, {"at_most": "2.00"}, "3.00", "2.00"),
        ("done", 1500, {"at_most": "2.00"}, "3.00", "1.50"),
        ("no_partner", 0, {}, "3.00", "0.00"),
        ("timeout", 300, {}, "0.00", "0.30"),  # what was earned up to then
        ("declined", 300, {}, "0.00", "0.00"),
        ("full", 300, {}, "0.00", "0.00"),
        ("finished_before", 300, {}, "0.00", "0.00"),
    ],
)
def test_base_and_bonus_by_how_a_visit_ended(
    end: str, points: float, more: dict[str, Any], base: str, bonus: str
) -> None:
    pay = Pay(base="3.00", per_point="0.001", **more)
    assert due(pay, end, points) == (Decimal(base), Decimal(bonus))


def test_the_first_payment_to_a_person_counts(tmp_path: Path) -> None:
    add_payments(tmp_path, [Payment("a", "1.00", "GBP", "one.csv"), Payment("a", "2.00", "GBP", "two.csv")])
    assert read_payments(tmp_path)["a"] == Payment("a", "1.00", "GBP", "one.csv")


@pytest.mark.parametrize(
    ("source", "amount", "words"),
    [("prolific", "1.57", "bonus"), ("mturk", "1.57", "bonus"), ("link", "4.57", "base and bonus")],
)
def test_platforms_pay_the_base_themselves(source: str, amount: str, words: str) -> None:
    assert owed(source, Decimal("3.00"), Decimal("1.57")) == Decimal(amount) and pays_for(source) == words
