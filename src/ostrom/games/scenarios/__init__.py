"""Scenarios: stories with payoff tables (Manoranjan & Gaikwad 2026), read from files and verified."""

from ostrom.games.scenarios.proof import CanonicalStatus, Deviation, Equilibrium, Proof, Tie, prove
from ostrom.games.scenarios.reader import families, load_cast, load_scenario, scenarios, shipped_cast, shipped_scenario
from ostrom.games.scenarios.scenario import Action, Canonical, Claim, Profile, Role, Scenario, ScenarioClass

__all__ = [
    "Action",
    "Canonical",
    "CanonicalStatus",
    "Claim",
    "Deviation",
    "Equilibrium",
    "Profile",
    "Proof",
    "Role",
    "Scenario",
    "ScenarioClass",
    "Tie",
    "families",
    "load_cast",
    "load_scenario",
    "prove",
    "scenarios",
    "shipped_cast",
    "shipped_scenario",
]
