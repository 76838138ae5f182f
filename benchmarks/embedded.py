"""The embedded model: decisions per minute by parallel slots, and how much of a prompt is read anew."""

from __future__ import annotations

from benchmarks.processes import child
from benchmarks.result import Result

PLAY = """
import sys, tempfile, time
from pathlib import Path
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play
slots = int(sys.argv[1])
study = load_study({"name": "e", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 5},
    "agent": {"model": "embedded/smollm2-135m", "style": "direct", "memory": "full",
              "params": {"temperature": 0.7, "max_tokens": 8}, "settings": {"mode": "fast", "slots": slots}},
    "seeds": 1 if slots == 1 else slots // 2})
with tempfile.TemporaryDirectory() as folder:
    begun = time.perf_counter()
    result = play(study, runs=folder)
    seconds = time.perf_counter() - begun
    with open_run(Path(folder) / "e") as run:
        calls = list(run.rows.calls())
later = [c for c in calls if c["step"] > 0 and c["tokens_in"]]
found = {"per_minute": result.tally.decisions / seconds * 60, "decisions": result.tally.decisions,
         "reused": sum(c["tokens_cached"] or 0 for c in later) / sum(c["tokens_in"] for c in later)}
"""


def measure() -> list[Result]:
    """One, four and eight slots."""
    results = []
    for slots in (1, 4, 8):
        found = child(PLAY, str(slots), timeout=600)
        group = "embedded SmolLM2-135M, two threads"
        results += [
            Result(group, f"{slots} slots", found["per_minute"], "decisions/min", note=f"of {found['decisions']}"),
            Result(group, f"{slots} slots: share of later prompts not read again", found["reused"], "share"),
            Result(group, f"{slots} slots: peak memory", found["peak_mib"], "MiB"),
        ]  # fmt: skip
    return results
