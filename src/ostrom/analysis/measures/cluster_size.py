"""Size of clusters: how large connected groups of cooperators are."""

from ostrom.analysis.measure import Measure
from ostrom.features.societies.networks import Seen, by_round, clusters


def mean_size(seen: Seen) -> float | None:
    """The mean size of a cluster; None where nobody cooperates."""
    sizes = clusters(seen)
    return sum(sizes) / len(sizes) if sizes else None


MEASURE = Measure(
    name="cluster_size",
    title="Members of a cluster of cooperators",
    scale="count",
    definition=(
        "In a society on a network, by round: the mean number of members of the groups of cooperators that links hold "
        "together. Rounds without cooperators have no value."
    ),
    needs=("matches.facts", "decisions.cooperative"),
    values=by_round(mean_size),
    columns=("round",),
)
