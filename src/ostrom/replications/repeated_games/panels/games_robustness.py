"""Robustness to wording: where the variance comes from, and which conclusions hold in every framing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ostrom.analysis.robustness import OUTCOMES, Conclusion, Robustness, run_robustness
from ostrom.analysis.rundata import RunData
from ostrom.analysis.statistics import ends
from ostrom.errors import UnknownName, UsageError
from ostrom.reports.marks import dots
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MAIN, PALETTE
from ostrom.reports.words import Share, listed, pretty

SURVIVES = {True: "holds in every framing", False: "does not", None: "one framing only"}
COLOURS = dict(zip(SURVIVES.values(), (PALETTE[0], PALETTE[1], PALETTE[6]), strict=True))
MOST_DRAWN = 40


class GamesRobustness(Panel):
    """Variance shares of an outcome and the signs of its contrasts across framings.

    ``framings`` names the factors that only change the wording; by default those that set nothing but
    framings of agents.
    """

    def __init__(
        self, outcome: str = "cooperation", contrast: str = "agent", framings: Sequence[str] | None = None
    ) -> None:
        if outcome not in OUTCOMES:
            raise UnknownName("outcome", outcome, OUTCOMES)
        self.outcome, self.contrast, self.framings = outcome, contrast, framings
        self.title = f"Robustness of {pretty(outcome)} to the wording"

    def draw(self, data: RunData) -> Drawn:
        """Shares of variance, and conclusions with the framings in which they fail."""
        stated = list((data.manifest.get("imported") or {}).get("framings") or ())
        framings = (stated or wordings(data.study)) if self.framings is None else list(self.framings)
        known = [name for name in framings if name in data.factors]
        notes = [f"Not varied in this run: {listed(lost)}."] if (lost := set(framings) - set(known)) else []
        try:
            found = run_robustness(data, known, outcome=self.outcome, contrast=self.contrast)
        except UsageError as error:
            return Drawn(notes=[*notes, f"Nothing to show: {error}."])
        notes += [f"{note[0].upper()}{note[1:]}." for note in found.notes]
        figures, tables = [], []
        if found.shares is not None:
            figures.append(self._shares(found))
            tables.append(_share_table(found))
        if found.conclusions:
            figures.append(self._conclusions(found))
            tables.append(_conclusion_table(found))
            settled = [c for c in found.conclusions if c.survives is not None]
            held = sum(bool(c.survives) for c in settled)
            if settled:
                notes.insert(0, f"{held} of {len(settled)} conclusions hold in every framing.")
        return Drawn(figures, tables, notes)

    def _shares(self, found: Robustness) -> Figure:
        assert found.shares is not None
        rows = [
            {
                "label": _source(line.source), "series": "share", "mean": line.adjusted,
                "low": ends(line.ci)[0], "high": ends(line.ci)[1],
            }
            for line in found.shares.shares
        ]  # fmt: skip
        chart = dots({"": rows}, axis="share of variance (adjusted)", series={"share": MAIN}, domain=None)
        return Figure(
            f"games_robustness_{self.outcome}_shares",
            chart,
            f"Where the variance of {self.outcome} comes from, over {found.rows} players in matches. Adjusted "
            "shares (a source without effect is near 0 and may be negative) with 95 % intervals that resample "
            "matches; hollow dots have none.",
            f"Dots of variance shares of {self.outcome} by source.",
        )

    def _conclusions(self, found: Robustness) -> Figure:
        drawn = sorted(found.conclusions, key=lambda c: -abs(c.difference))[:MOST_DRAWN]
        rows = [
            {
                "label": " · ".join([f"{c.first} − {c.second}", *_levels(c)]), "series": SURVIVES[c.survives],
                "mean": c.difference, "low": c.low, "high": c.high,
            }
            for c in drawn
        ]  # fmt: skip
        kept = {name: colour for name, colour in COLOURS.items() if name in {row["series"] for row in rows}}
        chart = dots({"": rows}, axis=f"difference of {self.outcome}", series=kept, domain=None)
        more = (
            f" The largest {MOST_DRAWN} of {len(found.conclusions)}."
            if len(drawn) < len(found.conclusions)
            else ""
        )
        return Figure(
            f"games_robustness_{self.outcome}_conclusions",
            chart,
            f"Differences of {self.outcome} between two levels of {pretty(found.conclusions[0].contrast)}, with "
            "95 % intervals over matches. A conclusion holds if its sign is the same, and not zero, in every "
            f"framing.{more}",
            f"Dots of differences of {self.outcome}, coloured by whether they hold in every framing.",
        )


def wordings(study: Mapping[str, Any]) -> list[str]:
    """The factors of a study that set nothing but framings of agents.

    >>> wordings({"vary": {"game": ["a", "b"], "story": {"set": "agent.framing.story", "to": ["x", "y"]}}})
    ['story']
    """
    found = []
    for name, spec in (study.get("vary") or {}).items():
        paths = list(_paths(name, spec))
        if paths and all(".framing." in f".{path}." for path in paths):
            found.append(name)
    return found


def _paths(name: str, spec: Any) -> Iterator[str]:
    """What a factor sets: a path that it names, those of its levels, or the path that is its own name."""
    if not isinstance(spec, Mapping) or "from" in spec:
        yield name
    elif "set" in spec:
        yield from [spec["set"]] if isinstance(spec["set"], str) else spec["set"]
    else:
        for level in spec.values():
            yield from _leaves(level) if isinstance(level, Mapping) else [name]


def _leaves(level: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, value in level.items():
        path = f"{above}.{key}" if above else str(key)
        inner = isinstance(value, Mapping) and value and ".framing." not in f".{path}."
        yield from _leaves(value, path) if inner else [f"{path}."]


def _source(name: str) -> str:
    return "seeds and the rest" if name == "residual" else pretty(name).replace(" x ", " × ")


def _levels(line: Conclusion) -> list[str]:
    return [f"{pretty(k)} {pretty(v)}" for k, v in line.within.items()]


def _share_table(found: Robustness) -> Table:
    assert found.shares is not None
    rows = [
        [
            _source(line.source), Share(line.share), Share(line.adjusted), line.df,
            *(None if end is None else Share(end) for end in ends(line.ci)),
        ]
        for line in found.shares.shares
    ]  # fmt: skip
    return Table(
        f"games_robustness_{found.outcome}_shares",
        ["source", "share", "adjusted", "df", "low", "high"],
        rows,
        f"Shares of the variance of {found.outcome}; the interval is that of the adjusted share.",
    )


def _conclusion_table(found: Robustness) -> Table:
    rows = [
        [
            ", ".join(_levels(c)) or "everywhere", str(c), c.difference, c.low, c.high, c.framings, c.agreeing,
            c.survives, "; ".join(c.exceptions) or None,
        ]
        for c in found.conclusions
    ]  # fmt: skip
    return Table(
        f"games_robustness_{found.outcome}_conclusions",
        [
            "where",
            "conclusion",
            "difference",
            "low",
            "high",
            "framings",
            "agreeing",
            "holds in all",
            "not in",
        ],
        rows,
        "What can be concluded, and the framings in which it cannot.",
    )


PANEL = GamesRobustness
