"""The schema of scenario files: a family's cast and its scenarios. Unknown keys are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, Field, FiniteFloat, StringConstraints, field_validator, model_validator

from ostrom.games.scenarios.scenario import Claim, ScenarioClass
from ostrom.ground.errors import StudyError
from ostrom.ground.validation import Declared, validate
from ostrom.ground.yaml import in_words, read_yaml

NARRATIVE_WORDS = (60, 120)
PERSONA_WORDS = (25, 60)


def _words(limits: tuple[int, int]) -> Callable[[str], str]:
    low, high = limits

    def check(text: str) -> str:
        count = len(text.split())
        if not low <= count <= high:
            raise ValueError(f"must have {low} to {high} words, has {count}")
        return " ".join(text.split())

    return check


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*$")]
ActionKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
Narrative = Annotated[str, AfterValidator(_words(NARRATIVE_WORDS))]
Persona = Annotated[str, AfterValidator(_words(PERSONA_WORDS))]


class _ScenarioFile(Declared, strict=True):
    """The base of file schemas, with strict types."""


class ActionEntry(_ScenarioFile):
    """An action as written in a file."""

    key: ActionKey
    label: Text
    green: bool


class RoleEntry(_ScenarioFile):
    """A role in a file; without a persona it has that of the cast's role with the same key.

    ``order`` is the order in which prompts name the actions, where it is not that of ``actions``; ``kind`` says what
    sort of actor the role is, for analysis only.
    """

    key: Name
    title: Text
    persona: Persona | None = None
    kind: Name | None = None
    actions: list[ActionEntry] = Field(min_length=2)
    order: list[ActionKey] | None = None

    @field_validator("actions")
    @classmethod
    def _actions_differ(cls, actions: list[ActionEntry]) -> list[ActionEntry]:
        _refuse_repeats("action", [action.key for action in actions])
        return actions

    @model_validator(mode="after")
    def _order_names_all(self) -> RoleEntry:
        keys = [action.key for action in self.actions]
        if self.order is not None and sorted(self.order) != sorted(keys):
            raise ValueError(f"order must name each action once: {', '.join(keys)}")
        return self


class CanonicalEntry(_ScenarioFile):
    """A canonical profile as written in a file: its name and one action per role, in their order."""

    name: Text
    profile: list[ActionKey]


class CanonicalPair(_ScenarioFile):
    """The two canonical profiles, which a scenario's claim is about."""

    green: CanonicalEntry
    tragedy: CanonicalEntry


class CastFile(_ScenarioFile):
    """A family's ``cast.yaml``: what its scenarios share.

    ``class_titles`` gives the three classes names that suit the family's story; ``subtypes``, when given,
    lists by group the only subtypes its scenarios may name; ``citation`` says where its stories are published.
    """

    family: Name
    title: Text
    citation: Text | None = None
    roles: list[RoleEntry] = Field(min_length=2)
    canonical: CanonicalPair
    class_titles: dict[ScenarioClass, Text] = Field(default_factory=dict)
    subtypes: dict[str, list[Text]] | None = None

    @field_validator("roles")
    @classmethod
    def _roles_are_complete(cls, roles: list[RoleEntry]) -> list[RoleEntry]:
        _refuse_repeats("role", [role.key for role in roles])
        for role in roles:
            if role.persona is None:
                raise ValueError(f"role {role.key!r} of a cast needs a persona")
        return roles


class ScenarioFile(_ScenarioFile):
    """A scenario file. ``roles`` and ``canonical`` come from the family's cast unless written here.

    ``payoffs`` has one row per profile (the action keys in the order of the roles) with one number per role;
    ``model`` may document where the numbers come from and must then reproduce them.
    """

    name: Name
    title: Text
    family: Name
    scenario_class: ScenarioClass = Field(alias="class")
    subtype: Text
    claim: Claim
    author: Text | None = None
    """The model that wrote the story, which may not play it."""
    narrative: Narrative
    roles: list[RoleEntry] | None = Field(default=None, min_length=2)
    canonical: CanonicalPair | None = None
    model: dict[str, dict[str, FiniteFloat]] | None = None
    payoffs: dict[str, Any]

    @field_validator("roles")
    @classmethod
    def _roles_differ(cls, roles: list[RoleEntry] | None) -> list[RoleEntry] | None:
        _refuse_repeats("role", [role.key for role in roles or []])
        return roles


def _refuse_repeats(what: str, keys: list[str]) -> None:
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f"duplicate {what} {key!r}")


Form = TypeVar("Form", bound=BaseModel)


def parse(form: type[Form], text: str, file: str) -> Form:
    """Read YAML ``text`` into ``form`` or refuse it with a :class:`StudyError`."""
    data = read_yaml(text, file, numbers=False)
    if not isinstance(data, dict):
        raise StudyError("must hold keys with values", file=file, actual=in_words(data))
    return validate(form, data, file)
