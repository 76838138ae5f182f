"""A million inputs that nobody meant to write: each is read or cleanly refused, none takes for ever."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from chaos.finding import Finding, verdict
from chaos.fuzzing import answers, files, specs, wires
from chaos.fuzzing.watch import Target, Tried, bound_memory, feed_range

TARGETS: dict[str, Target] = {target.name: target for part in (answers, wires, files, specs) for target in part.TARGETS}
SHORT = 0.1
SEEDS_APART = 1_000_000
"""Inputs of one target that lie between two seeds: the number of an input says everything about it."""
BATCH_SECONDS = 1800
"""A batch that is not back by then hangs inside a single call, where no watch reaches."""


def batch(name: str, start: int, stop: int) -> Tried:
    """Some inputs of one target, in this process."""
    try:
        return feed_range(TARGETS[name], start, stop)
    finally:
        shutil.rmtree(files.folder(os.getpid()), ignore_errors=True)
        files.folder.cache_clear()


def run(short: bool, seed: int) -> list[Finding]:
    """Feed every target its part of the inputs, on all processors."""
    share = SHORT if short else 1.0
    first = seed * SEEDS_APART
    tried = {name: Tried() for name in TARGETS}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    workers = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(workers, context, initializer=bound_memory) as pool:
        waiting: dict[Future[Tried], str] = {}
        for name, target in TARGETS.items():
            count = max(20, round(target.inputs * share))
            size = max(1, count // 8)
            for start in range(0, count, size):
                stop = min(start + size, count)
                waiting[pool.submit(batch, name, first + start, first + stop)] = name
        try:
            for done in as_completed(waiting, timeout=BATCH_SECONDS):
                try:
                    tried[waiting[done]].add(done.result())
                except BrokenProcessPool:
                    tried[waiting[done]].crashes.append(f"{waiting[done]}: the process died")
        except TimeoutError:
            for future, name in waiting.items():
                if not future.done():
                    tried[name].crashes.append(f"{name}: a batch hangs")
            for process in list((pool._processes or {}).values()):
                process.kill()
    return [_finding(name, found) for name, found in tried.items()]


def _finding(name: str, found: Tried) -> Finding:
    note = f"{found.accepted:,} read, {found.refused:,} refused in one line"
    if found.crashes:
        note = f"{note}; {len(found.crashes)} crashed, first: {found.crashes[0]}"
    return verdict("fuzz", name, found.inputs, not found.crashes, note)
