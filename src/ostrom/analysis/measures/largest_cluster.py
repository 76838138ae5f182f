"""The largest cluster: how much of a society the largest connected group of cooperators is."""

from ostrom.analysis.measure import Measure
from ostrom.features.societies.networks import Seen, by_round, clusters


def largest(seen: Seen) -> float:
    """The share of those who acted."""
    return max(clusters(seen), default=0) / len(seen.action)


MEASURE = Measure(
    name="largest_cluster",
    title="Share of the largest cluster of cooperators",
    scale="share",
    definition=(
        "In a society on a network, by round: the share of all members who belong to the largest group of cooperators "
        "that links hold together."
    ),
    needs=("matches.facts", "decisions.cooperative"),
    values=by_round(largest),
    columns=("round",),
)
