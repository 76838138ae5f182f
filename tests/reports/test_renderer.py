"""Charts that a process of its own draws are the same, and what goes wrong there is said."""

import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from ostrom.ground.errors import OstromError
from ostrom.reports.figures import Renderer, picture, spec_of
from ostrom.reports.marks import heat

pytestmark = pytest.mark.pictures


def _spec(label: str) -> dict[str, Any]:
    rows = [{"label": label, "start": 0.5, "end": 1.5, "mean": 0.5}]
    return spec_of(heat(rows, labels=[label], x="round", legend="cooperation"))


@pytest.fixture(scope="module")
def apart() -> Iterator[Renderer]:
    with Renderer(apart=True) as renderer:
        yield renderer


def test_both_ways_draw_the_same(apart: Renderer) -> None:
    spec = _spec("a <b> & é")
    here, there = picture(spec, spec, "f1"), apart.draw(spec, spec, "f1")()
    assert there.png == here.png
    assert [_numberless(there.svg), _numberless(there.markup)] == [_numberless(here.svg), _numberless(here.markup)]


def _numberless(svg: str) -> str:
    """A drawing without the numbers of its gradients, which count on in a process."""
    return re.sub(r"gradient_\d+", "", svg)


def test_a_chart_that_cannot_be_drawn_is_said_and_the_next_is_drawn(apart: Renderer) -> None:
    bad, good = apart.draw({"mark": "no such mark"}, {}, "f1"), apart.draw(_spec("a"), _spec("a"), "f2")
    with pytest.raises(OstromError, match="ValueError"):
        bad()
    assert good().svg.startswith("<svg")


@pytest.mark.slow
def test_the_end_of_the_process_is_said() -> None:
    with Renderer(apart=True) as renderer:
        renderer.draw(_spec("a"), _spec("a"), "f1")()
        assert renderer._child is not None
        os.kill(renderer._child.pid, signal.SIGKILL)
        with pytest.raises(OstromError, match="the process that draws the charts ended"):
            renderer.draw(_spec("b"), _spec("b"), "f2")()


@pytest.mark.slow
def test_charts_that_wait_are_dropped_when_a_report_is_left() -> None:
    with pytest.raises(KeyboardInterrupt), Renderer(apart=True) as renderer:
        renderer.draw(_spec("a"), _spec("a"), "f1")()
        waiting = [renderer.draw(_spec(str(n)), _spec(str(n)), "f2") for n in range(20)]
        raise KeyboardInterrupt
    assert renderer._child is not None and renderer._child.returncode is not None
    with pytest.raises(CancelledError):
        waiting[-1]()
