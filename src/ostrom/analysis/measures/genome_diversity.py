"""Diversity of genomes: how different the instructions of a population are."""

from ostrom.analysis.measure import Measure
from ostrom.features.lineages.genomes import diversity, populations

MEASURE = Measure(
    name="genome_diversity",
    title="Diversity of instructions",
    scale="share",
    definition=(
        "In a population of instructions: the mean share of words that two members' instructions do not have in common "
        "(1 - Jaccard similarity)."
    ),
    needs=("matches.facts",),
    values=lambda data: [{"match": one.match, "value": diversity(one.genomes)} for one in populations(data)],
)
