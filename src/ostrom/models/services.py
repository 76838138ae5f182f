"""Addresses and keys: which server is meant, and where a key comes from.

The well-known servers that speak the OpenAI wire have one line each: address, key variables, dialect.

``NAME/model`` opens a model there. The address can be moved with the variable in ``url_variable`` or the
setting ``base_url``; the key goes only to the address written here or in that variable. For the name of a model without
its provider, ``full_name`` returns the full name.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from ostrom.ground.errors import UsageError

OWN_VARIABLE = "OSTROM_API_KEY"


def origin(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of a URL, which identify a server.

    >>> origin("https://API.example.org/v1") == origin("https://api.example.org:443")
    True
    >>> origin("http://api.example.org") == origin("https://api.example.org")
    False
    """
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), parts.port or {"http": 80, "https": 443}.get(scheme)


def checked_url(url: str, *, source: str) -> str:
    """Return a base URL without trailing slash; refused if it is no http URL or has a password."""
    try:
        parts = urlsplit(url.strip())
        parts.port  # noqa: B018 - reading it checks the number
    except ValueError:
        raise UsageError(f"{source}: {url.strip()!r} is not a URL: its host or port is none") from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"{source}: put the key into an environment variable, not into the URL")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{source}: {url!r} is not of the form http://host:port/v1")
    if parts.query:
        raise UsageError(f"{source}: a base URL has no query part")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def host_of(url: str) -> str:
    """Host and port as written, for messages.

    >>> host_of("http://127.0.0.1:8000/v1")
    '127.0.0.1:8000'
    """
    return urlsplit(url).netloc


def is_local(url: str) -> bool:
    """Return whether the URL is on this machine.

    >>> is_local("http://localhost:8000/v1"), is_local("https://api.example.org")
    (True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name, even 127.0.0.1.example.org
        return False


def first_set(variables: Iterable[str]) -> str | None:
    """The value of the first environment variable that is set and not empty."""
    return next(filter(None, (os.environ.get(variable, "").strip() for variable in variables)), None)


def as_header(key: str, *, source: str) -> str:
    """Return the key; refused if it cannot be a header (line breaks, non-ASCII)."""
    if not key.isascii() or not key.isprintable():
        raise UsageError(f"{source}: the key holds characters that no key has (a line break, a quote mark?)")
    return key


def variant_of(settings: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the suffix of a client's name: the settings that distinguish it from others of its model.

    >>> variant_of({"adapter": "tuned", "threads": 2}, ("adapter", "scale"))
    '[adapter=tuned]'
    """
    own = [f"{name}={settings[name]}" for name in names if settings.get(name) is not None]
    return f"[{', '.join(own)}]" if own else ""


@dataclass(frozen=True, slots=True)
class Service:
    """The address and protocol of a service; ``{NAME}`` in the address is an environment variable."""

    base_url: str
    keys: tuple[str, ...] = ()
    dialect: str = "plain"
    url_variable: str | None = None
    needs_key: bool = True
    batches: bool = True
    """Whether the service's batches may work like OpenAI's."""


SERVICES: dict[str, Service] = {
    "openai": Service("https://api.openai.com/v1", ("OPENAI_API_KEY",), "openai", "OPENAI_BASE_URL"),
    "openrouter": Service("https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",), batches=False),
    "together": Service("https://api.together.xyz/v1", ("TOGETHER_API_KEY",), "no_logprobs", batches=False),
    "groq": Service("https://api.groq.com/openai/v1", ("GROQ_API_KEY",), "no_logprobs"),
    "deepseek": Service("https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",), "deepseek"),
    "mistral": Service("https://api.mistral.ai/v1", ("MISTRAL_API_KEY",), "mistral"),
    "fireworks": Service("https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    "deepinfra": Service("https://api.deepinfra.com/v1/openai", ("DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN")),
    "cerebras": Service("https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    "nvidia": Service("https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",)),
    "huggingface": Service("https://router.huggingface.co/v1", ("HF_TOKEN",)),
    "xai": Service("https://api.x.ai/v1", ("XAI_API_KEY",)),
    "moonshot": Service("https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",), "no_logprobs"),
    "google": Service(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "no_logprobs",
        batches=False,
    ),
    "cloudflare": Service(
        "https://api.cloudflare.com/client/v4/accounts/{CLOUDFLARE_ACCOUNT_ID}/ai/v1",
        ("CLOUDFLARE_API_TOKEN", "CLOUDFLARE_API_KEY"),
        "no_logprobs",
    ),
    "ollama": Service("http://localhost:11434/v1", ("OLLAMA_API_KEY",), "ollama", "OLLAMA_BASE_URL", needs_key=False),
    "vllm": Service("http://localhost:8000/v1", ("VLLM_API_KEY",), "vllm", "VLLM_BASE_URL", needs_key=False),
    "llamacpp": Service(
        "http://localhost:8080/v1", ("LLAMACPP_API_KEY",), "llamacpp", "LLAMACPP_BASE_URL", needs_key=False
    ),
    "llama-server": Service(
        "http://localhost:8080/v1",
        ("LLAMA_API_KEY",),
        "llamacpp",
        "LLAMA_SERVER_BASE_URL",
        needs_key=False,
        batches=False,
    ),
    "transformers": Service(
        "http://localhost:8000/v1",
        dialect="transformers",
        url_variable="TRANSFORMERS_BASE_URL",
        needs_key=False,
        batches=False,
    ),
    "sglang": Service(
        "http://localhost:30000/v1", ("SGLANG_API_KEY",), url_variable="SGLANG_BASE_URL", needs_key=False
    ),
    "lmstudio": Service("http://localhost:1234/v1", url_variable="LMSTUDIO_BASE_URL", needs_key=False),
}


def home_of(name: str) -> str:
    """Return the service's own address, with its variables filled in.

    >>> home_of("groq")
    'https://api.groq.com/openai/v1'
    """

    def value(match: re.Match[str]) -> str:
        env_text = os.environ.get(match[1], "").strip()
        if not re.fullmatch(r"[\w-]+", env_text):
            raise UsageError(f"{name}/...: set the environment variable {match[1]}")
        return env_text

    return re.sub(r"\{(\w+)\}", value, SERVICES[name].base_url)


_FAMILIES = (
    (r"gpt-|chatgpt|o\d(-|$)|davinci", "openai"),
    (r"claude", "anthropic"),
    (r"gemini", "google"),
    (r"mistral|mixtral|ministral|codestral|magistral", "mistral"),
    (r"deepseek", "deepseek"),
    (r"grok", "xai"),
    (r"kimi|moonshot", "moonshot"),
    (r"smollm2-135m$|qwen2\.5-coder-1\.5b$", "embedded"),
    (r"(meta-)?llama|qwen|qwq|gemma|phi-?\d|smollm|olmo|falcon|yi-|glm|command-|granite|nemotron|vicuna", "vllm"),
)


def full_name(word: str) -> str | None:
    """Return the full name of a model written without its provider; None if it does not look like one.

    >>> full_name("gpt-4o"), full_name("Qwen2.5-7B-Instruct"), full_name("tit_for_tat")
    ('openai/gpt-4o', 'vllm/Qwen2.5-7B-Instruct', None)
    >>> full_name("embedded")
    'embedded/smollm2-135m'
    """
    if word.strip("/").lower() == "embedded":
        return "embedded/smollm2-135m"
    return next((f"{provider}/{word}" for pattern, provider in _FAMILIES if re.match(pattern, word, re.I)), None)
