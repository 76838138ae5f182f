"""Output of commands that make calls: forecast, spending, failures and exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from ostrom.ground.results import Remark, TextItem, TextTable
from ostrom.ground.words import how_many

if TYPE_CHECKING:
    from ostrom.costs.derived import DerivedPlan
    from ostrom.costs.forecast import Forecast
    from ostrom.engine.plan import Budget, Counted, Tally
    from ostrom.engine.play_options import PlayOptions
    from ostrom.engine.runner import Result


def count_text(units: Counted, what: str) -> str:
    """Say how many of the planned units ended, and how.

    >>> from ostrom.engine.plan import Counted
    >>> count_text(Counted(4, 3, 0, 1), "matches")
    '3 of 4 matches done, 1 failed'
    """
    return ", ".join(
        [
            f"{units.done} of {units.planned} {what} done",
            *[f"{n} {how}" for n, how in ((units.skipped, "skipped"), (units.failed, "failed")) if n],
        ]
    )


def spending_text(tally: Tally) -> str:
    """Calls, tokens and money in words."""
    money = "unknown price" if tally.unpriced else f"{tally.usd:.4f} USD"
    share = tally.tokens_cached / tally.tokens_in if tally.tokens_in else 0
    cached = f" ({share:.0%} of the prompts cached)" if share else ""
    if tally.assumed:
        money += f" (and at most {tally.assumed_tokens} tokens of {tally.assumed} calls that no server reported)"
    return f"{tally.calls} calls, {tally.tokens_in + tally.tokens_out} tokens{cached}, {money}"


def spent_data(tally: Tally) -> dict[str, Any]:
    """The calls, tokens and dollars of a run as plain data, with the number of replies that could not be read."""
    return {
        "calls": tally.calls,
        "tokens": {"in": tally.tokens_in, "out": tally.tokens_out, "cached": tally.tokens_cached},
        "usd": None if tally.unpriced else tally.usd,
        "unreadable_replies": tally.invalid,
    }


def trouble(result: Result, more: str = "", again: str = "the same command") -> list[str]:
    """Return the first failures, the reason of a stop, and the command to continue."""
    return [
        *(f"  {line}" for line in result.tally.failures[:5]),
        *([f"stopped: {result.why}"] if result.why else []),
        *([] if result.complete else [f"{again} goes on from here{more}"]),
    ]


def exit_code(result: Result) -> int:
    """Return 130 if interrupted, 1 if otherwise incomplete, else 0."""
    return 0 if result.complete else 130 if result.interrupted else 1


def ask_models(plan: DerivedPlan, options: PlayOptions) -> Result:
    """Run the questions of a derived run with progress on stderr; earlier failures are retried."""
    from ostrom.engine.progress import watch_with

    return plan.play(options=replace(options, ask_again=True), watch=watch_with())


def forecast_text(name: str, size: str, bound: Forecast, budget: Budget, *, batch: bool = False) -> Iterator[TextItem]:
    """Yield size, hours and money as lines and a table; assumptions; and a line per budget limit."""
    from ostrom.costs.forecast import verdicts

    yield headline(size, bound, batch=batch)

    def row(title: str, of: Mapping[str, float | None], no_price: str) -> list[Any]:
        numbers = [of[key] for key in ("decisions", "calls", "tokens_in", "tokens_out")]
        usd = no_price if of["usd"] is None else money(of["usd"])
        hours = f"{hours:.2g}" if (hours := of.get("hours")) is not None else ""
        return [title, *("no bound" if number is None else f"{number:,.0f}" for number in numbers), usd, hours]

    unpriced = "unknown" if bound.unpriced else "no bound"
    likely, readable, most = bound.likely, bound.readable, bound.at_most
    if batch and bound.waves is not None:
        likely |= {"usd": bound.likely_batch_usd, "hours": bound.waves.hours}
        readable["usd"], most["usd"] = bound.batch_usd, bound.batch_usd_with_retries
    without_retries = [row("at most, without retries", readable, unpriced)] * bool(bound.retries_per_decision)
    yield TextTable(
        f"{name}: what it takes",
        ["", "decisions", "calls", "tokens in", "tokens out", "USD", "hours"],
        [row("likely", likely, "unknown"), *without_retries, row("at most", most, unpriced)],
    )
    lines = [
        *(f"likely: {line}" for line in bound.assumes),
        bound.unbounded and f"nothing bounds the replies of {', '.join(bound.unbounded)}: set agent.params.max_tokens",
        bound.measured is not None and f"likely: as in {bound.measured}",
        bound.calls and not batch and f"hours: {bound.speed}",
        batch and bound.waves is not None and f"with --batch: {_batch_price(bound)}{bound.waves}",
        batch
        and bound.waves is not None
        and bound.usual_price
        and f"the batch price of {', '.join(bound.usual_price)} is not known, and counted as the usual one: "
        "state it with --prices FILE (batch: 0.5)",
        *map(str, verdicts(bound, budget, batch=batch)),
    ]
    yield from (Remark(line) for line in lines if line)


def headline(size: str, bound: Forecast, *, batch: bool = False) -> dict[str, str]:
    """Size, hours and money: a line each."""
    likely, most, hours = bound.likely_usd, bound.usd_with_retries, bound.hours()
    if batch and bound.waves is not None:
        likely, most, hours = bound.likely_batch_usd, bound.batch_usd_with_retries, bound.waves.hours
    if not bound.calls and not bound.unpriced:
        return {"size": size, "hours": "no model to wait for", "money": "no calls of a model"}
    usd = (
        f"no price known for {', '.join(bound.unpriced)}: give one with --prices FILE"
        if likely is None
        else f"likely {money(likely)} USD, {'no bound' if most is None else f'at most {money(most)} USD'}"
    )
    return {
        "size": f"{size}, likely {how_many(bound.likely_calls, 'call')}",
        "hours": likely_hours(hours),
        "money": usd,
    }


def likely_hours(hours: float) -> str:
    """Format hours with two digits.

    >>> likely_hours(11.2), likely_hours(1.2e-06)
    ('likely 11', 'likely less than 0.01')
    """
    return f"likely {hours:.2g}" if hours >= 0.01 else "likely less than 0.01"


def money(usd: float) -> str:
    """Format US dollars, with four decimals below one cent.

    >>> money(0), money(0.0016), money(1234.5)
    ('0.00', '0.0016', '1,234.50')
    """
    return f"{usd:.4f}" if 0 < usd < 0.01 else f"{usd:,.2f}"


def _batch_price(bound: Forecast) -> str:
    likely, usd = bound.likely_batch_usd, bound.batch_usd_with_retries
    most = "no bound" if usd is None else f"at most {money(usd)}"
    return "" if likely is None else f"{money(likely)} USD likely, {most}; "


def forecast_data(bound: Forecast, budget: Budget, *, batch: bool = False) -> dict[str, Any]:
    """Return a forecast as plain data, with a verdict on every limit of the budget."""
    from ostrom.costs.forecast import verdicts

    return {**bound.as_dict(), "budget": [asdict(verdict) for verdict in verdicts(bound, budget, batch=batch)]}
