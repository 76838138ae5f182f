"""Gambit's .nfg files: strategic games as text, read strictly and written plainly.

Both forms are read: a list of payoffs (one number per player and profile) and a list of outcomes followed by
one outcome number per profile (0 is the outcome that pays nobody). In both, the first player's strategy
changes fastest. The format has no place for a cooperative action, a citation or parameters: they are not
written.
"""

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame, check_size, interchangeable
from ostrom.games.text_file import rational, read_text
from ostrom.ground.errors import GameError, StudyError

_TOKEN = re.compile(r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<mark>[{},])|(?P<word>[^\s{},"]+))', re.DOTALL)
_ESCAPE = re.compile(r'\\(["\\])')
_NUMBERED = re.compile(r"(.+) ([1-9]\d*)", re.DOTALL | re.ASCII)


def load_nfg(path: str | Path) -> Game:
    """Read a game from a .nfg file; its name is the file's name."""
    stem = "".join(c if c.isalnum() else "_" for c in Path(path).stem)
    name = stem if stem.isidentifier() else f"game_{stem}"
    return parse_nfg(read_text(Path(path), what="game"), file=str(path), name=name)


def parse_nfg(text: str, *, file: str | None = None, name: str = "game") -> Game:
    """Read a game from .nfg text.

    >>> parse_nfg('NFG 1 R "Pennies" { "A" "B" } { 2 2 } 1 -1 -1 1 -1 1 1 -1').payoff((1, 0))
    (-1.0, 1.0)
    """
    return _Parser(text, file, name).game()


def write_nfg(game: Game) -> str:
    """A game as .nfg text in the payoff form, every payoff written exactly."""
    numbered = Counter[str]()
    players = []
    for role in game.roles:
        numbered[role] += 1
        # Gambit wants players to differ, so interchangeable seats are counted.
        players.append(f"{role} {numbered[role]}" if game.roles.count(role) > 1 else role)
    strategies = "\n".join(f"{{ {' '.join(map(_quoted, names))} }}" for names in game.actions)
    table = game.payoffs.reshape(-1, game.seats, order="F")
    lines = "\n".join(" ".join(_written(float(x)) for x in row) for row in table)
    head = f"NFG 1 R {_quoted(game.title)} {{ {' '.join(map(_quoted, players))} }}"
    return f'{head}\n\n{{\n{strategies}\n}}\n""\n\n{lines}\n'


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _written(value: float) -> str:
    # Decimals without exponents are read by every version of Gambit; the digits give the same float again.
    return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")


@dataclass(frozen=True)
class _Token:
    kind: str
    value: str
    at: int


class _Parser:
    """One pass over the tokens; every complaint names the line and the column."""

    def __init__(self, text: str, file: str | None, name: str) -> None:
        self.text, self.file, self.name = text, file, name
        self.place = 0
        self.token = self._scan()

    def game(self) -> Game:
        self._header()
        title = self._string("a title in quotes")
        players = self._names("players")
        actions = self._strategies(len(players))
        if self.token.kind == "text":  # the comment that newer files carry
            self._next()
        try:
            check_size(self.name, [len(names) for names in actions])
            payoffs = self._outcome_form(actions) if self._at("{") else self._payoff_form(actions)
            if self.token.kind != "end":
                self._fail("nothing after the last payoff")
            roles = _roles(players, actions, payoffs)
            return TensorGame(self.name, actions, payoffs, roles=roles, title=title)
        except GameError as error:
            raise StudyError(str(error), file=self.file) from None

    def _header(self) -> None:
        for wanted, allowed in (("'NFG'", ("NFG",)), ("version '1'", ("1",)), ("'R' or 'D'", ("R", "D"))):
            if self.token.kind != "word" or self.token.value not in allowed:
                self._fail(wanted)
            self._next()

    def _names(self, what: str) -> list[str]:
        self._mark("{")
        names = []
        while not self._at("}"):
            names.append(self._string(f"a name of the {what} in quotes or '}}'"))
        if not names:
            self._fail(f"at least one of the {what}")
        self._next()
        return names

    def _strategies(self, players: int) -> tuple[tuple[str, ...], ...]:
        start = self.token
        self._mark("{")
        counts: list[int] = []
        strategies: list[tuple[str, ...]] = []
        while not self._at("}"):
            if self._at("{") and not counts:
                names = self._names("strategies")
                strategies.append(tuple(name if name.strip() else str(i) for i, name in enumerate(names, 1)))
            elif self.token.kind == "word" and not strategies:
                counts.append(self._whole("a number of strategies", least=1))
            else:
                self._fail("numbers of strategies, or a list of names per player")
        if len(strategies or counts) != players:
            self._fail(f"strategies of {players} players, not of {len(strategies or counts)}", start)
        self._next()
        if counts:
            try:
                check_size(self.name, counts)
            except GameError as error:
                raise StudyError(str(error), file=self.file) from None
            strategies = [tuple(str(i) for i in range(1, count + 1)) for count in counts]
        return tuple(strategies)

    def _payoff_form(self, actions: tuple[tuple[str, ...], ...]) -> NDArray[np.float64]:
        shape = [len(names) for names in actions]
        total = prod(shape) * len(actions)
        values = []
        for i in range(total):
            values.append(self._number(f"payoff {i + 1} of {total}"))
        return np.array(values).reshape((-1, len(actions))).reshape((*shape, len(actions)), order="F")

    def _outcome_form(self, actions: tuple[tuple[str, ...], ...]) -> NDArray[np.float64]:
        shape = [len(names) for names in actions]
        outcomes = [[0.0] * len(actions)]
        self._mark("{")
        while not self._at("}"):
            self._mark("{")
            self._string("the outcome's name in quotes")
            outcomes.append([self._number(f"the payoff of player {i}") for i in range(1, len(actions) + 1)])
            self._mark("}")
        self._next()
        values = []
        for i in range(prod(shape)):
            what = f"outcome number {i + 1} of {prod(shape)}"
            values.append(outcomes[self._whole(what, least=0, most=len(outcomes) - 1)])
        return np.array(values).reshape((*shape, len(actions)), order="F")

    def _number(self, wanted: str) -> float:
        value = rational(self.token.value) if self.token.kind == "word" else None
        if value is None:
            self._fail(f"{wanted} (a finite decimal or fraction)")
        self._next()
        if self._at(","):
            self._next()
        return value

    def _whole(self, wanted: str, *, least: int, most: int = 10**9) -> int:
        word = self.token.value
        is_whole = self.token.kind == "word" and len(word) < 12 and word.isascii() and word.isdigit()
        if not is_whole or not least <= int(word) <= most:
            self._fail(f"{wanted} (a whole number from {least}{'' if most == 10**9 else f' to {most}'})")
        self._next()
        return int(word)

    def _string(self, wanted: str) -> str:
        if self.token.kind != "text":
            self._fail(wanted)
        value = _ESCAPE.sub(r"\1", self.token.value[1:-1])
        self._next()
        return value

    def _mark(self, mark: str) -> None:
        if not self._at(mark):
            self._fail(f"'{mark}'")
        self._next()

    def _at(self, mark: str) -> bool:
        return self.token.kind == "mark" and self.token.value == mark

    def _next(self) -> None:
        self.token = self._scan()

    def _scan(self) -> _Token:
        match = _TOKEN.match(self.text, self.place)
        if match is None:
            rest = len(self.text) - len(self.text[self.place :].lstrip())
            self.place = len(self.text)
            if rest < len(self.text):  # only a quote without an end matches nothing
                self._fail('a closing quote (") for the text that begins here', _Token("text", '"', rest))
            return _Token("end", "", rest)
        self.place = match.end()
        kind = str(match.lastgroup)
        return _Token(kind, match[kind], match.start(kind))

    def _fail(self, wanted: str, at: _Token | None = None) -> NoReturn:
        token = at or self.token
        line = self.text.count("\n", 0, token.at) + 1
        column = token.at - (self.text.rfind("\n", 0, token.at) + 1) + 1
        found = "the end of the file" if token.kind == "end" else repr(token.value[:40])
        problem = f"line {line}, column {column}: expected {wanted}, found {found}"
        raise StudyError(problem, file=self.file)


def _roles(players: list[str], actions: tuple[tuple[str, ...], ...], payoffs: NDArray[np.float64]) -> tuple[str, ...]:
    """Players as roles; interchangeable ones that differ by a count ("buyer 1", "buyer 2") share one."""
    if any(not name.strip() for name in players):
        return ()
    groups: dict[str, list[int]] = {}
    for seat, name in enumerate(players):
        match = _NUMBERED.fullmatch(name)
        if match:
            groups.setdefault(match[1], []).append(seat)
    roles = list(players)
    for stem, seats in groups.items():
        counted = [players[seat] for seat in seats] == [f"{stem} {i}" for i in range(1, len(seats) + 1)]
        alike = all(interchangeable(actions, payoffs, a, b) for a, b in pairwise(seats))
        if len(seats) > 1 and counted and alike and stem not in players:
            for seat in seats:
                roles[seat] = stem
    return tuple(roles)
