"""Values per unit: means and weights of a unit, what pairs, what a condition picks, and how levels balance."""

from dataclasses import replace
from typing import Any

import pytest

from ostrom.analysis.estimate import (
    Query,
    _generations,
    _number,
    _pooled,
    against_all,
    key_words,
    pairs_of,
    partly_exact_mean,
    require_any,
)
from ostrom.analysis.intervals import exactly
from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.unit_figures import balanced, comparison, figure, shared_columns
from ostrom.analysis.units import (
    NoSuchLevel,
    Observation,
    Observations,
    UnitValue,
    _allowed,
    bounds_of,
    join_players,
    per_match,
    select,
)
from ostrom.ground.errors import UnknownName, UsageError

PLAIN = Measure("plain", "Plain", "share", "A value.", "SELECT match, 1 AS value")


def one(value: float, match: int = 0, weight: float | None = None, **more: Any) -> Observation:
    history, exact = more.pop("history", None), more.pop("exact", False)
    columns = {"run": "r", "match": match, "seed": 0, "game": "pd", **more}
    return Observation(value, weight, (0.0, 1.0), exact, columns, history)


def sample(*rows: Observation, **more: Any) -> Observations:
    columns = frozenset(rows[0].columns) if rows else frozenset()
    return Observations(more.pop("measure", PLAIN), rows, ("k",), {"k": (3, 1, 2)}, columns)


@pytest.mark.parametrize(
    ("rows", "value", "weight"),
    [
        ([one(0.0), one(1.0), one(1.0)], 2 / 3, 1.0),
        ([one(0.0, weight=3), one(1.0, weight=1)], 0.25, 4.0),
        ([one(0.0, weight=3), one(1.0)], 0.5, 1.0),
    ],
)
def test_a_unit_is_the_mean_of_its_values(rows: list[Observation], value: float, weight: float) -> None:
    unit = UnitValue(rows)
    assert (unit.value, unit.weight) == pytest.approx((value, weight))
    assert not UnitValue([one(1, exact=True), one(1)]).exact and UnitValue([one(1, exact=True)]).exact


def test_generations_of_a_population_are_one_unit_unless_kept_apart() -> None:
    rows = [one(0.0, 1, history=("r", 1)), one(1.0, 2, history=("r", 1)), one(1.0, 3), one(0.0, 3, run="s")]
    assert [len(unit.rows) for unit in per_match(rows).values()] == [2, 1, 1]
    assert len(per_match(rows, apart=True)) == 4
    units = list(per_match(rows).values())
    assert _generations(units).startswith("the generations") and _generations(units[1:]) == ""


def test_the_widest_bounds_and_none_where_one_is_open() -> None:
    rows = [Observation(0, None, bounds, False, {}) for bounds in ((0.0, 2.0), (-1.0, 1.0), (None, 5.0))]
    assert bounds_of(rows[:2]) == (-1.0, 2.0) and bounds_of(rows) == (None, 5.0)


def test_groups_come_in_the_order_of_the_study_and_unknown_columns_are_refused() -> None:
    found = sample(one(0, k=1), one(0, k=9), one(0, k=2), one(0, k=3), one(0, k=1))
    assert list(found.groups(["k"])) == [(3,), (1,), (2,), (9,)] and len(found.groups(["k"])[1,]) == 2
    with pytest.raises(UnknownName, match="column"):
        found.groups(["style"])
    assert sample().groups(["style"]) == {}
    assert found.cell(found.rows[0], ["game"]) == (1,) and found.cell(found.rows[0], ()) == (1, "pd")


PLAYERS: list[dict[str, Any]] = [
    {"player": 1, "seat": 1, "agent": "a", "k": 1}, {"player": 2, "seat": 2, "agent": "b", "k": 1},
    {"player": 3, "seat": None, "agent": "judge", "k": 1},
]  # fmt: skip


def test_a_value_of_a_match_has_what_its_seated_players_share() -> None:
    whole = join_players({"match": 0, "value": 1, "weight": 2, "round": 4}, PLAYERS)
    assert whole == {"player": "1 + 2", "seat": "1 + 2", "agent": "a + b", "k": 1, "opponents": "a + b", "round": 4}
    own = join_players({"match": 0, "value": 1, "player": 2}, PLAYERS)
    assert own == PLAYERS[1] and join_players({"match": 0, "player": 4}, PLAYERS) is None
    observers = join_players({"match": 0}, PLAYERS[2:])
    assert observers is not None and observers["opponents"] == "judge"


def _levels(values: Observations, text: str) -> Any:
    condition = select(values, values.measure, {"k": text}, commas=True)
    assert isinstance(condition, dict)
    return condition["k"]


