"""How a dry run is shown: what it counts, what that takes, and whether the budget suffices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ostrom.cli.output import print_table, say

if TYPE_CHECKING:
    from ostrom.engine.plan import Budget
    from ostrom.studies.forecast import Forecast


def print_forecast(
    name: str, counted: Mapping[str, int], bound: Forecast, budget: Budget, *, batch: bool = False
) -> None:
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
    if bound.measured is not None:
        say(f"likely: as in {bound.measured}")
    if bound.waves is not None:
        say(f"with --batch: {_batch_price(bound)}{bound.waves}")
        if bound.usual_price:
            say(
                f"the batch price of {', '.join(bound.usual_price)} is not known, and counted as the usual one: "
                "state it with --prices FILE (batch: 0.5)"
            )
    for verdict in verdicts(bound, budget, batch=batch):
        say(str(verdict))


def _batch_price(bound: Forecast) -> str:
    if bound.likely_batch_usd is None:
        return ""
    most = "no bound" if bound.batch_usd is None else f"at most {bound.batch_usd:.2f}"
    return f"{bound.likely_batch_usd:.2f} USD likely, {most}; "


def forecast_data(bound: Forecast, budget: Budget, *, batch: bool = False) -> dict[str, Any]:
    """The same as plain data."""
    from ostrom.studies.forecast import verdicts

    told = [asdict(verdict) for verdict in verdicts(bound, budget, batch=batch)]
    return {**bound.as_dict(), "budget": told}
