"""How a command that made calls ends: what it spent, what went wrong, and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ostrom.cli.output import print_json, say

if TYPE_CHECKING:
    from ostrom.engine.plan import Counted, Tally
    from ostrom.engine.runner import Result
    from ostrom.reports.build import Report


def counted(units: Counted, what: str) -> str:
    """How many of the planned units ended, and how.

    >>> from ostrom.engine.plan import Counted
    >>> counted(Counted(4, 3, 0, 1), "matches")
    '3 of 4 matches done, 1 failed'
    """
    more = [f"{n} {how}" for n, how in ((units.skipped, "skipped"), (units.failed, "failed")) if n]
    return ", ".join([f"{units.done} of {units.planned} {what} done", *more])


def spent(tally: Tally) -> str:
    """Calls, tokens and money in words."""
    money = "unknown price" if tally.unpriced else f"{tally.usd:.4f} USD"
    cached = ""
    if tally.tokens_cached and tally.tokens_in:
        cached = f" ({tally.tokens_cached / tally.tokens_in:.0%} of the prompts cached)"
    return f"{tally.calls} calls, {tally.tokens_in + tally.tokens_out} tokens{cached}, {money}"


def spent_data(tally: Tally) -> dict[str, Any]:
    """The same as plain data, with the replies that could not be read."""
    return {
        "calls": tally.calls,
        "tokens": {"in": tally.tokens_in, "out": tally.tokens_out, "cached": tally.tokens_cached},
        "usd": None if tally.unpriced else tally.usd,
        "unreadable_replies": tally.invalid,
    }


def say_trouble(result: Result, more: str = "", again: str = "the same command") -> None:
    """The first failures, what stopped it, and what command goes on."""
    for line in result.tally.failures[:5]:
        say(f"  {line}")
    if result.why:
        say(f"stopped: {result.why}")
    if not result.complete:
        say(f"{again} goes on from here{more}")


def conclude(
    result: Result,
    report: Mapping[str, Any],
    show: Callable[[], None],
    *,
    json: bool,
    said: Iterable[str] = (),
    more: str = "",
) -> None:
    """End a command that asked models: its report as JSON or as tables, what else is to be said, and the exit code."""
    if json:
        print_json(report)
    else:
        show()
    for line in said:
        say(line)
    say_trouble(result, more)
    leave(result)


def say_failures(report: Report) -> bool:
    """Say which panels of a report failed; whether none did."""
    for failure in report.failures:
        say(f"panel failed: {failure}")
    return not report.failures


def leave(result: Result) -> None:
    """Leave with 130 where it was interrupted and with 1 where it is not complete otherwise."""
    if not result.complete:
        sys.exit(130 if result.interrupted else 1)
