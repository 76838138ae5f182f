"""Reading a choice: one option, named at the end of a reply. Never guesses; says how it read.

``exact``: the last line that says anything is one label alone, in any of its marks (brackets, quotes,
emphasis, a final stop). ``loose``: the last sentence of that line names exactly one option, undoubtedly
(see ``reason_not_settled``). Labels are case-sensitive when two of them differ by case alone,
otherwise any case will do for a label alone or in marks. Anything before the last line, a bracket included, is
reasoning and no answer. Labels of the table: A0, A1.

    reply                                         | reading | label
    A0                                            | exact   | A0
    [A0]                                          | exact   | A0
    **[A0]**                                      | exact   | A0
    `[A0]`                                        | exact   | A0
    "A0".                                         | exact   | A0
    a0                                            | exact   | A0
    I will not choose A1.↵[A0]                    | exact   | A0
    ```↵[A0]↵```                                  | exact   | A0
    [A0]↵↵                                        | exact   | A0
    Answer: A0                                    | loose   | A0
    Action: [A0]                                  | loose   | A0
    Option A0                                     | loose   | A0
    - [A0]                                        | loose   | A0
    so my action is [A0].                         | loose   | A0
    I will not choose A1. [A0]                    | loose   | A0
    They do not trust me, so I choose A1.         | loose   | A1
    I choose A1 because they are not nice.        | loose   | A1
    $\\boxed{A1}$                                  | loose   | A1
    [A0]↵I hope that this was wise.               | invalid |
    I choose A0. Good luck!                       | invalid |
    I will not choose A1.                         | invalid |
    Instead of A1 I take the other one.           | invalid |
    Should I choose A0?                           | invalid |
    If I choose A0, I earn more.                  | invalid |
    I expect that the other player will choose A0 | invalid |
    A0 or A1                                      | invalid |
    I choose A0, not A1.                          | invalid |
    [A0]↵[A1]                                     | invalid |
    - A0↵- A1                                     | invalid |
    [A7]                                          | invalid |
    I choose A7 over A0.                          | invalid |
    R5: You=A0, P2=A0 -> 200                      | invalid |
    [A0                                           | invalid |
    A00                                           | invalid |
    ...                                           | invalid |

A label is *named* when it stands in marks of its own ([A0], "A0", **A0**, `A0`), or bare when it cannot be
anything but a label. What a bare label may be depends on its look:

code     letters with digits, an underscore, or symbols (A0, GO_ON): named wherever it stands, in any case
name     one capital other than A and I, or capitals only (J, CLEAN): named wherever it stands in its own case
word     anything else (cooperate, Stag, 2): named only as the object of a cue that ends its clause
         ("I choose to cooperate.", "Option 2"); elsewhere it merely *touches* the option
article  A and I: as a word, but elsewhere it says nothing at all ("A good choice")

A label that touches is never an answer, but it makes another one doubtful: "two options" counts both kinds.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ostrom.answers.reading import SENTENCE, Answer, Invalid, clipped, final_part, last_lines, last_sentence
from ostrom.ground.errors import UsageError

LONGEST = 200
"""The longest label, in characters."""


class Labels:
    """Option keys and the labels shown for them, ready for lookup.

    A label is found case-sensitively; when no two labels differ by case alone, in any case.

    >>> labels = Labels({"C": "A0", "D": "A1"})
    >>> labels.key("a0"), labels.key("A7")
    ('C', None)
    """

    __slots__ = ("by_fold", "by_label", "pattern", "shown")

    def __init__(self, label_of: Mapping[str, str]) -> None:
        check_labels(label_of)
        self.shown = dict(label_of)
        self.by_label = {normal(label): key for key, label in label_of.items()}
        folded = {label.casefold(): key for label, key in self.by_label.items()}
        self.by_fold = folded if len(folded) == len(self.by_label) else {}
        self.pattern = _pattern(self.by_label, ignore_case=bool(self.by_fold))

    def key(self, text: str) -> str | None:
        """The option whose label is exactly this text, or None."""
        exact = self.by_label.get(text)
        return exact if exact is not None else self.by_fold.get(text.casefold())

    def bracketed(self, limit: int = 12) -> str:
        """Return the labels in brackets, for a message to a model."""
        names = [f"[{label}]" for label in self.shown.values()]
        if len(names) > limit:
            return ", ".join(names[:limit]) + f", ... ({len(names)} options)"
        return " or ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + " or " + names[-1]


def prepared(label_of: Mapping[str, str]) -> Labels:
    """Return the labels ready for lookup, cached."""
    return _prepared(tuple(label_of.items()))


@lru_cache(maxsize=256)
def _prepared(items: tuple[tuple[str, str], ...]) -> Labels:
    return Labels(dict(items))


def normal(text: str) -> str:
    """Normalise to composed characters and single spaces, so that equal-looking labels are equal.

    Call it on short text only: Unicode composition is not linear on hostile input.
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def check_labels(label_of: Mapping[str, str]) -> None:
    """Refuse labels that could not be read back: missing, empty, padded, overlong or equal ones.

    >>> check_labels({"C": "A0", "D": "A0"})
    Traceback (most recent call last):
    ostrom.ground.errors.UsageError: labels: options 'C' and 'D' are both shown as 'A0'; labels must differ
    """
    if not label_of:
        raise UsageError("labels: there is no option to label")
    seen: dict[str, str] = {}
    for key, label in label_of.items():
        if not label or len(label) > LONGEST or label != " ".join(label.split()):
            raise UsageError(
                f"labels: option {key!r} is shown as {label[:60]!r}; a label has 1 to {LONGEST} characters, "
                "on one line, without spaces at its ends or doubled"
            )
        if (twin := seen.setdefault(normal(label), key)) != key:
            raise UsageError(f"labels: options {twin!r} and {key!r} are both shown as {label!r}; labels must differ")


