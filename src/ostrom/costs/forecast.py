"""Forecasts: expectation and bound of calls, tokens and money; and whether a budget suffices.

Lengths of replies are those that styles usually take, or those of an earlier run that was measured.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from html import escape
from math import ceil
from pathlib import Path
from typing import Any, Literal, Self

from ostrom.agents.config import AgentConfig
from ostrom.agents.language import styles
from ostrom.answers import Choice
from ostrom.costs.lengths import CHARACTERS_PER_TOKEN, Lengths, reply_of
from ostrom.costs.measured import MatchMeans, Measured, asks, cell_of
from ostrom.costs.rehearsal import CallSum, Rehearsal, rehearsed
from ostrom.costs.rehearsing import CHARACTERS, MESSAGE, TOOL_CALL
from ostrom.costs.waves import HOURS, Chains, Waves
from ostrom.engine.plan import Budget, Seated, Unit
from ostrom.ground.results import html_table
from ostrom.ground.words import how_many
from ostrom.memory import memories
from ostrom.models.batches import may_batch
from ostrom.models.prices import batch_share, price_of_calls, rates_of
from ostrom.studies.plan import StudyPlan

CORRECTION = 300
"""Tokens of the message after an unreadable reply."""
CONNECTIONS, START, SPEED = 16, 1.0, 50.0
"""Defaults: calls of a model in flight, seconds until a reply begins, tokens per second."""


@dataclass(frozen=True, slots=True)
class PerCall:
    """The mean size of a player's call: prompt and reply, at most and likely."""

    tokens_in: float
    likely_out: float
    most_out: float | None
    likely_in: float | None = None
    """The likely prompt; None if it equals the maximum up to characters per token."""


@dataclass(slots=True)
class Forecast:
    """The forecast of a study: expectation (``likely``) and bound (``at_most``) of calls, tokens and cost.

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
    """Models without a known price."""
    unbounded: tuple[str, ...] = ()
    """Models with unbounded replies: their params set no max_tokens."""
    retries_per_decision: int = 0
    likely_calls: int = 0
    """Calls including retries, if an earlier run shows how many there are."""
    likely_tokens_in: int = 0
    batch_usd: float | None = None
    """The highest cost in batches; None if a model has no batch endpoint, price or bound."""
    likely_batch_usd: float | None = None
    usual_price: tuple[str, ...] = ()
    """Models whose services state no batch price: their batches are counted at the usual price."""
    waves: Waves | None = None
    """The number and duration of batches that matches wait for; None if batches are impossible."""
    measured: str | None = None
    """The earlier run behind the likely figures; None for usual values of styles."""
    likely_decisions: int = 0
    usd_with_retries: float | None = None
    batch_usd_with_retries: float | None = None
    assumes: tuple[str, ...] = ()
    """The assumptions of the likely figures, in words."""
    busy_seconds: float = 0.0
    """Likely total seconds of calls of the slowest model, in sequence."""
    chain_seconds: float = 0.0
    """Likely seconds of the longest match, whose calls are sequential."""
    connections: int = CONNECTIONS
    """Concurrent calls of a model."""
    speed: str = ""
    """The assumed speed, in words."""

    @property
    def size(self) -> str:
        """Return cells, matches and designs in words."""
        designs = f", {how_many(self.designs, 'design')}" if self.designs else ""
        return f"{how_many(self.cells, 'cell')}, {how_many(self.matches, 'match')}{designs}"

    def hours(self, times: float = 1) -> float:
        """Return the likely hours of ``times`` as many matches, without batches."""
        return max(times * self.busy_seconds / self.connections, self.chain_seconds) / 3600

    @property
    def likely(self) -> dict[str, float | None]:
        """Return the expectation by counter."""
        return {
            "decisions": self.likely_decisions, "calls": self.likely_calls, "tokens_in": self.likely_tokens_in,
            "tokens_out": self.likely_tokens_out, "usd": self.likely_usd, "hours": self.hours(),
        }  # fmt: skip

    @property
    def readable(self) -> dict[str, float | None]:
        """Return the bound by counter if every reply is readable; None without a bound."""
        return {
            "decisions": self.decisions, "calls": self.calls, "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out, "usd": self.usd,
        }  # fmt: skip

    @property
    def at_most(self) -> dict[str, float | None]:
        """Return the bound by counter with all retries; None without a bound."""
        retries, out = self.retries_per_decision, self.tokens_out
        again = self.tokens_in + (out or 0) + CORRECTION * self.calls  # all prompts of one retry of every question
        return {
            "decisions": self.decisions,
            "calls": (retries + 1) * self.calls,
            "tokens_in": None if out is None else self.tokens_in + retries * again,
            "tokens_out": None if out is None else (retries + 1) * out,
            "usd": self.usd_with_retries,
        }

    def with_waves(self, waves: Waves | None) -> Self:
        """Set the waves of batches; without batches there is no batch price either."""
        self.waves = waves
        if waves is None:
            self.batch_usd = self.likely_batch_usd = self.batch_usd_with_retries = None
        return self

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {**asdict(self), "likely": self.likely, "at_most": self.at_most}

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: likely and most."""
        rows = [{"": "likely", **self.likely}, {"": "at most", **self.at_most}]
        items = "".join(f"<li>{escape(line)}</li>" for line in self.assumes)
        return f"<b>{self.size}</b>{html_table(rows)}<ul>{items}</ul>"


