"""The forms of an answer: what is valid."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from ostrom.answers.schema import check_record_schema
from ostrom.games.amounts import Amounts


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the named options."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mixture:
    """Whole percentages over the named options that sum to 100; ``caps`` bound single options."""

    options: tuple[str, ...]
    caps: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """An amount from ``low`` to ``high`` in steps of ``step``; ``few`` are those for mixed strategies.

    >>> Number(0, 1, 0.5).amounts.value(1)
    0.5
    """

    low: float
    high: float
    step: float = 1
    few: tuple[float, ...] = ()

    @property
    def amounts(self) -> Amounts:
        """The amounts themselves."""
        return _amounts(self)


@lru_cache(maxsize=1024)
def _amounts(form: Number) -> Amounts:
    return Amounts(form.low, form.high, form.step, form.few)


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object of a schema (object, properties, bounds); ``name`` selects its wording.

    A schema that asks for more than ``ostrom.answers.schema`` obeys is refused here, before any play.
    """

    name: str
    schema: Mapping[str, Any]
    options: tuple[str, ...] = ()
    """Keys of actions in the schema, which are shown under their labels."""

    def __post_init__(self) -> None:
        check_record_schema(self.schema)


@dataclass(frozen=True, slots=True)
class Text:
    """Free text of at most ``words`` words and ``characters`` characters."""

    words: int = 200
    characters: int = 4000


Form: TypeAlias = Choice | Mixture | Number | Record | Text


TOKENS_PER_WORD = 1.4
"""The tokens per word of English prose."""


def answer_tokens(form: Form) -> int:
    """Return the tokens of a usual answer of this form, without reasons; a high estimate.

    >>> answer_tokens(Choice(("a", "b"))), answer_tokens(Mixture(("a", "b")))
    (8, 28)
    >>> answer_tokens(Record("cap", {"type": "object", "properties": {"cap": {"type": "integer"}}}))
    37
    """
    if isinstance(form, Choice | Number):
        return 8
    if isinstance(form, Mixture):
        return 8 + 10 * len(form.options)
    if isinstance(form, Record):
        return 12 + 25 * len(form.schema.get("properties", {}))
    assert isinstance(form, Text)
    return round(TOKENS_PER_WORD * form.words)
