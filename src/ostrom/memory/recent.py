"""Memories of what happened: all rounds, recent ones, some of them, counts, or what the player itself keeps.

A player keeps selected rounds, and notes in its own words; earlier rounds can be fetched by what they have in common
with the present one.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from ostrom.answers import Form, Record, Text
from ostrom.games.game import Game
from ostrom.ground.parameters import Count, Ge, Share, checked
from ostrom.mechanisms.protocol import Round, View
from ostrom.memory.base import Draw, Frequency, Memory, MemoryView, Note, NoteDue, no_cooperation


class Full(Memory):
    """Show every round played so far."""

    name: ClassVar[str] = "full"

    @property
    def grows(self) -> bool:
        """Return True: every round that was shown stays."""
        return True

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """The whole history."""
        return MemoryView(view.history)


class Window(Memory):
    """Show the ``k`` most recent rounds; ``window:0`` shows nothing (Liu et al. 2026)."""

    name: ClassVar[str] = "window"

    @checked
    def __init__(self, k: Annotated[int, Ge(0)]) -> None:
        self.k = k

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """The last k rounds of the history."""
        return MemoryView(view.history[-self.k :] if self.k else (), span=self.k)

    def most_lines(self, rounds: int) -> int:
        """Return ``k``, or the number of rounds played if that is smaller."""
        return min(rounds, self.k)


class Forgetting(Memory):
    """Forget past rounds by chance, each for itself and for good.

    Mode *drop*: a round is forgotten at once with chance ``rate``, or never. Mode *decay*: in every round
    that goes by it is forgotten with chance ``rate``, so that after a rounds it is still there with chance
    (1 - rate) ** a. Every round has one random number per player that settles when it goes, which is why
    nothing that was forgotten comes back. Of the rounds that are left the ``most`` recent ones are shown.
    """

    name: ClassVar[str] = "forgetting"

    @checked
    def __init__(self, rate: Share = 0.1, mode: Literal["drop", "decay"] = "decay", most: Count | None = None) -> None:
        self.rate, self.mode, self.most = float(rate), mode, most

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return the rounds that are not forgotten."""
        played = len(view.history)
        rounds = [r for i, r in enumerate(view.history) if draw(r.number, "forget").random() >= self.gone(played - i)]
        return MemoryView(rounds[-self.most :] if self.most else rounds, gaps=True)

    def most_lines(self, rounds: int) -> int:
        """Return the number of rounds played, or ``most`` if that is smaller."""
        return min(rounds, self.most or rounds)

    def gone(self, age: int) -> float:
        """The chance that a round is forgotten when it is ``age`` rounds old (the last one is 1 old).

        >>> Forgetting(0.5, "decay").gone(2), Forgetting(0.5, "drop").gone(2)
        (0.75, 0.5)
        """
        return self.rate if self.mode == "drop" else 1.0 - (1.0 - self.rate) ** age


class Forgiving(Memory):
    """Show everything but the defections that are older than ``m`` rounds.

    A round is a defection if someone did not play the cooperative action: one of the co-players
    (``whose``: others), or anybody, oneself included (``whose``: anyone). The last round is 1 round old, so
    ``forgiving:0`` never shows a defection. Of what is left the ``most`` recent rounds are shown.
    """

    name: ClassVar[str] = "forgiving"

    @checked
    def __init__(
        self, m: Annotated[int, Ge(0)] = 5, whose: Literal["others", "anyone"] = "others", most: Count | None = None
    ) -> None:
        self.m, self.whose, self.most = m, whose, most

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return all recent rounds, and older ones without a defection."""
        recent = len(view.history) - self.m
        rounds = [r for i, r in enumerate(view.history) if i >= recent or not self._defection(view, r)]
        return MemoryView(rounds[-self.most :] if self.most else rounds, gaps=True)

    def most_lines(self, rounds: int) -> int:
        """Return the number of rounds played, or ``most`` if that is smaller."""
        return min(rounds, self.most or rounds)

    def _defection(self, view: View, played: Round) -> bool:
        return any(
            action != view.game.cooperative[seat]
            for seat, action in enumerate(played.actions)
            if seat != view.seat or self.whose == "anyone"
        )

    def unsupported(self, game: Game) -> str | None:
        """Return the problem in words if a seat of the game has no cooperative action; None if every seat has one."""
        return no_cooperation(game)


class TallyMemory(Memory):
    """Show counts instead of rounds.

    ``of`` combinations: how often each combination of everybody's actions came about. ``of`` players: how
    often each player, oneself first, took each action. What never happened is not listed. Rounds that are void
    because somebody missed them come first, as a count without actions.
    """

    name: ClassVar[str] = "tally"
    readers = frozenset({"model", "person"})

    @checked
    def __init__(self, of: Literal["combinations", "players"] = "combinations") -> None:
        self.of = of

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return counts in the order of the actions; for players, self first, then by seat."""
        profiles = Counter(r.actions for r in view.history)
        if self.of == "combinations":
            return MemoryView(counts=[Frequency(actions, times) for actions, times in sorted(profiles.items())])
        seats = view.game.seats
        counts = [Frequency((), void)] if (void := profiles.pop((), 0)) else []
        for seat in sorted(range(seats), key=lambda s: (s != view.seat, s)):
            tally: Counter[int] = Counter()
            for actions, times in profiles.items():
                tally[actions[seat]] += times
            counts += [
                Frequency(tuple(action if s == seat else None for s in range(seats)), times)
                for action, times in sorted(tally.items())
            ]
        return MemoryView(counts=counts)


