"""Robustness: where the variance of an outcome comes from, and which conclusions hold in every wording.

The variance is decomposed over framings, other factors, agents, opponents, seats and drawn labels; the rest
is seeds and chance. A conclusion is the sign of a difference between two levels (two agents, two levels of a
factor). It survives if the difference surely has that sign in every framing, it falls if one framing surely
has the other sign, and otherwise it is undecided at this sample size.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.analysis.intervals import Bounds
from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.population import ALL
from ostrom.analysis.statistics import StatisticsError
from ostrom.analysis.units import Observation, observations, per_match
from ostrom.analysis.verdicts import Answer, Verdicts, above, all_of
from ostrom.data.rundata import RunData
from ostrom.features.robustness.variance_shares import VarianceShares, variance_shares
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.ground.streams import Streams
from ostrom.ground.values import grouped

MOST_COLUMNS = 400
"""Interactions with more columns than this are left out: they would fit noise and take too long."""
ROUNDING = 1e-12
"""Differences below this are zero."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The difference between two levels of a column, over all framings and in each of them."""

    within: Mapping[str, Any]
    """The levels of the factors that are no framings, under which the difference is taken."""
    contrast: str
    first: str
    second: str
    difference: Estimate
    """The mean difference over framings with equal weights."""
    framings: int
    """The number of framings in which both levels were observed."""
    agreeing: int
    """The number of framings with the same observed sign as the mean."""
    survives: Answer | None
    """Whether the sign holds in every framing; None with fewer than two framings."""
    exceptions: tuple[str, ...]
    """Framings in which the observed sign is opposite, or zero."""

    @property
    def size(self) -> float:
        """Return the absolute difference."""
        return abs(self.difference.value)

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        one = self.difference
        return {
            "within": dict(self.within), "contrast": self.contrast, "first": self.first, "second": self.second,
            "difference": one.value, "low": one.low, "high": one.high, "matches": one.n, "method": one.method,
            "note": one.note, "framings": self.framings, "agreeing": self.agreeing, "survives": self.survives,
            "exceptions": list(self.exceptions),
        }  # fmt: skip

    def __str__(self) -> str:
        value = self.difference.value
        sign = "=" if abs(value) < ROUNDING else ">" if value > 0 else "<"
        if self.survives is None:
            return f"{self.first} {sign} {self.second} in the only framing"
        how = "in all" if self.agreeing == self.framings else f"in {self.agreeing} of"
        return f"{self.first} {sign} {self.second} {how} {self.framings} framings"


@dataclass(frozen=True, slots=True)
class Robustness:
    """The sources of variance of an outcome, and its conclusions."""

    outcome: str
    unit: str
    rows: int
    agents: tuple[str, ...]
    framings: tuple[str, ...]
    shares: VarianceShares | None
    conclusions: tuple[Conclusion, ...]
    control: str
    """The number of comparisons and their error control, in words."""
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            "outcome": self.outcome,
            "unit": self.unit,
            "rows": self.rows,
            "agents": list(self.agents),
            "framings": list(self.framings),
            "shares": None if self.shares is None else self.shares.rows(),
            "conclusions": [c.as_dict() for c in self.conclusions],
            "control": self.control,
            "notes": list(self.notes),
        }


def robustness(
    data: RunData,
    framings: Sequence[str] | None = None,
    *,
    outcome: str = "cooperation",
    contrast: str = "agent",
    agents: Sequence[str] = (),
) -> Robustness:
    """Compute the robustness of a measure in a run.

    ``framings`` are the factors that only change the wording, by default ``wordings_of(data)``; labels that were
    drawn per match count as one more. Scripts do not read: where there are others, scripts are left out unless
    ``agents`` names them.
    """
    measure, factors = measures.named(outcome), list(data.factors)
    wording = list(wordings_of(data) if framings is None else framings)
    if drawn := _drawn_labels(data):
        measure = _labelled(measure, drawn)
        factors, wording = [*factors, "labels"], [*wording, "labels"]
    observed = observations(data, measure, agents=ALL)
    for name in (*wording, contrast):
        if name not in observed.columns:
            raise UnknownName("column", name, observed.columns)
    notes: list[str] = []
    rows = _readers(observed.rows, agents, notes)
    if len(rows) < 3:
        raise UsageError(f"there are {len(rows)} players of finished matches with a {outcome}: too few")
    framing = [name for name in wording if len({row[name] for row in rows}) > 1]
    shares = _shares(rows, [*factors, "agent", "opponents", "seat"], notes)
    conclusions, control = _conclusions(data, measure, rows, contrast, factors, framing, notes)
    names = tuple(dict.fromkeys(row["agent"] for row in rows))
    return Robustness(
        outcome, "player in a match", len(rows), names, tuple(framing), shares, conclusions, control,
        tuple(notes),
    )  # fmt: skip


