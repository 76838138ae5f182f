"""The funnel: from the traces of runs to the corpus of one arm, with a reason for every dropped trace.

Pure: scores come in as a function that asks the judges, so that a test needs none.

Each stage keeps some traces. ``prefilter`` (a forward term of the reply's own), ``sample`` (balanced over models and
history lengths), ``judged`` (scores of every judge), ``thresholds``, ``lexical`` (forward terms outweigh reactive ones,
whatever the judge says) and ``families`` (few replies that begin alike) come in this order; ``split`` parts training
from validation.

Two arms are compared with the forward-looking replies. Placebo: replies that cooperate as coherently without looking
forward, matched one to one to the forward corpus. If training on these raises cooperation as much, the words about the
future were not the cause. Shuffled: the same replies on other prompts, so that only what is said remains, not what it
answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from ostrom.ground.errors import UsageError
from ostrom.ground.streams import key_of
from ostrom.ground.values import grouped
from ostrom.probe.terms import terms_of
from ostrom.probe.trace import PREFIX, Trace


@dataclass(frozen=True, slots=True)
class Stage:
    """The result of one stage."""

    name: str
    rule: str
    """The rule of the stage, in words."""
    kept: tuple[Trace, ...]
    dropped: tuple[tuple[Trace, str], ...]

    @property
    def reasons(self) -> dict[str, int]:
        """How many were dropped for each reason, most frequent first."""
        return dict(Counter(reason for _, reason in self.dropped).most_common())


def sieve(name: str, rule: str, traces: Iterable[Trace], why: Callable[[Trace], str | None]) -> Stage:
    """Return a stage that judges each trace alone: ``why`` returns the reason to drop it, or None."""
    reasons = [(trace, why(trace)) for trace in traces]
    passed = tuple(trace for trace, reason in reasons if reason is None)
    return Stage(name, rule, passed, tuple((trace, reason) for trace, reason in reasons if reason is not None))


def parted(name: str, rule: str, traces: Sequence[Trace], chosen: Iterable[Trace], reason: str) -> Stage:
    """Return a stage that chooses among the traces as a whole."""
    places = {trace.place for trace in chosen}
    return sieve(name, rule, traces, lambda trace: None if trace.place in places else reason)


def prefilter(traces: Iterable[Trace]) -> Stage:
    """Keep replies with a forward-looking keyword (Liu et al. 2026, Appendix I.1) that does not echo the prompt."""

    def why(trace: Trace) -> str | None:
        terms = terms_of(trace.reasoning, trace.prompt)
        if terms.forward:
            return None
        return "every forward term echoes the prompt" if terms.forward_echoes else "no forward term"

    return sieve("prefilter", "at least one forward term that does not echo the prompt", traces, why)


def sample(traces: Sequence[Trace], size: int) -> Stage:
    """Return at most ``size`` traces, one from each stratum in turn."""
    strata = grouped(
        ((trace.model, trace.history_length), trace) for trace in sorted(traces, key=lambda t: (t.order, t.place))
    )
    turns = [
        (turn, number, trace)
        for number, stratum in enumerate(strata[key] for key in sorted(strata, key=str))
        for turn, trace in enumerate(stratum)
    ]
    chosen = [trace for _, _, trace in sorted(turns, key=lambda t: t[:2])[:size]]
    return parted("sample", f"at most {size}, balanced over model and history length", traces, chosen, "not drawn")


def judged(traces: Iterable[Trace], judges: int) -> Stage:
    """Drop traces without the scores of all judges."""
    return sieve(
        "judged", "scored by every judge", traces,
        lambda t: None if len(t.scores) == judges else "no scores from every judge",
    )  # fmt: skip


def thresholds(traces: Iterable[Trace], forward: int, quality: int, specificity: int) -> Stage:
    """Keep forward >= 9, quality >= 9 and specificity >= 7 by default (Liu et al. 2026, Appendix I.1)."""
    least = {"forward": forward, "quality": quality, "specificity": specificity}

    def why(trace: Trace) -> str | None:
        low = (name for name, bound in least.items() if any(getattr(score, name) < bound for score in trace.scores))
        return next((f"{name} below {least[name]}" for name in low), None)

    rule = ", ".join(f"{name} at least {bound}" for name, bound in least.items())
    return sieve("thresholds", f"{rule} (first that fails is named)", traces, why)


def lexical(traces: Iterable[Trace]) -> Stage:
    """Keep replies with a forward term, and more forward than reactive ones, without echoes (Appendix I.1)."""

    def why(trace: Trace) -> str | None:
        terms = terms_of(trace.reasoning, trace.prompt)
        if not terms.forward:
            return "no forward term of its own"
        return None if terms.forward > terms.reactive else "no more forward than reactive terms"

    return sieve("lexical", "own forward terms: at least one, and more than reactive ones", traces, why)


def families(traces: Sequence[Trace], most: int) -> Stage:
    """Keep at most ``most`` replies with the same first 50 characters, at random."""
    alike = grouped((trace.family, trace) for trace in sorted(traces, key=lambda t: (t.order, t.place)))
    chosen = [trace for family in alike.values() for trace in family[:most]]
    return parted(
        "families", f"at most {most} replies with the same first {PREFIX} characters", traces, chosen,
        f"more than {most} replies begin alike",
    )  # fmt: skip


def split(traces: Sequence[Trace], share: float) -> tuple[list[Trace], list[Trace]]:
    """Split into training and validation; whole families go to validation as long as they fit.

    Without families 54 % of the validation replies would begin like a training one (Liu et al. 2026, Appendix I.1).
    """
    sizes = Counter(trace.family for trace in traces)
    room = int(len(traces) * share + 0.5)
    val_families = set()
    for family in sorted(sizes, key=lambda f: (key_of(f"split:{f}"), f)):
        if sizes[family] <= room:
            room -= sizes[family]
            val_families.add(family)
    return [t for t in traces if t.family not in val_families], [t for t in traces if t.family in val_families]


@dataclass(frozen=True, slots=True)
class Example:
    """A training example: a reply, its weight, and its prompt."""

    trace: Trace
    weight: float
    messages: tuple[tuple[str, str], ...]
    note: Mapping[str, Any] = field(default_factory=dict)
    """The trace that it was matched to, or the source of its prompt."""

    @classmethod
    def from_trace(cls, trace: Trace) -> Example:
        """An example with the trace's own prompt and weight."""
        return cls(trace, trace.weight, trace.messages)

    def as_dict(self, arm: str) -> dict[str, Any]:
        """Return the example as plain data for trainers of chat messages."""
        trace = self.trace
        messages = [{"role": role, "content": text} for role, text in self.messages]
        return {
            "messages": [*messages, {"role": "assistant", "content": trace.reply}],
            "weight": round(self.weight, 6),
            "arm": arm,
            "provenance": trace.provenance(),
            "model": trace.model,
            "game": trace.game,
            "history_length": trace.history_length,
            "action": trace.action,
            "cooperative": trace.cooperative,
            "scores": [asdict(score) for score in trace.scores],
            **self.note,
        }