def _in_flight(settings: Mapping[str, Any]) -> int:
    """Return the most concurrent calls of a client: its connections at each of its servers.

    >>> _in_flight({"connections": 32, "base_url": "http://a/v1", "replicas": ["http://b/v1"]}), _in_flight({})
    (64, 16)
    """
    servers = {settings.get("base_url"), *(settings.get("replicas") or ())} - {None}
    return (settings.get("connections") or CONNECTIONS) * max(1, len(servers))


def forecast(
    plan: StudyPlan,
    prices: Mapping[str, Any] | None = None,
    measured: Measured | None = None,
    connections: int | None = None,
) -> Forecast:
    """Forecast a study without playing it: one unit of each kind is rehearsed and multiplied by the seeds.

    What is likely comes from the replies of an earlier run where one was measured. Hours suppose that so many calls
    of a model are in flight at once.
    """
    total = Forecast(
        connections=connections or min(map(_in_flight, map(plan.settings, plan.models)), default=CONNECTIONS),
        cells=plan.cells,
        matches=plan.matches,
        designs=plan.preparations,
        retries_per_decision=plan.retries,
    )
    cost = CostSum(total, prices, measured)
    rehearsals: dict[tuple[Any, ...], Rehearsal] = {}
    lengths = Lengths() if measured is None else Lengths(measured.reply, measured.texts)
    chains = Chains(plan) if plan.models else None
    decisions, varies, chance, tools, prompt_groups = 0.0, dict[str, None](), False, False, _PromptGroups()
    for index in range(len(plan) // plan.study.seeds):
        if not (seeds := plan.replicates_in_shard(index)):
            continue  # it is played by other shards
        unit = plan.unit(index)
        if chains is not None:
            chains.add(unit)
        most = unit.mechanism.most_decisions(unit.game)
        total.decisions += most * seeds
        rounds = unit.mechanism.most_rounds(unit.game)
        taking_place = sum(unit.mechanism.survival(number) for number in range(1, rounds + 1)) / rounds
        chance = chance or taking_place < 1
        if not any(asks(seated.config) for seated in unit.players):
            decisions += seeds * taking_place * most
            continue
        # Prompts of generations have equal length; the first makes its designs, and the last has no offspring.
        wordings = tuple(prompt_groups.length_key(seated.config, measured) for seated in unit.players)
        key = (cell_of(unit), unit.kind, unit.game.name, wordings, unit.seat, most, bool(unit.needs))
        if key not in rehearsals:
            rehearsals[key] = rehearsed(plan, unit, lengths, plan.cells)
        match = rehearsals[key]
        open_end = match.varies or match.tools or not match.exact
        played = None
        if measured is not None and (open_end or measured.characters is None):
            played = measured.played(unit, exactly=not open_end)
        if match.varies and played is None:
            varies[unit.game.name] = None
        tools = tools or (match.tools and played is None)
        longer = 1.0 if played is None or not open_end else played.calls / sum(share.calls for share in match.likely)
        decisions += seeds * match.decisions * (1.0 if match.exact else longer)
        for seated, likely, bound in zip(playing(unit), match.likely, match.most, strict=True):
            if asks(seated.config):
                cost.add_share(seated.config, bound, match.bounded, seeds, likely, longer, played)
    estimate = cost.finished()
    estimate.likely_decisions = round(decisions)
    estimate.assumes = (
        assumptions(measured, list(varies), chance=chance, tools=tools, replies=_usual_replies(plan))
        if plan.models
        else ()
    )
    waves = None if chains is None else chains.waves((measured and measured.hours) or HOURS)
    if waves is not None and estimate.calls:
        estimate.chain_seconds = waves.count * cost.seconds / estimate.calls
    return estimate.with_waves(waves if may_batch_all(plan.models) else None)


def may_batch_all(models: Iterable[str]) -> bool:
    """Return whether every model has a batch endpoint."""
    return all(map(may_batch, models))


def _usual_replies(plan: StudyPlan) -> str:
    """Describe the length of a choice in every style of a study."""
    tokens = {
        config.style: reply_of(config, Choice(("A", "B")))[0]
        for _, configs in plan.question_units()
        for config in configs
        if asks(config)
    }
    return ", ".join(f"{style} {how_many(of, 'token')} for a choice" for style, of in tokens.items())


class _PromptGroups:
    """Groups configurations by the length of their prompts and replies."""

    def __init__(self) -> None:
        self._config_keys: dict[int, tuple[AgentConfig, str]] = {}

    def length_key(self, config: AgentConfig, measured: Measured | None) -> str:
        """Return a key that is equal for configurations with equally long prompts and replies; empty for scripts."""
        if not asks(config):
            return ""
        if id(config) not in self._config_keys:
            own = set() if measured is not None else {"model"}
            self._config_keys[id(config)] = config, config.model_dump_json(exclude={*own, "settings"})
        return self._config_keys[id(config)][1]


def assumptions(
    measured: Measured | None = None,
    varies: Sequence[str] = (),
    *,
    chance: bool = False,
    tools: bool = False,
    replies: str = "",
) -> tuple[str, ...]:
    """Return the assumptions of likely figures, one line each."""
    usual = f" ({replies}, a message {MESSAGE})" if replies else ""
    lines = {
        f"every reply can be read and is as long as its style usually makes it{usual}, and a prompt has "
        f"{CHARACTERS:g} characters a token": measured is None,
        "matches end when chance ends them on average; at most: in their last round": chance,
        f"a player with tools calls one of them before each answer, in {TOOL_CALL} tokens; at most: as many as its "
        "limit": tools,
        f"how much is asked in {', '.join(varies)} depends on what the players do, and they choose at random": varies,
    }
    return tuple(line for line, holds in lines.items() if holds)


def playing(unit: Unit) -> Sequence[Seated]:
    """Return the players of a unit; if strategies spread, every player may become a model."""
    models = [seated for seated in unit.players if seated.config.model is not None]
    spreads = unit.mechanism.spreads and models
    return [models[0] if spreads and seated.config.model is None else seated for seated in unit.players]


class CostSum:
    """Sums calls of models: tokens, and their direct and batch cost."""

    def __init__(
        self, total: Forecast, prices: Mapping[str, Any] | None = None, measured: Measured | None = None
    ) -> None:
        self.total, self._prices = total, prices
        self._dense = CHARACTERS_PER_TOKEN / ((measured and measured.characters) or CHARACTERS)
        self._unpriced: dict[str, None] = {}
        self._unbounded: dict[str, None] = {}
        self._usual_price: dict[str, None] = {}
        self._sums: dict[str, float] = defaultdict(float)
        self._seconds: dict[str, float] = defaultdict(float)
        self._measured = measured
        total.measured = None if measured is None else str(measured)

    def add_share(
        self, config: AgentConfig, bound: CallSum, bounded: bool, times: int, likely: CallSum, longer: float,
        played: MatchMeans | None,
    ) -> None:  # fmt: skip
        """Add a player's calls in a match, ``times`` times; ``longer`` is how much longer matches were."""
        most, calls = bound.calls, likely.calls * longer
        if not most and not calls:
            return
        usual = CallSum(1.0) if not likely.calls else CallSum(*(part / likely.calls for part in astuple(likely)))
        longest = usual if not most else CallSum(*(part / most for part in astuple(bound)))
        again, again_in = self._repeated(str(config.model), config.style)
        rehearsed_in = usual.characters / CHARACTERS_PER_TOKEN
        tokens_in = rehearsed_in if played is None else played.tokens_in / self._dense / (again_in / again)
        call = PerCall(
            max(longest.characters / CHARACTERS_PER_TOKEN * max(1.0, self._dense), tokens_in),
            usual.tokens_out if played is None else played.tokens_out,
            longest.tokens_out if bounded else None,
            tokens_in,
        )
        self.add(str(config.model), most or calls, call, times, calls, config.style)

    def _repeated(self, model: str, style: str) -> tuple[float, float]:
        return (1.0, 1.0) if self._measured is None else self._measured.repeated(model, style)

    def add(
        self, model: str, calls: float, call: PerCall, times: int = 1, likely_calls: float | None = None,
        style: str = "",
    ) -> None:  # fmt: skip
        """Add calls of a model in a style, ``times`` times; fewer of them may be likely."""
        dense, sums = self._dense, self._sums
        again, again_in = self._repeated(model, style)
        expected = (calls if likely_calls is None else likely_calls) * again * times
        calls *= times
        usual = (call.tokens_in if call.likely_in is None else call.likely_in) * dense * (again_in / again)
        self._seconds[model] += expected * self._pace(model, call.likely_out)
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
        retries = self.total.retries_per_decision
        longer = call.tokens_in + retries / (retries + 1) * (longest + CORRECTION)
        retried = price_of_calls(model, (retries + 1) * calls, longer, longest, self._prices) or 0.0
        sums["likely_usd"] += usually
        sums["batch_usd"] += most * share
        sums["usd_with_retries"] += retried
        sums["batch_usd_with_retries"] += retried * share
        sums["likely_batch_usd"] += usually * share

    def _pace(self, model: str, tokens: float) -> float:
        """Return the seconds of a call: measured, or else assumed."""
        seconds = {} if self._measured is None else self._measured.seconds
        return seconds.get(model) or seconds.get(None) or START + tokens / SPEED

    @property
    def seconds(self) -> float:
        """Likely seconds of all calls, one after another."""
        return sum(self._seconds.values())

    def finished(self) -> Forecast:
        """Return the forecast, with None for unknown prices or bounds."""
        self.total.busy_seconds = max(self._seconds.values(), default=0.0)
        seconds = {} if self._measured is None else self._measured.seconds
        pace = f"{seconds[None]:.1f} s a call, as in {self._measured.run}" if self._measured and seconds else (
            f"a reply that begins after {START:g} s and has {SPEED:g} tokens a second (no run was measured)"
        )  # fmt: skip
        self.total.speed = f"{pace}, {self.total.connections} calls of a model in flight"
        if self._measured and (rate := self._measured.rate):
            hours = self._sums["likely_calls"] / rate / 3600
            if hours > max(0.01, 1.25 * self.total.hours()):
                self.total.speed += f"; {hours:.2g} hours if no more than {rate:.1f} calls end a second, as there"
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
    """Add the calls of units, ``times`` times each; ``per_call`` returns the size of one call."""
    cost = CostSum(total, prices, measured)
    for unit in units:
        total.decisions += unit.mechanism.most_decisions(unit.game) * times
        for player, seated in enumerate(playing(unit)):
            model = seated.config.model
            if model is None or seated.config.tree is not None:
                continue
            notes = memories.build(seated.config.memory).most_notes(unit.mechanism.longest_history(unit.game))
            cost.add(
                model,
                unit.mechanism.decisions_of(unit.game, player, len(unit.players))
                * styles.build(seated.config.style).calls
                + notes,
                per_call(unit, seated, player),
                times,
                style=seated.config.style,
            )
    return cost.finished()


@dataclass(frozen=True, slots=True)
class BudgetForecast:
    """Whether a budget suffices, as far as known before the first call."""

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
        return f"budget of {self.budget:g} {unit}: {self.verdict} (likely {_short(self.likely or 0)}, {most})"


def verdicts(bound: Forecast, budget: Budget, *, batch: bool = False) -> list[BudgetForecast]:
    """Judge every bound of a budget by a forecast, at batch prices if they are used."""
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
    limits = {of: getattr(budget, of) for of in needs if getattr(budget, of) is not None}
    return [BudgetForecast(of, limit, *needs[of], _verdict(limit, *needs[of])) for of, limit in limits.items()]


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


def missing_adapters(plan: StudyPlan) -> list[str]:
    """Return the adapters named by agents that are no file or folder."""
    named = (config.settings.get("adapter") for _, configs in plan.question_units() for config in configs)
    return [name for name in dict.fromkeys(map(str, filter(None, named))) if not Path(name).expanduser().exists()]
