"""Progress display of a run: a bar on a terminal, plain lines elsewhere."""

import asyncio
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from ostrom.engine.batching.ledger import batches_in_words
from ostrom.engine.plan import Plan, Tally
from ostrom.engine.runner import Runner
from ostrom.ground.errors import OstromError
from ostrom.ground.terminal import console, escape_controls, json_wanted, print_stderr

LONG_WAIT = 5.0
"""The longest wait, in seconds, that the progress line does not mention."""
TROUBLE = 120
"""The most characters of an error in the progress line."""
SAMPLED = 100
"""The number of matches sampled to estimate the decisions per match."""


_watched: dict[int, tuple[asyncio.AbstractEventLoop, Runner]] = {}
"""The run that each thread plays."""


def stop_in(thread: int) -> None:
    """Stop the run of a thread, if any; calls in flight are awaited."""
    if thread in _watched:
        loop, runner = _watched[thread]
        loop.call_soon_threadsafe(partial(runner.stop, "interrupted", interrupted=True))


def watch_with(*, signals: bool = True, quiet: bool = False) -> Callable[[Runner], Coroutine[Any, Any, None]]:
    """Return a watcher for a run: shows progress unless ``quiet`` and, with ``signals``, stops cleanly on Ctrl-C."""

    def watch(runner: Runner) -> Coroutine[Any, Any, None]:
        return show(runner, asyncio.current_task())  # the current task is the one that plays

    async def show(runner: Runner, playing: asyncio.Task[Any] | None) -> None:
        if signals:
            _catch_interrupts(runner, playing)
        thread = threading.get_ident()
        _watched[thread] = asyncio.get_running_loop(), runner
        try:
            if quiet:
                await asyncio.Event().wait()
            elif in_notebook():
                await _cell(runner)
            elif sys.stderr.isatty():
                await _bar(runner)
            else:
                await _lines(runner, every=2.0 if json_wanted() else 5.0)
        finally:
            _watched.pop(thread, None)

    return watch


def _catch_interrupts(runner: Runner, playing: asyncio.Task[Any] | None) -> None:
    pressed = 0

    def interrupt() -> None:
        nonlocal pressed
        pressed += 1
        if pressed == 1:
            tally = runner.tally
            print_stderr(
                f"\nstopping: {batches_in_words(tally.batches)} left at the service, and resuming collects the replies"
                if tally.batches
                else f"\nstopping: {tally.in_flight} calls are under way and will be kept "
                "(press Ctrl-C again to leave at once)"
            )
            runner.stop("interrupted", interrupted=True)
        elif playing is not None:
            print_stderr("left; the same command goes on and asks again what was under way")
            playing.cancel()

    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread receives signals
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # nohup ignores SIGHUP, and that must stay so.
        if name != signal.SIGHUP or signal.getsignal(name) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(name, interrupt)


def _units(tally: Tally) -> str:
    return "matches and designs" if tally.preparations else "matches"


def describe(tally: Tally, rate: float, left: float | None) -> str:
    """Describe the counters of a run in one line."""
    waiting = tally.wait_until - time.monotonic()
    parts = (
        (True, f"{rate:.1f} decisions/s"),
        (tally.calls, f"{(tally.tokens_in + tally.tokens_out) / 1000:.1f}k tokens"),
        (tally.calls, "price unknown" if tally.unpriced else f"${tally.usd:.2f}"),
        (tally.batches, f"{batches_in_words(tally.batches)} under way"),
        (tally.in_flight, f"{tally.in_flight} in flight"),
        (tally.invalid, f"{tally.invalid} unreadable"),
        (tally.retries, f"{tally.retries} retries"),
        (tally.refused, f"{tally.refused} refused"),
        (tally.failed or tally.skipped, f"{tally.failed} failed, {tally.skipped} skipped"),
        (left is not None, f"{_duration(left or 0.0)} left"),
        (waiting > LONG_WAIT, f"waiting {waiting:.0f} s: server asked"),
        (tally.trouble is not None, f"last try: {(tally.trouble or '')[:TROUBLE]}"),
    )
    return " · ".join(text for holds, text in parts if holds)


