"""How cost grows with matches, rounds and seats: exponents fitted on log-log axes."""

from __future__ import annotations

import tempfile
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from benchmarks.result import Result
from ostrom.engine.play_options import PlayOptions
from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import build_game
from ostrom.ground.validation import validate
from ostrom.mechanisms.base import act
from ostrom.mechanisms.protocol import History, Round, View
from ostrom.memory import memories
from ostrom.studies.run import play
from ostrom.studies.schema import StudyFile


def run_seconds(matches: int, rounds: int, seats: int) -> float:
    """Seconds of a scripted run through journal and generators."""
    study = validate(
        StudyFile,
        {
            "name": "growth",
            "game": {"name": "public_goods", "n": seats},
            "mechanism": {"name": "repetition", "rounds": rounds},
            "types": {"a": "tit_for_tat"},
            "seeds": matches,
        },
        "growth",
    )
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        play(study, runs=folder, options=PlayOptions(arrays=False))
        return time.perf_counter() - begun


def prompting(shown: int, happened: int) -> Callable[[], object]:
    """Makes the prompt of a decision that shows some of the rounds that have happened."""
    game = build_game("prisoners_dilemma")
    rounds = [Round(t + 1, (t % 2, 0), game.payoff((t % 2, 0))) for t in range(happened)]
    memory = memories.build({"name": "window", "k": shown})
    renderer = PromptRenderer(Framing(), Library(), "direct")
    view = View(game, 0, "repetition", happened + 1, History(rounds), {"repeated": True})

    def draw(number: int, purpose: str) -> np.random.Generator:
        raise AssertionError("a window draws nothing")

    return lambda: renderer.prompt(act(view), memory.show(view, draw), None, {})


def prompt_seconds(shown: int, happened: int, repeats: int = 200) -> float:
    """Seconds per prompt that shows some of the rounds that have happened."""
    make = prompting(shown, happened)
    make()
    begun = time.perf_counter()
    for _ in range(repeats):
        make()
    return (time.perf_counter() - begun) / repeats


def peak_mib(matches: int) -> float:
    """Peak traced memory of a run of so many matches."""
    tracemalloc.start()
    run_seconds(matches, 20, 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def exponent(sizes: list[int], cost: Callable[[int], float], repeats: int = 3) -> tuple[float, str]:
    """The slope of log cost over log size, each size the least of some repeats."""
    costs = [min(cost(size) for _ in range(repeats)) for size in sizes]
    slope = float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
    return slope, ", ".join(f"{s}: {c:.4g}" for s, c in zip(sizes, costs, strict=True))


def measure() -> list[Result]:
    """Exponents of at most 1.05 mean that cost grows no faster than the work."""
    run_seconds(10, 20, 2)
    cases: dict[str, tuple[list[int], Callable[[int], float]]] = {
        "time over matches": ([50, 100, 200, 400], lambda n: run_seconds(n, 40, 2)),
        "time over rounds": ([50, 100, 200, 400], lambda n: run_seconds(30, n, 2)),
        "time over seats": ([2, 4, 8], lambda n: run_seconds(40, 50, n)),
        "memory over matches": ([50, 100, 200], peak_mib),
        "prompt over rounds shown (500 happened)": ([10, 40, 160, 480], lambda n: prompt_seconds(n, 500)),
        "prompt over rounds happened (10 shown)": ([50, 500, 5000], lambda n: prompt_seconds(10, n)),
    }
    results = []
    for name, (sizes, cost) in cases.items():
        slope, shown = exponent(sizes, cost)
        results.append(Result("cost growth", name, slope, "exponent", aim="<= 1.05", met=slope <= 1.05, note=shown))
    return results