def wordings_of(data: RunData) -> list[str]:
    """The factors of a run that only change the wording; of an imported run those that its mapping names, or all."""
    imported = data.manifest.get("imported")
    if imported is None:
        return [name for name in wordings(data.study) if name in data.factors]
    return list(imported.get("framings") or data.factors)


def wordings(study: Mapping[str, Any]) -> list[str]:
    """Return the factors of a study that change framings alone.

    >>> wordings({"vary": {"game": ["a", "b"], "story": {"set": "agent.framing.story", "to": ["x", "y"]}}})
    ['story']
    """
    changed = {name: list(_paths(name, spec)) for name, spec in (study.get("vary") or {}).items()}
    return [name for name, paths in changed.items() if paths and all(".framing." in f".{path}." for path in paths)]


def _paths(name: str, spec: Any) -> Iterator[str]:
    """Yield the settings that a factor changes: the paths it names, those of its levels, or its own name."""
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


def _drawn_labels(data: RunData) -> dict[int, str]:
    """The labels of options by match, where they were drawn and not varied."""
    if "labels" in data.factors:
        return {}
    rows = data.records(
        "SELECT match, min(list_sort(options::VARCHAR[])::VARCHAR) AS labels FROM "
        "(SELECT match, from_json(options, '[\"VARCHAR\"]') AS options FROM decisions "
        "WHERE kind = 'act' AND state = 'done' AND options IS NOT NULL) GROUP BY match"
    )
    labels_by_match = {row["match"]: row["labels"] for row in rows}
    return labels_by_match if len(set(labels_by_match.values())) > 1 else {}


def _labelled(measure: Measure, drawn: Mapping[int, str]) -> Measure:
    def values(data: RunData) -> Iterator[dict[str, Any]]:
        return ({**row, "labels": drawn[row["match"]]} for row in measure.rows(data) if row["match"] in drawn)

    return replace(measure, values=values)


def _readers(rows: Sequence[Observation], agents: Sequence[str], notes: list[str]) -> tuple[Observation, ...]:
    """Return the values of agents that read prompts: the named ones, or all but scripts."""
    agent_names = list(dict.fromkeys(row["agent"] for row in rows))
    for name in agents:
        if name not in agent_names:
            raise UnknownName("agent", name, agent_names)
    if agents:
        return tuple(row for row in rows if row["agent"] in agents)
    reading = tuple(row for row in rows if row["strategy"] is None)
    if reading and len(reading) < len(rows):
        notes.append("scripted players are left out: they do not read (--agent names them)")
    return reading or tuple(rows)


def _shares(rows: Sequence[Observation], names: Sequence[str], notes: list[str]) -> VarianceShares | None:
    columns: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        labels = ["none" if row[name] is None else str(row[name]) for row in rows]
        if len(set(labels)) < 2:
            continue
        twin = next((other for other, seen in columns.items() if _same_split(labels, seen)), None)
        if twin is not None:
            notes.append(f"{name} goes with {twin} from row to row: their shares cannot be told apart")
            continue
        columns[name] = labels
    if not columns:
        notes.append("nothing was varied: there is no variance to decompose")
        return None
    widths = [len(set(labels)) - 1 for labels in columns.values()]
    pairs = sum(a * b for a, b in combinations(widths, 2))
    if sum(widths) + pairs > MOST_COLUMNS:
        notes.append("interactions are left out: there are too many combinations of levels")
    try:
        return variance_shares(
            [row.value for row in rows],
            columns,
            unit="player in a match",
            interactions=sum(widths) + pairs <= MOST_COLUMNS,
            clusters=[(row["run"], row["match"]) for row in rows],
            rng=Streams(0, len(rows)).generator(0, 0, "robustness"),
        )
    except StatisticsError as error:
        notes.append(str(error))
        return None


def _same_split(one: Sequence[str], other: Sequence[str]) -> bool:
    return len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


