"""Calls whose prompts begin alike: one goes first, the others wait for what it reads."""

import threading
from collections.abc import Callable

from ostrom.models.embedded.runtime import SHARED, Beginnings

RULES = "r" * SHARED


class Call(threading.Thread):
    """A call that runs until it is told to end."""

    def __init__(self, beginnings: Beginnings, prompt: str, share: Callable[[], int | None] = lambda: None) -> None:
        super().__init__(daemon=True)
        self.beginnings, self.prompt, self.share = beginnings, prompt, share
        self.slot: int | None = None
        self.stop, self.running, self.finish = threading.Event(), threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        with self.beginnings.turn(self.prompt, self.stop, self.share) as self.slot:
            self.running.set()
            self.finish.wait(300)

    def end(self) -> None:
        self.finish.set()
        self.join(300)
        assert not self.is_alive()


def waits(call: Call) -> bool:
    """Whether a call is held back; asked only once another thread has had time to start it."""
    return not call.running.wait(0.3)


def test_a_call_waits_for_one_that_begins_alike_and_then_finds_it_shared() -> None:
    beginnings, shared = Beginnings(), list[str]()
    first = Call(beginnings, RULES + "one", lambda: shared.append("first") or 7)  # type: ignore[func-returns-value]
    assert first.running.wait(300)
    second = Call(beginnings, RULES + "two", lambda: shared.append("second"))
    other = Call(beginnings, "another prompt")
    assert other.running.wait(300) and waits(second) and not shared
    first.end()
    assert second.running.wait(300) and shared == ["first"]
    assert (first.slot, second.slot) == (None, 7), "the slot of the first stays with its conversation"
    third = Call(beginnings, RULES + "three")  # what it begins with was read: nothing to wait for
    assert third.running.wait(300) and third.slot is None
    for call in (second, other, third):
        call.end()
    assert shared == ["first"]


def test_what_is_too_short_to_be_worth_it_is_not_waited_for() -> None:
    beginnings = Beginnings()
    calls = [Call(beginnings, RULES[:-1] + str(number)) for number in range(3)]
    for call in calls:
        assert call.running.wait(300)
        call.end()


def test_a_call_that_is_given_up_or_fails_leaves_the_others() -> None:
    beginnings = Beginnings()
    first = Call(beginnings, RULES + "one")
    assert first.running.wait(300)
    second, third = Call(beginnings, RULES + "two"), Call(beginnings, RULES + "three")
    second.stop.set()
    assert second.running.wait(300)  # it ends at once: its caller sees that it was stopped
    second.end()
    first.end()
    assert third.running.wait(300)
    third.end()
    try:
        with beginnings.turn("x" * SHARED, threading.Event(), lambda: None):
            raise KeyError
    except KeyError:
        pass
    after = Call(beginnings, "x" * SHARED + "y")
    assert after.running.wait(300)
    after.end()
