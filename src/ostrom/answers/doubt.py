"""Reasons not to take the only named option for the answer. Works on one sentence of bounded length.

English is looked at closely. In German, Spanish, Chinese and Arabic, the languages of prompts, a word that negates or
supposes is a doubt wherever it stands.

A sentence may name an option in order to refuse it, to suppose it, or to tell what somebody else does.
Reading such a sentence as an answer would be a wrong number, so all of these are doubts, and a doubt is no
answer.
"""

from __future__ import annotations

import re

from ostrom.answers.naming import WORD, Mention, words, words_before

_NEGATIONS = words(
    "not no never neither nor none nothing nobody cannot cant dont wont wouldnt shouldnt isnt doesnt"
    " avoid avoiding refuse refusing reject rejecting"
)
_CONSEQUENCE = re.compile(r"[,;:]\s?so\b|\b(?:therefore|thus|hence|consequently)\b", re.IGNORECASE)
_REASON = re.compile(r"\b(?:because|since|as)\b", re.IGNORECASE)
_OPPOSED = re.compile(r"\b(?:instead of|rather than|other than|anything but)\b", re.IGNORECASE)
_CONTRASTS = words("than over against except without unlike versus vs but")
_SUPPOSITION = re.compile(r"\b(?:if|unless|whether|suppose|supposing|when|whenever)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,;:]|\bthen\b", re.IGNORECASE)
_ACTS = words(
    "choose chooses choosing chose chosen pick picks picked play plays played playing select selects selected"
    " took take takes pursue pursues go goes went"
)
_OTHERS = words(
    "opponent opponents other others player players partner partners they he she everyone everybody someone"
    " agent agents person people p1 p2 p3 p4 p5 p6 p7 p8 p9"
)
_BETWEEN = words(
    "will would to also always again then both all may might could can should must has have had is are was"
    " were likely probably just the action option with for on my a an"
)

_ELSEWHERE = re.compile(
    r"\b(?:nicht|kein(?:e[mnrs]?)?|niemals|weder|statt|anstatt|wenn|sofern)\b"
    r"|\b(?:nunca|jamás|tampoco|ningún|ninguna|en lugar de|en vez de|si (?:elijo|eligiera|escojo|elige))\b"
    r"|[不没若]|拒绝|如果|假如|是否|而非"
    r"|(?<!\w)(?:لا|لن|لم|ليس|ليست|بدلا|بدلًا|إذا|لو|غير)(?!\w)",
    re.IGNORECASE,
)
"""Negations and suppositions in other languages than English."""


def doubt(sentence: str, found: list[Mention]) -> str | None:
    """Why the sentence does not settle on the option that it names, or None.

    >>> from ostrom.answers.labels import Labels
    >>> from ostrom.answers.naming import mentions
    >>> labels = Labels({"C": "A0", "D": "A1"})
    >>> def why(text): return doubt(text, mentions(text, labels))
    >>> why("I will not choose A1.")
    'the last sentence is negated'
    >>> why("I do not trust them, so my action is [A1].")
    """
    if sentence.rstrip("\"'”’)]}*_` ").endswith(("?", "？", "؟")):
        return "the last sentence is a question"
    if _negated(sentence, found[-1]):
        return "the last sentence is negated"
    if _ELSEWHERE.search(sentence):
        return "the last sentence may refuse or suppose the option"
    reasons = [_doubt_at(sentence, mention) for mention in found if mention.named]
    return None if None in reasons else reasons[0]


def _negated(sentence: str, last: Mention) -> bool:
    """Whether a negation reaches the option: anywhere, save before a ", so" or in a "because" behind it."""
    start = max((m.end() for m in _CONSEQUENCE.finditer(sentence, 0, last.start)), default=0)
    reason = _REASON.search(sentence, last.end)
    clause = sentence[start : reason.start() if reason else len(sentence)]
    said = (word.lower().replace("’", "'") for word in WORD.findall(clause))
    return any(w.strip("'") in _NEGATIONS or w.endswith("n't") for w in said) or bool(_OPPOSED.search(clause))


def _doubt_at(sentence: str, mention: Mention) -> str | None:
    before = words_before(sentence, mention.start)
    if before and before[0] in _CONTRASTS:
        return "the last sentence only compares with an option"
    supposed = max((m.end() for m in _SUPPOSITION.finditer(sentence, 0, mention.start)), default=None)
    if supposed is not None and not _CLAUSE_END.search(sentence, supposed, mention.start):
        return "the last sentence only supposes an option"
    return "the last sentence tells what another player does" if _of_another(before) else None


def _of_another(before: list[str]) -> bool:
    """Whether somebody else is the one who acts: "the other player will choose" leads to the option."""
    acted = False
    for word in before:
        if word in _ACTS:
            acted = True
        elif word in _OTHERS:
            return acted
        elif word not in _BETWEEN:
            return False
    return False
