"""Registered runs: their status (confirmatory or exploratory), deviations and registered tests.

Whatever prints figures of a run asks here, so all of it says the same. Deviations are read from the
run: its manifest, its sealed journal and the record of looks. Nobody is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.estimate import Estimate, contrast
from ostrom.analysis.registration import (
    RegisteredContrast,
    Registration,
    changed_prompts,
    registration_of,
    same_but_model,
    seconds,
)
from ostrom.analysis.statistics.result import fixed
from ostrom.analysis.statistics.samples import ROUNDING
from ostrom.analysis.stopping import first_seeds
from ostrom.analysis.units import Where
from ostrom.data.early_looks import counted_looks, goes_on
from ostrom.data.rundata import RunData
from ostrom.engine.folder import FREE_TO_CHANGE, MANIFEST, MAY_GROW, Folder, differences
from ostrom.ground.errors import OstromError, RunError
from ostrom.ground.results import TextItem, TextTable
from ostrom.ground.words import how_many, join_words

LIMITS = (
    "No tool can see runs and registrations that were thrown away, a clock that was set back, another model behind the "
    "same name, a look at a copy of the run, at single matches or at files with other tools, a record of looks that "
    "was removed, or whether a rule that picks a model was followed. The hash, where it was published, is the clock: "
    "compare it and its date."
)
DESIGN = ("study", "prompts", "models")
"""Kinds of deviations by which something else was played than was registered."""
MOST_LISTED = 5
MOST_RUNS = 1000
"""The most sibling folders searched for runs with the same registration."""


@dataclass(frozen=True)
class RunDeviation:
    """One deviation of a run from its registration."""

    kind: str
    text: str

    def as_dict(self) -> dict[str, str]:
        """Return this as plain data, for JSON."""
        return {"kind": self.kind, "text": self.text}


@dataclass(frozen=True)
class RegisteredResult:
    """The result of the registered test of one contrast."""

    role: str
    contrast: RegisteredContrast
    verdict: str
    """support, absence, contradiction, undecided, or not judged."""
    estimate: Estimate | None
    """The estimate with the interval for support."""
    within: Estimate | None
    """The estimate with the interval for absence; None if no smallest effect is registered."""
    note: str = ""

    @property
    def value(self) -> str:
        """Return the difference with its interval."""
        if self.estimate is None:
            return ""
        one = self.estimate
        ends = "no interval" if one.low is None or one.high is None else f"{fixed(one.low, 3)} to {fixed(one.high, 3)}"
        return f"{fixed(one.value, 3)} ({one.level:.4g}: {ends}; {one.sample})"

    @property
    def equivalence(self) -> str:
        """Return the interval of the equivalence test and its margin."""
        margin, one = self.contrast.smallest, self.within
        if margin is None:
            return "no smallest effect was registered, so absence cannot be found"
        if one is None or one.low is None or one.high is None:
            return ""
        return f"within ±{margin:g}? {one.level:.4g}: {fixed(one.low, 3)} to {fixed(one.high, 3)}"

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        ends = None if self.within is None else [self.within.level, self.within.low, self.within.high]
        return {
            "role": self.role, "statement": self.contrast.words, **self.contrast.model_dump(mode="json"),
            "verdict": self.verdict, "estimate": None if self.estimate is None else self.estimate.as_dict(),
            "equivalence": None if ends is None else dict(zip(("level", "low", "high"), ends, strict=True)),
            "note": self.note,
        }  # fmt: skip


@dataclass(frozen=True)
class RegisteredRun:
    """A run and its registration."""

    run: str
    registration: Registration
    complete: bool
    reasons: tuple[str, ...]
    """The reasons why no result is confirmatory; empty if registered contrasts are."""
    deviations: tuple[RunDeviation, ...]
    results: tuple[RegisteredResult, ...]
    others: tuple[str, ...] = ()
    """Other runs in the same folder with the same registration."""

    @property
    def status(self) -> str:
        """Return confirmatory or exploratory; for an incomplete run, what its registered contrasts will be."""
        return "exploratory" if self.reasons else "confirmatory"

    @property
    def heading(self) -> str:
        """Return the status in one line."""
        many = how_many(len(self.deviations), "deviation") if self.deviations else "no deviation found"
        state = "" if self.complete else ", not complete: its registered contrasts are judged when it is"
        head = f"{self.status.capitalize()}{state}, {many}"
        return f"{head}; registration {self.registration.hash[:16]} of {self.registration.created}."

    @property
    def lines(self) -> list[str]:
        """Return the heading, the reasons for exploratory status, and every deviation."""
        return [
            self.heading,
            *(f"Exploratory because {reason}." for reason in self.reasons),
            *(f"Deviation ({one.kind}): {one.text}." for one in self.deviations),
            *([f"Bound to the same registration too: {join_words(list(self.others))}."] if self.others else []),
        ]

    def text(self) -> Iterator[TextItem]:
        """The registered tests of the run as a table, then its lines."""
        yield TextTable(
            f"{self.run}: registered contrasts",
            ["role", "statement", "verdict", "difference", "equivalence", "note"],
            [
                [of.role, of.contrast.words, of.verdict, of.value or None, of.equivalence or None, of.note or None]
                for of in self.results
            ],
        )  # fmt: skip
        yield from self.lines

    def label(self, data: RunData, question: AskedContrast) -> str:
        """Return confirmatory if the query is a registered contrast of the registered data at its level."""
        if self.reasons or not self.complete or any(one.kind == "seeds" for one in self.deviations):
            return "exploratory"
        for one in self.results:
            registered, level = one.contrast, self.registration.level_of(one.role)
            same = (
                _spaceless(registered.contrast) == _spaceless(question.contrast)
                and registered.measure == question.measure
            )
            if same and self.registration.sample.interval == "fixed" and abs(level - question.level) < ROUNDING:
                with suppress(OstromError):
                    if registered.query.condition(data) == question.where:
                        return "confirmatory"
        return "exploratory"

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            "run": self.run, "hash": self.registration.hash, "created": self.registration.created,
            "status": self.status, "complete": self.complete, "reasons": list(self.reasons),
            "deviations": [one.as_dict() for one in self.deviations],
            "contrasts": [one.as_dict() for one in self.results], "others": list(self.others), "limits": LIMITS,
        }  # fmt: skip


def registered_run(data: RunData) -> RegisteredRun | None:
    """Return the registration status of a run; None for a run without registration."""
    if (content := data.manifest.get("registered")) is None:
        return None
    return checked_against(data, registration_of(dict(content), str(data.folder / "run.json"), "registered"))


def checked_against(data: RunData, registration: Registration) -> RegisteredRun:
    """Check a run against a registration, which need not be its own."""
    bound = data.manifest.get("registered") or {}
    deviations = tuple(find_deviations(data, registration))
    reasons = []
    if bound.get("hash") != registration.hash:
        reasons.append(
            "the run is bound to another registration" if bound else "the run was played without this registration"
        )
    if registration.kind != "confirmatory":
        reasons.append("the registration was made for a run that had been played")
    elif (first := _begun(data)) < registration.time:
        reasons.append(f"the run began {registration.time - first:,.0f} s before the registration was made")
    if kinds := [kind for kind in DESIGN if any(one.kind == kind for one in deviations)]:
        reasons.append(f"something else was played than was registered ({join_words(kinds)})")
    complete = not _open_matches(data)
    return RegisteredRun(
        data.name,
        registration,
        complete,
        tuple(reasons),
        deviations,
        tuple(_results(data, registration, complete)),
        tuple(_others(data, registration)),
    )


def _others(data: RunData, registration: Registration) -> Iterator[str]:
    """Yield other runs of the same registration in this folder, so that selective reporting is visible."""
    for path in sorted(data.folder.parent.glob(f"*/{MANIFEST}"))[:MOST_RUNS]:
        with suppress(OSError, OstromError):
            if path.parent == data.folder or registration.hash.encode() not in path.read_bytes():
                continue
            other = Folder(path.parent).manifest()
            apart = not (other.get("shard") or other.get("shared") or data.manifest.get("shard"))
            same = other.get("joined") is not None and other.get("joined") == data.manifest.get("joined")
            if apart and not same and (other.get("registered") or {}).get("hash") == registration.hash:
                yield f"{path.parent.name} (created {other['created']})"


def _begun(data: RunData) -> float:
    """Return the time of the first call, or of the start of the run, by the player's clock."""
    (row,) = data.records('SELECT min("at") AS first FROM calls')
    try:
        begun = seconds(data.manifest["created"])
    except ValueError as error:
        raise RunError(f"{data.folder / 'run.json'}: created: {error}") from None
    return begun if row["first"] is None else min(begun, float(row["first"]))


