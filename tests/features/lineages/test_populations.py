"""Populations of instructions, computed by hand: ancestors, words that stay, bins, and sentences that spread."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.features.lineages import populations as module
from ostrom.features.lineages.populations import (
    BINS,
    FamilyTree,
    Population,
    _history,
    diversity,
    scores_at_similarity,
    similarity,
    spreading_sentences,
)


def row(generation: int, genomes: list[list[str]], parents: list[int] | None = None) -> dict[str, Any]:
    facts: dict[str, Any] = {"genomes": genomes}
    if parents is not None:
        facts["next"] = {"parents": parents}
    return {
        "match": 10 + generation, "generation": str(generation), "seed": 7, "observers": None,
        "facts": json.dumps(facts),
    }  # fmt: skip


A, B, C = ["Be kind."], ["Be fair."], ["Win."]
CHAIN = [row(0, [A, B, C], [1, 1, 2]), row(1, [B, B, C], [2, 0, 0]), row(2, [C, B, A])]


def test_a_founder_is_the_ancestor_of_the_ancestor() -> None:
    first, second, third = _history(10, CHAIN)
    assert (first.parents, first.founders) == ((0, 1, 2), (0, 1, 2))
    assert (second.parents, second.founders) == ((1, 1, 2), (1, 1, 2))
    assert (third.parents, third.founders) == ((2, 0, 0), (2, 1, 1))
    assert third.begun == (tuple(A), tuple(B), tuple(C)) and third.observers == ""
    assert [third.similarity(member) for member in range(3)] == [1.0, 1.0, pytest.approx(1 / 3)]


@pytest.mark.parametrize(
    ("rows", "generations"),
    [
        ([], 0),
        (CHAIN[1:], 0),  # the first generation is not finished
        ([CHAIN[0], CHAIN[2]], 1),
        ([CHAIN[0], row(1, [A, A, A]), CHAIN[2]], 2),  # nobody follows
        ([{**CHAIN[0], "facts": "{}"}], 0),
    ],
)
def test_a_history_ends_where_a_generation_is_missing(rows: list[dict[str, Any]], generations: int) -> None:
    assert [one.generation for one in _history(10, rows)] == list(range(generations))


def test_words_are_compared_whatever_their_case_and_marks() -> None:
    assert similarity(["BE kind!", "don't"], ["kind", "be (don't)"]) == 1.0
    assert similarity([], []) == 1.0 and similarity([], A) == 0.0
    assert diversity([A]) == diversity([]) == 0.0 and diversity([A, C]) == 1.0
    assert diversity([A, A, B, B]) == pytest.approx(4 * (2 / 3) / 6)


def population(generation: int, genomes: list[list[str]], begun: list[list[str]]) -> Population:
    frozen = tuple(map(tuple, genomes))
    places = tuple(range(len(genomes)))
    return Population(10 + generation, 10, generation, frozen, places, places, tuple(map(tuple, begun)), 7, "")


def test_scores_stand_in_four_bins_of_similarity(monkeypatch: pytest.MonkeyPatch) -> None:
    founder = ["a b c d"]
    genomes = [founder, ["a b c"], ["a b"], ["a"], ["x"], ["a b c d"], ["a b x"]]  # the last shares 2 words of 5
    one = population(0, genomes, [founder] * 7)
    monkeypatch.setattr(module, "populations", lambda _: [one])
    rows = [{"match": 10, "player": player, "score": float(player)} for player in range(1, 8)]
    found = list(scores_at_similarity(SimpleNamespace(records=lambda _: rows)))  # type: ignore[arg-type]
    assert [(each["similarity"], each["value"], each["weight"]) for each in found] == [
        (BINS[0], 5.0, 1), (BINS[1], (4 + 7) / 2, 2), (BINS[2], 3.0, 1), (BINS[3], (1 + 2 + 6) / 3, 3),
    ]  # fmt: skip


def test_the_sentences_of_most_members_are_named_with_their_first_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = [["x", "x"], ["y"]]
    chain = [population(0, begun, begun), population(1, [["x", "z"], ["z"]], begun)]
    other = [population(0, [["y"], ["y"]], begun), population(1, [["y"], ["z"]], begun)]
    monkeypatch.setattr(module, "populations_by_cell", lambda _: {"cell": [chain, other]})
    found = spreading_sentences(SimpleNamespace(), 2)  # type: ignore[arg-type]
    assert [tuple(each) for each in found] == [("cell", "z", 1, 0.0, 3 / 4), ("cell", "x", 0, 1 / 4, 1 / 4)]


@pytest.mark.parametrize(("trees", "fits"), [(0, False), (1, True), (12, True), (13, False)])
def test_one_to_twelve_trees_are_drawn(trees: int, fits: bool) -> None:
    if fits:
        assert FamilyTree(trees).trees == trees
    else:
        with pytest.raises(ValueError, match=rf"between 1 and 12 \(found {trees}\)"):
            FamilyTree(trees)
