"""Verification of a scenario's claim: all pure equilibria, ties, and profitable deviations.

A profile is a pure Nash equilibrium when no role gains by changing its own action alone (weak inequality, as
Manoranjan & Gaikwad 2026 count them); it is strict when every such change loses.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ostrom.games.scenarios.scenario import Canonical, Claim, Profile, Scenario


@dataclass(frozen=True)
class Deviation:
    """A change of one role's action, and that role's gain."""

    role: str
    action: str
    instead: str
    gain: float

    def __str__(self) -> str:
        return f"{self.role} gains {self.gain:g} by {self.instead} instead of {self.action}"


@dataclass(frozen=True)
class Equilibrium:
    """A pure equilibrium; ``indifferent`` lists deviations that cost nothing (none if strict)."""

    profile: Profile
    indifferent: tuple[Deviation, ...]

    @property
    def strict(self) -> bool:
        return not self.indifferent


@dataclass(frozen=True)
class Tie:
    """A role with several best replies to ``profile`` (its own entry there is the first of them)."""

    role: str
    profile: Profile
    actions: tuple[str, ...]


@dataclass(frozen=True)
class CanonicalStatus:
    """Whether a canonical profile is an equilibrium, and the profitable deviations if not."""

    canonical: Canonical
    is_equilibrium: bool
    strict: bool
    gains: tuple[Deviation, ...]


@dataclass(frozen=True)
class Proof:
    """The equilibria and ties of a scenario's table, and the scenario's claim about them."""

    scenario: str
    claim: Claim
    found: Claim
    equilibria: tuple[Equilibrium, ...]
    green: CanonicalStatus
    tragedy: CanonicalStatus
    ties: tuple[Tie, ...]

    @property
    def holds(self) -> bool:
        return self.claim == self.found

    def refutation(self) -> str:
        """Describe the canonical profiles in one sentence, for a claim that does not hold."""
        return "; ".join(_status_text(status) for status in (self.green, self.tragedy))

    def lines(self) -> list[str]:
        """Return the verification as lines of text."""
        verdict = "holds" if self.holds else f"fails, the table says {self.found}"
        return [
            f"{self.scenario}: claim {self.claim} {verdict}",
            *(f"  {_status_text(status)}" for status in (self.green, self.tragedy)),
            f"  pure equilibria: {len(self.equilibria)}",
            *(f"    {' '.join(e.profile)} ({'strict' if e.strict else 'weak'})" for e in self.equilibria),
            f"  ties between best replies: {len(self.ties)}",
            *(f"    {tie.role}: {' = '.join(tie.actions)} at {' '.join(tie.profile)}" for tie in self.ties),
        ]


def prove(scenario: Scenario) -> Proof:
    """Enumerate the pure equilibria of a scenario and compare them with its claim.

    >>> from ostrom.games.scenarios import shipped_scenario
    >>> proof = prove(shipped_scenario("commons", "debt_crisis"))
    >>> proof.holds, [" ".join(e.profile) for e in proof.equilibria]
    (True, ['POLLUTE NOREG NOCAMPAIGN BUY_CHEAP'])
    """
    equilibria = tuple(
        Equilibrium(profile, tuple(_changes(scenario, profile, at_least=0.0)))
        for profile in _equilibrium_profiles(scenario)
    )
    stable = {equilibrium.profile for equilibrium in equilibria}
    green = _status(scenario, scenario.green, stable)
    tragedy = _status(scenario, scenario.tragedy, stable)
    return Proof(
        scenario=scenario.name,
        claim=scenario.claim,
        found=_finding(green.is_equilibrium, tragedy.is_equilibrium),
        equilibria=equilibria,
        green=green,
        tragedy=tragedy,
        ties=tuple(_ties(scenario)),
    )


def _equilibrium_profiles(scenario: Scenario) -> list[Profile]:
    import numpy as np

    tensor = scenario.payoff_tensor()
    stable = np.ones(scenario.shape, dtype=bool)
    for seat in range(len(scenario.roles)):
        own = tensor[..., seat]
        stable &= own >= own.max(axis=seat, keepdims=True)
    return [profile for profile, flag in zip(scenario.profiles(), stable.ravel(), strict=True) if flag]


def _changes(scenario: Scenario, profile: Profile, at_least: float) -> list[Deviation]:
    """Return every change of one role's action that gains that role at least ``at_least``."""
    before = scenario.payoffs_at(profile)
    return [
        Deviation(role.key, profile[seat], other, paid - before[seat])
        for seat, role in enumerate(scenario.roles)
        for other, paid in _replies(scenario, seat, profile).items()
        if other != profile[seat] and paid - before[seat] >= at_least
    ]


def _replies(scenario: Scenario, seat: int, profile: Profile) -> dict[str, float]:
    """Return the payoff of each action of a role, if the others play their actions of a profile."""
    before, after = profile[:seat], profile[seat + 1 :]
    return {action: scenario.payoffs_at((*before, action, *after))[seat] for action in scenario.roles[seat].action_keys}


def _status(scenario: Scenario, canonical: Canonical, stable: set[Profile]) -> CanonicalStatus:
    changes = _changes(scenario, canonical.profile, at_least=0.0)
    return CanonicalStatus(
        canonical=canonical,
        is_equilibrium=canonical.profile in stable,
        strict=not changes,
        gains=tuple(change for change in changes if change.gain > 0),
    )


def _ties(scenario: Scenario) -> Iterator[Tie]:
    for seat, role in enumerate(scenario.roles):
        for profile in (profile for profile in scenario.profiles() if profile[seat] == role.action_keys[0]):
            payoffs = _replies(scenario, seat, profile)
            best = [action for action, value in payoffs.items() if value == max(payoffs.values())]
            if len(best) > 1:
                yield Tie(role.key, (*profile[:seat], best[0], *profile[seat + 1 :]), tuple(best))


def _finding(green_stable: bool, tragedy_stable: bool) -> Claim:
    """Return the claim that is true of a table, by which of the two canonical profiles are equilibria."""
    claims: dict[tuple[bool, bool], Claim] = {(True, True): "both", (True, False): "green", (False, True): "tragedy"}
    return claims.get((green_stable, tragedy_stable), "neither")


def _status_text(status: CanonicalStatus) -> str:
    name = status.canonical.name
    if status.is_equilibrium:
        return f"{name} is a {'strict' if status.strict else 'weak'} equilibrium"
    return f"{name} is no equilibrium: {', '.join(str(gain) for gain in status.gains)}"
