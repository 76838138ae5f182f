"""A scenario: a short story, its characters, and the payoffs of every profile."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Literal, TypeAlias

from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame
from ostrom.games.words import Words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Profile: TypeAlias = tuple[str, ...]
ScenarioClass = Literal["economic", "environmental", "mixed"]
Claim = Literal["green", "tragedy", "both", "neither"]

CLAIMS_OF_CLASS: dict[ScenarioClass, tuple[Claim, ...]] = {
    "economic": ("tragedy",),
    "environmental": ("green",),
    "mixed": ("both", "neither"),
}


@dataclass(frozen=True)
class Action:
    """One action of a role; ``green`` marks what serves the common good of the story."""

    key: str
    label: str
    green: bool


@dataclass(frozen=True)
class Role:
    """A role in the scenario: its persona and actions."""

    key: str
    title: str
    persona: str
    actions: tuple[Action, ...]
    kind: str = ""
    """The kind of actor, such as economic or social; empty if the cast does not say."""
    order: tuple[str, ...] = ()
    """The order of actions in prompts; empty for that of ``actions``."""

    @property
    def action_keys(self) -> tuple[str, ...]:
        return tuple(action.key for action in self.actions)


@dataclass(frozen=True)
class Canonical:
    """One of the two profiles that a family is about, such as the Green Transition."""

    name: str
    profile: Profile


@dataclass(frozen=True)
class Scenario:
    """A narrative coupled to a complete payoff table; ``payoffs`` follows the order of :meth:`profiles`."""

    name: str
    title: str
    family: str
    scenario_class: ScenarioClass
    class_title: str
    subtype: str
    narrative: str
    roles: tuple[Role, ...]
    green: Canonical
    tragedy: Canonical
    claim: Claim
    payoffs: tuple[tuple[float, ...], ...]
    group: str = ""
    """The group of the subtype in the family's cast."""
    author: str = ""
    """The model that wrote the story; empty if people did."""
    citation: str = "after Manoranjan & Gaikwad (2026), When Personas Override Payoffs"
    """The publication of the story; by default the paper that introduced this form of scenario."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of actions of each role."""
        return tuple(len(role.actions) for role in self.roles)

    def profiles(self) -> list[Profile]:
        """All profiles as action keys in the order of the roles, the last role changing fastest."""
        return list(product(*(role.action_keys for role in self.roles)))

    def indices(self, profile: Profile) -> tuple[int, ...]:
        """Return the index of a profile in the tensor."""
        return tuple(role.action_keys.index(key) for role, key in zip(self.roles, profile, strict=True))

    def payoffs_at(self, profile: Profile) -> tuple[float, ...]:
        """What one profile pays, in the order of the roles."""
        import numpy as np

        return self.payoffs[int(np.ravel_multi_index(self.indices(profile), self.shape))]

    def payoff_tensor(self) -> NDArray[np.float64]:
        """All payoffs as an array of shape (actions of role 1, ..., actions of role n, n)."""
        import numpy as np

        return np.array(self.payoffs, dtype=np.float64).reshape(*self.shape, len(self.roles))

    def game(self) -> Game:
        """Return the scenario as a game with its story; the canonical profiles define cooperation."""
        return TensorGame(
            name=self.name,
            actions=tuple(role.action_keys for role in self.roles),
            payoffs=self.payoff_tensor(),
            cooperative=self.indices(self.green.profile),
            defective=self.indices(self.tragedy.profile),
            roles=tuple(role.key for role in self.roles),
            title=self.title,
            citation=self.citation,
            params={
                "scenario": f"{self.family}/{self.name}",
                "class": self.scenario_class,
                "subtype": self.subtype,
                "claim": self.claim,
                **({"author": self.author} if self.author else {}),
            },
            words=Words(
                narrative=self.narrative,
                titles=tuple(role.title for role in self.roles),
                personas=tuple(role.persona for role in self.roles),
                actions=tuple(tuple(action.label for action in role.actions) for role in self.roles),
                kinds=tuple(r.kind for r in self.roles) if all(r.kind for r in self.roles) else (),
                order=tuple(role.order or role.action_keys for role in self.roles)
                if any(role.order for role in self.roles)
                else (),
            ),
        )

    def __post_init__(self) -> None:
        assert len(self.payoffs) == prod(self.shape), "a scenario is built from a complete table"
