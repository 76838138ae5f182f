"""How a dry run is shown: what it counts, what that takes, and whether the budget suffices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ostrom.cli.output import print_table, say

if TYPE_CHECKING:
    from ostrom.engine.plan import Budget
    from ostrom.studies.forecast import Forecast


def print_forecast(name: str, counted: Mapping[str, int], bound: Forecast, budget: Budget) -> None:
    """A table of one line (what is counted, then calls, tokens and money), and a line for each bound."""
    from ostrom.studies.forecast import verdicts

    print_table(
        f"{name}: what it takes (before retries)",
        [
            *counted, "calls", "tokens in", "tokens out, likely", "at most", "USD, likely", "at most",
        ],
        [
            [
                *counted.values(), bound.calls, bound.tokens_in, bound.likely_tokens_out,
                "no bound" if bound.tokens_out is None else bound.tokens_out,
                "unknown" if bound.likely_usd is None else round(bound.likely_usd, 2),
                ("unknown" if bound.unpriced else "no bound") if bound.usd is None else round(bound.usd, 2),
            ]
        ],
    )  # fmt: skip
    if bound.unpriced:
        say(f"no price known for {', '.join(bound.unpriced)}: give one with --prices FILE")
    if bound.unbounded:
        say(f"nothing bounds the replies of {', '.join(bound.unbounded)}: set agent.params.max_tokens")
    for verdict in verdicts(bound, budget):
        say(str(verdict))


def forecast_data(bound: Forecast, budget: Budget) -> dict[str, Any]:
    """The same as plain data."""
    from ostrom.studies.forecast import verdicts

    return {**bound.as_dict(), "budget": [asdict(verdict) for verdict in verdicts(bound, budget)]}
