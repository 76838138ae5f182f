"""Lineages: how many founders have living descendants."""

from ostrom.analysis.measure import Measure
from ostrom.features.lineages.genomes import populations

MEASURE = Measure(
    name="lineages",
    title="Founders with descendants",
    scale="count",
    definition="In a population of instructions: how many members of the first generation have descendants.",
    needs=("matches.facts",),
    values=lambda data: [{"match": one.match, "value": len(set(one.founders))} for one in populations(data)],
)
