"""How fast traces are counted, against one compiled regular expression per list in the same run."""

from __future__ import annotations

import random
import re
import sys
import time
import tracemalloc
from collections.abc import Iterator

from benchmarks.lexicon_regex import list_regex
from ostrom.features.words.lexicons import count_batches, memory_curse

PUBLISHED_TRACES = 378_000  # Liu et al. 2026, Appendix E
WORDS = 150
# Terms make up about 7 % of the words, as in the published frequencies (Liu et al. 2026, Appendix Table 8).
TERM_SHARE = 0.07
PLAIN = """
    the of and to a in that it is I will my other player round choose action A0 A1 payoff both since they have
    played last rounds history shows if we this would give me points each then so because more than get over
    next game should reward based on previous observed total maximize their move not for with as be are by at
    can might still given current choice best keep staying consider however therefore while expected chance
"""


def made_up_traces(number: int, seed: int = 0) -> Iterator[tuple[int, str]]:
    """Made-up traces of 150 words in sentences and paragraphs, the same for the same seed."""
    rng = random.Random(seed)
    plain = PLAIN.split()
    terms = [term for lexicon in memory_curse() for term in lexicon.terms]
    for key in range(number):
        words = [rng.choice(terms) if rng.random() < TERM_SHARE else rng.choice(plain) for _ in range(WORDS)]
        for i in range(0, WORDS, 15):
            words[i] = words[i].capitalize()
            words[i + 14] += ".\n\n" if i % 45 == 30 else "."
        yield key, " ".join(words)


def measure(traces: int) -> dict[str, float]:
    """Seconds, traces per second and the ratio to regular expressions; the two must agree in every count.

    The second regular expression is faster but not our rule: lower case first, then no case to ignore.
    Regular expressions run on at most 2,000 of the traces and are scaled up; ours runs on all of them.
    """
    sample = list(made_up_traces(min(traces, 2_000)))
    patterns = [list_regex(lexicon) for lexicon in memory_curse()]
    next(iter(count_batches(sample[:1], memory_curse())))  # builds the automaton, as the patterns are built above
    lowered = [re.compile(pattern.pattern) for pattern in patterns]
    seconds: dict[str, list[float]] = {"ours": [], "regex": [], "lowered": []}
    for _ in range(5):
        start = time.perf_counter()
        slow = [[sum(1 for _ in p.finditer(text)) for p in patterns] + [len(text.split())] for _, text in sample]
        seconds["regex"].append(time.perf_counter() - start)
        start = time.perf_counter()
        for _, text in sample:
            small = text.lower()
            _ = [sum(1 for _ in p.finditer(small)) for p in lowered] + [len(text.split())]
        seconds["lowered"].append(time.perf_counter() - start)
        start = time.perf_counter()
        batches = list(count_batches(sample, memory_curse()))
        seconds["ours"].append(time.perf_counter() - start)
    fast = [[*trace.counts.values(), trace.words] for batch in batches for trace in batch]
    if fast != slow:
        raise AssertionError("the matcher and the regular expressions disagree")
    per_trace = {name: 1e6 * min(times) / len(sample) for name, times in seconds.items()}
    making = 0.0
    mark = time.perf_counter()

    def timed() -> Iterator[tuple[int, str]]:
        nonlocal making
        stream = made_up_traces(traces)
        while True:
            begin = time.perf_counter()
            item = next(stream, None)
            making += time.perf_counter() - begin
            if item is None:
                return
            yield item

    matches = sum(int(batch.counts.sum()) for batch in count_batches(timed(), memory_curse()))
    counting = time.perf_counter() - mark - making
    return {
        "traces": traces,
        "words_per_trace": WORDS,
        "matches": matches,
        "seconds": counting,
        "traces_per_second": traces / counting,
        "microseconds_per_trace": per_trace["ours"],
        "regex_microseconds_per_trace": per_trace["regex"],
        "times_faster_than_regex": per_trace["regex"] / per_trace["ours"],
        "times_faster_than_regex_on_lowered_text": per_trace["lowered"] / per_trace["ours"],
        "peak_memory_mb": _peak_memory(min(traces, 20_000)),
    }


def _peak_memory(number: int) -> float:
    """Peak of memory held while counting a stream, which does not grow with the number of traces."""
    tracemalloc.start()
    for _ in count_batches(made_up_traces(number), memory_curse()):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


if __name__ == "__main__":
    for name, value in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000).items():
        print(f"{name:40} {value:,.1f}")
