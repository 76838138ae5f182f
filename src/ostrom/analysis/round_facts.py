"""What everybody learned of rounds of games by a rule (``End.facts``), as numbers."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.ground.errors import UsageError

NUMBERS = (
    "SELECT match, round, TRY_CAST(json_extract_string(facts, '$.' || ?) AS DOUBLE) AS value "
    "FROM decisions WHERE facts IS NOT NULL ORDER BY match, round"
)


def round_facts(data: RunData, name: str, measure: str) -> dict[tuple[int, int], float]:
    """A number that the game states at the end of each round, by match and round; refused if no game states it."""
    rows = data.records(NUMBERS, f'"{name}"')
    found = {(row["match"], row["round"]): row["value"] for row in rows if row["value"] is not None}
    if not found and data.records("SELECT 1 FROM decisions WHERE payoff IS NOT NULL LIMIT 1"):
        raise UsageError(
            f"measure {measure}: no game of {data.name} states {name!r} at the end of a round; "
            f'a game by a rule does so by End(payoffs, {{"{name}": ...}})'
        )
    return found
