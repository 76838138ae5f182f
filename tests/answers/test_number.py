"""A number is read where it is written in plain digits and stands alone; anything else is asked for again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.agents.explained import bare, explained, mixed
from ostrom.answers import Answer, Choice, Invalid, Number, constraint_of, number, read, read_number
from ostrom.games.amounts import Amounts
from ostrom.ground.errors import GameError, StudyError

ROWS = [
    [cell.strip() for cell in line.split("|")]
    for line in (number.__doc__ or "").splitlines()
    if line.count("|") == 2 and "reading" not in line
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_table_of_the_documentation_holds(row: list[str]) -> None:
    found = read_number(row[0].replace("↵", "\n"), Amounts(0, 5000))
    if row[1] == "invalid":
        assert isinstance(found, Invalid)
    else:
        assert isinstance(found, Answer) and (found.reading, str(found.value)) == (row[1], row[2])


@pytest.mark.parametrize(
    "text",
    [
        "1e3", "４０", "NaN", "nan", "inf", "-40", "0x28", "4_0", "40 000", "40,0", "40'000", "٤٠", "9" * 5000,
        "40 or so", "40-50", "40/100", "40+0", "½", "1.", ".5", "--40", "40 \u200b 50", '{"amount": NaN}',
        '{"amount": 1e400}', '{"amount": 1e1}', '{"amount": 4E1}', '{"amount": 400e-1}',
        '{"amount": true}', '{"amount": [40]}', '{"amount": -1}', "<think>40",
    ],
)  # fmt: skip
def test_hostile_numbers_are_refused_in_one_short_line(text: str) -> None:
    found = read_number(text, Amounts(0, 100, 0.5) if text in (".5", "½") else Amounts(10, 100))
    assert isinstance(found, Invalid) and len(found.reason) < 200 and "\n" not in found.reason


def test_steps_and_decimals_are_held_exactly() -> None:
    tenths = Amounts(0, 1, 0.1)
    assert [tenths.value(i) for i in (0, 3, 7, 10)] == [0, 0.3, 0.7, 1]
    assert read_number("[0.3]", tenths).value == 0.3  # type: ignore[union-attr]
    assert isinstance(read_number("0.35", tenths), Invalid)
    assert isinstance(read_number("41", Amounts(0, 100, 2)), Invalid)
    for wrong in ((0, 10, 3), (1, 0, 1), (0, 1, 0), (0, float("nan"), 1), (0, 1, 1e-12), (0, 10**12, 1)):
        with pytest.raises(GameError):
            Amounts(*wrong)


@given(st.integers(-50, 50), st.integers(0, 400), st.sampled_from([1, 2, 5, 0.5, 0.25, 0.01]))
def test_every_amount_is_read_back(low: int, steps: int, step: float) -> None:
    amounts = Amounts(low, float(f"{low + steps * step:.6f}"), step)
    assert amounts.levels == steps + 1
    for at in {0, steps // 2, steps}:
        value = amounts.value(at)
        said = read_number(f"I think so.\n[{value}]", amounts)
        assert isinstance(said, Answer) and said.value == value and amounts.index(value) == at
        assert amounts.index(amounts[at]) == at and amounts.nearest(float(value)) == value


def test_a_model_can_be_bound_and_is_still_read() -> None:
    bound = constraint_of(Number(0, 100))
    assert bound["schema"]["properties"]["amount"] == {"type": "integer", "minimum": 0, "maximum": 100}
    assert constraint_of(Number(0, 1, 0.25))["schema"]["properties"]["amount"]["type"] == "number"
    held = read(Number(0, 100, 5), '{"amount": 40}', constrained=True)
    assert isinstance(held, Answer) and (held.value, held.reading) == (40, "constrained")
    assert isinstance(read(Number(0, 100, 5), '{"amount": 41}', constrained=True), Invalid)
    assert isinstance(read(Number(0, 100), "Answer: 40", strict=True), Invalid)


def test_amounts_with_reasons_and_in_mixed_strategies() -> None:
    for form in (Number(0, 100), Number(0, 1, 0.25), Choice(("a", "b"))):
        assert bare(explained(form, 50)) == form
    assert mixed(Number(0, 10, few=(0, 5, 10))).options == ("0", "5", "10")
    with pytest.raises(StudyError, match="a few amounts that the game declares"):
        mixed(Number(0, 10))
