"""`ostrom estimate` and `ostrom test`: a measure of one run or several, with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.options import AgentNames, Level, MeanOverAgents, Runs, Safe, opened_runs, run_names, standing
from ostrom.cli.output import Csv, Output, TextTable, json_wanted
from ostrom.ground.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from ostrom.analysis.estimate import Estimate
    from ostrom.analysis.measure import Measure
    from ostrom.analysis.units import Observations
    from ostrom.data.rundata import RunData

Conditions = Annotated[
    list[str] | None, typer.Option(help="Only these matches: column=level[,level] or SQL. May be given several times.")
]


def estimate(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... MEASURE", help="Runs (names or folders), then the measure.", autocompletion=run_names
        ),
    ],
    by: Annotated[str, typer.Option(help="Columns to split by, separated by commas.")] = "",
    contrast: Annotated[
        str, typer.Option(metavar="FACTOR=A-B", help="The difference between two levels of a factor.")
    ] = "",
    over: Annotated[str, typer.Option(help="The slope over a column of numbers.")] = "",
    log: Annotated[bool, typer.Option("--log", help="With --over: per unit of ln x.")] = False,
    balance: Annotated[
        str, typer.Option(help="Columns whose levels count the same, outer ones first, separated by commas.")
    ] = "",
    where: Conditions = None,
    agents: AgentNames = None,
    mean_over_agents: MeanOverAgents = False,
    level: Level = 0.95,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    safe: Safe = False,
    runs: Runs = Path("runs"),
) -> Output:
    """Estimate a measure: a mean, a difference or a slope.

    The mean by default, a difference with --contrast, a slope with --over, each with its interval. One row per
    studied agent (models and people; scripts where there is nobody else).
    `ostrom list measures` names the measures; a parameter follows a colon.
    """
    from ostrom.analysis.estimate import require_any, split_by
    from ostrom.analysis.looks import look_at
    from ostrom.analysis.measure import measures
    from ostrom.analysis.population import agents_in_question, averaged_words, population_words
    from ostrom.analysis.registered import AskedContrast
    from ostrom.analysis.stopping import stopping
    from ostrom.analysis.units import condition, observations
    from ostrom.data.rundata import so_far

    names, measure = _split(arguments)
    first = next((name for name in names if name in measures), None)
    if first is not None and measure.partition(":")[0] not in measures:
        raise UsageError(
            f"{measure!r} is no measure, {first} is one: the measure comes last, `ostrom estimate RUN {first}` "
            "(columns to split by: --by)"
        )
    _one_of(json=json_wanted(), csv=csv)
    _one_of(contrast=contrast, over=over)
    _one_of(over=over, balance=balance)
    if log and not over:
        raise UsageError("--log needs --over")
    if safe and not csv:
        raise UsageError("--safe is for --csv: other output holds no formulas")
    part = _measure(measure)
    with opened_runs(names, runs) as data:
        _check_columns(part, data)
        stopped = [text for one in data if (text := stopping(one.study, one.folder))]
        far = so_far(data)
        columns = _columns(by)
        picked = condition(data, part, where or [])
        compared = [contrast.partition("=")[0].strip(), over]
        chosen = agents_in_question(agents, columns, compared)
        values = observations(data, part, picked, chosen)
        split = split_by(values, columns, compared, agents, mean=mean_over_agents or "agent" in _columns(balance))
        estimates = _estimates(values, part, split, contrast, over, log, _columns(balance), level)
        require_any(estimates, part, data, compared=bool(contrast or over), where=picked)
        plain = contrast and not (by or balance or agents or mean_over_agents)
        question = AskedContrast(measure, contrast, picked, level) if plain else None
        whose = population_words(data, chosen, picked)
        registered = standing(data, question)
        look, looked = look_at(data, part.name, filter(None, (contrast.partition("=")[0].strip() or over,)))
    rows = [
        {name: _clean(value) if name in ("value", "low", "high") else value for name, value in one.as_dict().items()}
        | ({"label": registered.label} if registered.bound else {})
        for one in estimates
    ]
    for row in rows if far or looked else ():  # a row copied from its table says so too
        row["note"] = "; ".join(filter(None, (str(row["note"] or ""), far, looked)))
    document: dict[str, Any] = {
        "runs": names,
        "measure": part.name,
        "scale": part.scale,
        "by": columns,
        **({"contrast": contrast} if contrast else {}),
        **({"over": over, "log": log} if over else {}),
        **({"look": look} if contrast or over else {}),
        **({"stopping": stopped} if stopped else {}),
        **({"so_far": far} if far else {}),
        **registered.document,
        "estimates": rows,
        "population": whose,
    }
    words = [averaged_words(one.averaged_over) for one in estimates]
    if csv:
        flat = [row | {"averaged_over": text} for row, text in zip(rows, words, strict=True)]
        return Output(document, [Csv(flat, safe)], source=estimates)
    lines = filter(None, [*dict.fromkeys(words), f"population: {whose}", part.definition, *stopped, far, looked])
    return Output(document, [_table(part, estimates, level), *lines], standing=registered, source=estimates)


def _measure(text: str) -> Measure:
    """A measure by its name, or in a Python file that is named on the command line: my_measure.py:mine."""
    from ostrom.analysis.measure import Measure, measures
    from ostrom.ground.python_files import allow_typed, bind_code_parts, part_of

    allow_typed(text)
    bound = bind_code_parts(text, Path(), "measure")
    part = part_of(bound.pop("name")) if isinstance(bound, dict) else None
    part = part(**bound) if callable(part) else part
    if part is not None and not isinstance(part, Measure):
        raise UsageError(f"{text}: must be a Measure, or a function that makes one (found {type(part).__name__})")
    return measures.named(part or text)


def _clean(value: float | None) -> float | None:
    """Return a figure without rounding errors around zero.

    >>> _clean(-2.1e-17), _clean(0.25), _clean(None)
    (0.0, 0.25, None)
    """
    return 0.0 if value is not None and abs(value) < 1e-12 else value


def _estimates(
    values: Observations,
    part: Measure,
    by: Sequence[str],
    contrast: str,
    over: str,
    log: bool,
    balance: list[str],
    level: float,
) -> list[Estimate]:
    from ostrom.analysis import estimate as statistics

    if contrast:
        factor, equals, pair = contrast.partition("=")
        if not equals:
            raise UsageError(f"--contrast must be FACTOR=A-B (found {contrast!r})")
        return statistics.contrast(values, part, factor.strip(), pair.strip(), by, balance=balance, level=level)
    if over:
        return statistics.trend(values, part, over, by, log=log, level=level)
    return statistics.estimate(values, part, by, balance=balance, level=level)


def _check_columns(part: Measure, data: Sequence[RunData]) -> None:
    """Refuse a run without a column that the measure needs, and say why it may lack it."""
    needs = [(need, *need.partition(".")[::2]) for need in part.needs]
    for run in data:
        if missing := ", ".join(need for need, table, column in needs if column not in run.columns(table)):
            why = f": {part.without}" if part.without else ""
            raise UsageError(f"{part.name}: {run.name} has no column {missing}{why}")


def _table(part: Measure, estimates: Sequence[Estimate], level: float) -> TextTable:
    differ = any(one.rows not in (None, one.n) for one in estimates)
    columns = ["value", "low", "high", "n", *(["rows"] if differ else []), "unit", "method", "note"]
    title = f"{part.title} ({part.scale})"
    return TextTable(
        f"{title}, {level:.4g} intervals" if level != 0.95 else title,
        [*estimates[0].key, *columns],
        [[*one.key.values(), *(getattr(one, column) for column in columns)] for one in estimates],
    )


def test(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... MEASURE", help="Runs (names or folders), then the measure.", autocompletion=run_names
        ),
    ],
    factor: Annotated[str, typer.Option(help="The column whose levels are compared.")],
    method: Annotated[
        str | None,
        typer.Option(help="welch | paired | anova | permutation | jzs | mixed | glm | gee (default: by the design)."),
    ] = None,
    second: Annotated[
        str | None, typer.Option(help="A second factor (anova, mixed, glm, gee), with interaction.")
    ] = None,
    cluster: Annotated[
        str, typer.Option(help="Columns that say which units belong together, separated by commas.")
    ] = "",
    where: Conditions = None,
    agents: AgentNames = None,
    mean_over_agents: MeanOverAgents = False,
    type_: Annotated[str, typer.Option("--type", help="Sums of squares of a two-way anova: II | III.")] = "II",
    level: Level = 0.95,
    seed: Annotated[int, typer.Option(help="The seed of random arrangements (permutation).", min=0)] = 0,
    runs: Runs = Path("runs"),
) -> Output:
    """Does a measure differ between the levels of a factor? A p-value.

    A factor is any column of the matches. The answer names the unit of analysis, the design and the assumptions.
    """
    from ostrom.analysis import hypothesis
    from ostrom.analysis.estimate import require_any
    from ostrom.analysis.looks import look_at
    from ostrom.analysis.population import ALL, agents_in_question, averaged_words, population_words
    from ostrom.analysis.units import condition, observations

    names, measure = _split(arguments)
    if method is not None and method not in hypothesis.METHODS:
        raise UnknownName("method", method, hypothesis.METHODS)
    if type_ not in ("II", "III"):
        raise UsageError(f"--type must be II or III (found {type_!r})")
    part = _measure(measure)
    with opened_runs(names, runs) as data:
        _check_columns(part, data)
        picked = condition(data, part, where or [])
        try:
            tests = hypothesis.test(
                data, part, factor, method, second=second, cluster=_columns(cluster),  # type: ignore[arg-type]
                where=picked, sums_of_squares=type_, level=level, seed=seed,  # type: ignore[arg-type]
                agents=agents, mean_over_agents=mean_over_agents,
            )  # fmt: skip
        except UsageError:
            require_any(
                observations(data, part, picked, ALL).rows, part, data, where=picked
            )  # where it finds nothing at all
            raise
        registered = standing(data)
        look, looked = look_at(data, part.name, filter(None, (factor, second)))
        whose = population_words(data, agents_in_question(agents, (), [factor, second or ""]), picked)
    return Output(
        {"runs": names, "look": look, **registered.document, **tests.as_dict(), "population": whose},
        [
            f"{tests.title}: {part.title} by {' and '.join(filter(None, (tests.factor, tests.second)))}",
            *(_table_of(name, rows) for name, rows in (("groups", tests.groups), *tests.results.items())),
            averaged_words(tests.averaged_over) or None,
            f"population: {whose}",
            f"unit of analysis: {tests.unit}",
            f"design: {tests.design}",
            f"assumptions: {'; '.join(tests.assumptions)}",
            *(f"warning: {warning}" for warning in tests.warnings),
            *filter(None, [looked]),
        ],
        standing=registered,
        source=tests,
    )


def _table_of(name: str, rows: Sequence[dict[str, Any]]) -> TextTable:
    columns = [c for c in rows[0] if any(row.get(c) not in (None, "") for row in rows)]
    return TextTable(name, columns, [[_short(c, row.get(c)) for c in columns] for row in rows])


def _short(column: str, value: Any) -> Any:
    """Format a p-value with three significant digits; join sample sizes."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    digits = isinstance(value, float) and (column == "p" or column.startswith(("p_", "bf", "log_bf")))
    return f"{value:.3g}" if digits else value


def _split(arguments: list[str]) -> tuple[list[str], str]:
    if len(arguments) < 2:
        raise UsageError("name a run (or several) and then a measure, see `ostrom list measures`")
    return arguments[:-1], arguments[-1]


def _columns(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _one_of(**options: object) -> None:
    named = [f"--{name}" for name, value in options.items() if value]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} exclude each other")
