"""Foreign payoff files: right numbers, or one line that says where the file is wrong."""

import copy
import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.features.evolution.test_replicator import literal_replicator

from ostrom.features.evolution.replicator import exponential_replicator
from ostrom.features.evolution.tensor import PayoffTensor, payoff_tensor
from ostrom.ground.errors import StudyError, UsageError
from ostrom.replications.coopeval.payoff_readers.tournaments import (
    ForeignTournament,
    foreign_tournament,
    identity,
    labels,
    load_json,
    parse_tournament,
)


def means_of(read: ForeignTournament) -> dict[str, float]:
    return foreign_tournament(read, "f").means()


def tensor_of(read: ForeignTournament) -> PayoffTensor:
    return payoff_tensor(read.matches, read.types)


AGENTS: list[dict[str, Any]] = [
    {"type": "CoT", "llm": {"model": "big", "temperature": 1.0}},
    {"type": "IO", "llm": {"model": "big", "temperature": 1.0}},
    {"type": "IO", "llm": {"model": "small", "temperature": 1.0, "effort": None}},
]


def seated(*kinds: int) -> list[dict[str, Any]]:
    return [AGENTS[kind] | {"player_id": seat + 1} for seat, kind in enumerate(kinds)]


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    """Complete tournaments with two or three seats, up to two matches per profile and up to four rounds."""
    players, rounds, matches = draw(st.integers(2, 3)), draw(st.integers(1, 4)), draw(st.integers(1, 2))
    kinds = draw(st.integers(2, 3 if players == 2 else 2))
    payoff = st.integers(-40, 40).map(lambda n: n / 10)
    table = st.lists(
        st.lists(st.lists(payoff, min_size=players, max_size=players), min_size=rounds, max_size=rounds),
        min_size=matches,
        max_size=matches,
    )
    profile = [{"players": seated(*seats), "payoffs": draw(table)} for seats in product(range(kinds), repeat=players)]
    return {"discount": 0.8, "profile": profile}


def exact_scores(content: dict[str, Any]) -> list[tuple[list[str], list[Fraction]]]:
    """Identities and scores per match in exact arithmetic, written out from the description of the format."""
    d, out = Fraction(content["discount"]), []
    for entry in content["profile"]:
        keys = [json.dumps({k: v for k, v in p.items() if k != "player_id"}) for p in entry["players"]]
        for match in entry["payoffs"]:
            weights = [(1 - d) * d**t for t in range(len(match) - 1)] + [d ** (len(match) - 1)]
            scores = []
            for seat in range(len(keys)):
                parts = (w * Fraction(row[seat]) for w, row in zip(weights, match, strict=True))
                scores.append(sum(parts, Fraction(0)))
            out.append((keys, scores))
    return out


@given(files())
@settings(max_examples=25, deadline=None)
def test_means_tensor_and_evolution_match_exact_arithmetic(content: dict[str, Any]) -> None:
    found = parse_tournament(content, "f.json")
    names = {json.dumps(configuration): name for name, configuration in found.configurations.items()}
    own: dict[str, list[Fraction]] = {}
    cells: dict[tuple[str, ...], list[Fraction]] = {}
    for keys, scores in exact_scores(content):
        for s, (key, score) in enumerate(zip(keys, scores, strict=True)):
            own.setdefault(names[key], []).append(score)
            others = sorted(names[k] for k in keys[:s] + keys[s + 1 :])
            cells.setdefault((names[key], *others), []).append(score)
    assert means_of(found) == pytest.approx({name: float(sum(v) / len(v)) for name, v in own.items()}, abs=1e-12)
    tensor = tensor_of(found)
    table = np.empty(tensor.values.shape)
    for cell in np.ndindex(table.shape):
        focal, *others = (tensor.types[i] for i in cell)
        seen = cells[(focal, *sorted(others))]
        table[cell] = float(sum(seen) / len(seen))
    assert tensor.values == pytest.approx(table, abs=1e-12)
    final = exponential_replicator(tensor.values, None, eta=0.1, steps=50).final
    literal = literal_replicator(table, [1 / len(table)] * len(table), 0.1, 50, 1e-6)[-1]
    assert final.tolist() == pytest.approx(literal, abs=1e-10)


def read_tournament(path: Path) -> ForeignTournament:
    return parse_tournament(load_json(path), str(path))


def duel(**changes: Any) -> dict[str, Any]:
    """Every pairing of two agents, one round each."""
    profile = [
        {"players": seated(a, b), "payoffs": [[[float(10 * a + b), float(10 * b + a)]]]}
        for a, b in product(range(2), repeat=2)
    ]
    return {"discount": 0.8, "profile": profile} | changes


