"""`ostrom compare`: a run beside published figures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.options import Json, Level, Runs, check_level, opened_runs, stated_query
from ostrom.cli.output import print_json, print_standing, print_table, say, write
from ostrom.ground.errors import UsageError
from ostrom.ground.results import CommandResult
from ostrom.ground.words import how_many

if TYPE_CHECKING:
    from ostrom.features.comparing import Comparison, Line
    from ostrom.features.comparing.two_runs import TwoRuns

MARGIN = 0.05
"""The largest difference that counts as none, where no other is given."""


def compare(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    old: Annotated[
        str | None,
        typer.Argument(help="A second run: show the differences RUN minus OLD, and what else differs."),
    ] = None,
    measure: Annotated[
        str | None, typer.Option(help="With OLD: the measure (default: cooperation, else the score).")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="With OLD: columns to compare by, such as game,agent.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="With OLD: only these matches: column=level[,level] ({model}: the model of each run) or SQL."
        ),
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="With OLD: differences up to this are equivalent (default: 0.05).")
    ] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="With OLD: a lower value is better.")
    ] = False,
    level: Level = 0.95,
    as_: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            help="The published model to compare with: NAME for all agents, AGENT=NAME for one. "
            "May be given several times; without it, the range over all published models is shown.",
        ),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Published figures by name (default: those of the study).")
    ] = None,
    runs: Runs = Path("runs"),
    json: Json = False,
) -> Any:
    """Compare a run with published figures, or with another run.

    Set the figures of a run beside the published ones, or beside those of another run (compare NEW OLD).

    Own intervals are 95 % intervals. Published figures in doubt are marked and never enter a range.
    """
    if old is not None:
        if as_ or reference:
            raise UsageError("two runs are compared with each other: leave --as and --reference out")
        check_level(level)
        if margin is not None and not 0 < margin < math.inf:
            raise UsageError(f"--margin must be a positive number (found {margin:g})")
        how = {"level": level, "margin": MARGIN if margin is None else margin}
        return _two_runs(run, old, measure, by or "", where or [], runs, how, lower_is_better, json=json)
    if measure or by or where or margin is not None or lower_is_better:
        raise UsageError(
            "--measure, --by, --where, --margin and --lower-is-better need a second run: ostrom compare NEW OLD"
        )
    from ostrom.analysis.registered import standing
    from ostrom.data.rundata import run_data
    from ostrom.features.comparing import compare_run
    from ostrom.studies.run import open_run

    with (
        open_run(run, runs) as opened,
        run_data(opened.rows, opened.folder.path, opened.manifest) as data,
    ):
        comparison, far = compare_run(data, as_ or (), reference), data.so_far
        registered = standing([data])
    if json:
        document = {
            "run": str(opened.folder.path),
            **({"so_far": far} if far else {}),
            **registered.document,
            **comparison.as_dict(),
        }
        print_json(CommandResult(document, comparison, "cells"))
        return comparison
    print_standing(registered)
    if comparison.lines:
        _print_comparison(comparison)
        if far:
            write(far)
    for remark in comparison.remarks:
        say(remark)
    if comparison.unmatched:
        say(f"{comparison.unmatched} own figures have no published cell to stand beside.")
    paper = comparison.reference.name.replace("_", "-")
    say(f"all figures of the paper on one page, with verdicts: ostrom replicate {paper} --runs {run}")
    return comparison


def _two_runs(
    new: str,
    old: str,
    measure: str | None,
    by: str,
    where: list[str],
    runs: Path,
    how: dict[str, float],
    lower_is_better: bool,
    *,
    json: bool,
) -> TwoRuns:
    from ostrom.analysis.registered import standing
    from ostrom.costs.seeds import seed_price
    from ostrom.data.rundata import so_far
    from ostrom.features.comparing.two_runs import compare_runs
    from ostrom.reports.answers import headline_measure

    with opened_runs([new, old], runs) as (first, second):
        name = measure or headline_measure(first)
        if name is None:
            raise UsageError(f"{new}: has no finished match with cooperation or a score (name a --measure)")
        comparison = compare_runs(
            first, second, stated_query(name, by=by, where=where), **how, lower_is_better=lower_is_better,
            price=lambda run: seed_price(run.folder, runs),
        )  # fmt: skip
        far, registered = so_far([first, second]), standing([first, second])
    if json:
        document = {**registered.document, **comparison.as_dict(), **({"so_far": far} if far else {})}
        print_json(CommandResult(document, comparison, "differences"))
        return comparison
    print_standing(registered)
    if comparison.changed:
        print_table(
            "What else differs",
            ["key", comparison.new, comparison.old],
            [list(row) for row in comparison.changed],
        )
    columns = [name for name in comparison.differences[0].key if name != "run"]
    print_table(
        f"{comparison.measure}: {comparison.new} minus {comparison.old} ({comparison.level:.0%} intervals)",
        [*columns, "difference", "low", "high", "n", "method", "verdict"],
        [
            [
                *(one.key[name] for name in columns),
                one.value,
                one.low,
                one.high,
                one.n,
                one.method,
                verdict.words,
            ]
            for one, verdict in zip(comparison.differences, comparison.verdicts, strict=True)
        ],
    )
    if far:
        write(far)
    say(comparison.control)
    for note in dict.fromkeys(one.note for one in comparison.differences if one.note):
        say(note)
    return comparison


def _print_comparison(comparison: Comparison) -> None:
    """A table for each measure; doubts are numbered and spelled out below."""
    marks: dict[str, int] = {}
    for measure in dict.fromkeys(line.cell[-1] for line in comparison.lines):
        lines = [line for line in comparison.lines if line.cell[-1] == measure]
        used = [
            i for i in range(len(comparison.reference.columns) - 1) if any(line.cell[i] for line in lines)
        ]
        print_table(
            f"{measure.replace('_', ' ')}: own figures beside those of {comparison.reference.citation}",
            [
                *(comparison.reference.columns[i] for i in used),
                "agent", "own [95 % CI]", "published", "figure", "difference", "label", "doubts",
            ],
            [_row(line, used, marks) for line in lines],
        )  # fmt: skip
    write(f"published ± is: {comparison.reference.spread}")
    for note, n in marks.items():
        write(f"({n}) {note}")


def _counted(line: Line) -> str:
    """Whose figures a range is of: how many models, or the name of the only one (people, in some sources)."""
    names = {p.model for p in line.figures if p.model is not None}
    return names.pop() if line.models == len(names) == 1 else how_many(line.models, "model")


def _row(line: Line, used: list[int], marks: dict[str, int]) -> list[str | None]:
    own = line.own
    notes = [*line.doubts, *(f"own: {doubt}" for doubt in own.doubts)]
    numbers = [marks.setdefault(note, len(marks) + 1) for note in notes]
    interval = "" if own.low is None else f" [{own.low:.4g}, {own.high:.4g}]"
    return [
        *(line.cell[i].replace("_", " ") for i in used),
        own.agent or "all agents",
        own.word or f"{own.value:.4g}{interval}",
        line.model or ("all models" if line.value is not None else _counted(line)),
        _published(line),
        None if line.difference is None or own.word else f"{line.difference:+.4g}",
        line.status or "none",
        " ".join(f"({n})" for n in numbers) or None,
    ]


def _published(line: Line) -> str:
    if words := [p.word for p in line.figures if p.word]:
        return (
            words[0] if len(words) == 1 else ", ".join(f"{words.count(w)} {w}" for w in dict.fromkeys(words))
        )
    if line.value is not None:
        return f"{line.value:g}" + (f" ± {line.spread:g}" if line.spread is not None else "")
    left_out = f" ({line.doubted} in doubt, left out)" if line.doubted else ""
    if line.low is None:
        return f"none{left_out}"
    return f"{line.low:g}{left_out}" if line.models == 1 else f"{line.low:g} to {line.high:g}{left_out}"
