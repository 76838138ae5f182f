"""`ostrom compare`: a run beside published figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.analysis.verdict_files import check_folders
from ostrom.cli.options import (
    AgentNames,
    JUnit,
    Level,
    Markdown,
    MeanOverAgents,
    Runs,
    opened_runs,
    standing,
    stated_query,
)
from ostrom.cli.output import Output, Remark, TextItem, TextTable
from ostrom.ground.errors import UsageError
from ostrom.ground.words import how_many

if TYPE_CHECKING:
    from ostrom.features.comparing import Comparison, Line

MARGIN = 0.05
"""The default margin: a difference counts as equivalent if its bounds lie within plus or minus this."""


def compare(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    old: Annotated[
        str | None, typer.Argument(help="A second run: show the differences RUN minus OLD, and what else differs.")
    ] = None,
    measure: Annotated[
        str | None, typer.Option(help="With OLD: the measure (default: cooperation, else the score).")
    ] = None,
    by: Annotated[str | None, typer.Option(help="With OLD: columns to compare by, such as game,agent.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="With OLD: only these matches: column=level[,level] ({model}: the model of each run) or SQL."
        ),
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="With OLD: differences up to this are equivalent (default: 0.05).")
    ] = None,
    better: Annotated[
        str, typer.Option(help="With OLD: higher or lower values are better (default: as the measure declares).")
    ] = "",
    agents: AgentNames = None,
    mean_over_agents: MeanOverAgents = False,
    junit: JUnit = None,
    markdown: Markdown = None,
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
) -> Output:
    """Compare a run with published figures, or with another run.

    Set the figures of a run beside the published ones, or beside those of another run (compare NEW OLD).

    Two runs are compared by the agents that changed, or by the studied ones where none did, one row for each.
    Exit code: 0 equivalent or better, 1 worse or any difference where no direction is declared, 3 undecided, 2 wrong
    use. Own intervals are 95 % intervals. Published figures in doubt are marked.
    """
    if old is not None:
        if as_ or reference:
            raise UsageError("two runs are compared with each other: leave --as and --reference out")
        if margin is not None and not 0 < margin < math.inf:
            raise UsageError(f"--margin must be a positive number (found {margin:g})")
        if better not in ("", "higher", "lower"):
            raise UsageError(f"--better must be higher or lower (found {better!r})")
        check_folders(junit, markdown)
        how = {"level": level, "margin": MARGIN if margin is None else margin, "better": better}
        query = {"by": by or "", "where": where or [], "agents": agents or "", "mean_over_agents": mean_over_agents}
        return _two_runs(run, old, measure, query, runs, how, junit, markdown)
    single = {
        "measure": measure, "by": by, "where": where, "margin": margin, "better": better, "agents": agents,
        "mean-over-agents": mean_over_agents, "junit": junit, "markdown": markdown,
    }  # fmt: skip
    if name := next((name for name, value in single.items() if value not in (None, "", False, [])), None):
        raise UsageError(f"--{name} needs a second run: ostrom compare NEW OLD")
    from ostrom.analysis.claims import named_reference
    from ostrom.features.comparing import compare_run
    from ostrom.studies.pooled import check_replication

    with opened_runs([run], runs) as [data]:
        check_replication(named_reference(data, reference).name)
        comparison, far = compare_run(data, as_ or (), reference), data.so_far
        registered = standing([data])
    document = {
        "run": str(data.folder), **({"so_far": far} if far else {}), **registered.document, **comparison.as_dict()
    }  # fmt: skip
    paper = comparison.reference.name.replace("_", "-")
    text = [
        *(_comparison_text(comparison) if comparison.lines else ()),
        far if comparison.lines and far else None,
        *map(Remark, comparison.remarks),
        Remark(f"{comparison.unmatched} own figures have no published cell to stand beside.")
        if comparison.unmatched
        else None,
        Remark(f"all figures of the paper on one page, with verdicts: ostrom replicate {paper} --runs {run}"),
    ]
    return Output(document, text, standing=registered, source=comparison, rows_key="cells")


def _two_runs(
    new: str,
    old: str,
    measure: str | None,
    query: dict[str, Any],
    runs: Path,
    how: dict[str, Any],
    junit: Path | None,
    markdown: Path | None,
) -> Output:
    from ostrom.analysis.population import EARLIER, averaged_words
    from ostrom.analysis.verdict_files import CODES, VerdictFile
    from ostrom.costs.seeds import seed_price
    from ostrom.data.rundata import so_far
    from ostrom.features.comparing.two_runs import compare_runs
    from ostrom.reports.answers import headline_measure

    with opened_runs([new, old], runs) as (first, second):
        name = measure or headline_measure(first)
        if name is None:
            raise UsageError(f"{new}: has no finished match with cooperation or a score (name a --measure)")
        comparison = compare_runs(
            first, second, stated_query(name, **query), **how, price=lambda run: seed_price(run.folder, runs)
        )
        far, registered = so_far([first, second]), standing([first, second])
    columns = [name for name in comparison.differences[0].key if name != "run"]
    table = TextTable(
        f"{comparison.measure}: {comparison.new} minus {comparison.old} ({comparison.level:.0%} intervals)",
        [*columns, "difference", "low", "high", "n", "method", "verdict"],
        [
            [*(one.key[name] for name in columns), one.value, one.low, one.high, one.n, one.method, verdict.words]
            for one, verdict in zip(comparison.differences, comparison.verdicts, strict=True)
        ],
    )
    changed = TextTable("What else differs", ["key", comparison.new, comparison.old], comparison.changed)
    notes = dict.fromkeys(one.note for one in comparison.differences if one.note)
    averaged = filter(None, dict.fromkeys(averaged_words(one.averaged_over) for one in comparison.differences))
    who = f"agents: {comparison.agents.words}"
    VerdictFile(
        "compare", "difference", f"{comparison.new} minus {comparison.old}", comparison.heading, who,
        comparison.control, comparison.lines, registered,
    ).write(junit, markdown)  # fmt: skip
    return Output(
        {**registered.document, **comparison.as_dict(), **({"so_far": far} if far else {})},
        [
            who, f"population: {EARLIER}" if comparison.agents.earlier else None,
            changed if comparison.changed else None, table, *comparison.tied_lines, *averaged, far or None,
            *map(Remark, (comparison.control, *notes)),
        ],
        code=CODES[comparison.answer],
        standing=registered,
        source=comparison,
        rows_key="differences",
    )  # fmt: skip


def _comparison_text(comparison: Comparison) -> Iterator[TextItem]:
    """Yield one table per measure, then the numbered doubts about the figures."""
    marks: dict[str, int] = {}
    for measure in dict.fromkeys(line.cell[-1] for line in comparison.lines):
        lines = [line for line in comparison.lines if line.cell[-1] == measure]
        used = [i for i in range(len(comparison.reference.columns) - 1) if any(line.cell[i] for line in lines)]
        yield TextTable(
            f"{measure.replace('_', ' ')}: own figures beside those of {comparison.reference.citation}",
            [
                *(comparison.reference.columns[i] for i in used),
                "agent", "own [95 % CI]", "published", "figure", "difference", "label", "doubts",
            ],
            [_row(line, used, marks) for line in lines],
        )  # fmt: skip
    yield f"published ± is: {comparison.reference.spread}"
    yield from (f"({n}) {note}" for note, n in marks.items())


def _counted(line: Line) -> str:
    """Return the number of models behind a range of published figures, or the name of the only one (such as people)."""
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
        return words[0] if len(words) == 1 else ", ".join(f"{words.count(w)} {w}" for w in dict.fromkeys(words))
    if line.value is not None:
        return f"{line.value:g}" + (f" ± {line.spread:g}" if line.spread is not None else "")
    doubt = f" ({line.doubted} in doubt)" if line.doubted else ""
    if line.low is None:
        return "none"
    return f"{line.low:g}{doubt}" if line.models == 1 else f"{line.low:g} to {line.high:g}{doubt}"
