"""The stages of the corpus funnel: each keeps some traces, and gives a reason for every dropped one.

``prefilter`` (a forward term of the reply's own), ``sample`` (balanced over models and history lengths), ``judged``
(scores of every judge), ``thresholds``, ``lexical`` (forward terms outweigh reactive ones, whatever the judge says) and
``families`` (few replies that begin alike) come in this order; ``split`` parts training from validation.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

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
    rule = "scored by every judge"
    return sieve("judged", rule, traces, lambda t: None if len(t.scores) == judges else "no scores from every judge")


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
    rule = f"at most {most} replies with the same first {PREFIX} characters"
    return parted("families", rule, traces, chosen, f"more than {most} replies begin alike")


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