def test_levels_of_a_condition_may_hold_commas_and_unknown_ones_name_the_nearest() -> None:
    found = sample(one(0, k="a, b"), one(0, k="a"), one(0, k=2), one(0, k=None))
    assert _levels(found, "a, b") == ["a, b"] and _levels(found, "2, a,") == [2, "a"]
    assert select(found, PLAIN, {"k": ["none", 2]}) == {"k": [None, 2]}
    assert select(found, PLAIN, {"k": "a"}) == {"k": ["a"]}
    assert select(found, PLAIN, " k = 2 ") == "k = 2" and select(found, PLAIN, " ") is None
    assert select(found, PLAIN, {}) is None
    with pytest.raises(NoSuchLevel, match=r"k has no level 'x' \(levels: a, b, a, 2, none\)"):
        _levels(found, "x")
    many = sample(*(one(0, k=f"long{n}") for n in range(41)))
    with pytest.raises(NoSuchLevel, match=r"levels: long0, .*long39\)"):
        _levels(sample(*many.rows[:40]), "x")
    with pytest.raises(NoSuchLevel, match=r"41 different values"):
        _levels(many, "x")
    former = Measure("m", "M", "share", "A.", "SELECT 1", former=(("k", "old", "new"),))
    assert _allowed("k", ["old", 3], former) == ["new", 3] and _allowed("j", "old", former) == ["old"]


def test_columns_without_a_common_level_confound_unless_they_go_with_the_factor() -> None:
    first = [{"game": "pd", "style": "a", "run": "r"}, {"game": "pd", "style": "b", "run": "s"}]
    second = [{"game": "pd", "style": "c", "run": "t"}]
    assert shared_columns(["game", "style", "run"], first, second) == (["game"], ["style"])
    assert shared_columns(["style"], second, first) == ([], ["style"])


@pytest.mark.parametrize(
    ("balance", "weights"),
    [([], [1, 1, 1, 1]), (["game"], [1 / 6, 1 / 6, 1 / 6, 1 / 2]), (["game", "agent"], [1 / 8, 1 / 8, 1 / 4, 1 / 2])],
)
def test_all_levels_of_a_balanced_column_count_the_same(balance: list[str], weights: list[float]) -> None:
    cells = [("pd", "a"), ("pd", "a"), ("pd", "b"), ("stag", "a")]
    units = [UnitValue([one(0, game=game, agent=agent)]) for game, agent in cells]
    assert balanced(units, [1.0] * 4, balance) == pytest.approx(weights)


def test_units_in_common_pair_and_what_seeds_share_decides_which_they_are() -> None:
    rows = [one(0.9, 1, seed=0, k=1), one(0.8, 2, seed=1, k=1), one(0.1, 3, seed=0, k=2), one(0.2, 4, seed=1, k=2)]
    found = sample(*rows)
    labels = comparison(found, rows[:2], rows[2:], "k", ())
    assert not labels.paired and labels.n == 4 and labels.inference().method == "Welch's t"
    seeds = comparison(replace(found, shared=True), rows[:2], rows[2:], "k", ())
    assert seeds.paired and seeds.n == 2 and seeds.pairs() == ([0.9, 0.8], [0.1, 0.2])
    assert seeds.inference().method == "paired t" and seeds.inference().value == pytest.approx(0.7)
    together = [*rows[:2], *(replace(row, columns={**row.columns, "match": row["match"] - 2}) for row in rows[2:])]
    assert comparison(sample(*together), together[:2], together[2:], "k", ()).paired  # players of one match
    other = [*rows, one(0.0, 5, seed=0, k=2, game="sh")]
    left = comparison(sample(*other), other[:2], other[2:], "k", ())
    assert left.note == "1 without a counterpart left out" and left.inference().value == pytest.approx(0.7)
    by_round = sample(*rows, measure=replace(PLAIN, unit="decision"))
    assert comparison(by_round, rows[:2], rows[2:], "k", ()).unit == "match"
    games = [replace(row, columns={**row.columns, "game": f"g{n}"}) for n, row in enumerate(rows)]
    confounded = comparison(sample(*games), games[:2], games[2:], "k", ())
    assert confounded.note == "the sides also differ in game"


def test_matches_that_could_not_differ_are_one() -> None:
    rows = [replace(one(0.4, n, seed=n), twin=0) for n in range(5)]
    made = figure(sample(*rows), [(1.0, rows)], ())
    limits = made.inference().limits()
    assert made.n == 1 and made.note == "5 matches, 1 distinct"
    assert limits.method == "exact at temperature 0" and limits.low is None and made.inference().bounds() is None
    games = [
        replace(row, columns={**row.columns, "game": f"g{n}"}, twin=n, value=0.1 * n) for n, row in enumerate(rows)
    ]
    several = figure(sample(*games), [(1.0, [*games, *games])], ()).inference()
    assert several.limits().low is not None and "conditions are the units" in several.limits().note


