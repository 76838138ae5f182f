"""Two runs side by side: the difference of a measure for each agent, a verdict on it, and what else differs.

The agents are those that changed between the runs; where none did, those that are studied. A release check is quick to
warn and slow to clear: *higher* and *lower* rest on the classical interval (with Holm's correction) and are
*guaranteed* where the bounds, which hold for every distribution, agree; *equivalent* rests on the bounds alone. Higher
and lower are called *better* or *worse* only where a direction is declared. No difference of a measure without declared
bounds is ever called equivalent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ostrom.analysis import verdict_files
from ostrom.analysis.estimate import MODEL, Estimate, Query, contrast, key_words, split_by
from ostrom.analysis.interaction import tied_sets
from ostrom.analysis.population import ALL, averaged_words, kinds_of, names_agents
from ostrom.analysis.statistics.samples import ROUNDING
from ostrom.analysis.units import DONE, Observation, Observations, observations, select
from ostrom.costs.seeds import SeedPrice
from ostrom.data.manifests import changes, is_before_2, models_of
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.ground.values import grouped
from ostrom.ground.words import how_many

Answer = Literal["higher", "lower", "better", "worse", "equivalent", "undecided"]
Better = Literal["", "higher", "lower"]
MARGIN = 0.05
PASSES: Mapping[Answer, verdict_files.Answer] = {"equivalent": "pass", "better": "pass", "undecided": "undecided"}
"""The release decision that follows from a verdict; every verdict not listed here fails."""


@dataclass(frozen=True)
class RunVerdict:
    """The verdict on a difference: higher or lower (better or worse), equivalent within the margin, or undecided, with
    the number of seeds that would decide."""

    answer: Answer
    low: float | None
    high: float | None
    """The interval, or the guaranteed bounds, behind the verdict."""
    approximate: bool
    """Whether the verdict rests on an interval without a guarantee for every distribution."""
    seeds: int | None = None
    """The estimated number of seeds that both runs need for a decision; None if unknown."""
    price: SeedPrice | None = None
    """The price of the missing seeds; None if unknown."""
    same_script: bool = False
    """Whether the agent is a script that is identical in both runs."""

    @property
    def passes(self) -> verdict_files.Answer:
        """Return the release decision: pass, fail or undecided."""
        return PASSES.get(self.answer, "fail")

    @property
    def words(self) -> str:
        """The verdict in one line."""
        if self.answer != "undecided":
            sure = self.answer != "equivalent" and not self.approximate
            return f"{self.answer}, guaranteed" if sure else self.answer
        if self.same_script:
            return "undecided: the same script in both runs"
        if self.seeds is None:
            return "undecided: not with this design"
        paid = "" if self.price is None else f" ({self.price.words} more)"
        return f"undecided: about {how_many(self.seeds, 'seed')} in both runs{paid} would decide"

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {
            "verdict": self.answer, "approximate": self.approximate, "verdict_low": self.low,
            "verdict_high": self.high, "seeds_to_decide": self.seeds,
            "price": None if self.price is None else self.price.as_dict(),
        }  # fmt: skip


@dataclass(frozen=True)
class TwoRuns:
    """The differences (new minus old) with verdicts, and the settings in which the two runs differ."""

    new: str
    old: str
    measure: str
    differences: tuple[Estimate, ...]
    verdicts: tuple[RunVerdict, ...]
    changed: tuple[tuple[str, str, str], ...]
    agents: ComparedAgents
    tied: tuple[tuple[Mapping[str, Any], tuple[str, ...]], ...] = ()
    """Groups of agents whose differences are not distinguishable, with the condition that they belong to."""
    margin: float = MARGIN
    level: float = 0.95

    @property
    def answer(self) -> verdict_files.Answer:
        """Return the release decision over all differences."""
        return verdict_files.joint_answer([one.passes for one in self.verdicts])

    @property
    def tied_lines(self) -> list[str]:
        """Return one line for each group of agents that are not distinguishable."""
        return [f"tied: {', '.join(names)}" + (f" ({key_words(key)})" if key else "") for key, names in self.tied]

    @property
    def heading(self) -> str:
        """Return the count of each verdict in one line: ``1 lower, 1 undecided of 2 differences``."""
        answers = [one.answer for one in self.verdicts]
        counts = [f"{answers.count(answer)} {answer}" for answer in dict.fromkeys(answers)]
        return f"{', '.join(counts)} of {how_many(len(answers), 'difference')}"

    @property
    def lines(self) -> list[verdict_files.VerdictLine]:
        """Return the verdicts as lines of a verdict file."""
        return [
            verdict_files.VerdictLine(
                key_words({name: of for name, of in one.key.items() if name != "run"}) or self.measure,
                f"{self.measure}: {self.new} minus {self.old}", "", verdict.passes, verdict.words, one.text(3),
                "; ".join(filter(None, (one.note, averaged_words(one.averaged_over)))),
            )
            for one, verdict in zip(self.differences, self.verdicts, strict=True)
        ]  # fmt: skip

    @property
    def control(self) -> str:
        """Say what the confidence level covers: each verdict, or all of them together."""
        many = len(self.differences)
        scope = "each verdict holds" if many == 1 else f"all {many} verdicts hold at once"
        return (
            f"{scope} at {self.level:.4g}: higher and lower by the interval (Holm's method), guaranteed where the "
            f"bounds agree; equivalent: the bounds lie within \u00b1{self.margin:g}, however often you look"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            "new": self.new,
            "old": self.old,
            "measure": self.measure,
            "margin": self.margin,
            "control": self.control,
            "differences": [
                {**one.as_dict(), **verdict.as_dict()}
                for one, verdict in zip(self.differences, self.verdicts, strict=True)
            ],
            "changed": [{"key": key, "new": new, "old": old} for key, new, old in self.changed],
            "agents": list(self.agents.names),
            "population": self.agents.words,
            "tied": [{**key, "agents": list(names)} for key, names in self.tied],
            "answer": self.answer,
        }


@dataclass(frozen=True)
class ComparedAgents:
    """The agents whose values two runs are compared by."""

    names: tuple[str, ...]
    """The agents' names; empty means all agents, or those in the condition."""
    why: str
    scripts: frozenset[str] = frozenset()
    """Scripts that are the same in both runs."""
    earlier: bool = False
    """Whether a run was made by a version that compared all agents."""
    former: str = ""
    """The name of the only agent in the old run, where it differs from the new one."""

    @property
    def words(self) -> str:
        """Return the agents and the reason for this choice in one line."""
        return f"{', '.join(self.names)}, {self.why}" if self.names else self.why


