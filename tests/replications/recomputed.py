"""Theory and figures recomputed from exported tables. This file imports nothing of Ostrom and shares no code with it.

It reads the CSV files that `ostrom export RUN --format csv` writes, and knows the formulas of the papers alone.
"""

import csv
import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, str]


def read(folder: Path, table: str) -> list[Row]:
    """The finished rows of a table."""
    usual = csv.field_size_limit(10**8)  # of the whole process: other tests rely on the usual one
    try:
        with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
            return [row for row in csv.DictReader(file) if row["state"] == "done"]
    finally:
        csv.field_size_limit(usual)


# -- mechanisms and their controls -----------------------------------------------------------------------


def effects(folder: Path, agent: str, mechanism: str) -> dict[str, float]:
    """The parts of a mechanism's effect on cooperation, from means over matches of means over players."""
    players: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in read(folder, "matches"):
        # The column `mechanism` is the factor of the study.
        if row["agent"] == agent and row["mechanism"] == mechanism and row["wording"] == "":
            players[row["control"], row["match"]].append(float(row["cooperation"]))
    arms: dict[str, list[float]] = defaultdict(list)
    for (arm, _), values in players.items():
        arms[arm].append(sum(values) / len(values))
    mean = {arm: sum(values) / len(values) for arm, values in arms.items()}
    found = {
        "total": mean["mechanism"] - mean["none"],
        "incentives": mean["induced"] - mean["none"],
        "words": mean["sham"] - mean["length"],
        "length": mean["length"] - mean["none"],
    }
    parts = found["incentives"] + found["words"] + found["length"]
    return {**found, "interaction": found["total"] - parts}


# -- said and done ---------------------------------------------------------------------------------------


def said(folder: Path) -> dict[tuple[str, str, str], tuple[float, float]]:
    """Agreement and log-loss of every memory-one table, by match, player and when it was stated."""
    rows = read(folder, "decisions")
    acts: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        if row["kind"] == "act":
            acts[row["match"], row["player"]].append((int(row["round"]), int(row["cooperative"] != "True")))
    found = {}
    for row in rows:
        stated = json.loads(row["answer"]) if row["kind"] == "state" and row["answer"].startswith("{") else {}
        if "first" not in stated:
            continue
        own = [action for _, action in sorted(acts[row["match"], row["player"]])]
        (other,) = (
            [action for _, action in sorted(of)]
            for (match, player), of in acts.items()
            if match == row["match"] and player != row["player"]
        )
        chances = [stated["first"] / 100] + [
            stated[f"after_{mine + 1}_{theirs + 1}"] / 100 for mine, theirs in zip(own[:-1], other[:-1], strict=True)
        ]
        taken = [c if action == 0 else 1 - c for c, action in zip(chances, own, strict=True)]
        loss = -sum(math.log(max(p, 0.01)) for p in taken) / len(taken)
        found[row["match"], row["player"], row["round"]] = (sum(taken) / len(taken), loss)
    return found


# -- evolving instructions -------------------------------------------------------------------------------


def generations(folder: Path) -> list[dict[str, Any]]:
    """Every generation: its number, the first sentence and the score of each member, and the heirs' first sentences."""
    matches: dict[int, list[Row]] = defaultdict(list)
    for row in read(folder, "matches"):
        matches[int(row["match"])].append(row)
    made = []
    for of in matches.values():
        facts, paid = json.loads(of[0]["facts"]), {int(row["player"]): float(row["score"]) for row in of}
        made.append(
            {
                "generation": facts["generation"],
                "now": [genome[0] for genome in facts["genomes"]],
                "next": [genome[0] for genome in facts["next"]["genomes"]] if "next" in facts else None,
                "paid": [paid[player] for player in sorted(paid)],
            }
        )  # fmt: skip
    return made


def moran(size: int, begun: int, steps: int, strength: float, paid: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Chances of 0 to ``size`` mutants after so many births: fitness exp(strength x mean payoff), all meet all.

    ``paid[i, j]``: what i (0: resident, 1: mutant) gets from meeting j.
    """
    step = np.zeros((size + 1, size + 1))
    step[0, 0] = step[size, size] = 1.0
    for mutants in range(1, size):
        others = size - mutants
        mutant = ((mutants - 1) * paid[1, 1] + others * paid[1, 0]) / (size - 1)
        resident = (mutants * paid[0, 1] + (others - 1) * paid[0, 0]) / (size - 1)
        born = mutants / (mutants + others * math.exp(strength * (resident - mutant)))
        step[mutants, mutants + 1] = born * others / size
        step[mutants, mutants - 1] = (1 - born) * mutants / size
        step[mutants, mutants] = 1 - step[mutants, mutants + 1] - step[mutants, mutants - 1]
    at: np.ndarray[Any, Any] = np.linalg.matrix_power(step, steps)[begun]
    return at


def fixation(size: int, strength: float, paid: np.ndarray[Any, Any]) -> float:
    """The chance that one mutant takes over: 1 / (1 + sum of products of fitness ratios), Nowak (2006)."""
    total, product = 1.0, 1.0
    for mutants in range(1, size):
        others = size - mutants
        mutant = ((mutants - 1) * paid[1, 1] + others * paid[1, 0]) / (size - 1)
        resident = (mutants * paid[0, 1] + (others - 1) * paid[0, 0]) / (size - 1)
        product *= math.exp(strength * (resident - mutant))
        total += product
    return 1 / total


# -- societies -------------------------------------------------------------------------------------------


def network(folder: Path) -> np.ndarray[Any, Any]:
    """The links of the first match as a matrix."""
    facts = json.loads(read(folder, "matches")[0]["facts"])
    made = np.zeros((len(facts["homes"]),) * 2)
    for one, other in facts["links"]:
        made[one, other] = made[other, one] = 1.0
    return made


def critical_ratio(links: np.ndarray[Any, Any], *, imitation: bool) -> float:
    """The b/c above which weak selection favours cooperation, from coalescence times (Allen et al. 2017).

    Under imitation a member competes with its neighbours for its own place: ancestors walk on the network with loops.
    """
    size, meet = len(links), links / links.sum(1, keepdims=True)
    looped = links + np.eye(size) if imitation else links
    walk = looped / looped.sum(1, keepdims=True)
    # t[i, j] = 1 + half of (t after a step of i) + half of (t after a step of j), and t[i, i] = 0.
    system = np.eye(size * size) - (np.kron(walk, np.eye(size)) + np.kron(np.eye(size), walk)) / 2
    right, same = np.ones(size * size), np.arange(size) * (size + 1)
    system[same], right[same] = np.eye(size * size)[same], 0.0
    times = np.linalg.solve(system, right).reshape(size, size)
    two = walk @ walk
    cost, benefit = (two * times).sum(), ((two @ meet) * times).sum() - (meet * times).sum()
    return float(cost / benefit)
