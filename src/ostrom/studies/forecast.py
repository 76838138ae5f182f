"""What a study will take: cells, matches, and bounds of calls, tokens and money; whether a budget suffices.

Lengths of replies are those that styles usually take, or those of an earlier run that was measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ostrom.agents.config import AgentConfig
from ostrom.agents.explained import is_explained
from ostrom.agents.factory import renderer_of
from ostrom.agents.language import styles
from ostrom.answers import Form
from ostrom.answers.forms import TOKENS_PER_WORD, answer_tokens
from ostrom.engine.batching.ledger import read_batches
from ostrom.engine.plan import Budget, Seated, Unit
from ostrom.framing import PromptRenderer
from ostrom.ground.errors import UsageError
from ostrom.mechanisms.protocol import Decision
from ostrom.memory import Memory, Shown, memories
from ostrom.models.batches import may_batch
from ostrom.models.prices import batch_share, price_of_calls, rates_of
from ostrom.studies.plan import StudyPlan
from ostrom.studies.prompts import formed, rehearse
from ostrom.studies.run import Run, open_run
from ostrom.studies.waves import HOURS, Chains, Waves

SHORT_EXPLANATION = 100
"""Words of a short explanation; the printed ones (Manoranjan & Gaikwad 2026, F.1) have 40 to 153."""
CHARACTERS_PER_TOKEN = 3.5
"""A low value, so that the bound on tokens holds for the tokenisers in use."""
QUESTION = 60
"""Characters of a question without its instruction, in a later turn of a dialogue."""
QUESTIONS = 3
"""Questions to a player from which the length of its prompts is estimated."""
REHEARSED = 12
"""Questions to each player from which the length of its shown history is estimated."""
FAR = 10_000
"""A number of rounds beyond the reach of every bounded memory."""


@dataclass(frozen=True, slots=True)
class PerCall:
    """What one call of a player takes: its prompt, a usual reply, and the longest one that is possible."""

    tokens_in: float
    likely_out: float
    most_out: float | None
    likely_in: float | None = None
    """The prompt with replies of the usual length in it, where it holds earlier replies (a dialogue)."""


@dataclass(slots=True)
class Forecast:
    """The upper bounds of a study's calls, tokens and cost, and likely values for replies of usual length.

    Replies that have to be asked for again come on top, as the retries say.
    """

    cells: int = 0
    matches: int = 0
    designs: int = 0
    decisions: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int | None = 0
    usd: float | None = 0.0
    likely_tokens_out: int = 0
    likely_usd: float | None = 0.0
    unpriced: tuple[str, ...] = ()
    unbounded: tuple[str, ...] = ()
    """Models whose replies nothing bounds: their params set no max_tokens."""
    retries_per_decision: int = 0
    likely_calls: int = 0
    """Calls including repeated ones, where an earlier run shows how many are repeated."""
    likely_tokens_in: int = 0
    batch_usd: float | None = None
    """The most that the study costs in batches; None if a model has no batch endpoint, price or bound."""
    likely_batch_usd: float | None = None
    usual_price: tuple[str, ...] = ()
    """Models whose services state no price of batches: they are counted at the usual one."""
    waves: Waves | None = None
    """How often matches wait for a batch; None where they cannot be played in batches."""
    measured: str | None = None
    """The earlier run that the likely figures are from; None: what the styles usually take."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def forecast(
    plan: StudyPlan, prices: Mapping[str, Any] | None = None, measured: Measured | None = None
) -> Forecast:
    """Bound a study without playing it: one unit of each seating is looked at, seeds multiply.

    What is likely comes from the replies of an earlier run where one was measured.
    """
    total = Forecast(
        cells=plan.cells,
        matches=plan.matches,
        designs=plan.preparations,
        retries_per_decision=plan.retries,
    )
    units = (plan.unit(index) for index in range(len(plan) // plan.study.seeds))
    known: dict[tuple[Any, ...], PerCall] = {}

    def per_call(unit: Unit, seated: Seated, player: int) -> PerCall:
        """Members of a society are many and asked alike, in all generations: one of each type and seat is looked at."""
        alike = player % unit.game.seats if unit.mechanism.society and not seated.observes else player
        told = tuple((name, str(level)) for name, level in unit.cell.items() if name != "generation")
        key = (told, unit.kind, unit.game.name, id(seated.config), alike, len(unit.players), unit.seat)
        if key not in known:
            known[key] = _per_call(plan, unit, seated, player)
            reply = None if measured is None else measured.reply(seated.config)
            if reply is not None:
                known[key] = replace(known[key], likely_out=reply)
        return known[key]

    chains = Chains(plan) if plan.models and all(may_batch(model) for model in plan.models) else None
    found = add_up(total, _seen(units, chains), per_call, prices, times=plan.study.seeds, measured=measured)
    if chains is None:
        found.batch_usd = found.likely_batch_usd = None
    else:
        found.waves = chains.waves((measured and measured.hours) or HOURS)
    return found


def _seen(units: Iterable[Unit], chains: Chains | None) -> Iterator[Unit]:
    for unit in units:
        if chains is not None:
            chains.add(unit)
        yield unit


def playing(unit: Unit) -> Sequence[Seated]:
    """The players of a unit; where ways of playing spread, every player may become a model."""
    models = [seated for seated in unit.players if seated.config.model is not None]
    if not unit.mechanism.spreads or not models:
        return unit.players
    return [seated if seated.config.model is not None else models[0] for seated in unit.players]


class CostSum:
    """Adds up calls of models: tokens, and what they cost directly and in batches."""

    def __init__(
        self, total: Forecast, prices: Mapping[str, Any] | None = None, measured: Measured | None = None
    ) -> None:
        self.total, self._prices = total, prices
        self._again = 1.0 if measured is None else measured.again
        self._dense = 1.0
        if measured is not None and measured.characters is not None:
            self._dense = CHARACTERS_PER_TOKEN / measured.characters
        self._unpriced: dict[str, None] = {}
        self._unbounded: dict[str, None] = {}
        self._usual_price: dict[str, None] = {}
        self._usd = self._likely_usd = self._batch_usd = self._likely_batch_usd = 0.0
        self._tokens_out = 0
        total.measured = None if measured is None else str(measured)

    def add(self, model: str, calls: float, call: PerCall, times: int = 1) -> None:
        """Add so many calls of a model, all of it so many times."""
        total, again, dense = self.total, self._again, self._dense
        tokens_in, likely = calls * call.tokens_in, calls * call.likely_out * again
        usual = call.tokens_in if call.likely_in is None else call.likely_in
        likely_in = calls * usual * dense * again
        total.calls += round(calls * times)
        total.tokens_in += round(tokens_in * times)
        total.likely_tokens_out += round(likely * times)
        total.likely_tokens_in += round(likely_in * times)
        total.likely_calls += round(calls * again * times)
        if call.most_out is None:
            self._unbounded[model] = None
        longest = call.likely_out if call.most_out is None else call.most_out
        self._tokens_out += round(calls * longest * times)
        most = price_of_calls(model, calls, call.tokens_in, longest, self._prices)
        usually = price_of_calls(model, calls * again, usual * dense, call.likely_out, self._prices)
        if most is None or usually is None:
            self._unpriced[model] = None
            return
        share = batch_share(model, rates_of(model, self._prices))
        if share is None:
            self._usual_price[model] = None
            share = 1.0
        self._usd += most * times
        self._likely_usd += usually * times
        self._batch_usd += most * times * share
        self._likely_batch_usd += usually * times * share

    def finished(self) -> Forecast:
        """The forecast, with None where a price or a bound is not known."""
        total, priced = self.total, not self._unpriced
        bounded = not self._unbounded
        total.unpriced, total.unbounded = tuple(self._unpriced), tuple(self._unbounded)
        total.usual_price = tuple(self._usual_price)
        total.tokens_out = self._tokens_out if bounded else None
        total.usd = self._usd if priced and bounded else None
        total.likely_usd = self._likely_usd if priced else None
        total.batch_usd = self._batch_usd if priced and bounded else None
        total.likely_batch_usd = self._likely_batch_usd if priced else None
        return total


def add_up(
    total: Forecast,
    units: Iterable[Unit],
    per_call: Callable[[Unit, Seated, int], PerCall],
    prices: Mapping[str, Any] | None = None,
    times: int = 1,
    measured: Measured | None = None,
) -> Forecast:
    """Add what units take, each so many times; ``per_call`` of a unit, a player and its number is one call."""
    cost = CostSum(total, prices, measured)
    for unit in units:
        total.decisions += unit.mechanism.most_decisions(unit.game) * times
        for player, seated in enumerate(playing(unit)):
            model = seated.config.model
            if model is None or seated.config.tree is not None:
                continue
            notes = memories.build(seated.config.memory).most_notes(unit.mechanism.longest_history(unit.game))
            asked = unit.mechanism.decisions_of(unit.game, player, len(unit.players))
            calls = asked * styles.build(seated.config.style).calls + notes
            cost.add(model, calls, per_call(unit, seated, player), times)
    return cost.finished()


def _per_call(plan: StudyPlan, unit: Unit, seated: Seated, player: int) -> PerCall:
    """A mean prompt over a match: the fixed part plus the lines that memory shows, which grow.

    The fixed part is that of the player's first questions in a match that scripts play.
    """
    config = seated.config
    renderer = renderer_of(config, plan.library)
    asked = rehearse(plan, unit, enough=REHEARSED)
    rehearsed = asked[player] or [decision for others in asked.values() for decision in others[:QUESTIONS]]
    questions = rehearsed[:QUESTIONS] if asked[player] else rehearsed
    prompts = [renderer.prompt(decision, Shown(span=0), None, config.facts) for decision in questions]
    texts = [prompt.whole for prompt in prompts]
    memory = memories.build(config.memory)
    rounds = unit.mechanism.longest_history(unit.game)
    lines = sum(memory.most_lines(t) for t in range(rounds + 1)) / (rounds + 1) if rounds else 0
    line, heading = _remembered(renderer, rehearsed, config, memory) if lines else (0.0, 0.0)
    tokens_in = (sum(map(len, texts)) / len(texts) + heading + lines * line) / CHARACTERS_PER_TOKEN
    replies = [reply_of(config, formed(decision, config).form) for decision in questions]
    bounds = [most for _, most in replies if most is not None]
    found = PerCall(
        tokens_in,
        sum(likely for likely, _ in replies) / len(replies),
        sum(bounds) / len(replies) if len(bounds) == len(replies) else None,
    )
    if config.conversation == "prompt":
        return found
    calls = (
        unit.mechanism.decisions_of(unit.game, player, len(unit.players)) * styles.build(config.style).calls
    )
    told = sum(len(prompt.instruction) for prompt in prompts) / len(prompts) + QUESTION
    answers = sum(answer_tokens(formed(decision, config).form) for decision in questions) / len(questions)
    return _with_turns(found, config, calls / (rounds + 1), lines, told / CHARACTERS_PER_TOKEN, answers)


def _remembered(
    renderer: PromptRenderer, questions: Sequence[Decision], config: AgentConfig, memory: Memory
) -> tuple[float, float]:
    """Characters of a remembered round, and of what stands above all of them, in the longest history asked about."""
    decision = max(questions, key=lambda question: len(question.view.history))
    past = decision.view.history[:]
    if len(past) < 2:
        return 12 + 9 * decision.view.game.seats + 8, 0.0
    reach = memory.most_lines(FAR)
    none, one, most = (
        len(renderer.prompt(decision, shown, None, config.facts).whole)
        for shown in (
            Shown(span=0),
            *(Shown(past[:count], None if reach == FAR else reach) for count in (1, len(past))),
        )
    )
    line = max(0.0, (most - one) / (len(past) - 1))
    return line, max(0.0, one - none - line)


def _with_turns(
    call: PerCall, config: AgentConfig, per_round: float, rounds: float, question: float, answer: float
) -> PerCall:
    """A call with the earlier turns of its dialogue: those of the rounds shown, and half of those of its own round."""
    turns = rounds * per_round + max(0.0, per_round - 1) / 2
    if config.earlier_reasoning == "dropped":
        likely = most = answer
    else:
        likely, most = call.likely_out, call.likely_out if call.most_out is None else call.most_out
    grown = call.tokens_in + turns * (question + most)
    return replace(call, tokens_in=grown, likely_in=call.tokens_in + turns * (question + likely))


def reply_of(config: AgentConfig, form: Form) -> tuple[int, int | None]:
    """Tokens of a usual reply to a question, and of the longest one that is possible."""
    style, allowed = styles.build(config.style), config.params.get("max_tokens")
    most = style.most_tokens(form, None if allowed is None else int(allowed))
    answer = answer_tokens(form)
    words = SHORT_EXPLANATION if config.framing.words is None else config.framing.words
    if is_explained(form):
        answer += round(TOKENS_PER_WORD * words)
    likely = style.likely_tokens(answer, words)
    return (likely, None) if most is None else (min(likely, most), most)


@dataclass(frozen=True, slots=True)
class BudgetForecast:
    """Whether a budget suffices, as far as that can be known before the first call."""

    of: str
    budget: float
    likely: float | None
    most: float | None
    verdict: Literal["suffices", "likely suffices", "does not suffice", "unknown"]

    def __str__(self) -> str:
        unit = {"usd": "USD", "calls": "calls", "tokens": "tokens"}[self.of]
        if self.verdict == "unknown":
            return f"budget of {self.budget:g} {unit}: the price is not known, so nobody can say whether it suffices"
        most = "no bound" if self.most is None else f"at most {_short(self.most)}"
        needed = f"{most}, likely {_short(self.likely or 0)}, before retries"
        return f"budget of {self.budget:g} {unit}: {self.verdict} ({needed})"


def verdicts(bound: Forecast, budget: Budget, *, batch: bool = False) -> list[BudgetForecast]:
    """What a forecast says about every bound of a budget, at the prices of batches where they are used."""
    most_tokens = None if bound.tokens_out is None else bound.tokens_in + bound.tokens_out
    needs: dict[str, tuple[float | None, float | None]] = {
        "usd": (bound.likely_batch_usd, bound.batch_usd) if batch else (bound.likely_usd, bound.usd),
        "calls": (bound.likely_calls or bound.calls, max(bound.calls, bound.likely_calls)),
        "tokens": ((bound.likely_tokens_in or bound.tokens_in) + bound.likely_tokens_out, most_tokens),
    }
    found = []
    for of, (likely, most) in needs.items():
        allowed = getattr(budget, of)
        if allowed is not None:
            found.append(BudgetForecast(of, allowed, likely, most, _verdict(allowed, likely, most)))
    return found


def _verdict(
    allowed: float, likely: float | None, most: float | None
) -> Literal["suffices", "likely suffices", "does not suffice", "unknown"]:
    if likely is None:
        return "unknown"
    if most is not None and most <= allowed:
        return "suffices"
    return "likely suffices" if likely <= allowed else "does not suffice"


def _short(value: float) -> str:
    return f"{value:.2f}" if value != int(value) else str(int(value))


SAMPLE = 200
"""Calls whose prompts are measured."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Means of an earlier run."""

    run: str
    calls: int
    replies: dict[tuple[str | None, str], float] = field(default_factory=dict)
    """Tokens of a reply, by model and style; with None for the model, over all models of the run."""
    again: float = 1.0
    """Calls made per answer: unreadable replies are asked for again."""
    characters: float | None = None
    """Characters per token of a prompt."""
    hours: float | None = None
    """Hours from the creation of a batch to its end."""

    def reply(self, config: AgentConfig) -> float | None:
        """Mean tokens of a reply of this model in this style, else of all models; None if not measured."""
        found = self.replies.get((config.model, config.style))
        return self.replies.get((None, config.style)) if found is None else found

    def __str__(self) -> str:
        parts = [
            f"{style} {tokens:.0f} tokens" for (model, style), tokens in self.replies.items() if model is None
        ]
        if self.characters is not None:
            parts.append(f"{self.characters:.1f} characters a token")
        return f"{self.calls} calls of {self.run}: {', '.join(parts)}, {self.again:.3f} calls an answer"


def measure(run: str | Path, runs: str | Path = "runs") -> Measured:
    """The means of a run on disk; one without a reply of a model is refused."""
    with open_run(run, runs) as opened:
        return _measured(opened)


def _measured(run: Run) -> Measured:
    sums: dict[tuple[str | None, str], list[int]] = defaultdict(lambda: [0, 0])
    ids: list[tuple[int, int]] = []
    calls, unit = 0, None
    for call in run.journal.call_rows(run.name):
        if call["reply"] is None or call["tokens_out"] is None or call["error"] is not None:
            continue
        if unit is None or unit.index != call["match"]:
            unit = run.plan.unit(call["match"])
        calls += 1
        config = unit.players[call["player"] - 1].config
        for model in (call["model"], None):
            tally = sums[model, config.style]
            tally[0] += 1
            tally[1] += call["tokens_out"]
        if call["tokens_in"]:
            ids.append((call["id"], call["tokens_in"]))
    if not calls:
        raise UsageError(f"--from {run.name}: this run has no replies whose tokens were counted")
    complaints = run.journal.spent()["complaints"]
    return Measured(
        run.name,
        calls,
        {key: total / count for key, (count, total) in sums.items()},
        calls / max(1.0, calls - complaints),
        _characters(run, ids),
        _hours(run),
    )


def _characters(run: Run, ids: list[tuple[int, int]]) -> float | None:
    some = ids[:: max(1, len(ids) // SAMPLE)][:SAMPLE]
    texts = sum(sum(len(text) for _, text in run.journal.prompt(call) or []) for call, _ in some)
    tokens = sum(count for _, count in some)
    return texts / tokens if tokens and texts else None


def _hours(run: Run) -> float | None:
    took = [
        b.ended - b.at
        for b in read_batches(run.journal).values()
        if b.ended is not None and b.how != "failed"
    ]
    return sum(took) / len(took) / 3600 if took else None