def round_numbers(name: str, most: int, allowed: Sequence[int] | int) -> Record:
    """Return the form of at most ``most`` distinct rounds, of those listed or the first ``allowed``.

    >>> round_numbers("recall", 2, 9).schema["properties"]["rounds"]["maxItems"]
    2
    """
    number: dict[str, Any] = {"type": "integer"}
    if isinstance(allowed, int):
        number |= {"minimum": 1, "maximum": allowed}
    else:
        number["enum"] = list(allowed)
    rounds = {"type": "array", "items": number, "maxItems": most, "uniqueItems": True}
    return Record(
        name,
        {"type": "object", "properties": {"rounds": rounds}, "required": ["rounds"], "additionalProperties": False},
    )


class PlayerSelection(Memory):
    """Show at most ``k`` rounds, which the player selects itself once there are more."""

    readers = frozenset({"model"})

    @checked
    def __init__(self, k: Count) -> None:
        self.k = k

    def most_lines(self, rounds: int) -> int:
        """Return ``k``, or the number of rounds played if that is smaller."""
        return min(rounds, self.k)

    def most_notes(self, rounds: int) -> int:
        """Return the number of rounds after the first ``k``: each may need one note."""
        return max(0, rounds - self.k)


class NamedRounds(PlayerSelection):
    """Show the rounds that the player names, at most ``k`` of them, before every decision anew.

    Naming them is a decision of its own (kind recall), taken without any round in view. While no more than
    ``k`` rounds have been played all of them are shown and nothing is asked.
    """

    name: ClassVar[str] = "asked"
    asks = "recall"
    note_form: Form = round_numbers("recall", 1, 1)

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:
        """Ask for a new list of rounds after every round, once there are more than can be shown."""
        played = len(view.history)
        return (
            None
            if played <= self.k or (notes and notes[-1].covers == played)
            else NoteDue(round_numbers("recall", self.k, played), played)
        )

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return the rounds that were named last."""
        if len(view.history) <= self.k:
            return MemoryView(view.history, gaps=True)
        named = set(notes[-1].rounds) if notes else set()
        return MemoryView([r for r in view.history if r.number in named], gaps=True)


class Curated(PlayerSelection):
    """Show the rounds that the player keeps, at most ``k`` of them.

    Whenever a new round makes it more than ``k``, the player decides which ones to keep (kind keep): it sees
    those kept so far and the new one. What is not kept is gone for good.
    """

    name: ClassVar[str] = "curated"
    asks = "keep"
    note_form: Form = round_numbers("keep", 1, [1])

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:
        """Ask for a choice among the rounds in view, once there are too many."""
        left = self._left(view, notes)
        return (
            None
            if len(left) <= self.k
            else NoteDue(round_numbers("keep", self.k, [r.number for r in left]), len(view.history), left)
        )

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return the selected rounds and those played since, up to k."""
        return MemoryView(self._left(view, notes)[-self.k :], gaps=True)

    def _left(self, view: View, notes: Sequence[Note]) -> list[Round]:
        """Return the last selection and all rounds since."""
        if not notes:
            return list(view.history)
        numbers, last = set(notes[-1].rounds), notes[-1].covers
        return [r for i, r in enumerate(view.history) if i >= last or r.number in numbers]


