"""Norms: whether, and from when on, nearly all do the same."""

from ostrom.analysis.measure import Measure

MOST = 0.9

ALIKE = (
    "acts AS (SELECT match, round, action, count(*) AS n FROM decisions WHERE kind = 'act' AND action IS NOT NULL "
    "GROUP BY ALL), tops AS (SELECT match, round, arg_max(action, n ORDER BY action) AS action, "
    "max(n) / sum(n)::DOUBLE AS share FROM acts GROUP BY match, round), ends AS (SELECT match, max(round) AS rounds, "
    "arg_max(action, round) AS action FROM tops GROUP BY match)"
)


def measure(name: str, title: str, scale: str, definition: str, value: str) -> Measure:
    """A measure of the first round from which on at least nine tenths do what is done in the last round."""
    return Measure(
        name=name,
        title=title,
        scale=scale,  # type: ignore[arg-type]
        definition=definition,
        needs=("decisions.action",),
        values=(
            f"WITH {ALIKE}, breaks AS (SELECT e.match, e.rounds, coalesce(max(t.round) FILTER "
            f"(t.share < {MOST} OR t.action <> e.action), 0) AS broken FROM ends e JOIN tops t ON t.match = e.match "
            f"GROUP BY e.match, e.rounds) SELECT match, {value} AS value FROM breaks ORDER BY match"
        ),
    )


MEASURE = measure(
    "norm",
    "Matches with a norm",
    "share",
    "Whether a norm has emerged by the end of a match: at least nine tenths of its players do the same in the last "
    "round.",
    "(broken < rounds)::INTEGER",
)