def _states(data: RunData) -> dict[str, int]:
    return {
        row["state"]: int(row["n"])
        for row in data.records("SELECT state, count(DISTINCT match) AS n FROM matches GROUP BY state ORDER BY state")
    }


def _open_matches(data: RunData) -> bool:
    """Return whether matches are still to be played; a failed match has ended."""
    if data.manifest.get("shard") or (data.study.get("stop") and goes_on(data.folder)):
        return True
    return (
        sum(n for state, n in _states(data).items() if state in ("done", "skipped", "failed", "withdrawn"))
        < data.planned
    )


def find_deviations(data: RunData, registration: Registration) -> Iterator[RunDeviation]:
    """Yield every deviation of a run from its registration."""
    yield from _other_design(data, registration)
    yield from _other_versions(data, registration)
    yield from _left_out(data)
    yield from _looks(data)


def _other_design(data: RunData, registration: Registration) -> Iterator[RunDeviation]:
    study, models = data.study, tuple(data.manifest.get("models") or ())
    if registration.eligible is None:
        if models and set(models) != set(registration.models):
            yield RunDeviation("models", f"{_names(registration.models)} registered, {_names(models)} played")
    elif len(models) > 1:
        yield RunDeviation("models", f"one model was registered by a rule, {_names(models)} played")
    else:
        study = same_but_model(study, models)
    free = {*FREE_TO_CHANGE, *MAY_GROW}
    before, after = ({k: v for k, v in of.items() if k not in free} for of in (registration.study, study))
    yield from _several("study", differences(before, after))
    seeds, most = int(study.get("seeds", 1)), registration.sample.seeds
    if seeds > most or (seeds < most and registration.sample.stop is None):
        extra = "; the registered tests take the registered seeds alone" if seeds > most else ""
        yield RunDeviation("seeds", f"{most} registered, {seeds} in the run{extra}")
    yield from _several("prompts", changed_prompts(registration.prompts, data.manifest.get("prompts") or {}))


