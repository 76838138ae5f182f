"""Which matches are generations of one population: they follow each other and are not independent."""

from __future__ import annotations

from ostrom.data.rundata import RunData, quoted


def histories(data: RunData) -> dict[int, int]:
    """For every match that is a generation: the first match of its population, which stands for all of it.

    Generations of one population have the factors, the seed, the game and the agents in their places in common. A
    generation that occurs again (replicates of a branch) begins another population.
    """
    if "generation" not in data.columns("matches"):
        return {}
    shared = dict.fromkeys(name for name in (*data.factors, "seed", "game") if name != "generation")
    listed = ", ".join(map(quoted, shared))
    rows = data.records(
        f"SELECT match, generation, dense_rank() OVER (ORDER BY {listed}, agents) AS population FROM ("
        f"SELECT match, {listed}, any_value(generation) AS generation, "
        "string_agg((seat IS NULL) || '/' || agent, chr(10) ORDER BY player) AS agents "
        f"FROM matches WHERE generation IS NOT NULL GROUP BY match, {listed}) ORDER BY match"
    )
    found: dict[int, int] = {}
    met: dict[tuple[int, int], int] = {}
    first: dict[tuple[int, int], int] = {}
    for row in rows:
        again = met[row["population"], row["generation"]] = (
            met.get((row["population"], row["generation"]), -1) + 1
        )
        found[row["match"]] = first.setdefault((row["population"], again), row["match"])
    return found
