"""Words of rationales in nine categories (Manoranjan & Gaikwad 2026, Appendix F), and their measures.

The measures say how often a category is used, and which reasoning the words stand for (Figure 6).
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from ostrom.analysis.claims import references
from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.features.words.lexicons import MODES, Mode, persona_keywords
from ostrom.features.words.lexicons.matcher import count_batches
from ostrom.ground.errors import UnknownName
from ostrom.reports.words import pretty, written

IDENTITY = ("short_term", "social_moral")
"""The categories of identity-driven reasoning in the paper's Figure 6."""
PAYOFF = ("game_theoretic", "strategic", "long_term")
"""The categories of payoff-optimal reasoning in the paper's Figure 6."""
GROUPS: Mapping[str, tuple[str, ...]] = {"identity_driven": IDENTITY, "payoff_optimal": PAYOFF}
VOICE = ("identity_based", *IDENTITY)
"""The categories of somebody who speaks as a role: identity_based and those of ``IDENTITY``."""
MATCH: Mode = "inflected"
"""The matching rule: the lists print base forms, so "payoff" includes payoffs. The paper does not state it."""
EVERY = "every"
SOURCE = "Manoranjan & Gaikwad (2026), When Personas Override Payoffs"


def keyword_counts(data: RunData, match: str = MATCH) -> Iterator[tuple[dict[str, Any], dict[str, int]]]:
    """Yield every rationale of a finished match with its number of words of each category.

    Empty rationales, and those that a policy put in place of an answer, are left out.
    ``match`` is a mode, or ``every`` for all of them one after the other.
    """
    rows = data.records(
        "SELECT * FROM decisions WHERE rationale IS NOT NULL AND rationale <> '' AND state = 'done' "
        "AND NOT invalid ORDER BY match, step, seat"
    )
    games = {number: data.game(number) for number in {row["match"] for row in rows}}
    roles = {number: game.words.titles or game.roles for number, game in games.items()}
    titles = sorted({title for of in roles.values() for title in of})
    for mode in modes(match):
        texts = (
            (
                {
                    "match": row["match"],
                    "player": row["player"],
                    "role": roles[row["match"]][row["seat"] - 1],
                    "condition": condition(row),
                    "matching": mode,
                },
                str(row["rationale"]),
            )
            for row in rows
        )
        for batch in count_batches(texts, persona_keywords(titles, mode=mode)):
            yield from ((trace.key, trace.counts) for trace in batch)


def modes(match: str) -> tuple[Mode, ...]:
    """The modes that a parameter ``match`` names."""
    if match != EVERY and match not in MODES:
        raise UnknownName("match mode", match, [*MODES, EVERY])
    return tuple(mode for mode in MODES if match in (mode, EVERY))  # type: ignore[misc]


def sets(words: str) -> Mapping[str, tuple[str, ...]]:
    """Return the sets of categories for ``words``: the nine, the two of Figure 6, role_voice, or one.

    >>> list(sets("reasoning")), sets("strategic")
    (['identity_driven', 'payoff_optimal'], {'strategic': ('strategic',)})
    """
    nine = {lexicon.name: (lexicon.name,) for lexicon in persona_keywords()}
    if words == "categories":
        return nine
    if words == "reasoning":
        return GROUPS
    word_sets = {**nine, **GROUPS, "role_voice": VOICE}
    if words not in word_sets:
        raise UnknownName("category of words", words, ["categories", "reasoning", *word_sets])
    return {words: word_sets[words]}


def condition(row: Mapping[str, Any]) -> str:
    """Return the cell of the published design in words, and how an arm differs from the paper's.

    It is "all" where the study does not vary both factors.

    >>> condition({"persona": "yes", "payoffs": "hidden"})
    'persona, hidden payoffs'
    >>> condition({"persona": "yes", "payoffs": "hidden", "instruction": "nash"})
    'persona, hidden payoffs, instruction nash'
    """
    who, seen = row.get("persona"), row.get("payoffs")
    if who is None or seen is None:
        return "all"
    named = "persona" if who == "yes" else "no persona" if who == "no" else who
    return ", ".join([named, f"{seen} payoffs", *other_arm(row)])


