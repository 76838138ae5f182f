"""Keywords and contradictions of the personas study (Manoranjan & Gaikwad 2026), beyond ``claims.yaml``."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from ostrom.analysis.claims import DeclaredReference, own_figure
from ostrom.analysis.determinism import Determinism
from ostrom.analysis.estimate import estimate
from ostrom.analysis.references import Games, RunFigure
from ostrom.data.rundata import RunData
from ostrom.ground.yaml import read_yaml
from ostrom.replications.personas.keywords import keyword_counts
from ostrom.replications.personas.profiles import ACTED, played


@cache
def contradictions() -> tuple[dict[str, Any], ...]:
    """Return the paper's contradictions: statement, counter-evidence, and figures.

    >>> [c["figures"][0]["implied"] for c in contradictions() if c["id"] == "table-12-mistral"]
    [-40.0]
    """
    return tuple(
        read_yaml(files(__package__).joinpath("contradictions.yaml").read_text(encoding="utf-8"), "contradictions.yaml")
    )


def disputed(row: Mapping[str, Any]) -> list[str]:
    """Return the ids of the contradictions that make a published figure doubtful."""
    return [item["id"] for item in contradictions() if any(selects(rule, row) for rule in item.get("doubted", ()))]


def selects(rule: Mapping[str, str], row: Mapping[str, Any]) -> bool:
    """Return whether a figure matches all columns of a rule."""
    return all(str(row[key]) == wanted for key, wanted in rule.items())


def told(item: Mapping[str, Any]) -> str:
    """Return a contradiction in one line."""
    figures = [f"{f['what']}: stated {f['stated']:g}, implied {f['implied']:g}" for f in item["figures"]]
    tail = f" ({'; '.join(figures)})" if figures else ""
    return f"{item['stated']} But: {item['against']}{tail}"


CLASSES = ("economic", "environmental")
RATIONALES = 1060
"""The paper's rationales per cell: 53 scenarios, five repetitions, four roles."""


class Personas(DeclaredReference):
    """The doubts from contradictions of the paper, and remarks that name them."""

    def doubts(self, row: Mapping[str, str]) -> tuple[str, ...]:
        """Return the doubts about a figure that other parts of the paper contradict."""
        reasons = {item["id"]: item["against"] for item in contradictions()}
        return super().doubts(row) or tuple(f"CONFLICT: {reasons[name]}" for name in disputed(row))

    def remarks(self, data: RunData, games: Games) -> list[str]:
        """Return differences from the paper, and its contradictions."""
        return [
            *super().remarks(data, games),
            *(f"The paper contradicts itself. {told(item)}" for item in contradictions()),
        ]


def keyword_figures(data: RunData, games: Games) -> Iterator[RunFigure]:
    """Yield the keyword figures; counts of mentions need as many rationales as the paper had."""
    if not {"persona", "payoffs"} <= set(data.factors) or "rationale" not in data.columns("decisions"):
        return
    matches = {p.match for p in played(data.records(ACTED), games.of, Determinism(data.unit))}
    by = ("agent", "persona", "payoffs")
    of = {
        row["match"]: tuple(str(row[name]) for name in by)
        for row in data.records("SELECT DISTINCT match, agent, persona, payoffs FROM matches")
        if row["match"] in matches
    }
    played_of = Counter(of.values())
    for measure, suffix, scale in (("keyword_rate", "per_1000", 1.0), ("keyword_share", "share", 100.0)):
        for e in estimate(data, measure, [*by, "category"], where={"scenario_class": list(CLASSES)}):
            cell = (str(e.key["payoffs"]), str(e.key["persona"]), "all", f"{e.key['category']}_{suffix}")
            yield replace(own_figure(cell, e, scale), matches=played_of[tuple(str(e.key[name]) for name in by)])
    mentions: Counter[tuple[str, ...]] = Counter()
    rationales: Counter[tuple[str, ...]] = Counter()
    for key, counts in keyword_counts(data):
        if (group := of.get(key["match"])) is not None:
            rationales[group] += 1
            mentions.update({(*group, category): n for category, n in counts.items()})
    for (agent, persona, payoffs, category), n in mentions.items():
        if rationales[agent, persona, payoffs] == RATIONALES:
            cell = (payoffs, persona, "all", f"{category}_mentions")
            yield RunFigure(cell, agent, float(n), None, None, None, played_of[agent, persona, payoffs])
