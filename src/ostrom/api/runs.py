"""A run as Python asks it: its tables, estimates, report and what-ifs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostrom.data.rundata import RunData, run_data
from ostrom.engine.runner import Result
from ostrom.ground.commands import exposed
from ostrom.ground.errors import UsageError
from ostrom.ground.words import how_many
from ostrom.studies.run import find_run
from ostrom.studies.run import open_run as open_folder

if TYPE_CHECKING:
    import polars as pl

    from ostrom.analysis.estimate import Estimate
    from ostrom.analysis.hypothesis import FactorTest
    from ostrom.analysis.measure import Measure


@dataclass(frozen=True, repr=False)
class Run:
    """A run on disk. Every question opens it anew, so a run that is still being played is read as it stands."""

    path: Path
    result: Result | None = None
    """How playing ended, where this call played it."""

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
        """The answer to a query over the views matches, decisions, calls and traces."""
        import polars as pl

        with self.data() as data:
            asked = data.connection.execute(query)
            names, rows = [column[0] for column in asked.description], asked.fetchall()
        return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)

    def estimate(
        self,
        measure: str | Mapping[str, Any] | Measure,
        *,
        by: Sequence[str] = (),
        where: Any = None,
        level: float = 0.95,
    ) -> pl.DataFrame:
        """The mean of a measure with its interval, for every combination of the columns ``by``.

        Raises an error, as the command does, if no finished match has a value of the measure.
        """
        from ostrom.analysis.estimate import estimate

        with self.data() as data:
            return _frame(estimate(data, measure, by, where=where, level=level), measure)

    def contrast(
        self,
        measure: str | Mapping[str, Any] | Measure,
        factor: str,
        levels: str,
        *,
        by: Sequence[str] = (),
        where: Any = None,
        level: float = 0.95,
    ) -> pl.DataFrame:
        """The difference of a measure between two levels of a factor: ``"a - b"``, or ``"* - b"`` for all."""
        from ostrom.analysis.estimate import contrast

        with self.data() as data:
            found = contrast(data, measure, factor, levels, by, where=where, level=level)
            return _frame(found, measure, compared=True)

    def trend(
        self,
        measure: str | Mapping[str, Any] | Measure,
        over: str,
        *,
        by: Sequence[str] = (),
        log: Any = False,
        where: Any = None,
        level: float = 0.95,
    ) -> pl.DataFrame:
        """The slope of a measure over a column of numbers."""
        from ostrom.analysis.estimate import trend

        with self.data() as data:
            found = trend(data, measure, over, by, log=log, where=where, level=level)
            return _frame(found, measure, compared=True)

    def test(self, measure: str | Mapping[str, Any] | Measure, factor: str, **options: Any) -> FactorTest:
        """A test between the levels of a factor, as `ostrom test` makes it."""
        from ostrom.analysis.hypothesis import test

        with self.data() as data:
            return test(data, measure, factor, **options)

    def report(
        self,
        *,
        as_paper: bool = False,
        as_: Sequence[str] | None = None,
        reference: str | None = None,
        safe: bool = False,
    ) -> Path:
        """Write the report and give its page; with ``as_paper`` the one in the shape of the study's paper."""
        from ostrom.api import commands

        if not as_paper and (as_ or reference):
            raise UsageError("as_ and reference need as_paper=True")
        made = commands.report(self.path, as_paper=as_paper, as_=as_, reference=reference, safe=safe)
        if made["failures"]:
            raise UsageError("; ".join(made["failures"]))
        return Path(made["report"])

    def transcript(
        self, match: int = 0, *, round: int | None = None, player: int | None = None
    ) -> list[dict[str, Any]]:
        """A match as it was said: every prompt, every reply, and how it was read."""
        from ostrom.api import commands

        decisions: list[dict[str, Any]] = commands.transcript(
            self.path, match=match, round=round, player=player
        )["decisions"]
        return decisions

    def compare(
        self,
        old: str | Path | None = None,
        *,
        measure: str | None = None,
        by: str | None = None,
        level: float = 0.95,
        as_: Sequence[str] | None = None,
        reference: str | None = None,
    ) -> Any:
        """The figures of this run beside the published ones, or with ``old`` its differences to another run."""
        from ostrom.api.commands import returned

        options = {"measure": measure, "by": by, "level": level, "as_": as_, "reference": reference}
        comparison: Any = returned("compare", self.path, old and str(old), **options)
        return comparison

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
    ) -> Run:
        """Play on from round ``at`` of a finished match as a new run, with changes as `ostrom branch` takes them.

        ``strategy="defector"`` is short for ``set=["strategy=defector"]``.
        """
        from ostrom.api.threads import in_a_thread, inside_a_loop
        from ostrom.engine.progress import stop_in

        changes = [*(set or ()), *([] if strategy is None else [f"strategy={strategy}"])]

        def play() -> Run:
            with open_folder(self.path) as parent:
                done = exposed("branch", "play_branch")(
                    parent,
                    match,
                    at,
                    changes,
                    seat=seat,
                    seeds=seeds,
                    name=name,
                    runs=runs or self.path.parent,
                )
            return Run(done.folder, done.result)

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
        from ostrom.api import commands

        written = commands.export(
            self.path, format=format, out=out, texts=texts, visits=visits, safe=safe, licence=licence
        )
        return {name: Path(table["file"]) for name, table in written.items()}

    @contextmanager
    def data(self) -> Iterator[RunData]:
        """Open the run and yield its tables for analysis, brought up to date."""
        with (
            open_folder(self.path) as opened,
            run_data(opened.rows, opened.folder.path, opened.manifest) as data,
        ):
            yield data

    def _table(self, name: str) -> pl.DataFrame:
        import polars as pl

        with self.data() as data:
            return pl.read_parquet(data.parquet[name])

    def __repr__(self) -> str:
        return f"<Run {self.name}: {self._state()}>"

    def _repr_html_(self) -> str:
        return f"<b>{escape(self.name)}</b>: {escape(self._state())}<br><code>{escape(str(self.path))}</code>"

    def _state(self) -> str:
        with open_folder(self.path) as opened:
            far = opened.plan.progress(opened.journal.states())
            ended = far.done + far.skipped + far.failed
            word = "played" if opened.plan.counts == "match" else "done"
            return f"{ended:,} of {how_many(far.planned, opened.plan.counts)} {word}"


def open_run(path: str | Path, runs: str | Path = "runs", *, result: Result | None = None) -> Run:
    """A run by its folder or by its name in the folder of runs."""
    return Run(find_run(path, runs).path, result)


def _frame(found: Sequence[Estimate], measure: Any, *, compared: bool = False) -> pl.DataFrame:
    """Estimates as a table: the columns of their keys, then value, low, high, n, unit, method and note."""
    import polars as pl

    from ostrom.analysis.estimate import some
    from ostrom.analysis.measure import measures

    known = some(found, measures.named(measure).name, compared=compared)
    return pl.DataFrame([estimate.as_dict() for estimate in known], infer_schema_length=None)
