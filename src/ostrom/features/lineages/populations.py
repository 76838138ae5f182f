"""Populations of instructions: who descends from whom, and which sentences spread."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from ostrom.data.rundata import RunData
from ostrom.features.lineages.genomes import Population, populations
from ostrom.reports.cells import varied
from ostrom.reports.layout import JOINT, cell_label
from ostrom.reports.marks import import_altair
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MOST_COLOURS, colours
from ostrom.reports.words import shortened

WIDTH = 420


def populations_by_cell(data: RunData) -> dict[str, list[list[Population]]]:
    """The generations of every population, under what its cell is called.

    Where several agents paraphrase, each for populations of its own, the name says who did.
    """
    chains: dict[int, list[Population]] = {}
    for one in populations(data):
        chains.setdefault(one.first, []).append(one)
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
    """For every cell the sentences that most members of its last generations carry, over all replicates."""
    made = []
    for label, histories in populations_by_cell(data).items():
        first, last, since, members = Counter[str](), Counter[str](), dict[str, int](), 0
        for chain in histories:
            members += len(chain[0].genomes)
            first.update(s for genome in chain[0].genomes for s in set(genome))
            last.update(s for genome in chain[-1].genomes for s in set(genome))
            for one in chain:
                for sentence in {s for genome in one.genomes for s in genome}:
                    since[sentence] = min(since.get(sentence, one.generation), one.generation)
        top = sorted(last, key=lambda s: (-last[s], s))[:most]
        made += [SpreadSentence(label, s, since[s], first[s] / members, last[s] / members) for s in top]
    return made


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
        """Lines from parents to children, and how many descend from each founding instruction."""
        cells = populations_by_cell(data)
        if not cells:
            return Drawn(notes=["No finished match has a population of instructions."])
        alt, drawn, rows = import_altair(), [], []
        for label, (chain, *_) in [*cells.items()][: self.trees]:
            texts = list(dict.fromkeys(" ".join(genome) for genome in chain[0].begun))
            of = [texts.index(" ".join(genome)) for genome in chain[0].begun]
            tones = colours(texts) if len(texts) <= MOST_COLOURS else colours(range(len(texts)), ordered=True)
            title = JOINT.join(filter(None, [label, f"seed {chain[0].seed}"]))
            drawn.append(_tree(alt, chain, of, [shortened(text, 60) for text in texts], tones, title))
            for one in chain:
                counts = [0] * len(texts)
                for founder in one.founders:
                    counts[of[founder]] += 1
                rows += [[label, one.generation, text, n] for text, n in zip(texts, counts, strict=True) if n]
        figure = Figure(
            "family_tree",
            alt.vconcat(*drawn, spacing=18),
            "Each point is a member, each line leads from parent to child; colours are the founding instructions. "
            "Members stand in the order of their founders. One population per cell, that of the first replicate.",
            f"Family trees of {len(drawn)} populations.",
        )
        table = Table(
            "family_tree", ["cell", "generation", "founding instruction", "members"], rows, "Descendants.", 60
        )
        return Drawn([figure], [table])


def _tree(
    alt: Any, chain: list[Population], of: list[int], texts: list[str], tones: list[str], title: str
) -> Any:
    height: dict[tuple[int, int], int] = {}
    for one in chain:
        order = sorted(range(len(one.genomes)), key=lambda m: (of[one.founders[m]], one.founders[m], m))
        height.update({(one.generation, member): place for place, member in enumerate(order)})
    points, lines = [], []
    for one in chain:
        for member, parent in enumerate(one.parents):
            of_text = texts[of[one.founders[member]]]
            y = height[one.generation, member]
            points.append({"x": one.generation, "y": y, "of": of_text})
            if one.generation:
                before = height[one.generation - 1, parent]
                lines.append(
                    {"x": one.generation - 1, "y": before, "x2": one.generation, "y2": y, "of": of_text}
                )
    tone = alt.Color(
        "of:N", title=None, scale=alt.Scale(domain=texts, range=tones),
        legend=alt.Legend(columns=1) if len(texts) <= MOST_COLOURS else None,
    )  # fmt: skip
    up = alt.Y("y:Q", axis=None)
    ticks = list(range(0, len(chain), 1 + len(chain) // 12))  # whole generations, at most twelve
    across = alt.X("x:Q", title="generation", axis=alt.Axis(values=ticks, format="d", grid=False))
    layers = [
        alt.Chart(alt.Data(values=points))
        .mark_point(filled=True, size=14, opacity=1)
        .encode(across, up, tone)
    ]
    if lines:
        rules = alt.Chart(alt.Data(values=lines)).mark_rule(strokeWidth=0.8, opacity=0.6)
        layers.insert(0, rules.encode(across, up, tone, x2="x2:Q", y2="y2:Q"))
    size = max(60, min(240, 5 * len(chain[0].genomes)))
    return alt.layer(*layers).properties(width=WIDTH, height=size, title=title)