def _pattern(labels: Mapping[str, str], *, ignore_case: bool) -> re.Pattern[str]:
    """Return all labels as one pattern, longest first, bounded so that A1 is not found inside A10."""
    return re.compile(
        "|".join(map(_bounded, sorted(labels, key=lambda label: (-len(label), label)))),
        re.IGNORECASE if ignore_case else 0,
    )


def _bounded(label: str) -> str:
    # A letter or digit at the edge may not touch another one; a symbol may not touch itself ("+", "++").
    before = r"(?<![^\W_])" if label[0].isalnum() else f"(?<!{re.escape(label[0])})"
    return before + re.escape(label) + (r"(?![^\W_])" if label[-1].isalnum() else f"(?!{re.escape(label[-1])})")


Kind = Literal["code", "name", "word", "article"]

PAIRS = {
    "[": "]", "(": ")", "{": "}", "<": ">", '"': '"', "'": "'", "`": "`", "*": "*", "_": "_", "“": "”",
    "‘": "’", "«": "»", "「": "」", "『": "』", "【": "】", "［": "］", "（": "）", ">": "<",
}  # fmt: skip
"""Marks that enclose a label; the last pair is a label between tags."""

GLUE = set("='’-/+\\@#%&~^|$_")
"""Characters that join a bare label to its neighbour, as in You=A0 or A0's."""

WORD = re.compile(r"[\w'’]+")
_BRACKETED = re.compile(r"\[([^\[\]]{1,80})\]")
_CODE = re.compile(r"([^\W\d_]+)[0-9]+\Z")
_AFTER_CUE = re.compile(r"[\s\"'”’)\]*_`]*(?:[.,;:!]|\Z|(?:because|since|as)\b)", re.IGNORECASE)


def words(text: str) -> frozenset[str]:
    """Return a set of words from a text."""
    return frozenset(text.split())


_CUES = words(
    "action answer choice choose chooses choosing chose decision move option pick picking play playing select"
    " selecting selection"
)
_LINKS = words("be is my the to will with")
_PEOPLE = words("agent opponent partner person player seat team")


