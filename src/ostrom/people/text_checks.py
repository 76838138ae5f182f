"""Study values in texts for people: placeholders are filled, and claims in prose are checked.

``{{ rounds }}`` in a text stands for the number of rounds; a paragraph that begins with ``{{ only model }}`` is shown
where a model was met. A copied text that says "10 rounds" of a study with 5 is refused: people would be told what is
not so.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

PLACE = re.compile(r"\{\{[ \t]*([^{}\n]{0,60}?)[ \t]*\}\}")
ONLY = re.compile(r"\A\s*\{\{[ \t]*only[ \t]+([a-z]+)[ \t]*\}\}[ \t]*\n?")
KINDS = ("model", "strategy", "person", "recorded")
"""The kinds of agents that people can meet."""
DOLLARS = ("USD", "AUD", "CAD", "HKD", "MXN", "NZD", "SGD")
SIGNS = {"£": ("GBP",), "€": ("EUR",), "$": DOLLARS}
CODES = ("GBP", "EUR", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "BRL", *DOLLARS)
COUNTS = dict(
    zip("one two three four five six seven eight nine ten eleven twelve".split(), map(str, range(1, 13)), strict=True)
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
_ROUNDS = re.compile(r"\b([0-9]{1,4})\s+(?:rounds|Runden)\b")
_SPELLED = re.compile(
    rf"\b(?:has|have|is|are|for|of|play|plays|lasts?)\s+({'|'.join(COUNTS)})\s+rounds?\b", re.IGNORECASE
)
_OTHER_ROUNDS = re.compile(r"\b(?:miss\w*|void|first|last|more than|at least|verpass\w*|ersten|letzten)\b", re.I)
"""Words in sentences that do not speak of all rounds of a game."""
_SECONDS = re.compile(r"\b([0-9]{1,4}(?:\.[0-9])?)\s+(?:seconds?|secs?|Sekunden?)\b")
_CHOICE = re.compile(r"\b(?:choice|choos|chose|decision|decid|Wahl|wähl|Entscheid|entscheid)", re.I)
_MODEL = re.compile(r"\b(?:language model|LLM|GPT|chatbot|Sprachmodell)", re.I)
_MET = re.compile(r"\b(?:you (?:have )?(?:met|play)|other player|opponent|against|agent|spielte?n?|Gegenüber)", re.I)


@dataclass(frozen=True, slots=True)
class Values:
    """The values that texts may use in one cell or in all cells, and the kinds of agents met there."""

    known: Mapping[str, str]
    kinds: frozenset[str]


def shared(cells: Collection[Values]) -> Values:
    """Return the values common to all cells, and the kinds of agents met in any."""
    first, *rest = cells
    common = {
        name: value for name, value in first.known.items() if all(other.known.get(name) == value for other in rest)
    }
    return Values(common, frozenset().union(*(cell.kinds for cell in cells)))


def fill(text: str, values: Values) -> str:
    """Fill in a text's values; paragraphs about kinds of agents that are not met are left out.

    >>> told = Values({"rounds": "5", "met": "a program"}, frozenset({"strategy"}))
    >>> fill("{{ rounds }} rounds with {{met}}.\\n\\n{{ only model }} It wrote.\\n\\nEnd.", told)
    '5 rounds with a program.\\n\\nEnd.'
    """
    parts = []
    for part in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n")):
        only = ONLY.match(part)
        if only is None or only[1] in values.kinds:
            parts.append(part if only is None else part[only.end() :])
    return PLACE.sub(lambda place: values.known.get(place[1], place[0]), "\n\n".join(parts))


def places(text: str) -> Iterator[str]:
    """Yield the placeholder names of a text, those of its ``only`` included."""
    return (place[1] for place in PLACE.finditer(text))


def contradictions(text: str, cells: Collection[Values], currency: str) -> Iterator[tuple[str, str]]:
    """Yield the claims of a text that hold in no cell, each with the correct value.

    Sentences are judged one by one, and only where their words leave little doubt what they are about.
    """
    rounds = {value for cell in cells for name, value in cell.known.items() if name.startswith("rounds")}
    seconds = {float(cell.known["time.decision"]) for cell in cells if "time.decision" in cell.known}
    seconds |= {float(v) for c in cells for n in ("time.reveal_low", "time.reveal_high") if (v := c.known.get(n))}
    kinds = {kind for cell in cells for kind in cell.kinds}
    for sentence in _SENTENCE.split(PLACE.sub("", text).replace("*", "")):
        counts = [(claim[0], claim[1]) for claim in _ROUNDS.finditer(sentence)]
        counts += [(claim[0], COUNTS[claim[1].lower()]) for claim in _SPELLED.finditer(sentence)]
        for words, count in counts if not _OTHER_ROUNDS.search(sentence) else ():
            if count not in rounds:
                yield (words, f"{' or '.join(sorted(rounds)) or 'no number of'} rounds; write {{{{ rounds }}}}")
        for claim in _SECONDS.finditer(sentence) if _CHOICE.search(sentence) else ():
            if float(claim[1]) not in seconds:
                so = " or ".join(f"{value:g}" for value in sorted(seconds))
                yield (claim[0], f"{so + ' seconds' if so else 'no time limit'}; write {{{{ time.decision }}}}")
        for words in _money(sentence, currency):
            yield words, f"pay in {currency}; write {{{{ pay.base }}}} {{{{ pay.currency }}}}"
        named = _MODEL.search(sentence)
        if "model" not in kinds and named is not None and _MET.search(sentence):
            yield named[0], f"nobody meets one ({' and '.join(sorted(kinds))}); write {{{{ met }}}}"


def _money(sentence: str, currency: str) -> list[str]:
    amounts = re.findall(rf"[{''.join(SIGNS)}]\s?[0-9]+(?:[.,][0-9]+)?", sentence)
    codes = re.findall(rf"\b(?:{'|'.join(CODES)})\b", sentence)
    pence = re.findall(r"\b[0-9.]+\s+(?:penny|pennies|pence)\b", sentence) if currency != "GBP" else []
    claims = [amount for amount in amounts if currency not in SIGNS[amount[0]]]
    return [*claims, *(code for code in codes if code != currency), *pence]