def decisions_per_match(plan: Plan) -> float | None:
    """Return the most decisions that a match allows, as a mean over a sample; None if a mechanism does not say."""
    try:
        units = plan.sample(SAMPLED)
        return sum(unit.mechanism.most_decisions(unit.game) for unit in units) / len(units)
    except (OstromError, ZeroDivisionError, AttributeError, IndexError, TypeError):
        return None


class _Pace:
    """Recent decisions per second, and an estimate of the time left.

    Matches are played side by side, so the first ones end late: the number of ended matches says nothing about the
    pace. A resumed match replays its journaled decisions in no time: they count as done, but not towards the pace.
    """

    def __init__(self, tally: Tally, most: float | None = None) -> None:
        self.tally, self.most, self.start, self.done = tally, most, time.monotonic(), tally.done + tally.skipped
        self.first, self.replayed = tally.decisions, tally.replayed
        self.last = (self.start, tally.decisions - tally.replayed)
        self.rate = 0.0

    def tick(self) -> tuple[float, float | None]:
        now = time.monotonic()
        then, before = self.last
        if now - then > 0.5:
            live = self.tally.decisions - self.tally.replayed
            fresh = max(0, live - before) / (now - then)
            self.rate = fresh if not self.rate else 0.7 * self.rate + 0.3 * fresh
            self.last = (now, live)
        decisions = self.tally.decisions - self.first
        own = decisions - (self.tally.replayed - self.replayed)
        ended = self.tally.done + self.tally.skipped - self.done
        missing = self.tally.matches - self.tally.done - self.tally.skipped
        # A match takes at most what its mechanism allows, and on average what ended matches took.
        each = min(self.most or math.inf, decisions / ended if ended else math.inf)
        if own <= 0 or math.isinf(each):
            return self.rate, None
        return self.rate, (now - self.start) / own * max(0.0, each * missing - max(0.0, decisions - each * ended))


async def _bar(runner: Runner) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    tally = runner.tally
    pace: _Pace | None = None
    with Progress(
        TextColumn("{task.description}", style="bold", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn(_units(tally) + " · {task.fields[text]}", markup=False),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=False,
    ) as progress:
        task = progress.add_task(escape_controls(runner.plan.name), total=tally.matches, text="starting")
        try:
            while True:
                await asyncio.sleep(0.2)
                pace = pace or _Pace(tally, decisions_per_match(runner.plan))
                progress.update(
                    task, completed=tally.done + tally.skipped, text=escape_controls(describe(tally, *pace.tick()))
                )
        finally:
            progress.update(task, completed=tally.done + tally.skipped)


def in_notebook() -> bool:
    """Return whether this process runs in a Jupyter kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


async def _cell(runner: Runner) -> None:
    """Show a progress bar below a notebook cell, updated in place."""
    from html import escape

    from IPython.display import HTML, display

    tally = runner.tally
    pace = _Pace(tally, decisions_per_match(runner.plan))

    def shown(text: str) -> Any:
        done = tally.done + tally.skipped
        return HTML(
            f"<b>{escape(escape_controls(runner.plan.name))}</b> "
            f"<progress max='{tally.matches}' value='{done}'></progress> "
            f"{done}/{tally.matches} {_units(tally)} · {escape(escape_controls(text))}"
        )

    handle = display(shown("starting"), display_id=True)
    try:
        while True:
            await asyncio.sleep(0.5)
            handle.update(shown(describe(tally, *pace.tick())))
    finally:
        handle.update(shown(describe(tally, pace.rate, None)))


async def _lines(runner: Runner, every: float) -> None:
    tally = runner.tally
    pace = _Pace(tally, decisions_per_match(runner.plan))
    last = None
    while True:
        await asyncio.sleep(every)
        done = tally.done + tally.skipped
        now = (done, tally.calls, tally.batches, tally.trouble)
        if tally.batches and now == last:
            continue  # a batch may take a day without news
        last = now
        print_stderr(f"{done}/{tally.matches} {_units(tally)} · {describe(tally, *pace.tick())}")


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m" if hours else f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"
