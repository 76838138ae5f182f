"""Model clients, found by name.

==============================  =====================================================================
``openai/gpt-4o-mini``          OpenAI, or the server in OPENAI_BASE_URL
``anthropic/claude-...``        Anthropic, or the server in ANTHROPIC_BASE_URL
``groq/...``, ``ollama/...``    the services in ``ostrom.models.services``
``vllm/...``, ``transformers/...``, ``llama-server/...``: servers of this machine, which are started
``http://host:port/v1#model``   any OpenAI-compatible server
``embedded/smollm2-135m``       a small model inside this process; also ``embedded//path/model.gguf``
``inspect/provider/model``      anything Inspect AI can reach
``outside/name``                a policy outside: ``ostrom.environment`` passes its questions on
==============================  =====================================================================
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any, cast

from ostrom.ground.errors import StudyError, UnknownName
from ostrom.ground.registry import Registry
from ostrom.models.base import Abilities, Constraint, Message, Model, Reply, Request, Usage
from ostrom.models.dialects import check_values
from ostrom.models.grants import allow_key, check_settings
from ostrom.models.services import full_name, variant_of

__all__ = [
    "PROVIDERS",
    "Abilities",
    "Constraint",
    "Message",
    "Model",
    "Reply",
    "Request",
    "Usage",
    "allow_key",
    "check_model",
    "client_name",
    "common_settings",
    "model_names",
    "open_model",
    "params_of",
]

PROVIDERS: Registry[Model] = Registry("model provider", "ostrom.models.providers", "PROVIDER", "ostrom.models")
URL_SCHEMES = ("http://", "https://")
STARTED = ("vllm", "transformers", "llama-server")
"""Providers whose servers are started if no address is set (``ostrom.models.serving``)."""


def open_model(name: str, **settings: Any) -> Model:
    """Return a client for a model by name. Nothing is sent before the first call.

    Settings belong to the client (``timeout``, ``connections``, ``base_url``, ...); temperature and the
    like travel with each request.

    >>> open_model("http://127.0.0.1:8000/v1#qwen", timeout=30).describe()["base_url"]
    'http://127.0.0.1:8000/v1'
    """
    factory, argument = check_name(name, settings)
    return factory(argument, **settings)


def check_name(name: str, settings: Mapping[str, Any]) -> tuple[Callable[..., Model], str]:
    """Refuse an unknown name, settings that its client lacks, and keys that may not be sent.

    Whether a key is set is not checked.

    >>> check_name("openai/gpt-4o-mini", {"timeout": 30})[1]
    'gpt-4o-mini'
    """
    name = name.removesuffix(variant_of(settings, _variants(name)))
    factory, argument = _factory(name)
    parameters = inspect.signature(factory).parameters
    if unknown := [key for key in settings if key not in parameters]:
        raise StudyError(
            f"{name.partition('/')[0]} models have no such setting",
            actual=unknown[0],
            allowed=sorted(key for key, p in parameters.items() if p.kind is p.KEYWORD_ONLY),
        )
    check_values(settings)
    check_settings(name, settings)
    return factory, argument


def client_name(name: str, settings: Mapping[str, Any]) -> str:
    """Return the name of a client: the model's name and the settings by which its clients may differ.

    A provider's module lists those settings in a constant ``VARIANTS``; all clients that differ by nothing else share
    what the provider loads.

    >>> client_name("embedded/smollm2-135m", {"adapter": "tuned", "scale": 0.5, "threads": 2})
    'embedded/smollm2-135m[adapter=tuned, scale=0.5]'
    >>> client_name("openai/gpt-4o-mini", {"timeout": 30})
    'openai/gpt-4o-mini'
    """
    return name + variant_of(settings, _variants(name))


def common_settings(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that all clients of one model share."""
    return {key: value for key, value in settings.items() if key not in _variants(name)}


def _variants(name: str) -> tuple[str, ...]:
    provider = name.partition("/")[0]
    if name.startswith(URL_SCHEMES) or (provider not in PROVIDERS and provider not in STARTED):
        return ()
    return tuple(getattr(_home(_factory(name)[0]), "VARIANTS", ()))


def check_model(name: str, settings: Mapping[str, Any]) -> Abilities | None:
    """Refuse a name and settings that cannot be opened; return the model's abilities, if known.

    Whether the key is valid and the server answers is known only after a call. A provider's module may offer
    ``check(argument)`` and ``abilities(name, settings)`` for what it knows without opening the model.
    """
    factory, argument = check_name(name, settings)
    home = _home(factory)
    if (check := getattr(home, "check", None)) is not None:
        check(argument)
    return cast("Abilities | None", getattr(home, "abilities", lambda *_: None)(name, settings))


def _home(factory: Callable[..., Model]) -> ModuleType | None:
    """Return the module of a model's client."""
    return sys.modules.get((factory.func if isinstance(factory, partial) else factory).__module__)


def params_of(name: str) -> tuple[str, ...] | None:
    """Return the sampling parameters of a model's client; None if unknown.

    A provider's module lists them in a constant ``PARAMS`` beside its ``PROVIDER``.

    >>> params_of("anthropic/claude-sonnet-4-5")
    ('temperature', 'top_p', 'max_tokens', 'stop', 'seed', 'extra')
    """
    return cast("tuple[str, ...] | None", getattr(_home(_factory(name)[0]), "PARAMS", None))


def _factory(name: str) -> tuple[Callable[..., Model], str]:
    """Return the factory for a model's name, and the rest of the name."""
    from ostrom.models.providers.openai import open_service, open_url
    from ostrom.models.services import SERVICES

    if name.startswith(URL_SCHEMES):
        return open_url, name
    provider, slash, rest = name.partition("/")
    if not slash or not rest:
        guess = full_name(name)
        raise StudyError(
            "a model is named provider/model or http://host:port/v1#model"
            + (f", did you mean {guess!r}?" if guess else ""),
            key="model",
            actual=name,
        )
    if provider in PROVIDERS:
        return PROVIDERS.get(provider), rest
    if provider in STARTED:
        from ostrom.models.serving.client import open_local

        return partial(open_local, provider), rest
    if provider in SERVICES:
        return partial(open_service, provider), rest
    raise UnknownName("model provider", provider, {*PROVIDERS, *SERVICES})


def model_names() -> list[str]:
    """Return all model names: exact ones if known, else ``provider/<model>``."""
    from ostrom.models.embedded.weights import WEIGHTS
    from ostrom.models.services import SERVICES

    of_any = {*PROVIDERS.names(), *SERVICES} - {"embedded", "inspect", "outside", "python", "scripted"}
    names = {*(f"{name}/<model>" for name in of_any), *(f"embedded/{name}" for name in WEIGHTS)}
    return sorted(names | {"embedded//path/to/model.gguf", "inspect/<provider>/<model>", "http://host:port/v1#<model>"})
