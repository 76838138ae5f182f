"""Populations of instructions by the cell of the study that they evolved in."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.features.lineages.genomes import Population, populations
from ostrom.reports.cells import varied
from ostrom.reports.layout import JOINT, cell_label


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
