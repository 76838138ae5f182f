"""Work in a thread beside a running event loop, stopped cleanly by an interrupt."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def inside_a_loop() -> bool:
    """Return whether an event loop is running here, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def in_a_thread(work: Callable[[], T], stop: Callable[[int], None]) -> T:
    """Do the work in a thread while the caller waits; an interrupt first calls ``stop`` with the thread's id."""
    ended: list[T] = []
    failed: list[BaseException] = []
    over = threading.Event()

    def run() -> None:
        try:
            ended.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            over.set()

    thread = threading.Thread(target=run, name="ostrom")
    with _interruptible():
        thread.start()
        try:
            over.wait()  # not thread.join(), which takes an interrupted wait for the end of the thread
        except KeyboardInterrupt:
            stop(thread.ident or 0)
            over.wait()
            raise
    if failed:
        raise failed[0]
    return ended[0]


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
