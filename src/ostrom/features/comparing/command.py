"""`ostrom compare` and `ostrom traces`: a run beside published figures, and the words of its reasoning."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.options import Json, Runs
from ostrom.cli.output import print_json, print_table, say, write
from ostrom.ground.errors import UsageError

if TYPE_CHECKING:
    from ostrom.features.comparing import Comparison, Line
    from ostrom.features.words.lexicons import Lexicon


def compare(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
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
    """Set the figures of a run beside the published ones, for the cells that both have.

    Own intervals are 95 % intervals. Published figures in doubt are marked and never enter a range.
    """
    from ostrom.data.rundata import run_data
    from ostrom.features.comparing import compare_run
    from ostrom.studies.run import open_run

    with (
        open_run(run, runs) as opened,
        run_data(opened.rows, opened.folder.path, opened.manifest) as data,
    ):
        made = compare_run(opened, data, as_ or (), reference)
    if json:
        print_json({"run": str(opened.folder.path), **made.as_dict()})
        return made
    if made.lines:
        _print_comparison(made)
    for remark in made.remarks:
        say(remark)
    if made.unmatched:
        say(f"{made.unmatched} own figures have no published cell to stand beside.")
    return made


def _print_comparison(made: Comparison) -> None:
    """A table for each measure; doubts are numbered and spelled out below."""
    marks: dict[str, int] = {}
    for measure in dict.fromkeys(line.cell[-1] for line in made.lines):
        lines = [line for line in made.lines if line.cell[-1] == measure]
        used = [i for i in range(len(made.reference.columns) - 1) if any(line.cell[i] for line in lines)]
        print_table(
            f"{measure.replace('_', ' ')}: own figures beside those of {made.reference.citation}",
            [
                *(made.reference.columns[i] for i in used),
                "agent", "own [95 % CI]", "published", "figure", "difference", "label", "doubts",
            ],
            [_row(line, used, marks) for line in lines],
        )  # fmt: skip
    write(f"published ± is: {made.reference.spread}")
    for note, n in marks.items():
        write(f"({n}) {note}")


def _counted(line: Line) -> str:
    """Whose figures a range is of: how many models, or the name of the only one (people, in some sources)."""
    names = {p.model for p in line.figures if p.model is not None}
    return names.pop() if line.models == len(names) == 1 else f"{line.models} models"


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


def traces(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    lexicons: Annotated[
        Path | None,
        typer.Option(help="A JSON or YAML file with lists of terms, counted besides the built-in ones."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Columns to group by, separated by commas (default: agent, factors, reasoning)."),
    ] = None,
    match: Annotated[
        list[str] | None,
        typer.Option(
            help="How terms match: word, inflected, prefix or substring; MODE for all lists, LIST=MODE for one "
            "(default: each list's own). May be given several times."
        ),
    ] = None,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Show also what every list counts under the other rules.")
    ] = False,
    runs: Runs = Path("runs"),
    json: Json = False,
) -> None:
    """Count the words of reasoning traces: matches, per 1,000 words, ratios, mentions.

    Writes the counts of every trace to traces.parquet in the run's folder.
    """
    from ostrom.data.rundata import run_data
    from ostrom.features.words.traces.summary import default_groups, trace_summary, unfinished
    from ostrom.features.words.traces.summary import sensitivity as under_all_rules
    from ostrom.features.words.traces.table import trace_lexicons, trace_table
    from ostrom.studies.run import open_run

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lists = _matched(trace_lexicons(lexicons), match or ())
    for warning in caught:
        say(str(warning.message))
    with (
        open_run(run, runs) as opened,
        run_data(opened.rows, opened.folder.path, opened.manifest) as data,
    ):
        table = trace_table(data, lists)
        groups = (
            [name.strip() for name in by.split(",") if name.strip()]
            if by is not None
            else default_groups(data)
        )
        rows = trace_summary(data, table, groups)
        apart = unfinished(data, table)
        rules = under_all_rules(data, lists) if sensitivity else []
    if json:
        print_json(
            {
                "file": str(table.path),
                "replies": table.replies,
                "traces": table.rows,
                "of_unfinished_matches": apart,
                "lexicons": list(table.lexicons),
                "match": {one.name: one.mode for one in lists},
                "by": groups,
                "groups": rows,
                **({"sensitivity": [one._asdict() for one in rules]} if sensitivity else {}),
            }
        )
        return
    if rows:
        _print_traces(rows, groups, table.lexicons, [ratio.name for ratio in table.ratios])
        write("matched as: " + ", ".join(f"{one.name.replace('_', ' ')} {one.mode}" for one in lists))
    if rules:
        print_table(
            "the same lists under every rule (* is the list's own)",
            ["list", "match", "matches", "per 1,000 words", "share of traces"],
            [
                [one.words.replace("_", " "), f"{one.match}{' *' if one.used else ''}", one.matches,
                 _short(one.per_1000_words), _short(one.share_of_traces)]
                for one in rules
            ],
        )  # fmt: skip
    say(f"{table.rows} of {table.replies} replies hold reasoning; their counts are in {table.path}")
    if apart:
        say(f"{apart} traces of unfinished matches are in the file but not in the summary.")


def _matched(lists: tuple[Lexicon, ...], given: Sequence[str]) -> tuple[Lexicon, ...]:
    """The lists under the rules of ``--match``: MODE for all, LIST=MODE for one."""
    from ostrom.features.words.lexicons import MODES, matched

    for one in given:
        name, equals, mode = one.rpartition("=")
        if mode not in MODES:
            raise UsageError(f"--match: unknown mode {mode!r} (allowed: {', '.join(MODES)})")
        lists = matched(lists, {name: mode} if equals else mode)  # type: ignore[arg-type, dict-item]
    return lists


def _print_traces(
    rows: list[dict[str, Any]], groups: list[str], lists: tuple[str, ...], ratios: list[str]
) -> None:
    # The last ratio is the complement of the one before it, so a terminal does without.
    shown = [name for name in ratios if name != "cooperation_ratio"]
    lines = []
    for row in rows:
        frequencies = [_short(row[f"{name}_per_1000_words"]) for name in lists]
        shares = [_short(row[f"{name}_of_sums"]) for name in shown]
        mentions = [_short(row["defection_share"])] if "defection" in lists else []
        keys = [
            row[name] if not isinstance(row[name], str) else row[name].replace("_", " ") for name in groups
        ]
        lines.append([*keys, row["traces"], row["words"], *frequencies, *shares, *mentions])
    heads = [
        *groups,
        "traces",
        "words",
        *lists,
        *shown,
        *(["mention_defection"] if "defection" in lists else []),
    ]
    print_table(
        "words of reasoning (per 1,000 words; ratios of sums; share of traces that mention a defection)",
        [head.replace("_", " ") for head in heads],
        lines,
    )


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")
