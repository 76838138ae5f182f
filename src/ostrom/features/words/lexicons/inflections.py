"""Regular forms of English terms: plurals, third person, past, -ing, -able and -ability of a term's last word.

Word lists print base forms ("payoff", "strategy", "profit") and mean their inflections; "profitable" and
"profitability" are formed as regularly and count too. Other derived words ("strategist", "payment"), comparatives
and irregular forms are not found; a list that means them prints them.
Two plurals of game theory are irregular and included: -ium to -ia (equilibria) and -rix to -rices (matrices).
"""

from __future__ import annotations

from ostrom.features.words.lexicons.normal import fold

_VOWELS = "aeiou"
_HISSING = ("s", "x", "z", "ch", "sh")


def inflections(term: str) -> tuple[str, ...]:
    """The inflected forms of a term; none for a term whose last word is no English word of two letters or more.

    >>> inflections("payoff")
    ('payoffs', 'payoffed', 'payoffing', 'payoffable', 'payoffability')
    >>> inflections("dominant strategy")[:3]
    ('dominant strategies', 'dominant strategied', 'dominant strategying')
    >>> inflections("cooperate")[:3], inflections("trap")[:3], inflections("profit")[-2:]
    (('cooperates', 'cooperated', 'cooperating'), ('traps', 'trapped', 'trapping'), ('profitable', 'profitability'))
    >>> inflections("A1")
    ()
    """
    last = ""
    for char in reversed("".join(map(fold, term))):
        if not ("a" <= char <= "z"):
            break
        last = char + last
    if len(last) < 2 or (len(last) < len(term) and term[-len(last) - 1].isalnum()):
        return ()
    head = term[: len(term) - len(last)]
    stem = last[:-1] if last[-1] == "e" else last
    able = [f"{stem}able", f"{stem}ability"]
    return tuple(head + form for form in dict.fromkeys([*_forms(last), *able]))


def _forms(word: str) -> list[str]:
    """Every way to write the forms: where two spellings are in use (benefited, benefitted) both are given."""
    ends_y = word[-1] == "y" and word[-2] not in _VOWELS
    if ends_y:
        return [f"{word[:-1]}ies", f"{word[:-1]}ied", f"{word}ing"]
    found = [f"{word}es" if word.endswith(_HISSING) else f"{word}s"]
    if word[-1] == "o" and word[-2] not in _VOWELS:
        found.append(f"{word}es")
    if word.endswith("ium"):
        found.append(f"{word[:-2]}a")
    if word.endswith("rix"):
        found.append(f"{word[:-1]}ces")
    if word.endswith("ie"):
        return [*found, f"{word}d", f"{word[:-2]}ying"]
    if word[-1] == "e":
        stem = word if word.endswith(("ee", "oe", "ye")) else word[:-1]
        return [*found, f"{word}d", f"{stem}ing"]
    doubled = len(word) > 2 and word[-1] not in "wxy" and word[-1] not in _VOWELS
    doubled = doubled and word[-2] in _VOWELS and word[-3] not in _VOWELS
    # "trap" is trapped alone; of longer words the stress decides (benefited, deterred), which spelling does not show.
    stems = [word + word[-1]] if doubled else []
    if not doubled or sum(char in _VOWELS for char in word) > 1:
        stems.insert(0, word)
    return [*found, *(stem + end for end in ("ed", "ing") for stem in stems)]
