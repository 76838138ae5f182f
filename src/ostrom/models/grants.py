"""Permissions for API keys: which environment variable may be sent to which server.

A study file, a run folder or a mapping may come from strangers, who choose the servers it names. So a key goes only

* to the service that it belongs to (the table in ``ostrom.models.services``, Anthropic, and the address that the
  service's own variable, as OPENAI_BASE_URL, gives it);
* in the case of OSTROM_API_KEY also to this machine;
* and to the servers that the user allows: ``--allow-key VARIABLE=HOST``, ``allow_keys`` in the user's configuration
  file, a model named by its URL on the command line (for OSTROM_API_KEY), or ``allow_key`` in Python.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from itertools import chain
from pathlib import Path

from ostrom.ground.errors import AccessRefused, StudyError, UsageError
from ostrom.ground.yaml import read_yaml
from ostrom.models.services import OWN_VARIABLE, SERVICES, Service, as_header, checked_url, first_set, is_local, origin

Origin = tuple[str, str, int | None]
ANTHROPIC_HOME = "https://api.anthropic.com"
INSPECT = "INSPECT"
"""The placeholder for keys that Inspect AI finds in the environment for its providers."""
_granted: ContextVar[frozenset[tuple[str, Origin]]] = ContextVar("_granted", default=frozenset())
ENTRIES = ("allow_keys", "environments")
"""The allowed entries of the configuration file."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_URL = re.compile(r"https?://[^\s#,\"'\]}]+")


def allow_key(variable: str, *hosts: str) -> None:
    """Allow the key in an environment variable to be sent to these servers, for this process.

    >>> allow_key("LAB_KEY", "https://models.example.org")
    """
    _granted.set(_granted.get() | {(_variable(variable, "allow_key"), _place(host, "allow_key")) for host in hosts})


def say_allowed(grants: Iterable[str], named: Iterable[str] = ()) -> None:
    """Set the permissions of a command line: VARIABLE=HOST, and texts that name servers."""
    pairs = set()
    for text in grants:
        variable, mark, host = text.partition("=")
        if not mark or not host.strip():
            raise UsageError(f"--allow-key {text}: write VARIABLE=HOST, as in LAB_KEY=https://models.example.org")
        pairs.add((_variable(variable, "--allow-key"), _place(host, "--allow-key")))
    for url in chain.from_iterable(map(_URL.findall, named)):
        with suppress(ValueError):  # opening the model reports the error
            pairs.add((OWN_VARIABLE, origin(url)))
    _granted.set(frozenset(pairs))


def said() -> list[tuple[str, Origin]]:
    """Return all permissions of this process, for workers elsewhere."""
    return sorted(_granted.get(), key=str)


def restore(pairs: Iterable[tuple[str, Origin]]) -> None:
    """Restore the permissions of another process."""
    _granted.set(frozenset(pairs))


def variables() -> set[str]:
    """Return the environment variables with keys: those of services, and those that the user named."""
    return {
        *(variable for service in SERVICES.values() for variable in service.keys),
        *(variable for variable, _ in said()),
        *_configured(),
    }


def may_send(variable: str, address: str) -> bool:
    """Return whether the key in an environment variable may be sent to this address."""
    place = origin(address)
    return (
        place in _homes(variable)
        or (variable == OWN_VARIABLE and is_local(address))
        or (variable, place) in _granted.get()
        or place in _configured().get(variable, ())
    )


def require(variable: str, address: str, *, who: str) -> None:
    """Refuse to send a key to a server that the user did not allow; the message says how to allow it."""
    if may_send(variable, address):
        return
    place = _written(origin(address))
    what = "the key of a provider" if variable == INSPECT else f"the environment variable {variable}"
    unset = f" (or unset {variable})" if variable == OWN_VARIABLE else ""
    raise UsageError(
        f"{who}: {what} would be sent to {place}, which you have not allowed: if you trust that server, add "
        f"--allow-key {variable}={place}, or allow_keys: {{{variable}: {place}}} in {config_file()}{unset}"
    )