CALIPER = 0.25
"""The largest relative difference in length of a matched reply: a quarter."""
Stratum: TypeAlias = tuple[str, str, int | None, str]


def candidates(traces: Iterable[Trace], below: int, quality: int) -> Stage:
    """Return placebo candidates: cooperative, coherent, not forward-looking."""

    def why(trace: Trace) -> str | None:
        if not trace.cooperative:
            return "not cooperative"
        if any(score.quality < quality for score in trace.scores):
            return f"quality below {quality}"
        return f"forward not below {below}" if any(s.forward >= below for s in trace.scores) else None

    return sieve("placebo", f"cooperative, quality at least {quality}, forward below {below}", traces, why)


@dataclass(frozen=True, slots=True)
class Matching:
    """Pairs of a forward-looking reply and its placebo, and unmatched forward replies."""

    pairs: tuple[tuple[Trace, Trace], ...]
    without: tuple[tuple[Trace, str], ...]

    def examples(self) -> list[Example]:
        """Return the placebos, each with its partner's weight, so that both corpora weigh the same."""
        return [
            Example(other, trace.weight, other.messages, {"matched_to": trace.provenance()})
            for trace, other in self.pairs
        ]


def matched(forward: Sequence[Trace], others: Sequence[Trace]) -> Matching:
    """Match exactly on model, game, history length and action, and on the number of words within a quarter.

    The longest replies choose first, each the nearest length that is left. Nothing is used twice; a reply
    without a partner is reported.
    """
    pool = grouped((_stratum(trace), trace) for trace in others)
    pairs, without = [], []
    for trace in sorted(forward, key=lambda t: (-t.words, t.order, t.place)):
        left = pool.get(_stratum(trace), [])
        near = [t for t in left if abs(t.words - trace.words) <= CALIPER * trace.words]
        if near:
            best = min(near, key=lambda t: (abs(t.words - trace.words), t.order, t.place))
            left.remove(best)
            pairs.append((trace, best))
        elif not trace.cooperative:
            without.append((trace, "its action is not cooperative"))
        elif not left:
            without.append((trace, "no candidate left with its model, game, history length and action"))
        else:
            without.append((trace, "no candidate of about its length"))
    return Matching(tuple(pairs), tuple(without))


def _stratum(trace: Trace) -> Stratum:
    return trace.model, trace.game, trace.history_length, trace.action


def shuffled(traces: Sequence[Trace]) -> tuple[list[Example], list[tuple[Trace, str]]]:
    """Return every reply with the prompt of another trace of the same game, each prompt used once.

    Prompts are shifted along a fixed shuffled order, by the smallest step at which every reply gets another prompt. If
    equal prompts prevent that, the step leaves the fewest unchanged; these replies are left out and reported.
    """
    examples: list[Example] = []
    without: list[tuple[Trace, str]] = []
    for group in grouped((trace.game, trace) for trace in sorted(traces, key=lambda t: (t.order, t.place))).values():
        step = min(range(1, len(group) + 1), key=lambda s: _same(group, s))
        for index, trace in enumerate(group):
            other = group[(index + step) % len(group)]
            if other.messages == trace.messages:
                without.append((trace, "no other prompt left"))
            else:
                examples.append(Example(trace, trace.weight, other.messages, {"prompt_of": other.provenance()}))
    return examples, without


def _same(group: Sequence[Trace], step: int) -> int:
    return sum(trace.messages == group[(index + step) % len(group)].messages for index, trace in enumerate(group))


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
        left_out = f"not of {', '.join(rules.leave_out)}"
        stages.append(
            sieve(
                "leave out", left_out, collected.kept, lambda t: f"game {t.game}" if t.game in rules.leave_out else None
            )
        )
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
    stages.append(
        Stage(
            "shuffled", "has a prompt of another trace of its game and part",
            tuple(example.trace for examples, _ in both for example in examples),
            tuple(pair for _, without in both for pair in without),
        )
    )  # fmt: skip
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
    rule = "matched to a forward-looking reply: model, game, history length, action, length within a quarter"
    stages.append(parted("matched", rule, stages[-1].kept, [other for _, other in pairing.pairs], "nobody's match"))
    examples = {example.trace.place: example for example in pairing.examples()}
    train, val = split(stages[-1].kept, rules.held_out)
    return Corpus(
        "placebo",
        tuple(stages),
        tuple(examples[trace.place] for trace in train),
        tuple(examples[trace.place] for trace in val),
        pairing,
    )
