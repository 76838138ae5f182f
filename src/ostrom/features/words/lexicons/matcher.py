"""Finding all terms of all lexicons in one pass over the text (Aho & Corasick 1975).

Text is read as small integers: one code per character, so that positions stay those of the original text.

The letters that occur in the terms get codes of their own; all others share one. Upper and lower case share
theirs, and so do all white space and all hyphens. Codes are bytes for every list in a European language, and
four bytes each where the terms hold more than about 250 different letters.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostrom.features.words.lexicons.lexicon import (
    HYPHENS,
    OVERLAPS,
    Lexicon,
    Overlap,
    close_gaps,
    fold,
    is_word_character,
    normal_form,
)
from ostrom.ground.errors import StudyError, UsageError

SEPARATOR, BLANK, HYPHEN, MARK, LETTER, _FIRST = range(6)


@dataclass(frozen=True)
class EncodedText:
    """A batch of texts as one sequence of codes, with every run of white space and hyphens as one blank."""

    codes: NDArray[np.unsignedinteger]
    ends: NDArray[np.int64]
    """For each text the index after its last code."""
    words: NDArray[np.int64]
    """For each text the number of words, split at white space as ``str.split`` and ``wc`` do."""
    kept: NDArray[np.bool_]
    """For each character of the joined texts, whether it has a code."""

    @cached_property
    def origin(self) -> NDArray[np.int64]:
        """For each code the position of its character in the joined texts."""
        return np.flatnonzero(self.kept)


class Alphabet:
    """The codes for a set of patterns (terms in normal form)."""

    def __init__(self, patterns: Iterable[str]) -> None:
        letters = sorted(set("".join(patterns)) - {" "})
        self.dtype: np.dtype[np.unsignedinteger] = np.dtype(np.uint8 if _FIRST + len(letters) <= 256 else np.uint32)
        self._code = {char: code for code, char in enumerate(letters, start=_FIRST)}
        self.is_word = np.array([False, False, False, False, True, *map(is_word_character, letters)])
        # 256 entries, as bytes.translate requires; the upper half is never used.
        self._ascii = np.array([self._classify(chr(point)) for point in range(256)], dtype=self.dtype)

    def encode_pattern(self, pattern: str) -> bytes:
        """The codes of a term in normal form, as bytes."""
        return np.array([BLANK if c == " " else self._code[c] for c in pattern], dtype=self.dtype).tobytes()

    def encode(self, texts: Sequence[str]) -> EncodedText:
        """Encode a batch of texts; no pattern can match across two of them."""
        ends = np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) + 1) - 1
        codes = self._codes("\0".join(texts))
        codes[ends[:-1]] = SEPARATOR
        words = _count_words(codes, ends)
        codes[codes == HYPHEN] = BLANK
        gap = codes == BLANK
        keep_mask = np.ones(len(codes), dtype=bool)
        keep_mask[1:] = ~(gap[1:] & gap[:-1])
        codes = codes[keep_mask]
        return EncodedText(codes, np.append(np.flatnonzero(codes == SEPARATOR), len(codes)), words, keep_mask)

    def _codes(self, text: str) -> NDArray[np.unsignedinteger]:
        """One code per character. Nearly all characters are ASCII, for which a byte table is fastest."""
        plain = text.encode("ascii", "replace")
        if self.dtype.itemsize == 1:
            codes = np.frombuffer(bytearray(plain.translate(self._ascii.tobytes())), dtype=self.dtype)
        else:
            codes = self._ascii[np.frombuffer(plain, dtype=np.uint8)]
        if not text.isascii():
            # surrogatepass: truncated replies can contain lone surrogates
            points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
            other = np.flatnonzero(points > 127)
            distinct, which = np.unique(points[other], return_inverse=True)
            codes[other] = np.array([self._classify(chr(point)) for point in distinct], dtype=self.dtype)[which]
        return codes

    def _classify(self, char: str) -> int:
        if char.isspace():
            return BLANK
        if char in HYPHENS:
            return HYPHEN
        return self._code.get(fold(char), LETTER if is_word_character(char) else MARK)


def _count_words(codes: NDArray[np.unsignedinteger], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    outside = codes <= BLANK
    first = ~outside
    first[1:] &= outside[:-1]
    if not len(codes):
        return np.zeros(len(ends), dtype=np.int64)
    # Every stretch but the first begins with its separator, so none is empty, as reduceat demands.
    return np.add.reduceat(first.view(np.uint8), np.concatenate([[0], ends[:-1]]), dtype=np.int32).astype(np.int64)


Ints = NDArray[np.int64]
_ABSENT = -1


class Span(NamedTuple):
    """One occurrence of a term: ``text[start:end]`` in the original text."""

    start: int
    end: int
    list_name: str
    term: str


@dataclass(frozen=True)
class _Rules:
    """One lexicon's rules by pattern: its term or none, and whether word boundaries are required."""

    term: Ints
    at_start: NDArray[np.bool_]
    at_end: NDArray[np.bool_]
    exact: NDArray[np.bool_]


