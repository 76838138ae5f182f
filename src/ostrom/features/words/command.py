"""`ostrom more traces`: the words of the reasoning in a run."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.analysis.registered import standing
from ostrom.cli.options import Json, Runs
from ostrom.cli.output import print_answer, print_table, say, write
from ostrom.data.rundata import run_data
from ostrom.features.words.lexicons import MODES, Lexicon, matched
from ostrom.features.words.traces.table import (
    default_groups,
    trace_lexicons,
    trace_summary,
    trace_table,
    unfinished,
)
from ostrom.features.words.traces.table import sensitivity as under_all_rules
from ostrom.ground.errors import UsageError
from ostrom.studies.run import open_run


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
    """Count the words of reasoning traces.

    Matches, per 1,000 words, ratios, mentions.

    Writes the counts of every trace to traces.parquet in the run's folder.
    """
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
        registered = standing([data])
    document = {
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

    def show() -> None:
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

    print_answer(document, registered, show, json=json)


def _matched(lists: tuple[Lexicon, ...], given: Sequence[str]) -> tuple[Lexicon, ...]:
    """The lists under the rules of ``--match``: MODE for all, LIST=MODE for one."""
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
    ratio_names = [name for name in ratios if name != "cooperation_ratio"]
    lines = []
    for row in rows:
        frequencies = [_short(row[f"{name}_per_1000_words"]) for name in lists]
        shares = [_short(row[f"{name}_of_sums"]) for name in ratio_names]
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
        *ratio_names,
        *(["mention_defection"] if "defection" in lists else []),
    ]
    print_table(
        "words of reasoning (per 1,000 words; ratios of sums; share of traces that mention a defection)",
        [head.replace("_", " ") for head in heads],
        lines,
    )


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")
