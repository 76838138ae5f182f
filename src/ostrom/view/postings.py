"""Which calls hold a word: words of texts, and lists of calls in little space.

A word is in small letters and without accents. Texts are cut into words as bytes, by a table, and every different piece
is looked at once: an index of a gigabyte of text takes two minutes of one core.
"""

import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
LONGEST_WORD = 64
"""Letters of a word by which it is known."""
_WORD = re.compile(r"[^\W_]+")
_SEPARATES = bytes(
    code if code >= 0x80 else ord(chr(code).lower()) if chr(code).isalnum() else 0x20 for code in range(256)
)
_MARK = b"\x01"
"""Stands between two texts; no piece of a text holds it."""
# Scripts without spaces between words: every character is a word, so a search finds any of them.
_UNSPACED = re.compile(r"([\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])")


def spaced(text: str) -> str:
    """A text with spaces around every character of a script that has none.

    >>> spaced("wir 合作 oft")
    'wir  合  作  oft'
    """
    return text if text.isascii() else _UNSPACED.sub(r" \1 ", text)


def plain(word: str) -> str:
    """A word as the index knows it: small letters without accents.

    >>> plain("Überläufer")
    'uberlaufer'
    """
    if word.isascii():
        return word.lower()[:LONGEST_WORD]
    bare = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    return bare.lower()[:LONGEST_WORD]


def words_in(text: str) -> list[str]:
    """The words of a text, in order.

    >>> words_in("Never_again: 'Überall' 合作!")
    ['never', 'again', 'uberall', '合', '作']
    """
    return [plain(word) for word in _WORD.findall(spaced(text))]


def line_of(raw: bytes) -> str:
    """The words of a text with a space before and after each, so that a phrase is found as a part of it.

    >>> line_of(b"Never  AGAIN.")
    ' never again '
    """
    pieces = raw.translate(_SEPARATES).split()
    words = (_words_of(piece) for piece in pieces)
    return f" {' '.join(word for some in words for word in some)} "


def _words_of(piece: bytes) -> list[str]:
    if piece.isascii():
        return [piece[:LONGEST_WORD].decode()]
    return words_in(piece.decode("utf-8", "replace"))


class Vocabulary(dict[bytes, int]):
    """Numbers the words of texts, from 1 on; a piece that stands for several words, or none, has a negative number."""

    def __init__(self) -> None:
        super().__init__({_MARK: 0})
        self.words: list[str] = [""]
        self._numbers: dict[str, int] = {}
        self._several: list[list[int]] = []

    def __missing__(self, piece: bytes) -> int:
        numbers = [self._number(word) for word in _words_of(piece)]
        if len(numbers) == 1:
            self[piece] = numbers[0]
        else:
            self._several.append(numbers)
            self[piece] = -len(self._several)
        return self[piece]

    def _number(self, word: str) -> int:
        number = self._numbers.get(word)
        if number is None:
            number = self._numbers[word] = len(self.words)
            self.words.append(word)
        return number

    def numbered(self, texts: Sequence[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The numbers of all words of some texts, and how many of them each text has."""
        between = b" " + _MARK + b" "
        pieces = (between.join(text.translate(_SEPARATES) for text in texts) + between).split()
        numbers = np.fromiter(map(self.__getitem__, pieces), np.int32, len(pieces))
        if (several := numbers < 0).any():
            parts = [self._several[~number] for number in numbers[several].tolist()]
            counts = np.ones(len(numbers), dtype=np.int64)
            counts[several] = [len(part) for part in parts]
            numbers = np.repeat(numbers, counts)
            numbers[numbers < 0] = [number for part in parts for number in part]
        ends = np.flatnonzero(numbers == 0)
        return numbers[numbers > 0], np.diff(ends, prepend=-1) - 1


class Postings:
    """Collects the words of texts, text by text, and lists for each word the texts that hold it."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._numbers: list[NDArray[np.int32]] = []
        self._counts: list[NDArray[np.int64]] = []
        self.size = 0
        """Words of all texts together."""

    def add(self, texts: Sequence[bytes]) -> None:
        """Take the words of the next texts."""
        numbers, counts = self._vocabulary.numbered(texts)
        self._numbers.append(numbers)
        self._counts.append(counts)
        self.size += len(numbers)

    def lists(self, span: int) -> Iterator[tuple[str, bytes]]:
        """Every word, in order, with the places of its texts among so many."""
        from scipy.sparse import csr_array

        if not self.size:
            return
        starts = np.concatenate([[0], np.cumsum(np.concatenate(self._counts))])
        numbers, words = np.concatenate(self._numbers), self._vocabulary.words
        shape = (len(starts) - 1, len(words))
        by_word = csr_array((np.ones(len(numbers), dtype=np.int8), numbers, starts), shape=shape).tocsc()
        places, bounds = by_word.indices, by_word.indptr.tolist()
        # A text that holds a word twice is listed twice in a row.
        new = np.ones(len(places), dtype=bool)
        new[1:] = places[1:] != places[:-1]
        new[by_word.indptr[:-1][np.diff(by_word.indptr) > 0]] = True
        for number in sorted(range(1, len(words)), key=words.__getitem__):
            part = slice(bounds[number], bounds[number + 1])
            yield words[number], packed(places[part][new[part]].astype(np.int64), span)


def packed(places: Numbers, span: int) -> bytes:
    """Increasing whole numbers below ``span`` in little space: their low bits as they are, the rest in unary.

    This is the code of Elias and Fano: at most two bits more for each number than its low bits.

    >>> unpacked(packed(np.array([3, 4, 900]), 1000)).tolist()
    [3, 4, 900]
    """
    count = len(places)
    low = max(0, (span // count).bit_length() - 1)
    flags = np.zeros((span >> low) + count + 1, dtype=np.uint8)
    flags[(places >> low) + np.arange(count)] = 1
    bits = (places[:, None] >> np.arange(low)) & 1
    return b"%c%b%b%b" % (
        low, count.to_bytes(4, "little"), np.packbits(bits.astype(np.uint8)).tobytes(), np.packbits(flags).tobytes()
    )  # fmt: skip


def unpacked(raw: bytes) -> Numbers:
    """The numbers from their code; ValueError where it is none."""
    if len(raw) < 5:
        raise ValueError("a list of calls is cut off")
    low, count = raw[0], int.from_bytes(raw[1:5], "little")
    size = (low * count + 7) // 8
    if low > 62 or len(raw) < 5 + size:
        raise ValueError("a list of calls is cut off")
    bits = np.unpackbits(np.frombuffer(raw, np.uint8, size, 5), count=low * count).reshape(count, low)
    high = np.flatnonzero(np.unpackbits(np.frombuffer(raw, np.uint8, -1, 5 + size)))
    if len(high) != count:
        raise ValueError("a list of calls is not complete")
    return ((high - np.arange(count)) << low) | (bits.astype(np.int64) @ (1 << np.arange(low)))


def packed_voices(voices: Numbers) -> bytes:
    """The voices of the calls of a segment in little space."""
    return zlib.compress(voices.astype("<u4").tobytes(), 1)


def unpacked_voices(raw: bytes, count: int) -> Numbers:
    """The voices of the calls of a segment; ValueError where there are not so many."""
    reader = zlib.decompressobj()
    found = reader.decompress(raw, 4 * count + 1)
    if len(found) != 4 * count:
        raise ValueError("a segment of the index is not complete")
    return np.frombuffer(found, "<u4").astype(np.int64)