def without_marks(line: str, stops: str) -> Iterator[str]:
    """Yield a line, then without one more pair of marks, or one more final stop, each time.

    >>> list(without_marks("**[A0].**", "."))
    ['**[A0].**', '*[A0].*', '[A0].', '[A0]', 'A0']
    """
    while line:
        yield line
        if len(line) > 2 and line[0] != ">" and PAIRS.get(line[0]) == line[-1]:
            line = line[1:-1].strip()
        elif line[-1] in stops:
            line = line[:-1].rstrip()
        else:
            return


@dataclass(frozen=True, slots=True)
class Mention:
    """An occurrence of a label in a sentence; ``named`` says whether it can be an answer."""

    key: str
    start: int
    end: int
    named: bool


def mentions(sentence: str, labels: Labels) -> list[Mention]:
    """Return every option that the sentence names or touches, from left to right.

    >>> labels = Labels({"C": "A", "D": "B"})
    >>> [(m.key, m.named) for m in mentions("A good choice is [B].", labels)]
    [('D', True)]
    """
    hits = []
    for match in labels.pattern.finditer(sentence):
        key = labels.key(match.group())
        if key is None:  # a letter whose cases do not fold one to one
            continue
        label = labels.shown[key]
        kind = kind_of(label)
        start, end = match.span()
        if _marked(sentence, start, end):
            can_be_answer = True
        elif _glued(sentence, start, end):
            can_be_answer = False
        elif kind == "code":
            can_be_answer = True
        elif kind == "name":
            can_be_answer = match.group() == label and next(iter(words_before(sentence, start)), "") not in _PEOPLE
        else:
            can_be_answer = _cued(sentence, start, end)
            if kind == "article" and not can_be_answer:
                continue
        hits.append(Mention(key, start, end, can_be_answer))
    return hits


def kind_of(label: str) -> Kind:
    """Classify a bare label by its look; the module's table lists the kinds.

    >>> [kind_of(label) for label in ("A0", "J", "cooperate", "A")]
    ['code', 'name', 'word', 'article']
    """
    if label in ("A", "I", "a", "i"):
        return "article"
    letters = any(c.isalpha() for c in label)
    if letters == any(c.isdigit() for c in label) or "_" in label:
        return "code"
    return "name" if label.isupper() else "word"


def unknown(sentence: str, labels: Labels, mentioned: list[Mention]) -> str | None:
    """Return a label-like text that is no label: [A7], or a bare A7 beside options A0 and A1.

    >>> unknown("I choose A7 and not the rest", Labels({"C": "A0", "D": "A1"}), [])
    'A7'
    """
    for match in _BRACKETED.finditer(sentence):
        if not any(match.start() <= m.start and m.end <= match.end() for m in mentioned):
            return match.group()
    stems = {stem.group(1) for label in labels.by_label if (stem := _CODE.match(label))}
    for match in WORD.finditer(sentence):
        stem = _CODE.match(match.group())
        if stem and stem.group(1) in stems and labels.key(match.group()) is None:
            return match.group()
    return None


def words_before(sentence: str, start: int) -> list[str]:
    """The words before a place, nearest first, lower case."""
    return [word.lower().strip("'’") for word in reversed(WORD.findall(sentence[:start]))]


def _marked(sentence: str, start: int, end: int) -> bool:
    before = sentence[:start]
    after = sentence[end:]
    if before.endswith(" ") and after.startswith(" "):  # [ A0 ]
        before, after = before[:-1], after[1:]
        return before[-1:] in ("[", "(", "{", "`") and after[:1] == PAIRS[before[-1]]
    if after[:1] in (".", ",", "!") and before[-1:] in PAIRS:  # "A0."
        after = after[1:]
    return before[-1:] in PAIRS and after[:1] == PAIRS[before[-1]]


def _glued(sentence: str, start: int, end: int) -> bool:
    before, after = sentence[:start][-1:], sentence[end:]
    # A bracket that never closes may hold the beginning of a longer label.
    return before in GLUE or after[:1] in GLUE or (before == "[" and "]" not in after)


