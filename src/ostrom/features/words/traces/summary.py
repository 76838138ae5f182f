"""Counted traces summed over groups: frequencies, ratios and mentions, each under the name of its meaning.

Also how much a count depends on the matching rule: every list under every rule.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from ostrom.analysis.measure import Measure, Rows
from ostrom.data.rundata import RunData, literal, quoted
from ostrom.features.words.lexicons import MODES, RATIOS, Lexicon, Mode
from ostrom.features.words.traces.table import TraceTable, trace_lexicons, trace_table
from ostrom.ground.errors import UnknownName

DONE = "state = 'done'"
"""Only traces of finished matches enter a summary, as only finished matches enter a result."""


def default_groups(data: RunData) -> list[str]:
    """By agent, by every factor of the study, and by where the reasoning was found."""
    return ["agent", *data.factors, "reasoning"]


def source(table: TraceTable) -> str:
    """The table, for SQL."""
    return f"read_parquet({literal(str(table.path))})"


def trace_summary(data: RunData, table: TraceTable, by: Sequence[str]) -> list[dict[str, Any]]:
    """One row per group, in the order of the matches.

    Of every list: matches, ``_per_1000_words`` (of all words together), ``_share`` (of traces that mention
    it). Of every ratio: ``_of_sums`` (all matches together) and ``_mean`` (over the traces that have one);
    None where no trace has a match.
    """
    known = [row["column_name"] for row in data.records(f"DESCRIBE SELECT * FROM {source(table)}")]
    for name in by:
        if name not in known:
            raise UnknownName("column of traces", name, known)
    if not table.rows:
        return []
    figures = ["count(*) AS traces", "sum(words)::BIGINT AS words"]
    for name in table.lexicons:
        column = quoted(name)
        figures += [
            f"sum({column})::BIGINT AS {column}",
            f"1000 * sum({column}) / nullif(sum(words), 0) AS {quoted(name + '_per_1000_words')}",
            f"avg(({column} > 0)::INTEGER) AS {quoted(name + '_share')}",
        ]
    for ratio in table.ratios:
        part, other = quoted(ratio.part), quoted(ratio.other)
        figures += [
            f"sum({part}) / nullif(sum({part}) + sum({other}), 0) AS {quoted(ratio.name + '_of_sums')}",
            f"avg({quoted(ratio.name)}) AS {quoted(ratio.name + '_mean')}",
        ]
    # GROUP BY column numbers: a name such as "cooperation" may be both a word list and a column of ``by``.
    keys = "".join(f"{quoted(name)}, " for name in by)
    groups = f" GROUP BY {', '.join(str(i + 1) for i in range(len(by)))}" if by else " HAVING count(*) > 0"
    return data.records(
        f"SELECT {keys}{', '.join(figures)} FROM {source(table)} WHERE {DONE}{groups} "
        "ORDER BY min(match), min(id)"
    )


def unfinished(data: RunData, table: TraceTable) -> int:
    """How many traces belong to matches that are not finished and so enter no summary."""
    if not table.rows:
        return 0
    rows = data.records(f"SELECT count(*) AS n FROM {source(table)} WHERE NOT ({DONE})")
    return int(rows[0]["n"])


class CountedList(NamedTuple):
    """One list under one rule, over all traces of finished matches."""

    words: str
    match: Mode
    used: bool
    """Whether this is the rule of the list."""
    traces: int
    matches: int
    per_1000_words: float | None
    share_of_traces: float | None


def sensitivity(data: RunData, lexicons: Sequence[Lexicon] | None = None) -> list[CountedList]:
    """Every list under every rule, in the order of the lists; empty where no finished match has a trace."""
    lists = trace_lexicons() if lexicons is None else tuple(lexicons)
    rows: dict[Mode, dict[str, float]] = {}
    for mode in MODES:
        found = trace_summary(data, trace_table(data, lists, mode), ())  # type: ignore[arg-type]
        if not found:
            return []
        rows[mode] = found[0]  # type: ignore[index]
    return [
        CountedList(
            x.name, mode, mode == x.mode, int(row["traces"]), int(row[x.name]),
            row[f"{x.name}_per_1000_words"], row[f"{x.name}_share"],
        )
        for x in lists
        for mode, row in rows.items()
    ]  # fmt: skip


COLUMNS = ("history_length",)
"""How many rounds the player saw, which matches have as a column only where the study varies it."""


def of_traces(data: RunData, part: str, whole: str, scale: float = 1.0, match: Mode | None = None) -> Rows:
    """Part over whole (SQL over columns of the table of traces), weighted by the whole.

    The weighted mean over players and matches is then the part of all of them over the whole of all of them.
    """
    if not data.rows["calls"]:
        return []
    return data.records(
        f"SELECT match, player, any_value(history_length) AS history_length, sum({whole})::DOUBLE AS weight, "
        f"{scale} * sum({part}) / nullif(sum({whole}), 0) AS value FROM {source(trace_table(data, match=match))} "
        f"WHERE {DONE} GROUP BY match, player ORDER BY match, player"
    )


def known_words(words: str, match: Mode | None) -> str:
    """Check a list by name; the answer says under which rule it is counted."""
    rules = {lexicon.name: lexicon.mode for lexicon in trace_lexicons()}
    if words not in rules:
        raise UnknownName("list of words", words, rules)
    return match or rules[words]


def word_rate(words: str = "paranoia", match: Mode | None = None) -> Measure:
    """``words`` is the name of a list: forward_looking, history_following, paranoia, cooperation, defection.

    ``match`` is word, inflected, prefix or substring; by default the list's own rule.
    """
    rule = known_words(words, match)
    return Measure(
        name="word_rate",
        title=f"{words.replace('_', ' ').capitalize()} words per 1,000 words",
        scale="number",
        definition=(
            f"Words of the list {words} (matched as {rule}) per 1,000 words of a player's reasoning, all words counted "
            "alike."
        ),
        bounds=(0.0, None),
        needs=("matches.agent_memory",),
        values=lambda data: of_traces(data, quoted(words), "words", 1000.0, match),
        source="Liu et al. (2026), Appendix E.2",
        columns=COLUMNS,
    )


def word_mentions(words: str = "defection", match: Mode | None = None) -> Measure:
    """``words`` is the name of a list and ``match`` its rule, as for ``word_rate``."""
    rule = known_words(words, match)
    return Measure(
        name="word_mentions",
        title=f"Share of traces with {words.replace('_', ' ')} words",
        scale="share",
        definition=f"The share of a player's traces of reasoning with a word of the list {words} (matched as {rule}).",
        needs=("matches.agent_memory",),
        values=lambda data: of_traces(data, f"({quoted(words)} > 0)::INTEGER", "1", match=match),
        columns=COLUMNS,
    )


def word_ratio(
    ratio: str = RATIOS[0].name, each: Literal["word", "trace"] = "word", match: Mode | None = None
) -> Measure:
    """``ratio`` is forward_looking_ratio, paranoia_ratio or cooperation_ratio.

    By default all words count alike; with ``each: trace`` every trace that has a ratio does. ``match`` is the rule for
    both lists (word, inflected, prefix or substring); by default each has its own.
    """
    known = {one.name: one for one in RATIOS}
    if ratio not in known:
        raise UnknownName("ratio of words", ratio, known)
    if each not in ("word", "trace"):
        raise ValueError(f"each must be word or trace (found {each!r})")
    rules = [known_words(name, match) for name in known[ratio][1:]]
    part, other = quoted(known[ratio].part), quoted(known[ratio].other)
    sums = (
        (part, f"{part} + {other}") if each == "word" else (quoted(ratio), f"({part} + {other} > 0)::INTEGER")
    )
    return Measure(
        name="word_ratio",
        title=ratio.replace("_", " ").capitalize(),
        scale="share",
        definition=(
            f"Words of the list {known[ratio].part} as a share of those and the words of the list "
            f"{known[ratio].other} in a player's reasoning (matched as {' and '.join(dict.fromkeys(rules))}); every "
            f"{each} counts alike."
        ),
        needs=("matches.agent_memory",),
        values=lambda data: of_traces(data, *sums, match=match),
        source="Liu et al. (2026), Appendices D.2 and E.2",
        columns=COLUMNS,
    )
