"""Models that follow a rule in the repeated games: what GPT-4 does as Akata et al. (2025) say, and its contrary."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

CELL = re.compile(
    r"^- If .*?(\w+) and the other .*?(\w+), \w+ \w+ (-?[\d.]+) .*? and the other \w+ \w+ (-?[\d.]+) ", re.MULTILINE
)
PAST = re.compile(r"^Round \d+: .*?(\w+) and \w+ -?[\d.]+ .*?; .*?(\w+) and \w+ -?[\d.]+ ", re.MULTILINE)
Payoffs = Mapping[tuple[str, str], tuple[float, float]]


@dataclass(frozen=True)
class Situation:
    """What a prompt tells: payoffs (own option, other's), the past, the number of the round."""

    text: str
    payoffs: Payoffs
    past: tuple[tuple[str, str], ...]

    @property
    def round(self) -> int:
        return len(self.past) + 1

    @property
    def options(self) -> list[str]:
        return list(dict.fromkeys(own for own, _ in self.payoffs))

    @property
    def favourite(self) -> str:
        return max(self.payoffs, key=lambda cell: self.payoffs[cell][0])[0]

    @property
    def coordination(self) -> bool:
        """Whether it is a Battle of the Sexes: nothing for whoever is alone."""
        return all(paid == (0, 0) for (own, other), paid in self.payoffs.items() if own != other)

    @property
    def dilemma(self) -> str | None:
        """The cooperative option of the Prisoner's Dilemma with the paper's payoffs."""
        return next((own for (own, other), paid in self.payoffs.items() if own == other and paid == (8, 8)), None)

    def other(self, option: str) -> str:
        return next(one for one in self.options if one != option)


def read(request: Any) -> Situation:
    """The situation of a request."""
    text = request.messages[-1].content
    payoffs = {(own, other): (float(a), float(b)) for own, other, a, b in CELL.findall(text)}
    return Situation(text, payoffs, tuple(PAST.findall(text)))


def _in_any_game(now: Situation) -> str:
    """The best for both, the best compromise where the equilibrium is bad for both, else the favourite."""
    pay, cells = now.payoffs, list(now.payoffs)
    best = max(max(paid) for paid in pay.values())
    if both := [cell for cell in cells if pay[cell] == (best, best)]:
        return both[0][0]
    nash = [
        (own, other) for own, other in cells
        if all(pay[one, other][0] <= pay[own, other][0] for one in now.options)
        and all(pay[own, two][1] <= pay[own, other][1] for _, two in cells if (own, two) in pay)
    ]  # fmt: skip
    worse = [n for n in nash if any(pay[c][0] > pay[n][0] and pay[c][1] > pay[n][1] for c in cells)]
    if nash and worse == nash:
        return max(cells, key=lambda cell: (min(pay[cell]), sum(pay[cell])))[0]
    return now.favourite


def predicted(now: Situation, watched: int, wrong: int) -> str:
    """What an alternating player does next from round ``watched`` on; before that always ``wrong``'s option."""
    steady = now.options[wrong]
    if now.round < watched:
        return steady
    return now.other(now.past[-1][1])


def gpt4(request: Any) -> str:
    """As the paper says of GPT-4."""
    text = request.messages[-1].content
    if "which you watch" in text:
        return f"[{_observed(text)}]"
    now = read(request)
    if "predict" in text:
        return f"[{predicted(now, 5, 0)}]"
    expected = re.search(r"You expect the other \w+ to \w+ (\w+)\.", text)
    return f"[{expected[1] if expected and now.coordination else _plain(now)}]"


def _observed(text: str) -> str:
    """What Player 2 does next, from round 3 on; before that always J, which is wrong in round 2."""
    seen = re.findall(r"^Round \d+: .*?; Player 2 \w+ (\w+) and ", text, re.MULTILINE)
    return ("F" if seen[-1] == "J" else "J") if len(seen) >= 2 else "J"


def _plain(now: Situation) -> str:
    if now.coordination:
        return now.favourite
    if (kind := now.dilemma) is not None:
        selfish = now.other(kind)
        if "exactly once" in now.text:
            return selfish
        if "may slip" in now.text:
            return kind
        # The two wordings in which it forgives after a while.
        if (
            {"R", "H"} == set(now.options)
            and "coins" not in now.text
            and "You play a game" in now.text
            and now.round > 3
        ):
            return kind
        return selfish if any(other == selfish for _, other in now.past) else kind
    return _in_any_game(now)


def contrary(request: Any) -> str:
    """Forgives, takes turns but for coins, never predicts, and does worst where all could win."""
    text = request.messages[-1].content
    if "which you watch" in text:
        return f"[{'J' if _observed(text) == 'F' else 'F'}]"
    now = read(request)
    if "predict" in text:
        return f"[{now.past[-1][1] if now.past else now.other(now.favourite)}]"
    if expected := re.search(r"You expect the other \w+ to \w+ (\w+)\.", text):
        return f"[{now.other(expected[1]) if now.coordination else now.options[0]}]"
    if now.coordination:
        turns = now.other(now.past[-1][1]) if now.past else now.favourite
        return f"[{now.favourite if 'coins' in text else turns}]"
    if (kind := now.dilemma) is not None:
        return f"[{now.other(kind) if 'may slip' in text else kind}]"
    best = max(now.payoffs, key=lambda cell: (min(now.payoffs[cell]), sum(now.payoffs[cell])))
    opposite = _in_any_game(now) == best[0] and _in_any_game(now) != now.favourite
    return f"[{now.other(best[0]) if opposite or min(now.payoffs[best]) == 4 else best[0]}]"


Rule = Callable[[Any], str]
RULES: Mapping[str, Rule] = {"gpt4": gpt4, "contrary": contrary}
