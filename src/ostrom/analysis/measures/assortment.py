"""Assortment: whether cooperators have cooperators for neighbours."""

from ostrom.analysis.measure import Measure
from ostrom.features.societies.networks import assortment, by_round

MEASURE = Measure(
    name="assortment",
    title="Assortment of cooperators",
    scale="number",
    definition=(
        "In a society on a network, by round: the mean share of cooperators among a cooperator's neighbours minus that "
        "among the neighbours of the others. Rounds in which all do the same have no value."
    ),
    needs=("matches.facts", "decisions.cooperative"),
    values=by_round(assortment),
    bounds=(-1.0, 1.0),
    columns=("round",),
)