class Matcher:
    """A search automaton for lexicons: built in milliseconds, used for many texts.

    ``overlap="longest"`` (default): a stretch of text counts at most once per list, from left to right the
    longest term first. ``overlap="all"``: every occurrence of every term counts. The published lists print
    stems beside their inflections ("betray, betrayal, betrayed": 15 such pairs for paranoia, 5 for
    cooperation; Liu et al. 2026, Appendix E.1), so "all" would count one word twice and push the
    paranoia ratio up. Frequencies per 1,000 words are frequencies of words, hence the default.
    """

    def __init__(self, lexicons: Iterable[Lexicon], overlap: Overlap = "longest") -> None:
        self.lexicons = tuple(lexicons)
        self.names = tuple(lexicon.name for lexicon in self.lexicons)
        self.overlap = overlap
        if not self.lexicons:
            raise StudyError("needs at least one lexicon", key="lexicons", actual=[])
        for name in self.names:
            if self.names.count(name) > 1:
                raise StudyError("two lexicons have the same name", key="lexicons", actual=name)
        if overlap not in OVERLAPS:
            raise StudyError("unknown way to treat overlaps", key="overlap", actual=overlap, allowed=OVERLAPS)
        spelled = chain.from_iterable((*(form for form, _ in x.forms()), *x.labels) for x in self.lexicons)
        number = {pattern: i for i, pattern in enumerate(dict.fromkeys(map(normal_form, spelled)))}
        self._alphabet = Alphabet(number)
        self._automaton = _automaton([self._alphabet.encode_pattern(pattern) for pattern in number])
        self._rules = [_rules(lexicon, number) for lexicon in self.lexicons]

    def count(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """Per text the number of words, and the matches: a row per text, a column per lexicon."""
        counts = np.zeros((len(texts), len(self.lexicons)), dtype=np.int64)
        if not texts:
            return np.zeros(0, dtype=np.int64), counts
        encoded = self._alphabet.encode(texts)
        for column, start, _, _ in self._matches(encoded, texts):
            counts[:, column] = np.bincount(np.searchsorted(encoded.ends, start), minlength=len(texts))
        return encoded.words, counts

    def spans(self, text: str) -> list[Span]:
        """Every match with its place in the text, by position, then by the order of the lexicons.

        >>> Matcher([Lexicon("hope", ("long-term",))]).spans("A long\\n term plan")
        [Span(start=2, end=12, list_name='hope', term='long-term')]
        """
        hits = []
        encoded = self._alphabet.encode([text])
        for column, first, last, terms in self._matches(encoded, [text]):
            # A match never ends in a gap, so its end is one past its last character.
            starts, ends = encoded.origin[first], encoded.origin[last - 1] + 1
            lexicon = self.lexicons[column]
            spelled = (*lexicon.terms, *lexicon.labels)
            for start, end, term in zip(starts.tolist(), ends.tolist(), terms.tolist(), strict=True):
                hits.append((start, end, column, spelled[term]))
        return [Span(start, end, self.names[column], term) for start, end, column, term in sorted(hits)]

    def _matches(self, encoded: EncodedText, texts: Sequence[str]) -> Iterator[tuple[int, Ints, Ints, Ints]]:
        """Per lexicon: its column, and the starts, ends (among the codes) and terms of its matches."""
        codes, is_word = encoded.codes, self._alphabet.is_word
        pattern, start, end = self._search(codes)
        # The codes just outside each match decide whether it starts and ends a word.
        inner_start = (start > 0) & is_word[codes[np.maximum(start - 1, 0)]] if len(start) else start > 0
        inner_end = (end < len(codes)) & is_word[codes[np.minimum(end, len(codes) - 1)]] if len(end) else end > 0
        for column, rules in enumerate(self._rules):
            term = rules.term[pattern]
            inside = (rules.at_start[pattern] & inner_start) | (rules.at_end[pattern] & inner_end)
            good = (term != _ABSENT) & ~inside
            first, last, term = start[good], end[good], term[good]
            exact = rules.exact[pattern[good]]
            if exact.any():
                same = self._same_case(column, encoded, texts, first, last, term, exact)
                first, last, term = first[same], last[same], term[same]
            if self.overlap == "longest":
                chosen = _leftmost_longest(first, last)
                first, last, term = first[chosen], last[chosen], term[chosen]
            yield column, first, last, term

    def _search(self, codes: NDArray[np.unsignedinteger]) -> tuple[Ints, Ints, Ints]:
        """All occurrences of all patterns: pattern number, start, end."""
        hits = self._automaton.find_matches_as_indexes(codes.tobytes(), overlapping=True)
        flat = np.fromiter(chain.from_iterable(hits), dtype=np.int64, count=3 * len(hits))
        pattern, start, end = flat[0::3], flat[1::3], flat[2::3]
        width = codes.itemsize
        if width > 1:
            # Bytes of two neighbouring codes can equal a third code; only aligned matches count.
            aligned = start % width == 0
            pattern, start, end = pattern[aligned], start[aligned] // width, end[aligned] // width
        return pattern, start, end

    def _same_case(
        self,
        column: int,
        encoded: EncodedText,
        texts: Sequence[str],
        first: Ints,
        last: Ints,
        term: Ints,
        exact: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Return which matches agree with the text in case, where labels require it."""
        lexicon = self.lexicons[column]
        spelled = [close_gaps(text) for text in (*lexicon.terms, *lexicon.labels)]
        same = ~exact
        for i in np.flatnonzero(exact):
            which = int(np.searchsorted(encoded.ends, first[i]))
            begin = encoded.origin[encoded.ends[which - 1]] + 1 if which else 0
            passage = texts[which][encoded.origin[first[i]] - begin : encoded.origin[last[i] - 1] + 1 - begin]
            same[i] = close_gaps(passage) == spelled[term[i]]
        return same


@lru_cache(maxsize=32)
def matcher_for(lexicons: tuple[Lexicon, ...], overlap: Overlap = "longest") -> Matcher:
    """The matcher for these lexicons, built once."""
    return Matcher(lexicons, overlap)


def highlight(text: str, lexicons: Iterable[Lexicon], overlap: Overlap = "longest") -> list[Span]:
    """Where the terms of each lexicon stand in a text, for marking them in a report.

    >>> highlight("Too RISKY.", [Lexicon("fear", ("risk", "risky"))])
    [Span(start=4, end=9, list_name='fear', term='risky')]
    """
    return matcher_for(tuple(lexicons), overlap).spans(text)


def _rules(lexicon: Lexicon, number: dict[str, int]) -> _Rules:
    rules = _Rules(np.full(len(number), _ABSENT), *(np.zeros(len(number), dtype=bool) for _ in range(3)))
    place = {term: index for index, term in enumerate(lexicon.terms)}
    for form, term in lexicon.forms():
        pattern = number[normal_form(form)]
        rules.term[pattern] = place[term]
        rules.at_start[pattern] = lexicon.mode != "substring"
        rules.at_end[pattern] = lexicon.mode in ("word", "inflected")
    for index, label in enumerate(lexicon.labels, start=len(lexicon.terms)):
        pattern = number[normal_form(label)]
        rules.term[pattern] = index
        rules.at_start[pattern] = rules.at_end[pattern] = rules.exact[pattern] = True
    return rules


def _leftmost_longest(start: Ints, end: Ints) -> Ints:
    """Return the indexes of the matches that remain if no two may overlap: leftmost first, then longest."""
    order = np.lexsort((-end, start))
    start, end = start[order], end[order]
    fresh = np.ones(len(start), dtype=bool)
    fresh[1:] = start[1:] != start[:-1]
    order, start, end = order[fresh], start[fresh], end[fresh]
    if not (start[1:] < np.maximum.accumulate(end)[:-1]).any():
        return order
    chosen, reach = [], -1
    for i, (first, last) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        if first >= reach:
            chosen.append(i)
            reach = last
    return order[chosen]


def _automaton(patterns: list[bytes]) -> Any:
    try:
        from ahocorasick_rs import BytesAhoCorasick, Implementation
    except ImportError:
        raise UsageError("counting words needs one more package: pip install 'ostrom[analysis]'") from None
    # A DFA is the fastest automaton and the largest; term lists are small, but a word list of 50,000 is not.
    return BytesAhoCorasick(
        patterns,
        implementation=Implementation.DFA if sum(map(len, patterns)) < 20_000 else Implementation.ContiguousNFA,
    )


Key = TypeVar("Key")

BATCH_TRACES = 1024
BATCH_CHARACTERS = 1_000_000


class Ratio(NamedTuple):
    """A share ``part / (part + other)`` of the matches of two lists."""

    name: str
    part: str
    other: str


RATIOS = (
    Ratio("forward_looking_ratio", "forward_looking", "history_following"),
    Ratio("paranoia_ratio", "paranoia", "cooperation"),
    Ratio("cooperation_ratio", "cooperation", "paranoia"),
)
"""The ratios of Liu et al. (2026, Appendices D.2 and E.2); the last is the complement of the second."""


@dataclass(frozen=True)
class TraceCounts(Generic[Key]):
    """What was counted in one trace: its words, and its matches by list."""

    key: Key
    words: int
    counts: dict[str, int]


@dataclass(frozen=True)
class CountBatch(Generic[Key]):
    """The counts of some traces as arrays: a row per trace, a column per lexicon."""

    keys: tuple[Key, ...]
    names: tuple[str, ...]
    words: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __iter__(self) -> Iterator[TraceCounts[Key]]:
        rows = zip(self.keys, self.words.tolist(), self.counts.tolist(), strict=True)
        return (TraceCounts(key, words, dict(zip(self.names, row, strict=True))) for key, words, row in rows)


def count_batches(
    traces: Iterable[tuple[Key, str]],
    lexicons: Iterable[Lexicon],
    *,
    overlap: Overlap = "longest",
    max_traces: int = BATCH_TRACES,
    max_characters: int = BATCH_CHARACTERS,
) -> Iterator[CountBatch[Key]]:
    """Count in batches; at most one batch of texts is held at a time, in the order of the stream.

    >>> from ostrom.features.words.lexicons import memory_curse
    >>> [trace] = next(count_batches([("t1", "Trust is a risk.")], memory_curse()))
    >>> trace.words, trace.counts
    (4, {'forward_looking': 0, 'history_following': 1, 'paranoia': 1, 'cooperation': 1})
    """
    matcher = matcher_for(tuple(lexicons), overlap)
    keys: list[Key] = []
    texts: list[str] = []
    characters = 0
    for key, text in traces:
        keys.append(key)
        texts.append(text)
        characters += len(text)
        if len(texts) >= max_traces or characters >= max_characters:
            yield CountBatch(tuple(keys), matcher.names, *matcher.count(texts))
            keys, texts, characters = [], [], 0
    if texts:
        yield CountBatch(tuple(keys), matcher.names, *matcher.count(texts))
