"""Studies in Python: stated with the options of `ostrom run`, and played.

``Run`` is a run as Python asks it: its tables, estimates, report and what-ifs.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from ostrom.analysis.estimate import contrast, estimate, trend
from ostrom.analysis.measure import Measure
from ostrom.analysis.registered import AskedContrast, RegisteredRun, registered_run, standing
from ostrom.analysis.units import select
from ostrom.api import commands
from ostrom.api.frames import frame_of, values_of
from ostrom.api.objects import model_name, names_for_objects
from ostrom.api.threads import in_a_thread, inside_a_loop
from ostrom.costs.forecast import Forecast, forecast
from ostrom.costs.measured import measure
from ostrom.costs.waves import check_batch
from ostrom.data.early_looks import record_early_look
from ostrom.data.rundata import RunData, run_data
from ostrom.engine.folder import Folder, check_name
from ostrom.engine.play_options import DECLARED, PlayOptions
from ostrom.engine.progress import stop_in, watch_with
from ostrom.engine.runner import Result
from ostrom.engine.shards import Shard
from ostrom.ground import loop
from ostrom.ground.commands import exposed
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.results import TableRows, html_table
from ostrom.ground.words import how_many
from ostrom.models.grants import say_allowed
from ostrom.studies.plan import StudyPlan
from ostrom.studies.resolve import resolve, save_session
from ostrom.studies.run import find_run, play_plan, play_plan_async
from ostrom.studies.run import open_run as open_folder

if TYPE_CHECKING:
    import polars as pl

    from ostrom.analysis.hypothesis import FactorTest


@dataclass(frozen=True, repr=False)
class Study:
    """A checked study that can be played."""

    plan: StudyPlan
    options: PlayOptions = field(default_factory=PlayOptions)
    """The options with which it is played: prompts, prices and budget."""
    given: Mapping[str, Any] | None = None
    """The arguments of ``ostrom.study``, so that ``ostrom.play`` can state it again with a budget."""

    @property
    def name(self) -> str:
        """The name of the study, and of its run unless another is given."""
        return self.plan.name

    @property
    def factors(self) -> dict[str, list[Any]]:
        """The levels of every factor, by the name of the factor."""
        return {factor.name: [level.label for level in factor.levels] for factor in self.plan.factors}

    def forecast(self, like: str | Path | None = None, runs: str | Path = "runs") -> Forecast:
        """Return the cost of play: matches, calls, tokens, money; ``like`` is a run with similar replies."""
        return forecast(
            self.plan, self.options.rates, None if like is None else measure(like, runs), self.options.max_connections
        )

    def __repr__(self) -> str:
        varied = ", ".join(f"{name} ({len(levels)})" for name, levels in self.factors.items()) or "nothing"
        return f"<Study {self.name}: {len(self.plan)} matches, varies {varied}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(', '.join(map(str, levels)))}</td></tr>"
            for name, levels in self.factors.items()
        )
        return f"<b>{escape(self.name)}</b>: {len(self.plan)} matches<table>{rows}</table>"


def study(
    source: str | Path | Mapping[str, Any],
    *,
    preset: str | None = None,
    models: Sequence[Any] = (),
    set: Mapping[str, Any] | Sequence[str] | None = None,
    vary: Mapping[str, Any] | None = None,
    seeds: int | None = None,
    budget_usd: float | None = None,
    budget_calls: int | None = None,
    budget_tokens: int | None = None,
    prompts: str | Path | None = None,
    prices: str | Path | None = None,
    registered: str | Path | None = None,
) -> Study:
    """Load a built-in study, a study file or a mapping, with the changes of `ostrom run`.

    ``vary={"agent.memory": ["window:2", "window:80"]}`` adds a factor ``memory``; a name without a dot is a factor
    as study files write it. In place of names stand objects too: a game as ``ostrom.game`` makes it, a NumPy array, a
    Nashpy or pygambit game; a strategy as a function of the past or an Axelrod player; a model as an async function.

    >>> study({"name": "mine", "game": "prisoners_dilemma", "types": {"echo": "tit_for_tat"}}).name
    'mine'
    """
    keys = {
        "source": source, "preset": preset, "models": models, "set": set, "vary": vary, "seeds": seeds,
        "budget_usd": budget_usd, "budget_calls": budget_calls, "budget_tokens": budget_tokens, "prompts": prompts,
        "prices": prices, "registered": registered,
    }  # fmt: skip
    resolved = resolve(
        names_for_objects(source) if isinstance(source, Mapping) else source,
        preset=preset,
        changes=[*_changes(names_for_objects(set)), *_factors(names_for_objects(vary or {}))],
        models=[model_name(model) for model in models],
        seeds=seeds,
        options=PlayOptions(
            budget_usd=budget_usd,
            budget_calls=budget_calls,
            budget_tokens=budget_tokens,
            prompts=None if prompts is None else Path(prompts),
            prices=None if prices is None else Path(prices),
            registered=None if registered is None else Path(registered),
        ),
    )
    return Study(resolved.plan, resolved.options, keys)


def _changes(changes: Mapping[str, Any] | Sequence[str] | None) -> list[str]:
    if isinstance(changes, str):
        raise UsageError(f"set: must be a mapping or a list of KEY=VALUE (found {changes!r})")
    stated = changes or []
    return [_written(key, value) for key, value in stated.items()] if isinstance(stated, Mapping) else list(stated)


def _factors(vary: Mapping[str, Any]) -> list[str]:
    return [
        _written(f"vary.{key.rpartition('.')[2]}", {"set": key, "to": list(levels)} if "." in key else levels)
        for key, levels in vary.items()
    ]


def _written(key: str, value: Any) -> str:
    """Return a change as ``key=value``; the value is JSON, which is valid YAML."""
    try:
        return f"{key}={orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()}"
    except TypeError as error:
        raise UsageError(f"{key}: cannot be written in a study file ({error})") from None


BUDGETS = ("budget_usd", "budget_calls", "budget_tokens")
"""Arguments of ``play`` besides a stated study."""
OF_THE_STUDY = (*BUDGETS, "prompts", "prices", "registered")
"""Options of play that ``ostrom.study`` takes."""
F = TypeVar("F", bound=Callable[..., Any])


def _with_play_options(function: F) -> F:
    """Show the options of play in the signature of a function that takes them by name."""
    own = list(inspect.signature(function).parameters.values())
    usual, keyword = PlayOptions(), inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature(
        [*own[:-1], *[inspect.Parameter(name, keyword, default=getattr(usual, name)) for name in DECLARED], own[-1]]
    )
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


@_with_play_options
def play(
    study: Study | str | Path | Mapping[str, Any],
    *,
    name: str | None = None,
    runs: str | Path = "runs",
    report: bool = False,
    progress: bool = True,
    **options: Any,
) -> Run:
    """Play a study into ``runs/<name>``, or resume it; return the run.

    ``options`` are those of `ostrom run` under the same names (limit, max_connections, cache, executor, ...) and, where
    a name, a file or a mapping is given, those of ``ostrom.study`` (models, preset, ...); beside a study that was
    stated already, a budget. Works inside a running event loop too, as in a notebook. An interrupt stops cleanly:
    calls under way are kept, and the same call goes on. ``batch`` asks through the batch endpoints of the models, at
    their lower price (``batch_waves``: how many may follow one another). Where every match fails an error says why, and
    ``ostrom.open_run`` opens what was played; where some fail, ``run.result`` counts them.
    """
    playing = _prepared(study, name, runs, options)
    if inside_a_loop():
        watch = watch_with(signals=False, quiet=not progress)
        result = in_a_thread(lambda: loop.run(play_plan_async(**playing.arguments, watch=watch)), stop_in)
    else:
        on_main = threading.current_thread() is threading.main_thread()
        result = play_plan(**playing.arguments, watch=watch_with(signals=on_main) if progress else None)
    return playing.finished_run(result, report)


@_with_play_options
async def play_async(
    study: Study | str | Path | Mapping[str, Any],
    *,
    name: str | None = None,
    runs: str | Path = "runs",
    report: bool = False,
    progress: bool = True,
    **options: Any,
) -> Run:
    """Play a study as ``play``, on the running event loop."""
    playing = _prepared(study, name, runs, options)
    return playing.finished_run(
        await play_plan_async(**playing.arguments, watch=watch_with(signals=False) if progress else None), report
    )


def _prepared(
    study: Study | str | Path | Mapping[str, Any], name: str | None, runs: str | Path, settings: Mapping[str, Any]
) -> _Playing:
    """Return the study with its options, checked before anything starts."""
    if settings.get("allow_key"):
        say_allowed(settings["allow_key"], ())
    how = {key: value for key, value in settings.items() if key in DECLARED}
    ready = _ready(study, {key: value for key, value in settings.items() if key not in DECLARED or key in OF_THE_STUDY})
    options = replace(ready.options, **how)
    options.check()
    if options.shard is not None:
        ready = replace(ready, plan=ready.plan.divided(Shard.parse(options.shard)))
    if options.batch:
        check_batch(ready.plan, options.batch_waves)
    return _Playing(ready, check_name(ready.plan.run_name(name)), Path(runs), options)


def _ready(source: Study | str | Path | Mapping[str, Any], what: Mapping[str, Any]) -> Study:
    if not isinstance(source, Study):
        return study(source, **what)
    other = [name for name in what if name not in BUDGETS]
    if other or (what and source.given is None):
        raise UsageError(f"{next(iter(other or what))}: give this to ostrom.study(), which made the study")
    return study(**{**(source.given or {}), **what}) if what else source


@dataclass(frozen=True)
class _Playing:
    """A study ready to be played into a folder."""

    study: Study
    name: str
    runs: Path
    options: PlayOptions

    @property
    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of ``play_plan`` for this study."""

        async def begin(home: Folder) -> None:
            save_session(home.path, self.options)

        return {"plan": self.study.plan, "name": self.name, "runs": self.runs, "options": self.options, "begin": begin}

    def finished_run(self, result: Result, report: bool) -> Run:
        """Return the played run; an error if no match was finished."""
        tally = result.tally
        if tally.failures and tally.failed == tally.matches and not result.interrupted:
            raise RunError(f"run {self.name}: no match was finished, all {tally.failed} failed; {tally.failures[0]}")
        run = open_run(self.runs / self.name, result=result)
        if report:
            run.report()
        return run