@pytest.mark.parametrize(("certain", "value"), [((True, True), 0.5), ((False, True), 0.5), ((True, False), 0.5)])
def test_a_side_without_chance_is_subtracted_as_it_is(certain: tuple[bool, bool], value: float) -> None:
    first = [one(v, m, seed=m, k=1, exact=certain[0]) for m, v in enumerate((0.7, 0.9))]
    second = [one(v, m + 9, seed=m, k=2, exact=certain[1]) for m, v in enumerate((0.2, 0.4))]
    made = comparison(sample(*first, *second), first, second, "k", ())
    assert made.inference().limits().value == pytest.approx(value)
    assert ("one side is deterministic" in made.note) == (certain != (True, True))
    assert made.inference().exact == all(certain)
    assert made.certain == certain and "paired" not in made.inference().limits().method
    mixed = [*first[:1], replace(first[1], exact=not certain[0])]
    assert not comparison(sample(*mixed, *second), mixed, second, "k", ()).certain[0]


def test_exact_and_sampled_values_make_one_mean() -> None:
    mixed = partly_exact_mean([1.0, 0.0, 0.5], [True, False, False], [2.0, 1.0, 1.0])
    assert mixed.limits().value == pytest.approx((2 + 0 + 0.5) / 4)
    assert "1 of 3 values are deterministic and have no sampling error" in mixed.limits().note
    sure = partly_exact_mean([0.1] * 3, [True] * 3, [0.1] * 3)
    assert sure == exactly(0.1) and partly_exact_mean([0.0, 1.0], [False] * 2, [1, 1]).note == ""


@pytest.mark.parametrize(
    ("levels", "wanted", "pairs"),
    [
        ([1, 2, 3], "3 - 1", [(3, 1)]),
        ([1, 2, 3], "* - 2", [(1, 2), (3, 2)]),
        ([1, 2, 3], " *-2", [(1, 2), (3, 2)]),
        (["a-b", "c"], "c - a-b", [("c", "a-b")]),
        (["a-b", "c"], "a-b-c", [("a-b", "c")]),
        ([1, 2], (2, 1), [(2, 1)]),
        ([None, 1], "None-1", [(None, 1)]),
    ],
)
def test_the_levels_that_a_contrast_names(levels: list[Any], wanted: Any, pairs: list[Any]) -> None:
    assert pairs_of(levels, "k", wanted) == pairs
    assert against_all(wanted) == ("*" in wanted)


@pytest.mark.parametrize(
    ("levels", "wanted", "words"),
    [
        (["direct", "social"], "direkt - social", "did you mean 'direct'"),
        ([2], "* - 2", r"\(levels: 2\)"),
        ([1, 2], "* - 9", "two of its levels"),
    ],
)
def test_a_contrast_of_unknown_levels_is_refused(levels: list[Any], wanted: str, words: str) -> None:
    with pytest.raises(NoSuchLevel, match=words):
        pairs_of(levels, "k", wanted)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"over": "k", "contrast": "k=1-2"}, "contrast and over exclude"),
        ({"over": "k", "balance": ("game",)}, "balance and over exclude"),
        ({"log": True}, "log needs over"),
        ({"contrast": "k="}, r"must be FACTOR=A-B \(found 'k='\)"),
        ({"contrast": "=1-2"}, "must be FACTOR=A-B"),
    ],
)
def test_a_question_of_two_kinds_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Query(measure="cooperation", **fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "cooperation"),
        ({"contrast": " k = 80-2 "}, "cooperation, k: 80-2"),
        ({"over": "k"}, "cooperation, slope over k"),
        ({"over": "k", "log": True}, "cooperation, slope over ln k"),
        ({"over": "k", "log": "1+x"}, "cooperation, slope over ln(1 + k)"),
    ],
)
def test_a_question_in_words(fields: dict[str, Any], words: str) -> None:
    assert Query(measure="cooperation", **fields).words == words


def test_the_model_takes_its_place_in_a_question_and_conditions_are_listed() -> None:
    asked = Query(measure="cooperation", where={"agent": ["{model}", "b"], "k": 1}, contrast="agent={model}-b")
    named = asked.for_model("m")
    assert (named.where, named.contrast) == ({"agent": ["m", "b"], "k": 1}, "agent=m-b")
    assert named.matches == "agent m or b, k 1" and Query(measure="c", where=" k = 1 ").matches == "k = 1"
    assert key_words({"game": "pd", "over": "k"}) == "game: pd"


def test_what_cannot_be_asked_names_the_column_or_the_measure() -> None:
    with pytest.raises(UsageError, match=r"needs numbers in style \(found 'direct'\)"):
        _number("style", "direct")
    with pytest.raises(UsageError, match="cooperation: no match of nothing is finished"):
        require_any([], measures.named("cooperation"), [])
    mixed = [UnitValue([one(0, agent_memory="a"), one(0, agent_memory="b")])]
    assert _pooled(mixed, ["agent"]) and not _pooled(mixed, ["game"])
    assert not _pooled(mixed, ["agent", "agent_memory"]) and not _pooled(mixed, ["agent", "agent_id"])
    assert not _pooled([UnitValue([one(0, agent_memory="a")] * 2)], ["agent"])