def _cued(sentence: str, start: int, end: int) -> bool:
    """Return whether a cue such as "choose" leads to this place and the clause ends after it."""
    if not _AFTER_CUE.match(sentence, end):
        return False
    for word in words_before(sentence, start):
        if word not in _LINKS:
            return word in _CUES
    return False


_NEGATIONS = words(
    "not no never neither nor none nothing nobody cannot cant dont wont wouldnt shouldnt isnt doesnt"
    " avoid avoiding refuse refusing reject rejecting"
)
_CONSEQUENCE = re.compile(r"[,;:]\s?so\b|\b(?:therefore|thus|hence|consequently)\b", re.IGNORECASE)
_REASON = re.compile(r"\b(?:because|since|as)\b", re.IGNORECASE)
_OPPOSED = re.compile(r"\b(?:instead of|rather than|other than|anything but)\b", re.IGNORECASE)
_CONTRASTS = words("than over against except without unlike versus vs but compared comparison")
_CONTRASTED = words("the a to with of option options action choice choosing playing picking selecting taking going")
"""Words that may stand between a contrast and the option: "compared to choosing A0"."""
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
"""Negations and suppositions in languages other than English."""


def reason_not_settled(sentence: str, mentions: list[Mention]) -> str | None:
    """Return why the sentence does not settle on the option that it names; None if it does.

    A sentence may name an option in order to refuse it, to suppose it, or to tell what somebody else does. Reading such
    a sentence as an answer would be a wrong number, so all of these are doubts, and a doubt is no answer. English is
    looked at closely. In German, Spanish, Chinese and Arabic, the languages of prompts, a word that negates or supposes
    is a doubt wherever it stands.

    >>> from ostrom.answers.choice import Labels
    >>> from ostrom.answers.choice import mentions
    >>> labels = Labels({"C": "A0", "D": "A1"})
    >>> def why(text): return reason_not_settled(text, mentions(text, labels))
    >>> why("I will not choose A1.")
    'the last sentence is negated'
    >>> why("I do not trust them, so my action is [A1].")
    """
    if sentence.rstrip("\"'”’)]}*_` ").endswith(("?", "？", "؟")):
        return "the last sentence is a question"
    if _negated(sentence, mentions[-1]):
        return "the last sentence is negated"
    if _ELSEWHERE.search(sentence):
        return "the last sentence may refuse or suppose the option"
    reasons = [_doubt_at(sentence, mention) for mention in mentions if mention.named]
    return None if None in reasons else reasons[0]


def _negated(sentence: str, last: Mention) -> bool:
    """Return whether a negation reaches the option, except before ", so" or in a "because" after it."""
    start = max((m.end() for m in _CONSEQUENCE.finditer(sentence, 0, last.start)), default=0)
    reason = _REASON.search(sentence, last.end)
    clause = sentence[start : reason.start() if reason else len(sentence)]
    tokens = (word.lower().replace("’", "'") for word in WORD.findall(clause))
    return any(w.strip("'") in _NEGATIONS or w.endswith("n't") for w in tokens) or bool(_OPPOSED.search(clause))


def _doubt_at(sentence: str, mention: Mention) -> str | None:
    before = words_before(sentence, mention.start)
    near = next((word for word in before if word not in _CONTRASTED), "")
    if near in _CONTRASTS or (near == "other" and before[0] in _CONTRASTED):
        return "the last sentence only compares with an option"
    supposed = max((m.end() for m in _SUPPOSITION.finditer(sentence, 0, mention.start)), default=None)
    if supposed is not None and not _CLAUSE_END.search(sentence, supposed, mention.start):
        return "the last sentence only supposes an option"
    return "the last sentence tells what another player does" if _of_another(before) else None


def _of_another(before: list[str]) -> bool:
    """Return whether somebody else acts: "the other player will choose"."""
    acted = False
    for word in before:
        if word in _ACTS:
            acted = True
        elif word in _OTHERS:
            return acted
        elif word not in _BETWEEN and not word.isdigit():  # "Player 2 will choose"
            return False
    return False


