"""Parts of the failure suite side by side, each in a process of its own."""

from __future__ import annotations

import importlib
import multiprocessing
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from chaos.finding import Finding


def side_by_side(
    names: Iterable[str], short: bool, seed: int, jobs: int
) -> Iterator[tuple[str, tuple[list[Finding], float]]]:
    """What the parts found, in their order, each from a process of its own: most of their time they wait."""
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for name, part in [(name, pool.submit(played, name, short, seed)) for name in names]:
            try:
                yield name, part.result()
            except BrokenProcessPool:
                yield name, ([Finding(name, "the part itself", 0, "FAILED", "a process of the suite died")], 0.0)


def played(name: str, short: bool, seed: int) -> tuple[list[Finding], float]:
    """What one part found, and its seconds; one that breaks down is a finding, too."""
    begun = time.perf_counter()
    try:
        found: list[Finding] = importlib.import_module(f"chaos.{name}").run(short, seed)
    except Exception as error:
        traceback.print_exc()
        found = [Finding(name, "the part itself", 0, "FAILED", f"{type(error).__name__}: {error}"[:300])]
    return found, time.perf_counter() - begun
