"""Models that follow a rule under mechanisms: what Tewolde et al. (2026) report of capable models, and its contrary."""

import json
import re
from typing import Any

ROUND = re.compile(r"This is round (\d+)")


def _cells(text: str) -> dict[tuple[str, ...], list[float]]:
    """What every player receives, by the actions of all, the own one first."""
    lines = re.findall(r"^- If you choose .*$", text, re.MULTILINE)
    return {
        tuple(re.findall(r"chooses? (\w+)", line)): [float(n) for n in re.findall(r"receives? (-?[\d.]+)", line)]
        for line in lines
    }


def cooperative(text: str) -> tuple[str, bool]:
    """The own action of the outcome that is best for whoever has least of it, and whether leaving it does not pay."""
    cells = _cells(text)
    best = max(cells, key=lambda cell: (min(cells[cell]), sum(cells[cell])))
    leaving = [paid[0] for cell, paid in cells.items() if cell[1:] == best[1:]]
    return best[0], max(leaving) <= cells[best][0]


def _keys(text: str) -> list[str]:
    return re.findall(r'"(\w+)"', text.rstrip().rpartition("\n")[2])


class Ruled:
    """Cooperates where a mechanism makes it pay: how many of 15 rounds in repetition and with varied co-players."""

    def __init__(
        self, *, institutions: bool = True, rational: bool = True, gullible: bool = False, reciprocal: bool = True,
        repeated: int = 9, varied: int = 4,
    ) -> None:  # fmt: skip
        self.institutions, self.rational, self.gullible = institutions, rational, gullible
        self.reciprocal, self.repeated, self.varied = reciprocal, repeated, varied

    def __call__(self, request: Any) -> str:
        text = request.messages[-1].content
        keys, last = _keys(text), text.rstrip().rpartition("\n")[2]
        if "true if" in last:
            return json.dumps(dict.fromkeys(keys, self.institutions))
        numbers = all(_cells(text).values()) and _cells(text)
        actions = list(dict.fromkeys(own for own, *_ in numbers)) if numbers else keys
        # Outcomes in words: of two actions the first is cooperative, of several claims the last.
        kind, stable = cooperative(text) if numbers else (keys[0 if len(keys) == 2 else -1], False)
        selfish = actions[-1] if kind == actions[0] else actions[0]
        if "your mediator takes" in last:
            names = [key for key in keys if key.startswith("delegators")]
            return json.dumps({name: kind if name == names[-1] else selfish for name in names})
        if "your contract sets" in last:
            return json.dumps({action: 0 if action == kind else -10 for action in actions})
        options = actions + (["delegate"] if "delegate" in keys else [])
        choice = self._chosen(text, options, kind if stable == self.rational else selfish, kind, selfish)
        return json.dumps({key: 100 if key == choice else 0 for key in options})

    def _chosen(self, text: str, options: list[str], once: str, kind: str, selfish: str) -> str:
        if "You should know one thing" in text:  # words without power
            return kind if self.gullible else once
        if "delegate" in options:
            return "delegate" if self.institutions else selfish
        if "so it is in force" in text:
            return kind
        if number := ROUND.search(text):
            rounds = self.varied if "a society of players" in text else self.repeated
            newest = re.search(r"^Round \d+: .*$", text, re.MULTILINE)
            wronged = self.reciprocal and newest is not None and selfish in re.findall(r"\w+", newest[0])
            return kind if int(number[1]) <= rounds and not wronged else selfish
        return once


CAPABLE = Ruled()
CONTRARY = Ruled(institutions=False, rational=False, gullible=True, repeated=2, varied=12)
"""Cooperates once where that does not pay, refuses institutions, and believes words without power."""
LONER = Ruled(institutions=False, repeated=0, varied=0)
"""Defects everywhere: whom evolution should drive out."""
