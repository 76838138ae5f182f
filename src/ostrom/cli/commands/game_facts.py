"""The facts about a game, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def game_in_words(facts: dict[str, Any]) -> dict[str, str]:
    """What `ostrom show game` prints below the payoffs."""
    told = {"name": str(facts["name"]), "source": str(facts.get("citation") or "")}
    if facts.get("params"):
        told["parameters"] = ", ".join(f"{name}={_plain(value)}" for name, value in facts["params"].items())
    if any(facts["cooperative"]):
        told["cooperative"] = ", ".join(dict.fromkeys(str(a) for a in facts["cooperative"] if a))
    told["equilibria"] = "; ".join([*_pure(facts), *_mixed(facts)]) or "none in pure strategies"
    told["dominated"] = "; ".join(
        f"{d['action']} by {d['by']} (seat {d['seat']}{'' if d['strict'] else ', weakly'})"
        for d in facts.get("dominated") or ()
    )
    best = facts.get("social_optimum") or {}
    told["social optimum"] = _profiles(best.get("profiles"))
    told["Pareto efficient"] = _profiles(facts.get("pareto"))
    if any(facts["cooperative"]):
        needed = facts.get("least_continuation")
        told["cooperation in equilibrium"] = (
            "not by the threat that all defect" if needed is None else
            "in one play" if needed == 0 else f"repeated, from a chance of {needed:.3g} of another round on"
        )  # fmt: skip
    if facts.get("ordinal"):
        game = facts["ordinal"]
        told["as a 2x2 game"] = (
            f"number {game['number']}, {game['label'] or 'unnamed'}, family {game['family']}"
        )
    return {name: text for name, text in told.items() if text}


def _pure(facts: dict[str, Any]) -> list[str]:
    return [
        f"{', '.join(e['profile'])} ({'strict' if e['strict'] else 'weak'}, pays {_numbers(e['payoffs'])})"
        for e in facts["equilibria"]["pure"]
    ]


def _mixed(facts: dict[str, Any]) -> list[str]:
    """Equilibria in which somebody mixes: points alone; pieces are told in the JSON."""
    found = facts["equilibria"].get("all")
    if not found:
        return []
    if found["degenerate"]:
        return ["and whole pieces of mixed ones (see --json)"]
    first = [names[0] for names in facts["actions"]]
    told = []
    for piece in found["pieces"]:
        for corner in piece["corners"]:
            chances = [mixture[0] for mixture in corner["mixtures"]]
            if any(0 < chance < 1 for chance in chances):
                odds = ", ".join(f"{name} {chance:.3g}" for name, chance in zip(first, chances, strict=True))
                told.append(f"mixed: {odds} (pays {_numbers(corner['payoffs'])})")
    return told


def _profiles(profiles: Any) -> str:
    return "; ".join(", ".join(profile) for profile in profiles or ())


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)


def _plain(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)
