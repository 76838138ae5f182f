"""Work in a thread beside a running event loop, stopped cleanly by an interrupt."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from typing import TypeVar

T = TypeVar("T")


def inside_a_loop() -> bool:
    """Return whether an event loop is running here, as in a notebook."""
    with suppress(RuntimeError):
        return asyncio.get_running_loop().is_running()
    return False


def in_a_thread(work: Callable[[], T], stop: Callable[[int], None]) -> T:
    """Do the work in a thread while the caller waits; an interrupt first calls ``stop`` with the thread's id."""
    ended = Future[T]()

    def run() -> None:
        try:
            ended.set_result(work())
        except BaseException as error:
            ended.set_exception(error)

    thread = threading.Thread(target=run, name="ostrom")
    with _interruptible():
        thread.start()
        try:
            wait([ended])  # not thread.join(), which takes an interrupted wait for the end of the thread
        except KeyboardInterrupt:
            stop(thread.ident or 0)
            wait([ended])
            raise
    return ended.result()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt at once: ``asyncio.run`` would delay it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