_LONGEST_LINE = LONGEST + 64
_SHORT = 40
_LIST_MARK = re.compile(r"(?:[-*+•>]|[0-9]{1,3}[.)])\s+")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


def read_choice(text: str, labels: Mapping[str, str], *, strict: bool = False, cut: bool = False) -> Answer | Invalid:
    """Return the key of the option that the reply ends with; ``labels`` maps keys to shown labels.

    ``strict`` allows the exact reading alone; ``cut`` says that the reply was stopped by the token limit.

    >>> read_choice("They cheated. I will not choose A0. [A1]", {"C": "A0", "D": "A1"}).value
    'D'
    >>> read_choice("so A0 or A1", {"C": "A0", "D": "A1"})
    Invalid(reason='the last sentence names more than one option: [A0] and [A1]')
    """
    return (
        _read_short(text, tuple(labels.items()), strict, cut)
        if len(text) <= _SHORT
        else _read(text, labels, strict, cut)
    )


@lru_cache(maxsize=4096)
def _read_short(text: str, labels: tuple[tuple[str, str], ...], strict: bool, cut: bool) -> Answer | Invalid:
    """Cache for short replies, which repeat often."""
    return _read(text, dict(labels), strict, cut)


def _read(text: str, labels: Mapping[str, str], strict: bool, cut: bool) -> Answer | Invalid:
    ready = prepared(labels)
    part = final_part(text, cut=cut)
    if isinstance(part, Invalid):
        return part

    def speaks(piece: str) -> bool:
        return bool(_LETTER_OR_DIGIT.search(piece)) or any(label in piece for label in labels.values())

    lines = last_lines(part, 2, speaks)
    if not lines:
        return Invalid("the reply says nothing")
    key = alone(lines[0], ready)
    listed = _item(lines[0])
    item = key if listed is lines[0] else alone(listed, ready)
    before = alone(_item(lines[1]), ready) if len(lines) > 1 else None
    if item is not None and before is not None and item != before:
        return Invalid(f"the reply ends with two options, {_two(before, item, labels)}; give only one")
    if key is not None:
        return Answer(key, "exact")
    return (
        Invalid(f"the last line must be {ready.bracketed()} alone, found {clipped(lines[0])}")
        if strict
        else _loose(last_sentence(lines[0], speaks), ready)
    )


def alone(line: str, labels: Labels) -> str | None:
    """Return the option whose label is the whole line, apart from marks.

    >>> alone("**[A0].**", Labels({"C": "A0", "D": "A1"}))
    'C'
    """
    if len(line) > _LONGEST_LINE:
        return None
    return next(
        (key for key in (labels.key(rest) for rest in without_marks(normal(line), ".!。")) if key is not None), None
    )


def _item(line: str) -> str:
    """Return the line without a list marker."""
    mark = _LIST_MARK.match(line)
    return line[mark.end() :] if mark else line


def _loose(sentence: str, labels: Labels) -> Answer | Invalid:
    if len(sentence) > SENTENCE:
        return Invalid(f"the last sentence is longer than {SENTENCE} characters; end with {labels.bracketed()} alone")
    sentence = normal(sentence)
    mentioned = mentions(sentence, labels)
    if (stranger := unknown(sentence, labels, mentioned)) is not None:
        return Invalid(f"{clipped(stranger)} is not one of the options {labels.bracketed()}")
    keys = list(dict.fromkeys(m.key for m in mentioned))
    if len(keys) > 1:
        return Invalid(f"the last sentence names more than one option: {_two(keys[0], keys[1], labels.shown)}")
    if not any(m.named for m in mentioned):
        return Invalid(f"the last sentence names none of the options {labels.bracketed()}: {clipped(sentence)}")
    why = reason_not_settled(sentence, mentioned)
    return Answer(keys[0], "loose") if why is None else Invalid(f"{why}: {clipped(sentence)}")


def _two(first: str, second: str, labels: Mapping[str, str]) -> str:
    return f"[{labels[first]}] and [{labels[second]}]"
