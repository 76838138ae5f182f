"""Dialects of OpenAI-compatible servers: their parameters beyond a plain chat call.

The settings of all clients are checked here too, by name, before a client is opened.

A field that is None stands for an ability that the dialect cannot express. ``claims`` are the abilities that every
server of this kind has; the others work on some models or versions only, so a study switches them on by name
(``abilities: [schema]``) and `ostrom models check` tests them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ostrom.ground.errors import StudyError
from ostrom.models.asking import as_list, at_least_one, positive
from ostrom.models.base import Abilities
from ostrom.models.services import checked_url

ChoiceForm = Literal["structured_outputs", "guided_choice", "grammar"]
PrefillForm = Literal["continue", "trailing", "prefix"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The parameters of one kind of server."""

    choices: ChoiceForm | None = None
    schema: bool = True
    """Whether ``response_format`` of type ``json_schema`` is supported."""
    logprobs: bool = True
    """Whether ``logprobs`` and ``top_logprobs`` are supported."""
    prefill: PrefillForm | None = None
    seed: str = "seed"
    endpoint: Literal["chat", "completions"] = "chat"
    """``completions`` sends one text to be continued, for base models without a chat format."""
    most_logprobs: int = 20
    """The most alternatives of a token that the server reports."""
    claims: frozenset[str] = frozenset()

    def forms(self) -> dict[str, bool]:
        """Return, for each ability, whether this dialect can express it."""
        return {
            "choices": self.choices is not None,
            "schema": self.schema,
            "logprobs": self.logprobs,
            "prefill": self.prefill is not None,
            "tools": self.endpoint == "chat",
        }


_ALL = frozenset({"choices", "schema", "logprobs", "prefill"})

DIALECTS: dict[str, Dialect] = {
    "plain": Dialect(),
    "openai": Dialect(claims=frozenset({"schema", "logprobs", "tools"})),
    "vllm": Dialect(choices="structured_outputs", prefill="continue", claims=_ALL),
    # vLLM before 0.12 had another name for the same constraint.
    "vllm_guided": Dialect(choices="guided_choice", prefill="continue", claims=_ALL),
    "llamacpp": Dialect(choices="grammar", prefill="trailing", claims=_ALL),
    "ollama": Dialect(claims=frozenset({"schema", "logprobs"})),
    "deepseek": Dialect(schema=False, claims=frozenset({"logprobs", "tools"})),
    "mistral": Dialect(
        logprobs=False, prefill="prefix", seed="random_seed", claims=frozenset({"schema", "prefill", "tools"})
    ),
    "no_logprobs": Dialect(logprobs=False),
    "transformers": Dialect(schema=False, logprobs=False),
    "completions": Dialect(
        schema=False,
        prefill="trailing",
        endpoint="completions",
        most_logprobs=5,
        claims=frozenset({"logprobs", "prefill"}),
    ),
    "vllm_completions": Dialect(
        choices="structured_outputs",
        schema=False,
        prefill="trailing",
        endpoint="completions",
        claims=frozenset({"choices", "logprobs", "prefill"}),
    ),
}


def abilities_of(dialect: Dialect, wanted: Iterable[str] | None, *, who: str) -> Abilities:
    """Return the abilities of a client: the dialect's, or exactly those ``wanted``."""
    if wanted is None:
        return Abilities(**dict.fromkeys(dialect.claims, True))
    names, allowed = set(as_list(wanted)), [name for name, holds in dialect.forms().items() if holds]
    if unknown := sorted(names.difference(allowed)):
        raise StudyError(f"{who} has no words for this", key="abilities", actual=unknown[0], allowed=allowed)
    return Abilities(**dict.fromkeys(names, True))


def check_values(settings: Mapping[str, Any]) -> None:
    """Refuse values that no client accepts; ``check_name`` checks which settings exist.

    >>> check_values({"timeout": 30, "connections": 4})
    """
    for name, value in settings.items():
        if value is not None and name in _RULES:
            _RULES[name](name, value)


def _text(name: str, value: Any) -> None:
    if not isinstance(value, str) or not value.strip():
        raise StudyError("must be a text", key=name, actual=value)


def _url(name: str, value: Any) -> None:
    _text(name, value)
    checked_url(value, source=name)


def _replicas(name: str, value: Any) -> None:
    if not isinstance(value, list | tuple) or not value or len(set(map(str, value))) < len(value):
        raise StudyError("must be a list of different addresses", key=name, actual=value)
    for address in value:
        _url(name, address)


def _dialect(name: str, value: Any) -> None:

    if value not in DIALECTS:
        raise StudyError("unknown dialect", key=name, actual=value, allowed=sorted(DIALECTS))


def _abilities(name: str, value: Any) -> None:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(item, str) for item in names):
        raise StudyError("must be a list of names", key=name, actual=value)


def _gpu(name: str, value: Any) -> None:
    if value not in ("all", "none") and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise StudyError("must be all, none or a number of layers", key=name, actual=value)


def _scale(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -10 <= value <= 10:
        raise StudyError("must be a number from -10 to 10", key=name, actual=value)


_RULES: dict[str, Callable[[str, Any], object]] = {
    "timeout": lambda name, value: positive(value, name),
    "connections": lambda name, value: at_least_one(value, name),
    "slots": lambda name, value: at_least_one(value, name),
    "threads": lambda name, value: at_least_one(value, name),
    "gpus": lambda name, value: at_least_one(value, name),
    "gpu": _gpu,
    "context": lambda name, value: at_least_one(value, name),
    "base_url": _url,
    "key_variable": _text,
    "dialect": _dialect,
    "abilities": _abilities,
    "adapter": _text,
    "environment": _text,
    "scale": _scale,
    "start": lambda name, value: positive(value, name),
    "replicas": _replicas,
}