def compared_agents(new: RunData, old: RunData, query: Query) -> ComparedAgents:
    """Choose the agents to compare: the requested ones, else those that changed, else those under study."""
    runs = (new, old)
    for run in runs:
        if not run.records(f"SELECT 1 FROM matches WHERE {DONE} LIMIT 1"):
            raise UsageError(f"{run.name}: no match is finished ({run.so_far or 'none was played'})")
    models = _only_models(runs)
    configurations = [_configurations(run, models[run.name], new.manifest.get("prompts") != old.manifest.get("prompts"))
             for run in runs]  # fmt: skip
    both = [name for name in configurations[0] if name in configurations[1]]
    changed = tuple(name for name in both if configurations[0][name] != configurations[1][name])
    kinds = {_new_name(name, models[run.name]): kind for run in runs for name, kind in kinds_of(run).items()}
    scripts = frozenset(name for name in both if name not in changed and not kinds[name])
    if query.agents and ALL not in query.agents:
        names = [_new_name(_new_name(name, models[new.name]), models[old.name]) for name in query.agents]
        UnknownName.refuse("agent of both runs", names, both)
        return ComparedAgents(tuple(dict.fromkeys(names)), "asked for", scripts)
    if query.agents or names_agents(query.where):
        return ComparedAgents((), "all agents" if query.agents else "agents as asked for", scripts)
    if any(run.manifest.get("registered") for run in runs):
        return ComparedAgents((), "all agents (registered)", scripts)
    earlier = any(is_before_2(run.manifest) for run in runs)
    about = {name for name, kind in kinds.items() if kind or not any(kinds.values())}
    alone = [[name for name in of if name in about and name not in both] for of in configurations]
    if not changed and not about & {*both}:
        if [len(names) for names in alone] != [1, 1]:
            listed = "; ".join(
                f"{run.folder.name}: {', '.join(of)}" for run, of in zip(runs, configurations, strict=True)
            )
            raise UsageError(f"no studied agent is in both runs ({listed}): --agents names those to compare")
        ((name,), (former,)) = alone  # each run has one agent, whose name differs because its settings do
        return ComparedAgents((name,), f"changed ({former} in {old.folder.name})", scripts, earlier, former)
    single = [f"only in {run.folder.name}: {', '.join(names)}" for run, names in zip(runs, alone, strict=True) if names]
    return ComparedAgents(
        changed or tuple(name for name in both if name in about),
        "; ".join(["changed" if changed else "studied, and none changed", *single]),
        scripts,
        earlier,
    )