@dataclass(frozen=True, repr=False)
class Run:
    """A run on disk. Every query reopens it, so a run in play is read as it stands."""

    path: Path
    result: Result | None = None
    """The result of play, if this call played it."""

    @property
    def name(self) -> str:
        """The name of the run: that of its folder."""
        return self.path.name

    @property
    def matches(self) -> pl.DataFrame:
        """One row per player and match."""
        return self._table("matches")

    @property
    def decisions(self) -> pl.DataFrame:
        """One row per decision."""
        return self._table("decisions")

    @property
    def calls(self) -> pl.DataFrame:
        """One row per call of a model."""
        return self._table("calls")

    def sql(self, query: str) -> pl.DataFrame:
        """Return the result of an SQL query over the views matches, decisions, calls and traces."""
        import polars as pl

        with self.data() as data:
            cursor = data.views(query).execute(query)
            names, rows = [column[0] for column in cursor.description], cursor.fetchall()
        return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)

    def estimate(
        self,
        measure: str | Mapping[str, Any] | Measure,
        *,
        by: Sequence[str] = (),
        where: Any = None,
        level: float = 0.95,
        agents: str | Sequence[str] | None = None,
        mean_over_agents: bool = False,
    ) -> pl.DataFrame:
        """The mean of a measure with its interval, for every studied agent and combination of the columns ``by``.

        ``agents`` is ``all`` or names others; ``mean_over_agents`` gives one row for all of them.
        Raises an error, as the command does, if no finished match has a value of the measure.
        """

        with self.data() as data:
            values, split = values_of(data, measure, by, where, agents, mean_over_agents)
            return frame_of(estimate(values, measure, split, level=level), measure, data, standing([data]))

    def contrast(
        self,
        measure: str | Mapping[str, Any] | Measure,
        factor: str,
        levels: str,
        *,
        by: Sequence[str] = (),
        where: Any = None,
        level: float = 0.95,
        agents: str | Sequence[str] | None = None,
        mean_over_agents: bool = False,
    ) -> pl.DataFrame:
        """The difference of a measure between two levels of a factor: ``"a - b"``, or ``"* - b"`` for all."""

        with self.data() as data:
            values, split = values_of(data, measure, by, where, agents, mean_over_agents, factor)
            estimates = contrast(values, measure, factor, levels, split, level=level)
            question = None
            # A measure object may have the name of a registered one and differ from it.
            plain = not (by or agents or mean_over_agents)
            if isinstance(measure, str) and plain and isinstance(where, str | Mapping | None):
                question = AskedContrast(measure, f"{factor}={levels}", select(data, measure, where or {}), level)
            return frame_of(estimates, measure, data, standing([data], question), compared=True)

    def trend(
        self,
        measure: str | Mapping[str, Any] | Measure,
        over: str,
        *,
        by: Sequence[str] = (),
        log: Any = False,
        where: Any = None,
        level: float = 0.95,
        agents: str | Sequence[str] | None = None,
        mean_over_agents: bool = False,
    ) -> pl.DataFrame:
        """The slope of a measure over a column of numbers."""

        with self.data() as data:
            values, split = values_of(data, measure, by, where, agents, mean_over_agents, over)
            estimates = trend(values, measure, over, split, log=log, level=level)
            return frame_of(estimates, measure, data, standing([data]), compared=True)

    def test(self, measure: str | Mapping[str, Any] | Measure, factor: str, **options: Any) -> FactorTest:
        """Test between the levels of a factor, as `ostrom test`."""
        from ostrom.analysis.hypothesis import test

        with self.data() as data:
            tests, registered = test(data, measure, factor, **options), standing([data])
        return replace(tests, label=registered.label) if registered.bound else tests

    @property
    def registered(self) -> RegisteredRun | None:
        """Return the registration status of a run with its deviations; None without registration."""

        with (
            open_folder(self.path) as opened,
            run_data(opened.rows, opened.folder.path, opened.manifest, look=False) as data,
        ):
            return registered_run(data)

    def report(
        self,
        *,
        as_paper: bool = False,
        as_: Sequence[str] | None = None,
        reference: str | None = None,
        safe: bool = False,
        intervals: bool = False,
        checklist: bool = False,
        chart: Sequence[str | Mapping[str, Any]] | None = None,
        out: Path | None = None,
    ) -> Path:
        """Write the report and give its page; with ``as_paper`` the one in the shape of the study's paper.

        ``intervals`` draws them for cells of few matches too; ``checklist`` writes only what a referee asks for.
        ``chart`` adds charts (as mappings or YAML) and panels (by name), or writes them alone to ``out``.
        """

        if not as_paper and (as_ or reference):
            raise UsageError("as_ and reference need as_paper=True")
        charts = [one if isinstance(one, str) else orjson.dumps(one).decode() for one in chart or ()]
        document = commands.report(
            self.path, as_paper=as_paper, as_=as_, reference=reference, safe=safe, intervals=intervals,
            checklist=checklist, chart=charts or None, out=out,
        )  # fmt: skip
        if not checklist and out is None and document["failures"]:
            raise UsageError("; ".join(document["failures"]))
        return Path(document["checklist"] if checklist else out or document["report"])

    def transcript(self, match: int = 0, *, round: int | None = None, player: int | None = None) -> TableRows:
        """Return a match: every prompt, reply, and parsed answer."""

        return TableRows(commands.transcript(self.path, match=match, round=round, player=player)["decisions"])

    def compare(
        self,
        old: str | Path | None = None,
        *,
        measure: str | None = None,
        by: str | None = None,
        where: Sequence[str] | None = None,
        margin: float | None = None,
        better: str = "",
        agents: str | None = None,
        mean_over_agents: bool = False,
        junit: Path | None = None,
        markdown: Path | None = None,
        level: float = 0.95,
        as_: Sequence[str] | None = None,
        reference: str | None = None,
    ) -> Any:
        """The figures of this run beside the published ones, or with ``old`` its differences to another run."""

        options = {
            "measure": measure, "by": by, "where": where, "margin": margin, "better": better,
            "agents": agents, "mean_over_agents": mean_over_agents, "junit": junit, "markdown": markdown,
            "level": level, "as_": as_, "reference": reference,
        }  # fmt: skip
        return commands.compare(self.path, old and str(old), **options).source

    def branch(
        self,
        match: int,
        at: int,
        set: Sequence[str] | None = None,
        *,
        strategy: str | None = None,
        seat: int | None = None,
        seeds: int = 1,
        name: str | None = None,
        runs: str | Path | None = None,
        allow_command: Sequence[str] | None = None,
    ) -> Run:
        """Play on from round ``at`` of a finished match as a new run, with changes as `ostrom more branch` takes them.

        ``strategy="defector"`` is short for ``set=["strategy=defector"]``.
        """
        changes = [*(set or ()), *([] if strategy is None else [f"strategy={strategy}"])]

        def play() -> Run:
            with open_folder(self.path) as parent:
                result = exposed("branch", "play_branch")(
                    parent,
                    match,
                    at,
                    changes,
                    seat=seat,
                    seeds=seeds,
                    name=name,
                    runs=runs or self.path.parent,
                    options=PlayOptions(allow_command=allow_command),
                )
            return Run(result.folder, result.result)

        return in_a_thread(play, stop_in) if inside_a_loop() else play()

    def export(
        self,
        *,
        format: str = "parquet",
        out: str | Path | None = None,
        texts: bool = False,
        visits: bool = False,
        licence: str | None = None,
        safe: bool = False,
    ) -> dict[str, Path]:
        """Write the run for other tools, as `ostrom export` does, and say where the files are."""

        written = commands.export(
            self.path, format=format, out=out, texts=texts, visits=visits, safe=safe, licence=licence
        )
        return {name: Path(table["file"]) for name, table in written.items() if isinstance(table, Mapping)}

    @contextmanager
    def data(self) -> Iterator[RunData]:
        """Open the run and yield its tables for analysis, brought up to date."""
        with open_folder(self.path) as opened, run_data(opened.rows, opened.folder.path, opened.manifest) as data:
            yield data

    def _table(self, name: str) -> pl.DataFrame:
        import polars as pl

        with self.data() as data:
            return pl.read_parquet(data.parquet(name))

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<Run {self.name}: {self._state()}>"

    def _repr_html_(self) -> str:
        from ostrom.analysis.summary import summarise

        with open_folder(self.path) as opened:
            record_early_look(opened.folder.path, opened.rows, opened.manifest)
            cells = summarise(opened.rows)
        has_cooperation = any(cell.cooperation is not None for cell in cells)  # some games have no cooperative action
        rows = []
        for cell in cells:
            interval = cell.interval_text if cell.cooperation is not None else None
            share = {"cooperation": cell.cooperation, "95 % CI": interval} if has_cooperation else {}
            rows.append({**cell.factors, "agent": cell.agent, "matches": cell.matches, **share, "score": cell.score})
        head = f"<b>{escape(self.name)}</b>: {escape(self._state())} <code>{escape(str(self.path))}</code>"
        if (registered := self.registered) is not None:
            head += "".join(f"<p>{escape(line)}</p>" for line in [*registered.lines, "What follows is exploratory."])
        return f"{head}{html_table(rows)}" if rows else head

    def _state(self) -> str:
        with open_folder(self.path) as opened:
            far = opened.plan.progress(opened.journal.states())
            ended = far.done + far.skipped + far.failed
            word = "played" if opened.plan.counts == "match" else "done"
            return f"{ended:,} of {how_many(far.planned, opened.plan.counts)} {word}"


def open_run(path: str | Path, runs: str | Path = "runs", *, result: Result | None = None) -> Run:
    """A run by its folder or by its name in the folder of runs."""
    return Run(find_run(path, runs).path, result)