class Summary(Memory):
    """Show recent rounds as they were, and a note that the player itself wrote about all older ones.

    As soon as ``every`` rounds lie further back than the last ``keep``, the player rewrites its note: it is
    given the old note and the rounds that are new to it, and may use ``words`` words. Writing is a question
    within the decision and journaled as such. Rounds that no note covers yet are shown, so nothing falls in
    between: at least ``keep`` and fewer than ``keep + every`` of them.
    """

    name: ClassVar[str] = "summary"
    readers = frozenset({"model"})

    @checked
    def __init__(self, keep: Annotated[int, Ge(0)] = 5, every: Count = 10, words: Count = 100) -> None:
        self.keep, self.every, self.words = keep, every, words

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:
        """Ask for a new note once enough rounds are old."""
        last = notes[-1] if notes else None
        covered = last.covers if last else 0
        old = len(view.history) - self.keep
        return (
            None
            if old - covered < self.every
            else NoteDue(Text(words=self.words), old, view.history[covered:old], last.text if last else None)
        )

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return the latest note and all rounds that it does not cover."""
        return (
            MemoryView(view.history) if not notes else MemoryView(view.history[notes[-1].covers :], note=notes[-1].text)
        )

    def most_lines(self, rounds: int) -> int:
        """Return the most rounds that no note covers, plus a line for every four words of the note."""
        return min(rounds, self.keep + self.every - 1 + self.words // 4)

    def most_notes(self, rounds: int) -> int:
        """Return one note every ``every`` rounds, after the first are old."""
        return max(0, rounds - self.keep) // self.every


_WORD = re.compile(r"\w+")
_SATURATION, _LENGTH = 1.2, 0.75
"""The usual k1 and b of BM25 (Robertson & Zaragoza 2009)."""


class Retrieval(Memory):
    """Show the last round and the ``k - 1`` earlier rounds that are most relevant to it, oldest first.

    ``by`` says what makes a round relevant. *situation*: the round before it ended as the last round did, so
    it tells what followed. *action*: as many players as possible did what they did in the last round.
    *notes*: the player writes a note of at most ``words`` words on every round, and the rounds whose notes
    are closest to the newest note are fetched (BM25); the notes themselves are not shown. Of equally
    relevant rounds the newer ones are shown, so there are always k lines once k rounds have been played.
    """

    name: ClassVar[str] = "retrieval"

    @checked
    def __init__(self, k: Count, by: Literal["situation", "action", "notes"] = "situation", words: Count = 30) -> None:
        self.k, self.by, self.words = k, by, words
        if self.by == "notes":
            self.readers = frozenset({"model"})

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:
        """Return a note on every round, if notes are searched."""
        covered = notes[-1].covers if notes else 0
        return (
            None
            if self.by != "notes" or covered == len(view.history)
            else NoteDue(Text(words=self.words), len(view.history), view.history[covered:])
        )

    @property
    def takes_notes(self) -> bool:
        """Return whether notes are searched."""
        return self.by == "notes"

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return the last round and those most similar to it."""
        history = view.history
        if len(history) <= self.k:
            return MemoryView(history, gaps=True)
        relevance = self._relevance(view, notes)
        last = len(history) - 1
        return MemoryView(
            [history[i] for i in sorted([*sorted(range(last), key=lambda i: (-relevance[i], -i))[: self.k - 1], last])],
            gaps=True,
        )

    def _relevance(self, view: View, notes: Sequence[Note]) -> Sequence[float]:
        history = view.history
        now = history[-1].actions
        match self.by:
            case "situation":
                return [0, *(int(before.actions == now) for before in history[:-1])]
            case "action":
                return [sum(a == b for a, b in zip(r.actions, now, strict=False)) for r in history]
        scores = bm25([note.text for note in notes])
        scored: list[float] = []
        for note, score in zip(notes, scores, strict=True):
            scored.extend([score] * (note.covers - len(scored)))
        return scored + [0.0] * (len(history) - len(scored))

    def most_lines(self, rounds: int) -> int:
        """Return ``k``, or the number of rounds played if that is smaller."""
        return min(rounds, self.k)

    def most_notes(self, rounds: int) -> int:
        """Return one note per round, if notes are searched."""
        return rounds if self.by == "notes" else 0


def bm25(texts: Sequence[str]) -> list[float]:
    """Return each text's similarity to the last one, by shared words.

    Rounded, so that texts with the same words in another order rank alike on every machine.

    >>> [round(score, 3) for score in bm25(["they defected again", "all is calm", "they defected"])]
    [0.894, 0.0, 1.047]
    """
    bags = [Counter(_WORD.findall(text.casefold())) for text in texts]
    if not bags:
        return []
    sizes = [bag.total() for bag in bags]
    mean = sum(sizes) / len(sizes) or 1.0
    holding = {word: sum(word in bag for bag in bags) for word in bags[-1]}
    rarity = {word: math.log(1 + (len(bags) - count + 0.5) / (count + 0.5)) for word, count in holding.items()}
    scores = []
    for bag, size in zip(bags, sizes, strict=True):
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * size / mean)
        scores.append(round(sum(rarity[w] * bag[w] * (_SATURATION + 1) / (bag[w] + norm) for w in sorted(rarity)), 9))
    return scores
