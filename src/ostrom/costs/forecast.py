"""What a study will take: the expectation and the bound of calls, tokens and money; whether a budget suffices.

Lengths of replies are those that styles usually take, or those of an earlier run that was measured.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from html import escape
from math import ceil
from pathlib import Path
from typing import Any, Literal

from ostrom.agents.config import AgentConfig
from ostrom.agents.language import styles
from ostrom.costs.lengths import CHARACTERS_PER_TOKEN, Lengths, text_lengths, text_name
from ostrom.costs.rehearsal import CHARACTERS, CallSum, Rehearsal, rehearsed
from ostrom.costs.waves import HOURS, Chains, Waves
from ostrom.engine.batching.ledger import read_batches
from ostrom.engine.plan import Budget, Seated, Unit
from ostrom.ground.errors import UsageError
from ostrom.ground.results import html_table
from ostrom.memory import memories
from ostrom.models.batches import may_batch
from ostrom.models.prices import batch_share, price_of_calls, rates_of
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import Run, open_run

_REPEATED = re.compile(r"try[1-9]")
CORRECTION = 300
"""Tokens of the message that says why a reply could not be read."""


@dataclass(frozen=True, slots=True)
class PerCall:
    """What one call of a player takes on average: its prompt and its reply, at most and likely."""

    tokens_in: float
    likely_out: float
    most_out: float | None
    likely_in: float | None = None
    """None: at most and likely are the same text, in which only the characters of a token are uncertain."""


@dataclass(slots=True)
class Forecast:
    """What a study takes: the expectation (``likely``) and the bound (``at_most``) of calls, tokens and cost.

    ``calls``, ``tokens_in``, ``tokens_out`` and ``usd`` are the bound if every reply can be read; ``at_most`` has the
    retries too.
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
    likely_decisions: int = 0
    usd_with_retries: float | None = None
    batch_usd_with_retries: float | None = None
    assumes: tuple[str, ...] = ()
    """What the likely figures take for granted, in words."""

    @property
    def likely(self) -> dict[str, float | None]:
        """The expectation by what is counted."""
        return {
            "decisions": self.likely_decisions, "calls": self.likely_calls, "tokens_in": self.likely_tokens_in,
            "tokens_out": self.likely_tokens_out, "usd": self.likely_usd,
        }  # fmt: skip

    @property
    def readable(self) -> dict[str, float | None]:
        """The bound by what is counted, if every reply can be read; None where nothing bounds it."""
        return {
            "decisions": self.decisions, "calls": self.calls, "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out, "usd": self.usd,
        }  # fmt: skip

    @property
    def at_most(self) -> dict[str, float | None]:
        """The bound by what is counted, with all retries; None where nothing bounds it."""
        retries, out = self.retries_per_decision, self.tokens_out
        return {
            "decisions": self.decisions,
            "calls": (retries + 1) * self.calls,
            "tokens_in": None if out is None else self.tokens_in + retries * self._asked_again(out),
            "tokens_out": None if out is None else (retries + 1) * out,
            "usd": self.usd_with_retries,
        }

    def _asked_again(self, out: int) -> int:
        """Tokens of all prompts when every question is asked once more: with the reply, and why it cannot be read."""
        return self.tokens_in + out + CORRECTION * self.calls

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "likely": self.likely, "at_most": self.at_most}

    def _repr_html_(self) -> str:
        """For notebooks: what is likely and what is possible at most."""
        rows = [{"": "likely", **self.likely}, {"": "at most", **self.at_most}]
        size = f"{self.cells:,} cells, {self.matches:,} matches"
        said = "".join(f"<li>{escape(line)}</li>" for line in self.assumes)
        return f"<b>{size}</b>{html_table(rows)}<ul>{said}</ul>"


