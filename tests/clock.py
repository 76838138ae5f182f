"""An event loop whose clock a test moves, so that no machine is too slow or too busy for it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time stands still while nothing moves it."""

    shown = 1000.0

    def time(self) -> float:
        """The seconds that the clock shows."""
        return self.shown

    async def forward(self, seconds: float) -> None:
        """Move the clock, and let what is due then happen."""
        self.shown += seconds
        for _ in range(20):  # timers, then what they set off
            await asyncio.sleep(0)


def on_a_clock(test: Callable[[Clock], Coroutine[Any, Any, None]]) -> None:
    """Run a test on a loop whose clock it moves."""
    with asyncio.Runner(loop_factory=Clock) as runner:
        clock = runner.get_loop()
        assert isinstance(clock, Clock)
        runner.run(test(clock))