def _only_models(runs: Sequence[RunData]) -> dict[str, str]:
    """Return the only model of each run by the run's name; empty texts if any run has no model or several."""
    models = {run.name: models_of(run.manifest) for run in runs}
    single = all(len(of) == 1 for of in models.values())
    return {name: of[0] if single else "" for name, of in models.items()}


def _new_name(text: str, model: str) -> str:
    return text.replace(model, MODEL) if model else text


def _configurations(run: RunData, model: str, prompts: bool) -> dict[str, list[Any]]:
    """Return the settings of each agent of a run by name; changed ``prompts`` make every model count as changed."""
    rows = run.records(
        "SELECT agent, agent_id, model, min(match) AS first FROM matches WHERE unit = 'match' AND agent IS NOT NULL "
        "GROUP BY ALL ORDER BY first, agent, agent_id"
    )
    entries = run.manifest.get("models") or {}
    by_agent = grouped(
        (_new_name(row["agent"], model),
         [row["agent_id"], entries.get(row["model"]), run.folder if prompts and row["model"] else None])
        for row in rows
    )  # fmt: skip
    return {name: sorted(of, key=repr) for name, of in by_agent.items()}


def compare_runs(
    new: RunData,
    old: RunData,
    query: Query,
    level: float = 0.95,
    margin: float = MARGIN,
    *,
    better: Better = "",
    price: Callable[[RunData], SeedPrice | None] = lambda run: None,  # noqa: ARG005
) -> TwoRuns:
    """Return the differences of a measure between two runs, for every agent and combination of the columns ``by``.

    ``better`` says which direction is better (by default the measure's own); ``price`` returns the price of one seed of
    a run and is called only where a verdict is undecided.
    """
    names = new.folder.name, old.folder.name
    if names[0] == names[1]:
        raise UsageError(f"both runs are called {names[0]}: rename one of the folders, so that tables tell them apart")
    agents = compared_agents(new, old, query)
    values = _values((new, old), query, agents)
    if values.rows and all(row.whole for row in values.rows):
        agents = ComparedAgents((), "a measure of matches, which have no agent")
    by = split_by(values, query.by, ["run"], query.agents or None, mean=query.mean_over_agents)
    differences = contrast(values, query.measure_object, "run", names, by, level=level)
    if not differences:
        raise UsageError(f"{query.measure_object.name}: no match that is asked for has a value in both runs")
    each = 1 - (1 - level) / len(differences)
    verdicts = [_verdict(one, margin, level, each, better or query.measure_object.better) for one in differences]
    if any(one.answer == "undecided" for one in verdicts):
        prices = price(new), price(old)
        seeds = tuple(int(run.study.get("seeds") or 1) for run in (new, old))
        verdicts = [
            replace(verdict, same_script=True)
            if one.key.get("agent") in agents.scripts
            else _with_price(verdict, one, margin, each, (seeds[0], seeds[1]), prices)
            for verdict, one in zip(verdicts, differences, strict=True)
        ]
    changed, tied = tuple(changes(new.manifest, old.manifest)), tuple(_tied(differences))
    return TwoRuns(
        *names, query.measure_object.name, tuple(differences), tuple(verdicts), changed, agents, tied, margin, level
    )


