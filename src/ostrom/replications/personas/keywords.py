"""Which words rationales use: nine categories (Manoranjan & Gaikwad 2026, Appendix F)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.features.words.lexicons import MODES, Mode, persona_keywords
from ostrom.features.words.lexicons.matcher import count_batches
from ostrom.ground.errors import UnknownName

IDENTITY = ("short_term", "social_moral")
"""The groups of the paper's Figure 6: words of identity-driven reasoning ..."""
PAYOFF = ("game_theoretic", "strategic", "long_term")
"""... and of payoff-optimal reasoning."""
GROUPS: Mapping[str, tuple[str, ...]] = {"identity_driven": IDENTITY, "payoff_optimal": PAYOFF}
VOICE = ("identity_based", *IDENTITY)
"""Words of somebody who speaks as a role: the two groups above that do, taken as one."""
MATCH: Mode = "inflected"
"""The lists print base forms: "payoff" means payoffs, too. The paper does not say how it matched."""
EVERY = "every"


def counted(data: RunData, match: str = MATCH) -> Iterator[tuple[dict[str, Any], dict[str, int]]]:
    """Every rationale of a finished match, by match, player and role, with its number of words of each category.

    A rationale that a policy put in place of an answer is none, and an empty one says nothing: both are left out.
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
    """The sets of categories that a parameter ``words`` names: the nine, the two of Figure 6, role_voice, or one.

    >>> list(sets("reasoning")), sets("strategic")
    (['identity_driven', 'payoff_optimal'], {'strategic': ('strategic',)})
    """
    nine = {lexicon.name: (lexicon.name,) for lexicon in persona_keywords()}
    if words == "categories":
        return nine
    if words == "reasoning":
        return GROUPS
    known = {**nine, **GROUPS, "role_voice": VOICE}
    if words not in known:
        raise UnknownName("category of words", words, ["categories", "reasoning", *known])
    return {words: known[words]}


def condition(row: Mapping[str, Any]) -> str:
    """The cell of the published design, in words; "all" where the study does not vary both factors.

    >>> condition({"persona": "yes", "payoffs": "hidden"})
    'persona, hidden payoffs'
    """
    who, seen = row.get("persona"), row.get("payoffs")
    if who is None or seen is None:
        return "all"
    return f"{'persona' if who == 'yes' else 'no persona' if who == 'no' else who}, {seen} payoffs"