def forecast(
    plan: StudyPlan, prices: Mapping[str, Any] | None = None, measured: Measured | None = None
) -> Forecast:
    """Forecast a study without playing it: one unit of each kind is rehearsed, seeds multiply.

    What is likely comes from the replies of an earlier run where one was measured.
    """
    total = Forecast(
        cells=plan.cells,
        matches=plan.matches,
        designs=plan.preparations,
        retries_per_decision=plan.retries,
    )
    cost = CostSum(total, prices, measured)
    rehearsals: dict[tuple[Any, ...], Rehearsal] = {}
    lengths = Lengths() if measured is None else Lengths(measured.reply, measured.texts)
    chains = Chains(plan) if plan.models and all(may_batch(model) for model in plan.models) else None
    decisions, varies, chance, tools, words = 0.0, dict[str, None](), False, False, _Words()
    for index in range(len(plan) // plan.study.seeds):
        if not (seeds := plan.repeats(index)):
            continue  # it is played by other shards
        unit = plan.unit(index)
        if chains is not None:
            chains.add(unit)
        most = unit.mechanism.most_decisions(unit.game)
        total.decisions += most * seeds
        rounds = unit.mechanism.most_rounds(unit.game)
        taking_place = sum(unit.mechanism.survival(number) for number in range(1, rounds + 1)) / rounds
        chance = chance or taking_place < 1
        if not any(_asks(seated.config) for seated in unit.players):
            decisions += seeds * taking_place * most
            continue
        # Prompts of generations have the same length; the first makes its designs, and the last breeds no other.
        told = tuple(words.of(seated.config, measured) for seated in unit.players)
        key = (cell_of(unit), unit.kind, unit.game.name, told, unit.seat, most, bool(unit.needs))
        if key not in rehearsals:
            rehearsals[key] = rehearsed(plan, unit, lengths, plan.cells)
        match = rehearsals[key]
        open_end = match.varies or match.tools or not match.exact
        played = None if measured is None or not open_end else measured.played(unit)
        if match.varies and played is None:
            varies[unit.game.name] = None
        tools = tools or (match.tools and played is None)
        longer = 1.0 if played is None else played.calls / sum(share.calls for share in match.likely)
        decisions += seeds * match.decisions * (1.0 if match.exact else longer)
        for seated, likely, bound in zip(playing(unit), match.likely, match.most, strict=True):
            if _asks(seated.config):
                cost.add_share(str(seated.config.model), bound, match.bounded, seeds, likely, longer, played)
    found = cost.finished()
    found.likely_decisions = round(decisions)
    found.assumes = assumptions(measured, list(varies), chance=chance, tools=tools) if plan.models else ()
    if chains is None:
        found.batch_usd = found.likely_batch_usd = found.batch_usd_with_retries = None
    else:
        found.waves = chains.waves((measured and measured.hours) or HOURS)
    return found


def _asks(config: AgentConfig) -> bool:
    return config.model is not None and config.tree is None


def cell_of(unit: Unit) -> tuple[tuple[str, str], ...]:
    """The cell of a unit, whatever its generation."""
    return tuple((name, str(level)) for name, level in unit.cell.items() if name != "generation")


class _Words:
    """Tells apart configurations whose prompts or replies have another length: models alone do not."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[AgentConfig, str]] = {}

    def of(self, config: AgentConfig, measured: Measured | None) -> str:
        """The same text for configurations that are asked in the same words; scripts are asked nothing."""
        if not _asks(config):
            return ""
        if id(config) not in self._known:
            own = set() if measured is not None else {"model"}
            self._known[id(config)] = config, config.model_dump_json(exclude={*own, "settings"})
        return self._known[id(config)][1]


def assumptions(
    measured: Measured | None = None,
    varies: Sequence[str] = (),
    *,
    chance: bool = False,
    tools: bool = False,
) -> tuple[str, ...]:
    """What likely figures take for granted, a line each."""
    lines = []
    if measured is None:
        lines.append(
            "every reply can be read and is as long as its style usually makes it, and a prompt has "
            f"{CHARACTERS:g} characters a token"
        )
    if chance:
        lines.append("matches end when chance ends them on average; at most: in their last round")
    if tools:
        lines.append(
            "a player with tools calls one of them before each answer; at most: as many as its limit"
        )
    if varies:
        lines.append(
            f"how much is asked in {', '.join(varies)} depends on what the players do, and they choose at random"
        )
    return tuple(lines)


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
        self._again, again_in = (1.0, 1.0) if measured is None else (measured.again, measured.again_in)
        self._longer = again_in / self._again
        self._dense = CHARACTERS_PER_TOKEN / ((measured and measured.characters) or CHARACTERS)
        self._unpriced: dict[str, None] = {}
        self._unbounded: dict[str, None] = {}
        self._usual_price: dict[str, None] = {}
        self._sums: dict[str, float] = defaultdict(float)
        total.measured = None if measured is None else str(measured)

    def add_share(
        self, model: str, bound: CallSum, bounded: bool, times: int, likely: CallSum, longer: float,
        played: MatchMeans | None,
    ) -> None:  # fmt: skip
        """Add what a player takes in a match, all of it so many times; ``longer`` is how much longer matches were."""
        most, calls = bound.calls, likely.calls * longer
        if not most and not calls:
            return
        usual = (
            CallSum(1.0) if not likely.calls else CallSum(*(part / likely.calls for part in astuple(likely)))
        )
        longest = usual if not most else CallSum(*(part / most for part in astuple(bound)))
        tokens_in = usual.characters / CHARACTERS_PER_TOKEN
        if played is not None:
            tokens_in = played.tokens_in / self._dense / self._longer
        call = PerCall(
            max(longest.characters / CHARACTERS_PER_TOKEN * max(1.0, self._dense), tokens_in),
            usual.tokens_out if played is None else played.tokens_out,
            longest.tokens_out if bounded else None,
            tokens_in,
        )
        self.add(model, most or calls, call, times, calls)

    def add(
        self, model: str, calls: float, call: PerCall, times: int = 1, likely_calls: float | None = None
    ) -> None:
        """Add so many calls of a model, all of it so many times; fewer of them may be likely."""
        dense, sums = self._dense, self._sums
        expected = (calls if likely_calls is None else likely_calls) * self._again * times
        calls *= times
        usual = (call.tokens_in if call.likely_in is None else call.likely_in) * dense * self._longer
        longest = call.likely_out if call.most_out is None else call.most_out
        if call.most_out is None:
            self._unbounded[model] = None
        sums["calls"] += calls
        sums["tokens_in"] += calls * call.tokens_in
        sums["tokens_out"] += calls * longest
        sums["likely_calls"] += expected
        sums["likely_tokens_in"] += expected * usual
        sums["likely_tokens_out"] += expected * call.likely_out
        most = price_of_calls(model, calls, call.tokens_in, longest, self._prices)
        usually = price_of_calls(model, expected, usual, call.likely_out, self._prices)
        if most is None or usually is None:
            self._unpriced[model] = None
            return
        share = batch_share(model, rates_of(model, self._prices))
        if share is None:
            self._usual_price[model] = None
            share = 1.0
        sums["usd"] += most
        again = self.total.retries_per_decision
        longer = call.tokens_in + again / (again + 1) * (longest + CORRECTION)
        retried = price_of_calls(model, (again + 1) * calls, longer, longest, self._prices) or 0.0
        sums["likely_usd"] += usually
        sums["batch_usd"] += most * share
        sums["usd_with_retries"] += retried
        sums["batch_usd_with_retries"] += retried * share
        sums["likely_batch_usd"] += usually * share

    def finished(self) -> Forecast:
        """The forecast, with None where a price or a bound is not known."""
        total, sums, priced = self.total, self._sums, not self._unpriced
        bounded = not self._unbounded
        total.unpriced, total.unbounded = tuple(self._unpriced), tuple(self._unbounded)
        total.usual_price = tuple(self._usual_price)
        for name in ("likely_calls", "likely_tokens_in", "likely_tokens_out"):
            setattr(total, name, round(sums[name]))
        total.calls, total.tokens_in = ceil(sums["calls"] - 1e-6), ceil(sums["tokens_in"] - 1e-6)
        total.tokens_out = ceil(sums["tokens_out"] - 1e-6) if bounded else None
        for name in ("usd", "usd_with_retries", "batch_usd", "batch_usd_with_retries"):
            setattr(total, name, sums[name] if priced and bounded else None)
            if not name.endswith("retries"):
                setattr(total, f"likely_{name}", sums[f"likely_{name}"] if priced else None)
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
        needed = f"likely {_short(self.likely or 0)}, {most}"
        return f"budget of {self.budget:g} {unit}: {self.verdict} ({needed})"


def verdicts(bound: Forecast, budget: Budget, *, batch: bool = False) -> list[BudgetForecast]:
    """What a forecast says about every bound of a budget, at the prices of batches where they are used."""
    tokens = [bound.at_most[name] for name in ("tokens_in", "tokens_out")]
    needs: dict[str, tuple[float | None, float | None]] = {
        "usd": (bound.likely_batch_usd, bound.batch_usd_with_retries) if batch
        else (bound.likely_usd, bound.usd_with_retries),
        "calls": (bound.likely_calls, bound.at_most["calls"]),
        "tokens": (
            bound.likely_tokens_in + bound.likely_tokens_out,
            None if None in tokens else sum(filter(None, tokens)),
        ),
    }  # fmt: skip
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


SAMPLE, MATCHES = 200, 20
"""Calls whose prompts, and matches whose texts are measured."""


@dataclass(frozen=True, slots=True)
class MatchMeans:
    """Means over the finished matches of a run: calls of a match, tokens of a call."""

    calls: float
    tokens_in: float
    tokens_out: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Means of an earlier run."""

    run: str
    calls: int
    replies: dict[tuple[str | None, str], float] = field(default_factory=dict)
    """Tokens of a reply, by model and style; with None for the model, over all models of the run."""
    again: float = 1.0
    """Calls made per question: unreadable replies are asked for again."""
    again_in: float = 1.0
    """Tokens of all prompts over those of the first prompt of every question."""
    characters: float | None = None
    """Characters per token of a prompt."""
    hours: float | None = None
    """Hours from the creation of a batch to its end."""
    matches: dict[tuple[Any, ...], MatchMeans] = field(default_factory=dict)
    """What matches took, by cell and by rules."""
    texts: dict[str, float] = field(default_factory=dict)
    """Characters of a text that players wrote, by the name of its form."""

    def played(self, unit: Unit) -> MatchMeans | None:
        """What a match took in the cell of a unit, or else under its rules; repeated calls are not counted."""
        return next((self.matches[key] for key in _alike(unit) if key in self.matches), None)

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
    measured = measured_replies(run, runs)
    if measured is None:
        raise UsageError(f"--from {run}: this run has no replies whose tokens were counted")
    return measured


def measured_replies(run: str | Path, runs: str | Path = "runs") -> Measured | None:
    """The same, or None where no model replied."""
    with open_run(run, runs) as opened:
        return measured_of(opened)


def measured_of(run: Run) -> Measured | None:
    """The means of an opened run; None where no model replied."""
    sums: dict[tuple[str | None, str], list[int]] = defaultdict(lambda: [0, 0])
    ids: list[tuple[int, int]] = []
    calls, unit, states = 0, None, run.journal.states()
    all_in, firsts = 0, (0, 0)
    """Tokens of all prompts; number and tokens of the first prompts of questions."""
    matches: dict[tuple[Any, ...], dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    for call in run.journal.call_rows(run.name):
        if call["reply"] is None or call["tokens_out"] is None or call["error"] is not None:
            continue
        if unit is None or unit.index != call["match"]:
            unit = run.plan.unit(call["match"])
        calls += 1
        all_in += call["tokens_in"] or 0
        if not _REPEATED.search(call["part"]):
            firsts = firsts[0] + 1, firsts[1] + (call["tokens_in"] or 0)
        for key in _alike(unit) if states.get(unit.index) == "done" else ():
            of = matches[key][unit.index]
            of[0] += 1
            of[1] += call["tokens_in"] or 0
            of[2] += call["tokens_out"]
        config = unit.players[call["player"] - 1].config
        for model in (call["model"], None):
            tally = sums[model, config.style]
            tally[0] += 1
            tally[1] += call["tokens_out"]
        if call["tokens_in"]:
            ids.append((call["id"], call["tokens_in"]))
    if not calls:
        return None
    again, again_in = calls / max(1, firsts[0]), all_in / firsts[1] if firsts[1] else 1.0
    means = {}
    for key, units in matches.items():
        made, tokens_in, tokens_out = (sum(of) for of in zip(*units.values(), strict=True))
        means[key] = MatchMeans(made / len(units) / again, tokens_in / made, tokens_out / made)
    return Measured(
        run.name,
        calls,
        {key: total / count for key, (count, total) in sums.items()},
        again,
        again_in,
        _characters(run, ids),
        _hours(run),
        means,
        _texts(run, [index for index, state in states.items() if state == "done"]),
    )


def _texts(run: Run, done: Sequence[int]) -> dict[str, float]:
    """Mean lengths of what was written in some matches, by the name of the form that asked for it."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for index in done[:: max(1, len(done) // MATCHES)][:MATCHES]:
        steps, _, answers = run.rows.replayed(run.plan.unit(index))
        for step, decisions in enumerate(steps):
            for decision in decisions:
                journaled = answers.get((step, decision.player, ""))
                if journaled is not None and journaled[0].reading != "scripted":
                    lengths[text_name(decision.form)] += text_lengths(decision.form, journaled[0].value)
    return {name: sum(of) / len(of) for name, of in lengths.items() if of}


def _alike(unit: Unit) -> list[tuple[Any, ...]]:
    """What matches are alike in, the closest first: cell and rules, with as many models."""
    models = sum(_asks(seated.config) for seated in unit.players)
    rules = (unit.kind, unit.game.name, unit.mechanism.name, models)
    return [(cell_of(unit), *rules), rules]


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


def missing_adapters(plan: StudyPlan) -> list[str]:
    """The adapters that agents of a study name and that are no file or folder: its first match could not begin."""
    named = dict.fromkeys(
        str(config.settings["adapter"])
        for _, configs in plan.asked()
        for config in configs
        if config.settings.get("adapter")
    )
    return [name for name in named if not Path(name).expanduser().exists()]