def _tied(differences: Sequence[Estimate]) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """Yield, for each condition, the groups of agents whose differences are not distinguishable."""
    conditions = grouped(
        (tuple((name, of) for name, of in one.key.items() if name not in ("agent", "run")), one)
        for one in differences if "agent" in one.key
    )  # fmt: skip
    for key, estimates in conditions.items():
        yield from ((dict(key), names) for names in tied_sets(estimates))


def _values(runs: Sequence[RunData], query: Query, agents: ComparedAgents) -> Observations:
    """Return the values of both runs, with the only model of each run under one common name."""
    where = query.where.strip() if isinstance(query.where, str) else None
    measured = observations(list(runs), query.measure_object, where or None, ALL)
    models = _only_models(runs)
    rows = [_renamed(row, models[row["run"]]) if models[row["run"]] else row for row in measured.rows]
    if agents.former:
        name, columns = agents.names[0], ("agent", "opponents")
        rows = [
            replace(row, columns={**row.columns, **{c: name for c in columns if row[c] == agents.former}})
            for row in rows
        ]
    if agents.names:
        rows = [row for row in rows if row.whole or row["agent"] in agents.names]
    measured = replace(measured, rows=tuple(rows), studied=bool(agents.names))
    if isinstance(query.where, str) or not query.where:
        return measured
    wanted: Any = select(measured, query.measure_object, query.where)
    return replace(measured, rows=tuple(row for row in rows if all(row[name] in of for name, of in wanted.items())))


def _renamed(row: Observation, model: str) -> Observation:
    columns = {
        name: value.replace(model, MODEL) if isinstance(value, str) and name != "run" else value
        for name, value in row.columns.items()
    }
    return replace(row, columns=columns)


def _verdict(one: Estimate, margin: float, level: float, each: float, better: Better = "") -> RunVerdict:
    """Judge one difference; ``level`` covers all verdicts together, ``each`` the bounds of one."""
    assert one.inference is not None
    bounds = one.inference.bounds(each)
    if bounds is not None and -margin <= bounds[0] + ROUNDING and bounds[1] - ROUNDING <= margin:
        return RunVerdict("equivalent", *bounds, False)
    answer: Answer = "higher" if one.value > 0 else "lower"
    if better:
        answer = "better" if answer == better else "worse"
    if bounds is not None and (bounds[0] > ROUNDING or bounds[1] < -ROUNDING):
        return RunVerdict(answer, *bounds, False)
    if one.p_holm is not None and one.p_holm < 1 - level and one.inference.decides:
        return RunVerdict(answer, one.low, one.high, True)
    return RunVerdict("undecided", *(bounds or (one.low, one.high)), bounds is None)


def _with_price(
    verdict: RunVerdict,
    one: Estimate,
    margin: float,
    level: float,
    seeds: tuple[int, int],
    prices: tuple[SeedPrice | None, SeedPrice | None],
) -> RunVerdict:
    """Add to an undecided verdict the number of seeds that would decide it, and the price of the missing ones."""
    if verdict.answer != "undecided" or one.inference is None or one.inference.exact:
        return verdict
    multiple = one.inference.smallest_multiple(lambda ends: ends[0] > 0 or ends[1] < 0, level, 1000.0)
    if not one.inference.why_approximate:
        multiple = min(multiple, one.inference.likely_multiple_for(-margin, margin, level))
    if not math.isfinite(multiple):
        return verdict
    needed = max(math.ceil(multiple * min(seeds)), min(seeds) + 1)
    parts = [of.times(max(0, needed - own)) for of, own in zip(prices, seeds, strict=True) if of is not None]
    return replace(verdict, seeds=needed, price=parts[0].plus(parts[1]) if len(parts) == 2 else None)
