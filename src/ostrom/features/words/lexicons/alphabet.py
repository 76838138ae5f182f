"""Text as small integers: one code per character, so that positions stay those of the original text.

The letters that occur in the terms get codes of their own; all others share one. Upper and lower case share
theirs, and so do all white space and all hyphens. Codes are bytes for every list in a European language, and
four bytes each where the terms hold more than about 250 different letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ostrom.features.words.lexicons.normal import HYPHENS, fold, is_word_character

SEPARATOR, BLANK, HYPHEN, MARK, LETTER, _FIRST = range(6)


@dataclass(frozen=True)
class EncodedText:
    """A batch of texts as one line of codes in which every run of white space and hyphens is one blank."""

    codes: NDArray[np.unsignedinteger]
    ends: NDArray[np.int64]
    """For each text the place just after it in the codes."""
    words: NDArray[np.int64]
    """For each text the number of words: stretches without white space, as ``str.split`` and ``wc`` count."""
    kept: NDArray[np.bool_]
    """For each character of the texts, joined with one between them, whether it is among the codes."""

    @cached_property
    def origin(self) -> NDArray[np.int64]:
        """For each code the position of its character in the joined texts."""
        return np.flatnonzero(self.kept)


class Alphabet:
    """The codes for a set of patterns (terms in normal form)."""

    def __init__(self, patterns: Iterable[str]) -> None:
        letters = sorted(set("".join(patterns)) - {" "})
        narrow = _FIRST + len(letters) <= 256
        self.dtype: np.dtype[np.unsignedinteger] = np.dtype(np.uint8 if narrow else np.uint32)
        self._code = {char: code for code, char in enumerate(letters, start=_FIRST)}
        self.is_word = np.array([False, False, False, False, True, *map(is_word_character, letters)])
        # 256 entries, as bytes.translate asks for; the upper half is never met.
        self._ascii = np.array([self._classify(chr(point)) for point in range(256)], dtype=self.dtype)

    def encode_pattern(self, pattern: str) -> bytes:
        """The codes of a term in normal form, as bytes."""
        return np.array([BLANK if c == " " else self._code[c] for c in pattern], dtype=self.dtype).tobytes()

    def encode(self, texts: Sequence[str]) -> EncodedText:
        """A batch of texts; no pattern can match across two of them."""
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        ends = np.cumsum(lengths + 1) - 1
        codes = self._codes("\0".join(texts))
        codes[ends[:-1]] = SEPARATOR
        words = _count_words(codes, ends)
        codes[codes == HYPHEN] = BLANK
        gap = codes == BLANK
        kept = np.ones(len(codes), dtype=bool)
        kept[1:] = ~(gap[1:] & gap[:-1])
        codes = codes[kept]
        return EncodedText(codes, np.append(np.flatnonzero(codes == SEPARATOR), len(codes)), words, kept)

    def _codes(self, text: str) -> NDArray[np.unsignedinteger]:
        """One code per character. Nearly all characters are ASCII, for which a byte table is fastest."""
        plain = text.encode("ascii", "replace")
        if self.dtype.itemsize == 1:
            codes = np.frombuffer(bytearray(plain.translate(self._ascii.tobytes())), dtype=self.dtype)
        else:
            codes = self._ascii[np.frombuffer(plain, dtype=np.uint8)]
        if not text.isascii():
            # surrogatepass: replies cut in the middle of an emoji hold lone surrogates, no reason to stop.
            points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
            other = np.flatnonzero(points > 127)
            distinct, which = np.unique(points[other], return_inverse=True)
            codes[other] = np.array([self._classify(chr(point)) for point in distinct], dtype=self.dtype)[
                which
            ]
        return codes

    def _classify(self, char: str) -> int:
        if char.isspace():
            return BLANK
        if char in HYPHENS:
            return HYPHEN
        own = self._code.get(fold(char))
        if own is not None:
            return own
        return LETTER if is_word_character(char) else MARK


def _count_words(codes: NDArray[np.unsignedinteger], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    outside = codes <= BLANK
    first = ~outside
    first[1:] &= outside[:-1]
    if not len(codes):
        return np.zeros(len(ends), dtype=np.int64)
    # Every stretch but the first begins with its separator, so none is empty, as reduceat demands.
    begins = np.concatenate([[0], ends[:-1]])
    return np.add.reduceat(first.view(np.uint8), begins, dtype=np.int32).astype(np.int64)
