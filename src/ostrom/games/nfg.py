"""Gambit's .nfg files: strategic games as text, read strictly and written in the payoff form.

Both forms are read: a list of payoffs (one number per player and profile) and a list of outcomes followed by
one outcome number per profile (0 is the outcome that pays nobody). In both, the first player's strategy
changes fastest. The format has no place for a cooperative action, a citation or parameters: they are not
written.
"""

import re
from decimal import Decimal
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame, check_size, interchangeable
from ostrom.games.text_file import identifier, rational, read_text
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.values import grouped

_TOKEN = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<mark>[{},])|(?P<word>[^\s{},"]+)|(?P<open>")|(?P<end>\Z))', re.DOTALL
)
_ESCAPE = re.compile(r'\\(["\\])')
_NUMBERED = re.compile(r"(.+) ([1-9]\d*)", re.DOTALL | re.ASCII)


def load_nfg(path: str | Path) -> Game:
    """Read a game from a .nfg file; its name is the file's name."""
    return parse_nfg(read_text(Path(path), what="game"), file=str(path), name=identifier(Path(path).stem))


def parse_nfg(text: str, *, file: str | None = None, name: str = "game") -> Game:
    """Read a game from .nfg text.

    >>> parse_nfg('NFG 1 R "Pennies" { "A" "B" } { 2 2 } 1 -1 -1 1 -1 1 1 -1').payoff((1, 0))
    (-1.0, 1.0)
    """
    return _Parser(text, file, name).game()


def write_nfg(game: Game) -> str:
    """Return a game as .nfg text in the payoff form, with exact payoffs."""
    # Gambit needs distinct player names, so interchangeable seats are numbered.
    players = [
        f"{role} {game.roles[: seat + 1].count(role)}" if game.roles.count(role) > 1 else role
        for seat, role in enumerate(game.roles)
    ]
    strategies = "\n".join(f"{{ {' '.join(map(_quoted, names))} }}" for names in game.actions)
    table = game.payoffs.reshape(-1, game.seats, order="F")
    lines = "\n".join(" ".join(_written(float(x)) for x in row) for row in table)
    head = f"NFG 1 R {_quoted(game.title)} {{ {' '.join(map(_quoted, players))} }}"
    return f'{head}\n\n{{\n{strategies}\n}}\n""\n\n{lines}\n'


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _written(value: float) -> str:
    # Decimals without exponents are read by every version of Gambit and give the same float.
    return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")