def _conclusions(
    data: RunData, measure: Measure, rows: Sequence[Observation], contrast: str, factors: Sequence[str],
    framing: Sequence[str], notes: list[str],
) -> tuple[tuple[Conclusion, ...], str]:  # fmt: skip
    levels = list(dict.fromkeys(row[contrast] for row in rows))
    if len(levels) < 2:
        notes.append(f"{contrast} has one level: there is nothing to compare")
        return (), ""
    wording = [name for name in framing if name != contrast]
    if not wording:
        notes.append("no framing was varied: nothing that a conclusion could survive")
    fixed = [
        name for name in factors
        if name not in framing and name != contrast and len({row[name] for row in rows}) > 1
    ]  # fmt: skip
    gaps = _gaps(measure, rows, contrast, levels, fixed, wording)
    parts = grouped(
        (tuple(one.key.values())[:-1], one) for one in estimate(data, gaps, [*fixed, "first", "second", "framing"])
    )
    # Every comparison tests whether the sign of the mean over all framings is the true one.
    verdicts = above([one for part in parts.values() if len(part) > 1 for one in part])
    conclusions, at = [], 0
    for overall in estimate(data, gaps, [*fixed, "first", "second"], balance=["framing"]):
        *key, first, second = overall.key.values()
        part = parts[*key, first, second]
        many = len(part) if len(part) > 1 else 0
        own = replace(verdicts, verdicts=verdicts.verdicts[at : at + many])
        at += many
        against = tuple(one.key["framing"] for one in part if one.value < ROUNDING)
        if levels.index(first) > levels.index(second):
            first, second, overall = second, first, _negated(overall)
        conclusions.append(
            Conclusion(
                dict(zip(fixed, key, strict=True)), contrast, str(first), str(second), overall, len(part),
                len(part) - len(against), _survives(own) if many else None, against,
            )
        )  # fmt: skip
    return tuple(conclusions), verdicts.control if len(verdicts) else ""


def _negated(one: Estimate) -> Estimate:
    low, high = (None if end is None else -end for end in (one.high, one.low))
    return replace(one, value=-one.value, low=low, high=high, inference=None)


def _survives(verdicts: Verdicts) -> Answer:
    """Return whether a difference has the same sign in every framing; an exact zero is no sign."""
    exact = any(v.estimate.method == "exact" and v.estimate.value < ROUNDING for v in verdicts)
    return "no" if exact else all_of(verdicts)


def _gaps(
    measure: Measure, rows: Sequence[Observation], contrast: str, levels: Sequence[Any], fixed: Sequence[str],
    wording: Sequence[str],
) -> Measure:  # fmt: skip
    """Return a measure of each match's contribution to the difference of each pair of levels in its framing.

    Both levels may meet in one match (two agents), so that a match adds to both means. Its value is its part of
    the difference times the number of matches: the mean over matches is the difference of the means over players.
    """
    cells: dict[tuple[Any, ...], dict[tuple[Any, ...], dict[Any, list[Observation]]]] = {}
    for row in rows:
        place, words = (tuple(row[name] for name in names) for names in (fixed, wording))
        cells.setdefault(place, {}).setdefault(words, {}).setdefault(row[contrast], []).append(row)
    gap_rows: list[dict[str, Any]] = []
    bounds: dict[int, Bounds] = {}
    for framings in cells.values():
        for pair in combinations(levels, 2):
            both = {words: of for words, of in framings.items() if pair[0] in of and pair[1] in of}
            gaps = [_mean(of[pair[0]]) - _mean(of[pair[1]]) for of in both.values()]
            first, second = pair if sum(gaps) >= 0 else pair[::-1]
            for words, of in both.items():
                named = ", ".join(f"{n} {v}" for n, v in zip(wording, words, strict=True)) or "all"
                signs = {first: 1 / len(of[first]), second: -1 / len(of[second])}
                units = per_match((*of[first], *of[second]))
                for (_, match), unit in units.items():
                    pulls = [(len(units) * signs[row[contrast]], row) for row in unit.rows]
                    value = math.fsum(pull * row.value for pull, row in pulls)
                    bounds[match] = _widest(bounds.get(match), pulls)
                    gap_rows.append(
                        {"match": match, "value": value, "first": first, "second": second, "framing": named}
                    )
    return Measure(
        "difference", f"Difference of {measure.title.lower()}", "number", measure.definition,
        lambda data: gap_rows, bounds=lambda data: bounds.__getitem__, unit=measure.unit,  # noqa: ARG005
    )  # fmt: skip


def _mean(rows: Sequence[Observation]) -> float:
    return math.fsum(row.value for row in rows) / len(rows)


def _widest(earlier: Bounds | None, pulls: Sequence[tuple[float, Observation]]) -> Bounds:
    """Return the bounds of a weighted sum of values, widened to contain the bounds ``earlier``."""
    if any(None in row.bounds for _, row in pulls) or (earlier is not None and None in earlier):
        return None, None
    ends = [[pull * (end or 0.0) for end in row.bounds] for pull, row in pulls]
    low, high = sum(map(min, ends)), sum(map(max, ends))
    return (low, high) if earlier is None else (min(low, earlier[0] or 0.0), max(high, earlier[1] or 0.0))
