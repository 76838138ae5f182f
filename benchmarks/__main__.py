"""Run every benchmark in one go: one table, one JSON file, and BENCHMARKS.md."""

from __future__ import annotations

import argparse
import compileall
import importlib
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.result import Result

HERE = Path(__file__).parent
ALL = (
    "tables",
    "texts",
    "view",
    "replay",
    "people",
    "embedded",
    "call_path",
    "scripted",
    "busy",
    "ray_scaling",
    "lexicons",
    "growth",
    "prompt_cache",
)
"""What users feel comes first."""


def run(name: str) -> list[Result]:
    """One benchmark; one that cannot run here says why in its place."""
    try:
        module = importlib.import_module(f"benchmarks.{name}")
        if name == "busy":
            found = module.measure(HERE / "calls_in_flight.svg")
        elif name == "lexicons":
            found = _lexicons(module.measure(40_000))
        else:
            found = module.measure()
    except ImportError as error:
        return [Result(name, "not run", None, "", note=f"needs {error.name}")]
    return list(found) if not isinstance(found, dict) else _plain(name, found)


def _lexicons(found: dict[str, float]) -> list[Result]:
    ratio = found.get("ratio")
    results = [Result("lexical analysis", k, float(v), "") for k, v in found.items() if k != "ratio"]
    if ratio is not None:
        met = ratio >= 10
        against = "one regular expression per list"
        results.append(Result("lexical analysis", "speed-up", ratio, "x", against, ratio, ">= 10", met))
    return results


def _plain(name: str, found: dict[str, Any]) -> list[Result]:
    return [Result(name, k, float(v), "") for k, v in found.items() if isinstance(v, int | float)]


def markdown(results: list[Result], machine: dict[str, Any]) -> str:
    """The table for people."""
    lines = [
        "# Benchmarks",
        "",
        f"Measured {machine['date']} on {machine['cores']} cores ({machine['processor']}), Python "
        f"{machine['python']}, all in one run of `make bench`. The machine is shared and noisy: read the ratios. "
        "Every number is also in `benchmarks/results.json`.",
        "",
        "| what | measured | against | ratio | aim | met |",
        "|---|---|---|---|---|---|",
    ]
    group = ""
    for r in results:
        if r.group != group:
            group = r.group
            lines.append(f"| **{group}** | | | | | |")
        value = "-" if r.value is None else f"{r.value:,.4g} {r.unit}"
        ratio = "" if r.ratio is None else f"{r.ratio:.3g}"
        met = "" if r.met is None else ("yes" if r.met else "**no**")
        note = f" ({r.note})" if r.note else ""
        lines.append(f"| {r.name}{note} | {value} | {r.against} | {ratio} | {r.aim} | {met} |")
    lines += ["", "![calls in flight over time](benchmarks/calls_in_flight.svg)", ""]
    return "\n".join(lines)


def main() -> None:
    """Run all, or those named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*ALL, []], help="run only these")
    chosen = parser.parse_args().names or list(ALL)
    # An installation compiles the package, whatever the environment says of a checkout: no user pays at each start.
    compileall.compile_dir(str(HERE.parent / "src"), quiet=1)
    results: list[Result] = []
    for name in chosen:
        begun = time.perf_counter()
        results += run(name)
        print(f"{name}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    machine = {
        "date": time.strftime("%Y-%m-%d"),
        "cores": len(__import__("os").sched_getaffinity(0)),
        "processor": platform.machine(),
        "python": platform.python_version(),
    }
    table = markdown(results, machine)
    print(table)
    if set(chosen) == set(ALL):
        data = {"machine": machine, "results": [r.as_dict() for r in results]}
        (HERE / "results.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        (HERE.parent / "BENCHMARKS.md").write_text(table, encoding="utf-8")
    unmet = [r for r in results if r.met is False]
    # Aims are aims; only a ratio that is off by far says that something broke.
    broken = [r for r in unmet if r.name == "Ostrom, whole stack" and (r.ratio or 0) < 0.15]
    if broken:
        sys.exit(f"far below its aim: {', '.join(r.name for r in broken)}")


if __name__ == "__main__":
    main()