def _other_versions(data: RunData, registration: Registration) -> Iterator[RunDeviation]:
    registered = registration.versions.ostrom
    versions = [str((data.manifest.get("versions") or {}).get("ostrom"))]
    if (shared := data.manifest.get("shared")) is not None:
        versions = shared.get("versions") or versions
    elif Folder(data.folder).exists:
        with Folder(data.folder).open_journal(data.manifest, checked=False) as journal:
            versions = journal.versions or versions
    if others := [version for version in versions if version != registered]:
        yield RunDeviation("versions", f"ostrom {registered} registered, {_names(others)} played too")
    rows = data.records(
        "SELECT model, version, count(*) AS n FROM calls WHERE error IS NULL AND version IS NOT NULL "
        'GROUP BY model, version ORDER BY model, min("at"), version'
    )
    for model in dict.fromkeys(row["model"] for row in rows):
        snapshots = [f"{row['version']} ({how_many(row['n'], 'reply')})" for row in rows if row["model"] == model]
        if len(snapshots) > 1:
            yield RunDeviation("snapshots", f"{model} answered as {_names(snapshots)}")


def _left_out(data: RunData) -> Iterator[RunDeviation]:
    states = _states(data)
    gone = {
        state: n
        for state, n in {**states, "not begun": data.planned - sum(states.values())}.items()
        if state != "done" and n
    }
    if gone:
        parts = ", ".join(f"{n} {state}" for state, n in gone.items())
        yield RunDeviation("matches", f"{sum(gone.values())} of {data.planned} are left out ({parts})")
    (row,) = data.records(
        "SELECT coalesce(sum(policies), 0) AS policy, coalesce(sum(missed_decisions), 0) AS missed FROM matches "
        "WHERE state = 'done'"
    )
    (cached,) = data.records("SELECT count(*) AS n FROM calls WHERE source = 'cache'")
    counts = (
        ("policy", row["policy"], "answer", "by policy in place of a model's own"),
        ("missed", row["missed"], "decision", "not taken in time"),
        ("cache", cached["n"], "reply", "from a cache, so from another run"),
    )
    yield from (RunDeviation(kind, f"{how_many(int(n), unit)} {why}") for kind, n, unit, why in counts if n)


