"""Genomes of a run as analysis reads them: who carried which instruction, and whose descendant it was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from ostrom.analysis.units import histories
from ostrom.data.rundata import RunData

BINS = ("below 25 %", "25 to 50 %", "50 to 75 %", "75 % and more")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


@dataclass(frozen=True, slots=True)
class Population:
    """One generation: its genomes, the place of each member's parent and of its founding ancestor."""

    match: int
    first: int
    """The match of the first generation, which tells populations apart."""
    generation: int
    genomes: tuple[tuple[str, ...], ...]
    parents: tuple[int, ...]
    founders: tuple[int, ...]
    begun: tuple[tuple[str, ...], ...]
    """The genomes of the first generation."""
    seed: int
    observers: str
    """Who paraphrased for all members; empty where they did it themselves."""

    def similarity(self, member: int) -> float:
        """How much of its founding ancestor's words a member's instruction still has."""
        return similarity(self.genomes[member], self.begun[self.founders[member]])


def populations(data: RunData) -> Iterator[Population]:
    """Every generation of every population, history by history."""
    if "generation" not in data.columns("matches"):
        return
    rows = data.records(
        "SELECT match, generation, seed, facts, o.observers FROM matches LEFT JOIN ("
        "SELECT match, string_agg(agent, ', ' ORDER BY player) AS observers FROM matches WHERE seat IS NULL "
        "GROUP BY match) o USING (match) "
        "WHERE player = 1 AND state = 'done' AND facts IS NOT NULL ORDER BY match"
    )
    firsts = histories(data)
    chains: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        if row["match"] in firsts:
            chains.setdefault(firsts[row["match"]], []).append(row)
    for first, generations in chains.items():
        yield from _history(first, sorted(generations, key=lambda row: int(row["generation"])))


def _history(first: int, rows: Sequence[Mapping[str, Any]]) -> Iterator[Population]:
    begun: tuple[tuple[str, ...], ...] = ()
    ancestors: list[int] = []
    parents: list[int] = []
    for expected, row in enumerate(rows):
        facts = orjson.loads(row["facts"])
        if "genomes" not in facts or int(row["generation"]) != expected:
            return
        genomes = tuple(tuple(genome) for genome in facts["genomes"])
        if not expected:
            begun, ancestors, parents = genomes, list(range(len(genomes))), list(range(len(genomes)))
        yield Population(
            row["match"],
            first,
            expected,
            genomes,
            tuple(parents),
            tuple(ancestors),
            begun,
            row["seed"],
            row["observers"] or "",
        )
        if "next" not in facts:
            return
        parents = facts["next"]["parents"]
        ancestors = [ancestors[p] for p in parents]


def words_of(genome: Sequence[str]) -> frozenset[str]:
    """The words of an instruction, in small letters."""
    return frozenset(word.casefold() for sentence in genome for word in _WORD.findall(sentence))


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """The words that two instructions share, of all that either has (Jaccard).

    >>> similarity(["Be kind."], ["Be fair."])
    0.3333333333333333
    """
    a, b = words_of(one), words_of(other)
    return len(a & b) / len(a | b) if a | b else 1.0


def diversity(genomes: Sequence[Sequence[str]]) -> float:
    """The mean distance (1 - similarity) of two members drawn at random.

    >>> round(diversity([["Be kind."], ["Be kind."], ["Be fair."]]), 3)
    0.444
    """
    counts: dict[frozenset[str], int] = {}
    for genome in genomes:
        words = words_of(genome)
        counts[words] = counts.get(words, 0) + 1
    kinds, total = [*counts.items()], 0.0
    for place, (a, n) in enumerate(kinds):
        for b, m in kinds[place + 1 :]:
            total += n * m * (1 - (len(a & b) / len(a | b) if a | b else 1.0))
    pairs = len(genomes) * (len(genomes) - 1) / 2
    return total / pairs if pairs else 0.0


def diversities(data: RunData) -> Iterable[Mapping[str, Any]]:
    """The diversity of every generation."""
    return [{"match": one.match, "value": diversity(one.genomes)} for one in populations(data)]


def similarities(data: RunData) -> Iterable[Mapping[str, Any]]:
    """The mean similarity of members to their founding ancestors, by generation."""
    return [
        {"match": one.match, "value": sum(map(one.similarity, range(len(one.genomes)))) / len(one.genomes)}
        for one in populations(data)
    ]


def lineages(data: RunData) -> Iterable[Mapping[str, Any]]:
    """How many founders have descendants in every generation."""
    return [{"match": one.match, "value": len(set(one.founders))} for one in populations(data)]


def scores_at_similarity(data: RunData) -> Iterable[Mapping[str, Any]]:
    """The mean score of members whose instructions have changed equally much, in four bins."""
    scores: dict[int, dict[int, float]] = {}
    for row in data.records(
        "SELECT match, player, score FROM matches WHERE score IS NOT NULL AND seat IS NOT NULL"
    ):
        scores.setdefault(row["match"], {})[row["player"] - 1] = row["score"]
    rows = []
    for one in populations(data):
        by_bin: dict[str, list[float]] = {}
        for member in range(len(one.genomes)):
            # A share of exactly 1 belongs to the last bin; rounding up keeps 0.75 there too.
            place = min(3, int(one.similarity(member) * 4 + 1e-9))
            by_bin.setdefault(BINS[place], []).append(scores[one.match][member])
        rows += [
            {"match": one.match, "similarity": name, "value": sum(of) / len(of), "weight": len(of)}
            for name, of in sorted(by_bin.items(), key=lambda pair: BINS.index(pair[0]))
        ]
    return rows