MEANS = {"big CoT": 0.5, "big IO": 10.5}


@pytest.mark.parametrize("discount", [0.8, 0, 0.0, 1, None])
def test_one_round_matches_score_their_payoff_whatever_the_discount(discount: float | None) -> None:
    assert means_of(parse_tournament(duel(discount=discount), "f")) == MEANS


def test_a_bare_list_and_an_absent_discount_are_read() -> None:
    assert means_of(parse_tournament(duel()["profile"], "f")) == MEANS
    assert means_of(parse_tournament({"profile": duel()["profile"]}, "f")) == MEANS


@pytest.mark.parametrize("discount", [None, 0, 1])
def test_several_rounds_without_a_usable_discount_ask_for_one(discount: float | None) -> None:
    content = duel(discount=discount)
    content["profile"][2]["payoffs"] = [[[1.0, 2.0]], [[1.0, 2.0], [3.0, 5.0]]]
    with pytest.raises(StudyError, match=r"f: profile\[2\]\.payoffs\[match 1\]: 2 rounds need a discount"):
        parse_tournament(content, "f")
    plain = parse_tournament(content, "f", discount="none")
    assert plain.matches[3].scores == (2.0, 3.5)
    stated = parse_tournament(content, "f", discount=0.5)
    assert stated.matches[3].scores == (2.0, 3.5)
    assert (plain.discount, stated.discount) == (None, 0.5)


def test_a_tuple_listed_twice_pools_its_matches() -> None:
    together = duel()
    together["profile"][1]["payoffs"] *= 2
    together["profile"][1]["payoffs"][1] = [[5.0, 7.0]]
    apart = duel()
    apart["profile"].append({"players": seated(0, 1), "payoffs": [[[5.0, 7.0]]]})
    first, second = parse_tournament(together, "f"), parse_tournament(apart, "f")
    assert means_of(first) == means_of(second)
    assert tensor_of(first).values.tolist() == tensor_of(second).values.tolist()
    assert tensor_of(first).counts.tolist() == [[2, 3], [3, 2]]


def test_seat_numbers_place_players_that_are_listed_in_another_order() -> None:
    content = duel()
    for entry in content["profile"]:
        entry["players"].reverse()
    assert means_of(parse_tournament(content, "f")) == MEANS
    assert means_of(parse_tournament(content, "f", seats="listed")) != MEANS
    for entry in content["profile"]:
        for player in entry["players"]:
            player["player_id"] -= 1
    assert means_of(parse_tournament(content, "f")) == MEANS


def test_numbers_that_name_players_across_the_tournament_are_no_seats() -> None:
    content = duel()
    for entry in content["profile"]:
        for seat, player in enumerate(entry["players"]):
            player["player_id"] = 2 - seat + (2 if player["type"] == "IO" else 0)
    assert content["profile"][0]["players"][0]["player_id"] == 2
    assert means_of(parse_tournament(content, "f")) == MEANS
    with pytest.raises(StudyError, match=r"profile\[1\].players: player_id must number the seats"):
        parse_tournament(content, "f", seats="player_id")


def test_files_without_player_numbers_follow_the_listing() -> None:
    content = duel()
    for entry in content["profile"]:
        for player in entry["players"]:
            del player["player_id"]
    assert means_of(parse_tournament(content, "f")) == MEANS
    content["profile"][3]["players"][0]["player_id"] = 1
    with pytest.raises(StudyError, match=r"profile\[3\].players: only some players"):
        parse_tournament(content, "f")


def test_a_society_in_one_profile_has_means_and_no_tensor() -> None:
    players = [AGENTS[seat % 3] | {"player_id": seat + 1} for seat in range(18)]
    rounds = [[float(seat % 3 + t) for seat in range(18)] for t in range(2)]
    found = parse_tournament({"discount": 0.5, "profile": [{"players": players, "payoffs": [rounds]}]}, "f")
    assert list(means_of(found).values()) == [0.5, 1.5, 2.5]
    with pytest.raises(UsageError, match="3 types on 18 seats have no payoff tensor"):
        tensor_of(found)


def test_profiles_that_were_not_played_are_reported_and_block_only_the_tensor() -> None:
    content = duel()
    content["profile"][3]["payoffs"] = []
    found = parse_tournament(content, "f")
    assert found.unplayed == (3,)
    assert means_of(found) == {"big CoT": 0.5, "big IO": 10.0}
    with pytest.raises(UsageError, match=r"1 cells .* never played: big IO against big IO"):
        tensor_of(found)


