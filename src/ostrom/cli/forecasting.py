"""How a dry run is shown: what it counts, and what that takes at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ostrom.cli.output import print_table, say

if TYPE_CHECKING:
    from ostrom.studies.forecast import Forecast


def print_forecast(name: str, counted: Mapping[str, int], bound: Forecast) -> None:
    """A table of one line: what is counted, then calls, tokens and money."""
    usd = "unknown" if bound.usd is None else round(bound.usd, 2)
    print_table(
        f"{name}: what it takes at most (before retries)",
        [*counted, "calls", "tokens in", "tokens out", "USD"],
        [[*counted.values(), bound.calls, bound.tokens_in, bound.tokens_out, usd]],
    )
    if bound.unpriced:
        say(f"no price known for {', '.join(bound.unpriced)}: give one with --prices FILE")