class _Parser:
    """A parser with one pass over the tokens; errors name line and column."""

    def __init__(self, text: str, file: str | None, name: str) -> None:
        self.text, self.file, self.name = text, file, name
        self.tokens = _TOKEN.finditer(text)
        self.token = next(self.tokens)

    def game(self) -> Game:
        for wanted, allowed in (("'NFG'", ("NFG",)), ("version '1'", ("1",)), ("'R' or 'D'", ("R", "D"))):
            self._take("word", wanted, *allowed)
        title = self._string("a title in quotes")
        self._mark("{")
        players = self._names("players")
        try:
            actions = self._strategies(len(players))
            if self.token["text"]:  # the comment of newer files
                self._string("")
            shape = [len(names) for names in actions]
            check_size(self.name, shape)
            rows = self._outcomes(len(players), prod(shape)) if self._at("{") else self._rows(len(players), prod(shape))
            self._take("end", "nothing after the last payoff")
            payoffs = np.array(rows).reshape((*shape, len(players)), order="F")
            return TensorGame(self.name, actions, payoffs, roles=_roles(players, actions, payoffs), title=title)
        except GameError as error:
            raise StudyError(str(error), file=self.file) from None

    def _names(self, what: str) -> list[str]:
        """Return names up to a closing brace."""
        names = []
        while not self._at("}"):
            names.append(self._string(f"a name of the {what} in quotes or '}}'"))
        if not names:
            self._fail(f"at least one of the {what}")
        self._mark("}")
        return names

    def _strategies(self, players: int) -> tuple[tuple[str, ...], ...]:
        start = self.token
        self._mark("{")
        counts: list[int] = []
        strategies: list[tuple[str, ...]] = []
        while not self._at("}"):
            if self._at("{") and not counts:
                self._mark("{")
                names = self._names("strategies")
                strategies.append(tuple(name if name.strip() else str(i) for i, name in enumerate(names, 1)))
            elif self.token["word"] and not strategies:
                counts.append(self._integer("a number of strategies", least=1))
            else:
                self._fail("numbers of strategies, or a list of names per player")
        if len(strategies or counts) != players:
            self._fail(f"strategies of {players} players, not of {len(strategies or counts)}", start)
        self._mark("}")
        check_size(self.name, counts or [1])
        return tuple(strategies) or tuple(tuple(map(str, range(1, count + 1))) for count in counts)

    def _rows(self, players: int, profiles: int) -> list[list[float]]:
        wanted = (f"payoff {i} of {players * profiles}" for i in range(1, players * profiles + 1))
        return [[self._number(next(wanted)) for _ in range(players)] for _ in range(profiles)]

    def _outcomes(self, players: int, profiles: int) -> list[list[float]]:
        outcomes = [[0.0] * players]
        self._mark("{")
        while not self._at("}"):
            self._mark("{")
            self._string("the outcome's name in quotes")
            outcomes.append([self._number(f"the payoff of player {i}") for i in range(1, players + 1)])
            self._mark("}")
        self._mark("}")
        wanted = [f"outcome number {i} of {profiles}" for i in range(1, profiles + 1)]
        return [outcomes[self._integer(what, least=0, most=len(outcomes) - 1)] for what in wanted]

    def _number(self, wanted: str) -> float:
        value = rational(self.token["word"] or "")
        if value is None:
            self._fail(f"{wanted} (a finite decimal or fraction)")
        self._take("word", wanted)
        if self._at(","):
            self._mark(",")
        return value

    def _integer(self, wanted: str, *, least: int, most: int = 10**9) -> int:
        word = self.token["word"] or ""
        wanted = f"{wanted} (a whole number from {least}{'' if most == 10**9 else f' to {most}'})"
        if len(word) >= 12 or not (word.isascii() and word.isdigit()) or not least <= int(word) <= most:
            self._fail(wanted)
        return int(self._take("word", wanted))

    def _string(self, wanted: str) -> str:
        return _ESCAPE.sub(r"\1", self._take("text", wanted)[1:-1])

    def _mark(self, mark: str) -> None:
        self._take("mark", f"'{mark}'", mark)

    def _at(self, mark: str) -> bool:
        return self.token["mark"] == mark

    def _take(self, kind: str, wanted: str, *allowed: str) -> str:
        """Return the current token's value, which must be of a kind, and advance."""
        value = self.token[kind]
        if value is None or (allowed and value not in allowed):
            self._fail(wanted)
        self.token = next(self.tokens, self.token)
        return str(value)

    def _fail(self, wanted: str, at: re.Match[str] | None = None) -> NoReturn:
        token = at or self.token
        kind = str(token.lastgroup)
        if kind == "open":
            wanted = 'a closing quote (") for the text that begins here'
        start = token.start(kind)
        line = self.text.count("\n", 0, start) + 1
        column = start - self.text.rfind("\n", 0, start)
        actual = "the end of the file" if kind == "end" else repr(token[kind][:40])
        raise StudyError(f"line {line}, column {column}: expected {wanted}, found {actual}", file=self.file)


def _roles(players: list[str], actions: tuple[tuple[str, ...], ...], payoffs: NDArray[np.float64]) -> tuple[str, ...]:
    """Return players as roles; interchangeable ones that differ by a number ("buyer 1") share a role."""
    if any(not name.strip() for name in players):
        return ()
    matches = ((_NUMBERED.fullmatch(name), seat) for seat, name in enumerate(players))
    roles = dict(enumerate(players))
    for stem, seats in grouped((match[1], seat) for match, seat in matches if match).items():
        counted = [players[seat] for seat in seats] == [f"{stem} {i}" for i in range(1, len(seats) + 1)]
        alike = all(interchangeable(actions, payoffs, a, b) for a, b in pairwise(seats))
        if len(seats) > 1 and counted and alike and stem not in players:
            roles |= dict.fromkeys(seats, stem)
    return tuple(roles.values())
