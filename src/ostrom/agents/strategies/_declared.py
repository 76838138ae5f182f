"""Strategies stated as a table: five chances of cooperating, or a number of tolerated defections.

A rule of memory one is its chances of cooperating in the first round and after each outcome of the last one (Nowak and
Sigmund 1993), the own move first: ``first, CC, CD, DC, DD``. The names of the table are those that studies use.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeAlias

from ostrom.agents.past import Past
from ostrom.agents.strategies._dilemma import Grim
from ostrom.agents.strategy import C, D, Reciprocator, Strategy, Tolerance
from ostrom.ground.parameters import Share, checked
from ostrom.ground.values import value

Chances: TypeAlias = tuple[float, float, float, float, float]
"""The chance of cooperating in the first round, and after CC, CD, DC and DD."""


@value
class MemoryOne:
    """A rule that looks at the last round alone."""

    title: str
    citation: str
    what: str
    chances: Chances | Callable[[float], Chances]
    """The chances, or a function of the parameter p."""
    p: float | None = None
    """The default of p, if the strategy has it."""


@value
class Provoked:
    """A rule that defects if the other defected in one of the last ``rounds`` rounds (``throughout``: in all)."""

    title: str
    citation: str
    what: str
    rounds: int
    throughout: bool = False


RULES: dict[str, MemoryOne | Provoked] = {
    "cooperator": MemoryOne("Cooperator", "Axelrod (1984)", "Cooperate always.", (C, C, C, C, C)),
    "defector": MemoryOne("Defector", "Axelrod (1984)", "Defect always.", (D, D, D, D, D)),
    "defect_once": MemoryOne(
        "Defect Once", "Akata et al. (2025)", "Defect in the first round, then cooperate.", (D, C, C, C, C)
    ),
    "tit_for_tat": MemoryOne(
        "Tit for Tat",
        "Rapoport, in Axelrod (1980)",
        "Cooperate first, then do what the other did last.",
        (C, C, D, C, D),
    ),
    "suspicious_tit_for_tat": MemoryOne(
        "Suspicious Tit for Tat",
        "Boyd and Lorberbaum (1987)",
        "Defect first, then do what the other did last.",
        (D, C, D, C, D),
    ),
    "reverse_tit_for_tat": MemoryOne(
        "Reverse Tit for Tat",
        "Nachbar (1992)",
        "Defect first, then do the opposite of what the other did last.\n\n"
        "The Axelrod library calls it Bully; its AntiTitForTat is the same but for a cooperative start.",
        (D, D, C, D, C),
    ),
    "win_stay_lose_shift": MemoryOne(
        "Win-Stay Lose-Shift",
        "Kraines and Kraines (1989); Nowak and Sigmund (1993)",
        "Cooperate first, then repeat the last move if the other cooperated and change it if not.",
        (C, C, D, D, C),
    ),
    "firm_but_fair": MemoryOne(
        "Firm but Fair",
        "Frean (1994)",
        "Tit for tat that, once both have defected, offers cooperation with chance p (two thirds).",
        lambda p: (C, C, D, C, p),
        p=2 / 3,
    ),
    "joss": MemoryOne(
        "Joss",
        "Joss, in Axelrod (1980)",
        "Cooperate first; answer cooperation with cooperation with chance p only, defection with defection.",
        lambda p: (C, p, D, p, D),
        p=0.9,
    ),
    "naive_prober": MemoryOne(
        "Naive Prober",
        "Li, Hingston and Kendall (2011)",
        "Tit for tat that, after the first round, defects with chance p where it would cooperate.",
        lambda p: (C, 1 - p, D, 1 - p, D),
        p=0.1,
    ),
    "tit_for_two_tats": Provoked(
        "Tit for Two Tats",
        "Axelrod (1980)",
        "Defect only if the other defected in both of the last two rounds.",
        rounds=2,
        throughout=True,
    ),
    "two_tits_for_tat": Provoked(
        "Two Tits for Tat", "Axelrod (1984)", "Defect if the other defected in any of the last two rounds.", rounds=2
    ),
    "hard_tit_for_tat": Provoked(
        "Hard Tit for Tat",
        "Akata et al. (2025)",
        "Defect if the other defected in any of the last three rounds.",
        rounds=3,
    ),
}
"""Every declared strategy by its name."""


class _ByChances(Protocol):
    """A strategy of memory one."""

    chances: Chances


# One function per number of moves that matter: unneeded moves are not read, for speed.
def _by_none(self: _ByChances, past: Past) -> float:
    """Return the first chance, then the one common to all outcomes."""
    return self.chances[1 if past.rounds else 0]


def _by_other(self: _ByChances, past: Past) -> float:
    """Return the chance after the other's last move."""
    return self.chances[2 - past.cooperated(-1) if past.rounds else 0]


def _by_both(self: _ByChances, past: Past) -> float:
    """Return the chance after the last round."""
    return self.chances[4 - past.cooperated(-1) - 2 * past.i_cooperated(-1) if past.rounds else 0]


MOVES = (_by_none, _by_other, _by_both)


class _ByProvocation(Reciprocator):
    """A strategy that looks for defections in the last rounds."""

    rounds: ClassVar[int]
    throughout: ClassVar[bool]

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        if self.throughout:
            return D if past.defected_throughout(self.rounds) else C
        return C if past.cooperated_throughout(self.rounds) else D


def strategy_of(name: str, rule: MemoryOne | Provoked) -> type[Strategy]:
    """Build the class of a declared strategy."""
    own: dict[str, Any] = {"title": rule.title, "citation": rule.citation, "__doc__": rule.what, "name": name}
    if isinstance(rule, Provoked):
        own |= {"throughout": rule.throughout, "rounds": rule.rounds, "memory_depth": rule.rounds}
        return type(_class_name(rule.title), (_ByProvocation,), own)
    if isinstance(rule.chances, tuple):
        looks = _looks(rule.chances)
        own |= {"chances": rule.chances, "memory_depth": int(len(set(rule.chances)) > 1)}
    else:
        looks = _looks(rule.chances(0.5))
        own |= {"memory_depth": 1, "__init__": _with_chance(rule.chances, rule.p)}
    return type(_class_name(rule.title), (Reciprocator if looks else Strategy,), {**own, "move": MOVES[looks]})


def _class_name(title: str) -> str:
    return title.title().replace(" ", "").replace("-", "")


def _looks(chances: Chances) -> int:
    """Return 0 if the last round does not matter, 1 if only the other's move does, 2 if both do."""
    _, cc, cd, dc, dd = chances
    return 2 if (cc, cd) != (dc, dd) else int(cc != cd)


def _with_chance(chances: Callable[[float], Chances], usual: Any) -> Any:
    """Return the constructor of a strategy with a parameter p."""

    @checked
    def __init__(self: Any, p: Share = usual, *, tolerance: Tolerance = 0) -> None:
        self.tolerance = tolerance
        self.p = float(p)
        self.chances = chances(self.p)
        self.stochastic = 0 < self.p < 1

    return __init__


DECLARED: dict[str, type[Strategy]] = {name: strategy_of(name, rule) for name, rule in RULES.items()}
# The Axelrod library's names for two of ours.
DECLARED |= {"bully": DECLARED["reverse_tit_for_tat"], "grudger": Grim}