def test_two_settings_never_merge_and_equal_ones_always_do() -> None:
    content = duel()
    for entry in content["profile"]:
        for player in entry["players"]:
            if player["type"] == "IO":
                player["type"], player["llm"] = "CoT", {"temperature": 0, "model": "big"}
    found = parse_tournament(content, "f")
    assert found.types == ("big CoT llm.temperature=1", "big CoT llm.temperature=0")
    assert list(means_of(found).values()) == [0.5, 10.5]
    content["profile"][1]["players"][1]["llm"] = {"model": "big", "temperature": 0.0}
    assert parse_tournament(content, "f").types == found.types


def test_seat_bound_fields_can_be_left_out_of_the_identity() -> None:
    content = duel()
    for entry in content["profile"]:
        for seat, player in enumerate(entry["players"]):
            player["uid"] = f"seat-{seat}"
    with pytest.raises(UsageError, match="never played"):
        tensor_of(parse_tournament(content, "f"))
    assert means_of(parse_tournament(content, "f", ignore=("player_id", "uid"))) == MEANS


def test_labels_are_distinct_whatever_the_configurations() -> None:
    odd: list[dict[str, object]] = [{}, {"a": "1"}, {"a": 1}, {"model": "m"}, {"model": "m", "a": "-"}, {"model": ""}]
    found = labels({identity(configuration): configuration for configuration in odd})
    assert len(set(found.values())) == len(odd)


def broken(path: str, value: Any) -> dict[str, Any]:
    content = duel()
    place: Any = content
    *steps, last = [int(s) if s.isdigit() else s for s in path.split("/")]
    for step in steps:
        place = place[step]
    place[last] = value
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (3, "f: profile: must be a list"),
        ([], "f: profile: must be a list of at least one profile (found 'an empty list')"),
        ({"profiles": []}, "f: profile: missing"),
        (broken("discount", 1.2), "f: discount: must be null or a number from 0 to 1 (found 1.2)"),
        (broken("discount", "none"), "f: discount: must be null or a number from 0 to 1 (found 'none')"),
        (broken("discount", True), "f: discount: must be"),
        (
            broken("profile/1", 5),
            "f: profile[1]: must be an object with players and payoffs, or with player and points "
            "(it is no object) (found 5)",
        ),
        (broken("profile/1/discount", 0.5), "f: profile[1].discount: profiles cannot"),
        (broken("profile/1/players", []), "f: profile[1].players: must be a list"),
        (broken("profile/1/players/0", "m"), "f: profile[1].players: must be a list"),
        (broken("profile/1/payoffs", None), "f: profile[1].payoffs: must be a list of matches (found 'null')"),
        (broken("profile/1/payoffs/0", []), "f: profile[1].payoffs[match 0]: must be a list of at least one"),
        (broken("profile/1/payoffs/0", [1.0, 2.0]), "f: profile[1].payoffs[match 0][round 0]: must be a list"),
        (broken("profile/1/payoffs/0/0", [1.0]), "f: profile[1].payoffs[match 0][round 0]: has 1 payoffs for 2"),
        (broken("profile/1/payoffs/0/0", None), "f: profile[1].payoffs[match 0][round 0]: must be a list"),
        (broken("profile/1/payoffs/0/0/1", "2"), "[match 0][round 0][seat 1]: must be a finite number (found '2')"),
        (broken("profile/1/payoffs/0/0/1", True), "[round 0][seat 1]: must be a finite number"),
        (broken("profile/1/payoffs/0/0/1", float("inf")), "[round 0][seat 1]: must be a finite number"),
        (broken("profile/1/payoffs/0/0/1", 10**400), "[round 0][seat 1]: must be a finite number"),
        ([duel()["profile"][0] | {"payoffs": []}], "f: profile: holds no match"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(content: object, message: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_tournament(copy.deepcopy(content), "f")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_reading_from_disk(tmp_path: Path) -> None:
    file = tmp_path / "payoffs.json"
    file.write_text(json.dumps(duel()), encoding="utf-8")
    assert means_of(read_tournament(file)) == MEANS
    for text, message in [
        ("{", "is not JSON"),
        ('{"discount": 0.8, "discount": 0.9, "profile": []}', "discount: the key stands twice"),
        ('[{"players": [{}], "payoffs": [[[NaN]]]}]', "not a finite number"),
        ("[" * 100_000, "nested too deeply"),
    ]:
        file.write_text(text, encoding="utf-8")
        with pytest.raises(StudyError, match=message):
            read_tournament(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StudyError, match="is not UTF-8"):
        read_tournament(file)
    with pytest.raises(StudyError, match="cannot be read"):
        read_tournament(tmp_path / "absent.json")
    with pytest.raises(UsageError, match="unknown seat order"):
        parse_tournament(duel(), "f", seats="sideways")  # type: ignore[arg-type]