def key_for(address: str, homes: Iterable[str], variables: Iterable[str], *, named: str | None, who: str) -> str | None:
    """Return the key for calls to an address, if any; raises if it may not be sent.

    The key is that in the variable ``named``; else the service's own key if the address is one of its homes; else
    that in OSTROM_API_KEY.
    """
    if named:
        require(_variable(named, f"{who}: key_variable"), address, who=who)
        if (key := first_set((named,))) is None:
            raise AccessRefused(f"{who}: the environment variable {named} (key_variable) is not set")
        return as_header(key, source=named)
    here = origin(address)
    for variable in variables if any(origin(home) == here for home in homes) else (OWN_VARIABLE,):
        if (key := first_set((variable,))) is not None:
            require(variable, address, who=who)
            return as_header(key, source=variable)
    return None


def check_settings(name: str, settings: Mapping[str, object]) -> None:
    """Refuse a key variable that a file names for a foreign server; the key need not be set."""
    for setting in ("key_variable", "base_url"):
        if not isinstance(settings.get(setting), str | None):
            raise StudyError("must be a text", key=setting, actual=settings[setting])
    variable, moved = settings.get("key_variable"), settings.get("base_url")
    provider = name.partition("/")[0]
    for replica in settings.get("replicas") or ():  # type: ignore[attr-defined]  # its values are checked by now
        if variable:
            require(_variable(str(variable), f"{name}: key_variable"), str(replica), who=name)
    if name.startswith(("http://", "https://")):
        address = checked_url(name.partition("#")[0], source="model name")
    elif moved:
        address = checked_url(str(moved), source="base_url")
    elif provider in SERVICES or provider == "anthropic":
        address = ANTHROPIC_HOME if provider == "anthropic" else SERVICES[provider].base_url
    else:
        return
    if provider == "inspect":
        require(INSPECT, address, who=name)
    elif variable:
        require(_variable(str(variable), f"{name}: key_variable"), address, who=name)


def config_file() -> Path:
    """Return the user's configuration file."""
    xdg = os.environ.get("XDG_CONFIG_HOME", "").strip()
    return (Path(xdg) if Path(xdg).is_absolute() else Path("~/.config").expanduser()) / "ostrom" / "config.yaml"


def _homes(variable: str) -> Iterator[Origin]:
    """Yield the servers that a key belongs to."""
    anthropic = Service(ANTHROPIC_HOME, ("ANTHROPIC_API_KEY",), url_variable="ANTHROPIC_BASE_URL")
    for service in (*SERVICES.values(), anthropic):
        if variable in service.keys:
            yield origin(service.base_url)
            if (moved := service.url_variable) and (elsewhere := first_set((moved,))):
                yield origin(checked_url(elsewhere, source=moved))


def environments() -> Mapping[str, Path]:
    """Return the folders of the environments for servers that the user's configuration file names, by name."""
    return {
        str(name): Path(str(folder)).expanduser()
        for name, folder in _configuration("environments", "names to folders").items()
    }


def _configured() -> Mapping[str, frozenset[Origin]]:
    where = f"{config_file()}: allow_keys"
    return {
        _variable(str(variable), where): frozenset(
            _place(str(host), where) for host in (hosts if isinstance(hosts, list) else [hosts])
        )
        for variable, hosts in _configuration("allow_keys", "variables to hosts").items()
    }


def _configuration(entry: str, kind: str) -> Mapping[object, object]:
    """Return one entry of the configuration file; empty if missing."""
    path = config_file()
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"cannot be read: {error}", file=str(path)) from None
    config = read_yaml(text, str(path)) or {}
    if not isinstance(config, dict):
        raise StudyError("must map names to values", file=str(path), actual=config)
    if unknown := sorted(str(key) for key in set(config) - set(ENTRIES)):
        raise StudyError("unknown entry", file=str(path), actual=unknown[0], allowed=ENTRIES)
    values = config.get(entry) or {}
    if not isinstance(values, dict):
        raise StudyError(f"must map {kind}", file=str(path), key=entry, actual=values)
    return values


def _variable(name: str, source: str) -> str:
    if not _NAME.fullmatch(name.strip()):
        raise UsageError(f"{source}: {name!r} is not the name of an environment variable")
    return name.strip()


def _place(host: str, source: str) -> Origin:
    """Parse a server as users write it: a host means https, unless it is this machine."""
    text = host.strip()
    scheme = "" if "://" in text else "http://" if is_local(f"http://{text}") else "https://"
    return origin(checked_url(scheme + text, source=source))


def _written(place: Origin) -> str:
    scheme, host, port = place
    usual = port == {"http": 80, "https": 443}.get(scheme)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}{'' if usual else f':{port}'}"
