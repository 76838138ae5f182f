"""The funnel: from the traces of runs to the corpus of one arm, with a reason for every dropped trace.

Pure: scores come in as a function that asks the judges, so that a test needs none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ostrom.ground.errors import UsageError
from ostrom.probe.arms import Example, Matching, candidates, matched, shuffled
from ostrom.probe.stages import Stage, families, judged, lexical, prefilter, sample, sieve, split, thresholds
from ostrom.probe.trace import Trace

Arm = Literal["forward", "placebo", "shuffled"]
ARMS: tuple[Arm, ...] = get_args(Arm)
Scoring = Callable[[Sequence[Trace]], Sequence[Trace]]
"""Returns the traces in order, with their judges' scores."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The numbers of the funnel; the defaults are those of Liu et al. (2026, Appendix I.1)."""

    sample: int = 12_000
    forward: int = 9
    quality: int = 9
    specificity: int = 7
    family: int = 3
    held_out: float = 0.05
    placebo_below: int = 4
    leave_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.placebo_below > self.forward:
            raise UsageError(
                f"--placebo-below must be at most --forward (found {self.placebo_below} and {self.forward}): "
                "no reply may be in both arms"
            )


@dataclass(frozen=True, slots=True)
class Corpus:
    """The result of the funnel for one arm."""

    arm: Arm
    stages: tuple[Stage, ...]
    train: tuple[Example, ...]
    val: tuple[Example, ...]
    matching: Matching | None = None
    """For the placebo arm: the matched pairs, and the forward-looking replies without a match."""

    @property
    def examples(self) -> tuple[Example, ...]:
        """Return all examples: those for training, then those for validation."""
        return self.train + self.val


def build(collected: Stage, arm: Arm, rules: Rules, score: Scoring, judges: int) -> Corpus:
    """Run the funnel for one arm on the collected traces."""
    stages = [collected]
    if rules.leave_out:
        stages.append(_left_in(collected.kept, rules.leave_out))
    source = stages[-1].kept
    _go_through(
        stages,
        prefilter,
        lambda traces: sample(traces, rules.sample),
        lambda traces: judged(score(traces), judges),
        lambda traces: thresholds(traces, rules.forward, rules.quality, rules.specificity),
        lexical,
        lambda traces: families(traces, rules.family),
    )
    forward = stages[-1].kept
    if arm == "placebo":
        return _placebo(source, forward, rules, score, judges)
    train, val = split(forward, rules.held_out)
    if arm == "forward":
        return Corpus(arm, tuple(stages), tuple(map(Example.from_trace, train)), tuple(map(Example.from_trace, val)))
    both = [shuffled(part) for part in (train, val)]
    rule = "has a prompt of another trace of its game and part"
    lost = tuple(pair for _, without in both for pair in without)
    stages.append(Stage("shuffled", rule, tuple(example.trace for examples, _ in both for example in examples), lost))
    return Corpus(arm, tuple(stages), tuple(both[0][0]), tuple(both[1][0]))


def _go_through(stages: list[Stage], *following: Callable[[Sequence[Trace]], Stage]) -> None:
    """Append stage after stage, each on what the previous one kept."""
    for stage in following:
        stages.append(stage(stages[-1].kept))


def _placebo(source: Sequence[Trace], forward: Sequence[Trace], rules: Rules, score: Scoring, judges: int) -> Corpus:
    """Run the placebo arm: without the prefilter, since it needs replies without forward terms."""
    forward_places = {trace.place for trace in forward}
    stages = [
        sieve("not in the forward corpus", "all traces that the forward corpus does not hold", source,
              lambda t: "in the forward corpus" if t.place in forward_places else None)
    ]  # fmt: skip
    _go_through(
        stages,
        lambda traces: sample(traces, rules.sample),
        lambda traces: judged(score(traces), judges),
        lambda traces: candidates(traces, rules.placebo_below, rules.quality),
        lambda traces: families(traces, rules.family),
    )
    pairing = matched(forward, stages[-1].kept)
    partner = {other.place for _, other in pairing.pairs}
    rule = "matched to a forward-looking reply: model, game, history length, action, length within a quarter"
    stages.append(sieve("matched", rule, stages[-1].kept, lambda t: None if t.place in partner else "nobody's match"))
    examples = {example.trace.place: example for example in pairing.examples()}
    train, val = split(stages[-1].kept, rules.held_out)
    return Corpus(
        "placebo",
        tuple(stages),
        tuple(examples[trace.place] for trace in train),
        tuple(examples[trace.place] for trace in val),
        pairing,
    )


def _left_in(traces: Sequence[Trace], games: Sequence[str]) -> Stage:
    return sieve(
        "leave out", f"not of {', '.join(games)}", traces, lambda t: f"game {t.game}" if t.game in games else None
    )