def _looks(data: RunData) -> Iterator[RunDeviation]:
    if counted := counted_looks(data.folder, data.manifest, data.entries):
        seen = ", ".join(f"{look.ended} of {look.planned} matches" for look in counted[:MOST_LISTED])
        more = f" and {len(counted) - MOST_LISTED} more" if len(counted) > MOST_LISTED else ""
        yield RunDeviation("looks", f"{how_many(len(counted), 'look')} before it was complete (after {seen}{more})")


def _results(data: RunData, registration: Registration, complete: bool) -> Iterator[RegisteredResult]:
    for role, contrasts in (("primary", registration.primary), ("secondary", registration.secondary)):
        for one in contrasts:
            if not complete:
                yield RegisteredResult(role, one, "not judged", None, None, "the run is not complete")
                continue
            try:
                yield _tested(data, registration, role, one)
            except OstromError as error:
                yield RegisteredResult(role, one, "undecided", None, None, str(error))


def _tested(data: RunData, registration: Registration, role: str, one: RegisteredContrast) -> RegisteredResult:
    """Run the registered test: with the registered seeds, level and kind of interval."""
    query, level = one.query, registration.level_of(role)
    rows, sample = query.values(data), registration.sample
    estimates = contrast(first_seeds(rows, sample.seed, sample.seeds), query.measure_object, *query.pair, level=level)
    if len(estimates) != 1:
        return RegisteredResult(role, one, "undecided", None, None, "no finished match has a value at both levels")
    always = sample.interval == "anytime"
    support = estimates[0].at_level(level, guaranteed=always)
    # A registration keeps its own rule: those before 2.0 state an interval.
    bounds = always or "bounds" in registration.decisions.get("absence", "")
    within = None if one.smallest is None else estimates[0].at_level(1 - 2 * (1 - level), guaranteed=bounds)
    return RegisteredResult(role, one, verdict(one, support, within), support, within, estimates[0].note)


def verdict(one: RegisteredContrast, support: Estimate, within: Estimate | None) -> str:
    """Return the verdict of both tests; a difference that is certainly too small to matter is no support."""
    if within is not None and within.low is not None and within.high is not None and one.smallest is not None:
        edge = one.smallest - ROUNDING * max(1.0, one.smallest)
        if -edge < within.low and within.high < edge:
            return "absence"
    if support.low is None or support.high is None:
        return "undecided"
    below, above = support.high < -ROUNDING, support.low > ROUNDING
    if one.direction == "different":
        return "support" if below or above else "undecided"
    expected, other = (below, above) if one.direction == "less" else (above, below)
    return "support" if expected else "contradiction" if other else "undecided"


@dataclass(frozen=True)
class AskedContrast:
    """A requested contrast, to be compared with the registered ones."""

    measure: str
    contrast: str
    where: Where
    level: float


def standing(runs: Sequence[RunData], question: AskedContrast | None = None) -> RegistrationStatus:
    """Return the registration status of a result about some runs; without a query it is exploratory."""
    bound = [one for one in map(registered_run, runs) if one is not None]
    if not bound:
        return RegistrationStatus()
    label = bound[0].label(runs[0], question) if len(runs) == 1 and question is not None else "exploratory"
    return RegistrationStatus(tuple(bound), label)


@dataclass(frozen=True)
class RegistrationStatus:
    """The registration status of a result; empty if no run is bound to a registration."""

    bound: tuple[RegisteredRun, ...] = ()
    label: str = "exploratory"

    @property
    def document(self) -> dict[str, Any]:
        """Return the status for a JSON document."""
        return {"label": self.label, "registered": [one.as_dict() for one in self.bound]} if self.bound else {}

    @property
    def lines(self) -> list[str]:
        """Return the lines about all registrations and deviations."""
        return [line for one in self.bound for line in one.lines]

    def text(self) -> Iterator[TextItem]:
        """Yield the registered contrasts and deviations of the runs, then the label of the result."""
        for one in self.bound:
            yield from one.text()
        if self.bound:
            yield f"what follows is {self.label}:"


def _several(kind: str, lines: Sequence[str]) -> Iterator[RunDeviation]:
    yield from (RunDeviation(kind, line) for line in lines[:MOST_LISTED])
    if len(lines) > MOST_LISTED:
        yield RunDeviation(kind, f"and {len(lines) - MOST_LISTED} more")


def _names(names: Sequence[str]) -> str:
    return join_words(list(names)) if names else "none"


def _spaceless(text: str) -> str:
    return "".join(text.split())
