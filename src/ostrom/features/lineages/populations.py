"""Populations of instructions: descent of members, and the spread of sentences."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import orjson

from ostrom.analysis.units import histories
from ostrom.data.rundata import RunData
from ostrom.ground.values import grouped
from ostrom.reports.canvas import Canvas, Spec, drawing
from ostrom.reports.cells import varied
from ostrom.reports.layout import JOINT, cell_label
from ostrom.reports.marks import grid, marks, quantity, tinted, view
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MOST_COLOURS, colours
from ostrom.reports.words import shortened

BINS = ("below 25 %", "25 to 50 %", "50 to 75 %", "75 % and more")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


@dataclass(frozen=True, slots=True)
class Population:
    """One generation: its genomes, the place of each member's parent and of its founding ancestor."""

    match: int
    first: int
    """The number of the first generation's match, which identifies the population."""
    generation: int
    genomes: tuple[tuple[str, ...], ...]
    parents: tuple[int, ...]
    founders: tuple[int, ...]
    begun: tuple[tuple[str, ...], ...]
    """The instructions of the first generation."""
    seed: int
    observers: str
    """The agent that paraphrased for all members; empty if members paraphrase themselves."""
    designs: Sequence[Sequence[int]] = ()
    """The proposals of the members, where they carry mediators or contracts."""

    def similarity(self, member: int) -> float:
        """Return the similarity between a member's instruction and that of its founding ancestor."""
        return similarity(self.genomes[member], self.begun[self.founders[member]])


def populations(data: RunData) -> Iterator[Population]:
    """Yield every generation of every population, one population after the other."""
    if "generation" not in data.columns("matches"):
        return
    rows = data.records(
        "SELECT match, generation, seed, facts, o.observers FROM matches LEFT JOIN ("
        "SELECT match, string_agg(agent, ', ' ORDER BY player) AS observers FROM matches WHERE seat IS NULL "
        "GROUP BY match) o USING (match) "
        "WHERE player = 1 AND state = 'done' AND facts IS NOT NULL ORDER BY match"
    )
    firsts = histories(data)
    for first, generations in grouped((firsts[row["match"]], row) for row in rows if row["match"] in firsts).items():
        yield from _history(first, sorted(generations, key=lambda row: int(row["generation"])))


def _history(first: int, rows: Sequence[Mapping[str, Any]]) -> Iterator[Population]:
    begun: tuple[tuple[str, ...], ...] = ()
    ancestors, parents = list[int](), list[int]()
    for expected, row in enumerate(rows):
        facts = orjson.loads(row["facts"])
        if "genomes" not in facts or int(row["generation"]) != expected:
            return
        genomes = tuple(map(tuple, facts["genomes"]))
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
            facts.get("designs") or (),
        )
        if "next" not in facts:
            return
        parents = facts["next"]["parents"]
        ancestors = [ancestors[p] for p in parents]


def words_of(genome: Sequence[str]) -> frozenset[str]:
    """Return the set of words of an instruction, in lower case."""
    return frozenset(word.casefold() for sentence in genome for word in _WORD.findall(sentence))


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the Jaccard similarity of two instructions: shared words over all words of either.

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
    total = sum(
        n * m * (1 - (len(a & b) / len(a | b) if a | b else 1.0))
        for (a, n), (b, m) in combinations(Counter(map(words_of, genomes)).items(), 2)
    )
    pairs = len(genomes) * (len(genomes) - 1) / 2
    return total / pairs if pairs else 0.0


