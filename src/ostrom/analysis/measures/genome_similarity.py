"""Similarity to the beginning: how much of the founding instructions is left."""

from ostrom.analysis.measure import Measure
from ostrom.features.lineages.genomes import populations

MEASURE = Measure(
    name="genome_similarity",
    title="Similarity to the founding instruction",
    scale="share",
    definition=(
        "In a population of instructions: the mean share of words that a member's instruction has in common with that "
        "of its ancestor in the first generation (Jaccard similarity)."
    ),
    needs=("matches.facts",),
    values=lambda data: [
        {"match": one.match, "value": sum(map(one.similarity, range(len(one.genomes)))) / len(one.genomes)}
        for one in populations(data)
    ],
)
