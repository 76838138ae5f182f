"""`ostrom more traces`: word counts of the reasoning in a run."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.options import Runs, opened_runs, standing
from ostrom.cli.output import Output, Remark, TextTable, print_stderr
from ostrom.features.words.lexicons import MODES, Lexicon, matched
from ostrom.features.words.traces.table import default_groups, trace_lexicons, trace_summary, trace_table, unfinished
from ostrom.features.words.traces.table import sensitivity as under_all_rules
from ostrom.ground.errors import UsageError
from ostrom.ground.words import how_many


def traces(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    lexicons: Annotated[
        Path | None, typer.Option(help="A JSON or YAML file with lists of terms, counted besides the built-in ones.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Columns to group by, separated by commas (default: agent, factors, reasoning).")
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
) -> Output:
    """Count the words of reasoning traces.

    Matches, per 1,000 words, ratios, mentions.

    Writes the counts of every trace to traces.parquet in the run's folder.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lists = _matched(trace_lexicons(lexicons), match or ())
    for warning in caught:
        print_stderr(str(warning.message))
    with opened_runs([run], runs) as [data]:
        table = trace_table(data, lists)
        groups = [name.strip() for name in by.split(",") if name.strip()] if by is not None else default_groups(data)
        rows = trace_summary(data, table, groups)
        if not table.rows:
            raise UsageError(
                f"{data.name}: no reply of a model holds reasoning (of {how_many(table.replies, 'reply')})"
            )
        unfinished_traces = unfinished(data, table)
        rules = under_all_rules(data, lists) if sensitivity else []
        registered = standing([data])
    document = {
        "file": str(table.path),
        "replies": table.replies,
        "traces": table.rows,
        "of_unfinished_matches": unfinished_traces,
        "lexicons": list(table.lexicons),
        "match": {one.name: one.mode for one in lists},
        "by": groups,
        "groups": rows,
        **({"sensitivity": rules} if sensitivity else {}),
    }
    rule_table = TextTable(
        "the same lists under every rule (* is the list's own)",
        ["list", "match", "matches", "per 1,000 words", "share of traces"],
        [
            [one["words"].replace("_", " "), f"{one['match']}{' *' if one['used'] else ''}", one["matches"],
             _short(one["per_1000_words"]), _short(one["share_of_traces"])]
            for one in rules
        ],
    )  # fmt: skip
    modes = ", ".join(f"{one.name.replace('_', ' ')} {one.mode}" for one in lists)
    return Output(
        document,
        [
            _counts(rows, groups, table.lexicons, [ratio.name for ratio in table.ratios]) if rows else None,
            f"matched as: {modes}" if rows else None,
            rule_table if rules else None,
            Remark(f"{table.rows} of {table.replies} replies hold reasoning; their counts are in {table.path}"),
            Remark(f"{unfinished_traces} traces of unfinished matches are in the file but not in the summary.")
            if unfinished_traces
            else None,
        ],
        standing=registered,
    )


def _matched(lists: tuple[Lexicon, ...], given: Sequence[str]) -> tuple[Lexicon, ...]:
    """Return the lists with the matching rules of ``--match``: MODE for all, LIST=MODE for one."""
    for one in given:
        name, equals, mode = one.rpartition("=")
        if mode not in MODES:
            raise UsageError(f"--match: unknown mode {mode!r} (allowed: {', '.join(MODES)})")
        lists = matched(lists, {name: mode} if equals else mode)  # type: ignore[arg-type, dict-item]
    return lists


def _counts(rows: list[dict[str, Any]], groups: list[str], lists: tuple[str, ...], ratios: list[str]) -> TextTable:
    # The last ratio is the complement of the one before it, so the terminal omits it.
    ratio_names = [name for name in ratios if name != "cooperation_ratio"]
    mentioned = "defection" in lists
    lines = [
        [
            *(row[name] if not isinstance(row[name], str) else row[name].replace("_", " ") for name in groups),
            row["traces"],
            row["words"],
            *(_short(row[f"{name}_per_1000_words"]) for name in lists),
            *(_short(row[f"{name}_of_sums"]) for name in ratio_names),
            *([_short(row["defection_share"])] if mentioned else []),
        ]
        for row in rows
    ]
    heads = [*groups, "traces", "words", *lists, *ratio_names, *(["mention_defection"] if mentioned else [])]
    return TextTable(
        "words of reasoning (per 1,000 words; ratios of sums; share of traces that mention a defection)",
        [head.replace("_", " ") for head in heads],
        lines,
    )


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.3g}")