def diversities(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Return the diversity of every generation."""
    return [{"match": one.match, "value": diversity(one.genomes)} for one in populations(data)]


def similarities(data: RunData) -> Iterable[Mapping[str, Any]]:
    """The mean similarity of members to their founding ancestors, by generation."""
    return [
        {"match": one.match, "value": sum(map(one.similarity, range(len(one.genomes)))) / len(one.genomes)}
        for one in populations(data)
    ]


def lineages(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Return the number of founders that have descendants, for every generation."""
    return [{"match": one.match, "value": len(set(one.founders))} for one in populations(data)]


def stable_designs(data: RunData) -> Iterable[Mapping[str, Any]]:
    """The share of members whose design makes full cooperation an equilibrium, in every generation."""
    for one in populations(data):
        if one.designs:
            unit = data.unit(one.match)
            stable = [unit.mechanism.rules.stable(unit.game, design) for design in one.designs]  # type: ignore[attr-defined]
            yield {"match": one.match, "value": sum(stable) / len(stable)}


def scores_at_similarity(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Return the mean score of members by the similarity to their ancestor, in four bins."""
    scores = {
        (row["match"], row["player"] - 1): row["score"]
        for row in data.records("SELECT match, player, score FROM matches WHERE score IS NOT NULL AND seat IS NOT NULL")
    }
    # A similarity of exactly 1 belongs to the last bin; rounding up keeps 0.75 there too.
    bins = grouped(
        ((one.match, min(3, int(one.similarity(member) * 4 + 1e-9))), scores[one.match, member])
        for one in populations(data)
        for member in range(len(one.genomes))
    )
    places = {match: place for place, (match, _) in enumerate(bins)}
    return [
        {"match": match, "similarity": BINS[bin], "value": sum(of) / len(of), "weight": len(of)}
        for (match, bin), of in sorted(bins.items(), key=lambda item: (places[item[0][0]], item[0][1]))
    ]


WIDTH = 420


def populations_by_cell(data: RunData) -> dict[str, list[list[Population]]]:
    """Return the generations of every population, by the label of its cell.

    If different agents paraphrase in different populations, the label also names the agent.
    """
    chains = grouped((one.first, one) for one in populations(data))
    heads = {row["match"]: row for row in data.records("SELECT * FROM matches WHERE player = 1")}
    names, observers = varied(data), {chain[0].observers for chain in chains.values()}
    cells: dict[str, list[list[Population]]] = {}
    for first, chain in chains.items():
        by = f"paraphrased by {chain[0].observers}" if len(observers) > 1 else ""
        cells.setdefault(JOINT.join(filter(None, [cell_label(heads[first], names), by])), []).append(chain)
    return cells


class SpreadSentence(NamedTuple):
    """A sentence: its cell, the first generation that has it, and the share of members at both ends."""

    cell: str
    sentence: str
    since: int
    first: float
    last: float


def spreading_sentences(data: RunData, most: int) -> list[SpreadSentence]:
    """Return for each cell the sentences most frequent in its last generations, over all replicates."""
    rows = []
    for label, chains in populations_by_cell(data).items():
        first, last, since, members = Counter[str](), Counter[str](), dict[str, int](), 0
        for chain in chains:
            members += len(chain[0].genomes)
            first.update(s for genome in chain[0].genomes for s in set(genome))
            last.update(s for genome in chain[-1].genomes for s in set(genome))
            for sentence, number in ((s, one.generation) for one in chain for genome in one.genomes for s in genome):
                since[sentence] = min(since.get(sentence, number), number)
        rows += [
            SpreadSentence(label, s, since[s], first[s] / members, last[s] / members)
            for s in sorted(last, key=lambda s: (-last[s], s))[:most]
        ]
    return rows


class FamilyTree(Panel):
    """One tree per cell, of its first replicate; at most ``trees`` of them.

    Members are drawn in the order of their founding instructions: a colour that widens is a lineage that spreads.
    """

    title = "Family trees"

    def __init__(self, trees: int = 3) -> None:
        if not 1 <= trees <= 12:
            raise ValueError(f"trees must lie between 1 and 12 (found {trees})")
        self.trees = trees

    def draw(self, data: RunData) -> Drawn:
        """Draw lines from parents to children, and a table of the descendants of each founder."""
        cells = populations_by_cell(data)
        if not cells:
            return Drawn(notes=["No finished match has a population of instructions."])
        trees, rows = [], []
        for label, (chain, *_) in [*cells.items()][: self.trees]:
            texts = list(dict.fromkeys(" ".join(genome) for genome in chain[0].begun))
            of = [texts.index(" ".join(genome)) for genome in chain[0].begun]
            tones = colours(texts) if len(texts) <= MOST_COLOURS else colours(range(len(texts)), ordered=True)
            title = JOINT.join(filter(None, [label, f"seed {chain[0].seed}"]))
            trees.append((chain, of, [shortened(text, 60) for text in texts], tones, title))
            for one in chain:
                rows += [
                    [label, one.generation, texts[place], n]
                    for place, n in sorted(Counter(of[founder] for founder in one.founders).items())
                ]
        figure = Figure(
            "family_tree",
            _trees(trees),
            "Each point is a member, each line leads from parent to child; colours are the founding instructions. "
            "Members stand in the order of their founders. One population per cell, that of the first replicate.",
            f"Family trees of {len(trees)} populations.",
        )
        return Drawn(
            [figure],
            [Table("family_tree", ["cell", "generation", "founding instruction", "members"], rows, "Descendants.", 60)],
        )


@drawing
def _trees(canvas: Canvas, trees: Sequence[tuple[list[Population], list[int], list[str], list[str], str]]) -> Spec:
    return grid([_tree(canvas, *tree) for tree in trees], 1, spacing=18)


def _tree(
    canvas: Canvas, chain: list[Population], of: list[int], texts: list[str], tones: list[str], title: str
) -> Spec:
    height: dict[tuple[int, int], int] = {}
    for one in chain:
        order = sorted(range(len(one.genomes)), key=lambda m: (of[one.founders[m]], one.founders[m], m))
        height.update({(one.generation, member): place for place, member in enumerate(order)})
    points, lines = [], []
    for one, member, parent in ((each, *pair) for each in chain for pair in enumerate(each.parents)):
        point = {"x": one.generation, "y": height[one.generation, member], "of": texts[of[one.founders[member]]]}
        points.append(point)
        if one.generation:
            before = {"x": one.generation - 1, "y": height[one.generation - 1, parent]}
            lines.append({**before, "x2": point["x"], "y2": point["y"], "of": point["of"]})
    ticks = list(range(0, len(chain), 1 + len(chain) // 12))  # ticks at whole generations, at most twelve
    legend = {**canvas.legend(texts, title=None), "columns": 1} if len(texts) <= MOST_COLOURS else None
    shared = {
        "x": quantity("x", title="generation", axis={"values": ticks, "format": "d", "grid": False}),
        "y": quantity("y", axis=None),
        "color": tinted("of", dict(zip(texts, tones, strict=True)), legend),
    }
    ends = {**shared, "x2": {"field": "x2"}, "y2": {"field": "y2"}}
    layers = [
        *([marks("rule", ends, lines, strokeWidth=0.8, opacity=0.6)] if lines else []),
        marks("point", shared, points, filled=True, size=14, opacity=1),
    ]
    size = max(60, min(240, 5 * len(chain[0].genomes)))
    width = min(WIDTH, canvas.width - 30)
    return view(layers, width, size, canvas.title(title, width, bold=True))
