"""Societies on networks, computed by hand: links over time, clusters of cooperators, and who meets whom."""

from typing import Any

import pytest

from ostrom.features.societies.charts.network import NetworkOverTime, _picked
from ostrom.features.societies.networks import (
    Seen,
    assortment,
    clusters,
    largest_cluster,
    links_over_time,
    mean_cluster,
)


def seen(links: set[tuple[int, int]], **cooperates: bool | None) -> Seen:
    """A round in which players ``p1``, ``p2``... did so."""
    did = {int(player[1:]): value for player, value in cooperates.items()}
    return Seen(0, 1, frozenset(links), did, dict.fromkeys(did, "a"), dict.fromkeys(did, "x"))


def test_a_change_of_links_counts_from_the_round_after_it() -> None:
    facts: dict[str, Any] = {
        "links": [[0, 1], [1, 2]],
        "changes": [[1, "cut", 0, 1], [2, "add", 0, 2], [2, "cut", 1, 2]],
    }
    before = links_over_time(facts)
    assert [sorted(before(number)) for number in (1, 2, 2, 3, 4)] == [
        [(1, 2), (2, 3)], [(2, 3)], [(2, 3)], [(1, 3)], [(1, 3)],
    ]  # fmt: skip
    assert len(facts["changes"]) == 3, "what was read stays as it is"


def test_neighbours_are_those_who_acted() -> None:
    assert seen({(1, 2), (2, 3), (3, 1)}, p1=True, p2=False).around() == {1: {2}, 2: {1}}
    assert seen({(3, 1)}, p1=True).around() == {1: set()} == seen({(1, 3)}, p1=True).around()


CHAIN = {(1, 2), (2, 3), (3, 4), (4, 5)}


@pytest.mark.parametrize(
    ("did", "sizes", "mean", "largest", "assorted"),
    [
        ({"p1": True, "p2": False, "p3": True, "p4": True, "p5": True}, [3, 1], 2.0, 3 / 5, 5 / 8 - 1),
        ({"p1": True, "p2": True, "p3": False, "p4": False}, [2], 2.0, 1 / 2, 3 / 4 - 1 / 4),
        ({"p1": False, "p2": False}, [], None, 0.0, None),
        ({"p1": True, "p2": True}, [2], 2.0, 1.0, None),
        # An action that is neither is no cooperation, and nobody's own share.
        ({"p1": True, "p2": None, "p3": False}, [1], 1.0, 1 / 3, 0.0),
        # Without a neighbour nobody meets anybody.
        ({"p1": True, "p2": True, "p3": False, "p5": False}, [2], 2.0, 1 / 2, 3 / 4 - 1),
        ({"p1": True, "p3": False}, [1], 1.0, 1 / 2, None),
    ],
)
def test_clusters_and_assortment_on_a_chain(
    did: dict[str, bool | None], sizes: list[int], mean: float | None, largest: float, assorted: float | None
) -> None:
    society = seen(CHAIN, **did)
    assert clusters(society) == sizes and mean_cluster(society) == mean
    assert largest_cluster(society) == largest and assortment(society) == assorted


@pytest.mark.parametrize(
    "given", [{"matches": 1}, {"matches": 12}, {"rounds": [1]}, {"rounds": [1] * 8}, {"colour": "type"}]
)
def test_what_can_be_drawn(given: dict[str, Any]) -> None:
    assert NetworkOverTime(**given).title == "The network over time"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"matches": 0}, "1 and 12"), ({"matches": 13}, "1 and 12"), ({"rounds": []}, "1 to 8 rounds"),
        ({"rounds": [1] * 9}, "1 to 8 rounds"), ({"rounds": "12"}, "1 to 8 rounds"),
        ({"colour": "red"}, "action or type"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        NetworkOverTime(**given)


def test_rounds_that_are_asked_for_and_played_are_drawn_or_four_or_the_last() -> None:
    assert _picked([1, 2, 3], [3, 9, 1]) == [3, 1] and _picked([1, 2, 3], [9]) == [3]
    assert _picked(range(1, 11), None) == [1, 4, 7, 10]


def test_a_member_is_what_it_did_or_what_it_plays_as() -> None:
    society = seen(CHAIN, p1=True, p2=False, p3=None)
    action, kind = NetworkOverTime(), NetworkOverTime(colour="type")
    assert [action._is(society, player) for player in (1, 2, 3, 4)] == [
        "cooperates", "does not cooperate", "does not cooperate", "sits out",
    ]  # fmt: skip
    assert [kind._is(society, player) for player in (1, 4)] == ["x", "sits out"]
