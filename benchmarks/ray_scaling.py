"""The Ray executor on 1, 2 and 4 workers: how much faster a study goes that waits for its model."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.processes import server
from benchmarks.result import Result
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.validation import validate
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

LATENCY, MATCHES, ROUNDS, PER_WORKER = 0.05, 24, 10, 2
WORKERS = (1, 2, 4)


def seconds(model: str, options: PlayOptions) -> float:
    """From the first call to the end of the last one: starting a cluster is not what is measured."""
    study = {
        "name": "scaling",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": ROUNDS},
        "types": {"model": {"model": model}},
        "seeds": MATCHES,
    }
    with tempfile.TemporaryDirectory() as folder:
        result = play(validate(StudyFile, study, "scaling"), runs=folder, options=options)
        assert result.complete and result.tally.calls == 2 * MATCHES * ROUNDS
        with open_run(Path(folder) / "scaling") as run:
            calls = list(run.rows.calls())
    return float(max(c["at"] + c["latency"] for c in calls) - min(c["at"] for c in calls))


def measure() -> list[Result]:
    """Calls per second with so many matches under way on each worker, on one machine."""
    import ray

    group = f"Ray executor, {PER_WORKER} matches x 2 seats per worker at {LATENCY * 1000:.0f} ms"
    calls = 2 * MATCHES * ROUNDS
    rates: dict[int, float] = {}
    ray.init(
        num_cpus=max(WORKERS), include_dashboard=False, logging_level="error", log_to_driver=False,
        object_store_memory=128 * 1024 * 1024,
    )  # fmt: skip
    try:
        with server(LATENCY) as model:
            for workers in WORKERS:
                options = PlayOptions(executor="ray", workers=workers, worker_matches=PER_WORKER)
                rates[workers] = calls / seconds(model, options)
            flying = 2 * PER_WORKER
            alone = calls / seconds(model, PlayOptions(max_connections=flying, start_connections=flying))
    finally:
        ray.shutdown()
    results = [Result(group, "1 worker", rates[1], "calls/s", "local executor, as many in flight", rates[1] / alone)]
    for workers in WORKERS[1:]:
        ratio = rates[workers] / rates[1]
        results.append(
            Result(group, f"{workers} workers", rates[workers], "calls/s", "1 worker", ratio, "> 1.4", ratio > 1.4)
        )
    return results