def other_arm(row: Mapping[str, Any]) -> list[str]:
    """Return how a match differs from the paper's arm with the same persona and payoffs, scenario aside."""
    return [
        f"{pretty(name)} {written(row[name])}"
        for name, level in _arms().get((row.get("persona"), row.get("payoffs")), {}).items()
        if name in row and row[name] != level
    ]


@cache
def _arms() -> dict[tuple[Any, Any], dict[str, Any]]:
    """Return what a player is told in each of the paper's arms, by persona and payoffs."""
    paper = references.build("personas")
    common = {name: level for name, level in paper.held.items() if name not in ("family", "scenario_class")}
    return {(arm["persona"], arm["payoffs"]): {**common, **arm} for arm in paper.arms}


COLUMNS = ("category", "condition", "matching", "role")


def _by_category(
    words: str, match: str, value: Callable[[list[int]], float]
) -> Callable[[RunData], Iterator[Mapping[str, Any]]]:
    """Return the rows of a measure: a value for every rationale and set of categories."""
    wanted = sets(words)
    modes(match)

    def values(data: RunData) -> Iterator[Mapping[str, Any]]:
        return (
            {**key, "category": name, "value": value([counts[part] for part in parts])}
            for key, counts in keyword_counts(data, match)
            for name, parts in wanted.items()
        )

    return values


def keyword_rate(words: str = "categories", match: str = MATCH) -> Measure:
    """Keywords per 1,000 rationales.

    ``words``: categories (all nine, one column), reasoning (the two groups of Figure 6), or one of their names.
    ``match`` is word, inflected, prefix, substring, or every (one column ``matching``).
    """
    return Measure(
        name="keyword_rate",
        title="Keywords per 1,000 rationales" if len(sets(words)) > 1 else f"{words.replace('_', ' ')} words per 1,000",
        scale="number",
        definition=(
            f"Occurrences of keywords per 1,000 rationales, by category ({words.replace('_', ' ')}); matched: {match}. "
            "Some terms belong to two categories; every category counts its own."
        ),
        values=_by_category(words, match, lambda counts: 1000.0 * sum(counts)),
        bounds=(0.0, None),
        unit="scenario",
        needs=("decisions.rationale",),
        source=f"{SOURCE}, Appendix F",
        columns=COLUMNS,
    )


def keyword_share(words: str = "categories", match: str = MATCH) -> Measure:
    """The share of rationales with at least one keyword; ``words`` and ``match`` as for ``keyword_rate``."""
    return Measure(
        name="keyword_share",
        title="Share of rationales with a keyword",
        scale="share",
        definition=(
            f"The share of rationales with at least one keyword, by category ({words.replace('_', ' ')}); "
            f"matched: {match}."
        ),
        values=_by_category(words, match, lambda counts: float(any(counts))),
        unit="scenario",
        needs=("decisions.rationale",),
        source=f"{SOURCE}, Appendix F",
        columns=COLUMNS,
    )


def reasoning_index(match: str = MATCH) -> Measure:
    """Payoff-optimal against identity-driven words.

    ``match`` is word, inflected, prefix, substring, or every (one column ``matching``).
    """
    modes(match)

    def values(data: RunData) -> Iterator[Mapping[str, Any]]:
        for key, counts in keyword_counts(data, match):
            payoff, identity = (sum(counts[part] for part in parts) for parts in (PAYOFF, IDENTITY))
            if payoff + identity:
                yield {**key, "value": (payoff - identity) / (payoff + identity), "weight": float(payoff + identity)}

    return Measure(
        name="reasoning_index",
        title="Payoff-optimal against identity-driven words",
        scale="number",
        definition=(
            "Payoff-optimal words (game-theoretic, strategic, long-term) minus identity-driven ones (short-term, "
            "social and moral) over both: 1 is payoffs alone, -1 identity alone; all words count alike; "
            f"matched: {match}."
        ),
        values=values,
        bounds=(-1.0, 1.0),
        unit="scenario",
        needs=("decisions.rationale",),
        source=f"{SOURCE}, Figure 6",
        columns=("condition", "matching", "role"),
    )
