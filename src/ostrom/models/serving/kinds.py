"""Which servers can be started, and the argument list of each.

Only the model and the settings listed here get from a study into a command. Every server listens on loopback alone,
and samples from the whole distribution of its model unless a call says otherwise.
"""

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ostrom.ground.errors import AccessRefused, StudyError, UsageError
from ostrom.ground.files import cache_folder
from ostrom.models.asking import positive
from ostrom.models.grants import environments, variables

HOST = "127.0.0.1"
SAMPLING: Mapping[str, Any] = {"temperature": 1.0, "top_p": 1.0, "top_k": 0}
"""The sampling defaults of every server: from the whole distribution."""
ENVIRONMENT_VARIABLE = "OSTROM_SERVER_ENV"
WEIGHTS_KEY = "HF_TOKEN"
"""The environment variable with the key for downloading weights."""
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
PRECISIONS = ("auto", "bfloat16", "float16", "float32")
DEVICES = ("auto", "cpu", "cuda", "mps")


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A server program: its name, how to install it, its settings, its key variable, and whether it has adapters."""

    program: str
    install: str
    settings: frozenset[str]
    key_variable: str | None = None
    """The environment variable with the key that callers need."""
    adapters: bool = False


KINDS: dict[str, ServerKind] = {
    "vllm": ServerKind(
        "vllm",
        "pip install vllm",
        frozenset({"context", "slots", "precision", "gpus", "gpu_memory", "adapter"}),
        key_variable="VLLM_API_KEY",
        adapters=True,
    ),
    "transformers": ServerKind(
        "transformers",
        "pip install 'transformers[serving]' torch",
        frozenset({"precision", "device", "continuous_batching"}),
    ),
    "llama-server": ServerKind(
        "llama-server",
        "from llama.cpp",
        frozenset({"context", "slots", "threads", "gpu", "adapter", "scale"}),
        key_variable="LLAMA_API_KEY",
        adapters=True,
    ),
}


@dataclass(frozen=True)
class ServerPlan:
    """The plan of a server: model, settings and adapters."""

    kind: str
    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    adapters: tuple[str, ...] = ()

    @property
    def served_name(self) -> str:
        """Return the model name that calls must use."""
        return str(view_of(Path(self.model))) if self.kind == "transformers" else self.model

    def arguments(self, port: int) -> list[str]:
        """The argument list after the program.

        >>> ServerPlan("llama-server", "/models/a.gguf", {"slots": 4, "context": 2048}).arguments(8001)[:8]
        ['--model', '/models/a.gguf', '--host', '127.0.0.1', '--port', '8001', '--parallel', '4']
        """
        return _ARGUMENTS[self.kind](self, ["--host", HOST, "--port", str(port)])

    def command(self, port: int) -> list[str]:
        """Return the command; raises if the program is not installed."""
        return [find_program(self.kind, self.settings.get("environment")), *self.arguments(port)]

    def variables(self, key: str) -> dict[str, str]:
        """Return the server's environment: that of this process without the keys of other services."""
        others = variables() - {WEIGHTS_KEY}
        base = {k: v for k, v in os.environ.items() if k not in others and not k.endswith(("_API_KEY", "_API_TOKEN"))}
        variable = KINDS[self.kind].key_variable
        return {**base, **({variable: key} if variable else {}), "PYTHONUNBUFFERED": "1"}


def _vllm(plan: ServerPlan, where: list[str]) -> list[str]:
    more = _options(
        plan.settings,
        context="--max-model-len",
        slots="--max-num-seqs",
        precision="--dtype",
        gpus="--tensor-parallel-size",
        gpu_memory="--gpu-memory-utilization",
    )
    if plan.adapters:
        modules = [json.dumps({"name": path, "path": path}) for path in plan.adapters]
        more += ["--enable-lora", "--max-loras", str(len(modules)), "--lora-modules", *modules]
    # The model's own defaults would truncate sampling; cached tokens are reported on request only.
    return ["serve", plan.model, *where, "--generation-config", "vllm", "--enable-prompt-tokens-details", *more]


def _transformers(plan: ServerPlan, where: list[str]) -> list[str]:
    batching = ["--continuous-batching"] if plan.settings.get("continuous_batching") else []
    options = _options(plan.settings, precision="--dtype", device="--device")
    return ["serve", plan.served_name, *where, *batching, *options]


def _llama_server(plan: ServerPlan, where: list[str]) -> list[str]:
    settings, slots = plan.settings, plan.settings.get("slots") or 4
    gpu = str(settings.get("gpu", "all"))
    layers = {"all": "999", "none": "0"}.get(gpu, gpu)
    adapters = [part for path in plan.adapters for part in ("--lora", path)]
    return [
        "--model", plan.model, *where, "--parallel", str(slots),
        "--ctx-size", str(slots * (settings.get("context") or 8192)), "--n-gpu-layers", layers,
        *_options(settings, threads="--threads"),
        "--temp", "1", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--no-webui",
        *adapters, *(["--lora-init-without-apply"] if adapters else []),
    ]  # fmt: skip


_ARGUMENTS = {"vllm": _vllm, "transformers": _transformers, "llama-server": _llama_server}


def _options(settings: Mapping[str, Any], **flags: str) -> list[str]:
    return [
        part for name, flag in flags.items() if settings.get(name) is not None for part in (flag, str(settings[name]))
    ]


def check_plan(kind: str, model: str, settings: Mapping[str, Any]) -> str:
    """Refuse a model or settings that no server of this kind accepts; return the model for the server.

    A name never begins with a dash, so that none can be taken for an option.
    """
    who = f"{kind}/{model}"
    path = Path(model).expanduser()
    if kind == "llama-server" and not path.is_file():
        raise UsageError(f"{who}: there is no such file (a model of llama-server is a GGUF file)")
    if kind == "transformers" and not (path / "config.json").is_file():
        raise UsageError(f"{who}: is no folder of a model (it has no config.json)")
    if kind == "vllm" and not path.is_dir() and not _HUB_NAME.fullmatch(model):
        raise UsageError(f"{who}: is neither a folder nor the name of a model (owner/name)")
    check_values(kind, settings)
    return str(path.absolute()) if path.exists() else model


def check_values(kind: str, settings: Mapping[str, Any]) -> None:
    """Refuse settings that a kind of server does not accept."""
    stated = {name: value for name, value in settings.items() if value is not None and name != "environment"}
    for name, value in stated.items():
        if name not in KINDS[kind].settings:
            raise StudyError(
                f"a {kind} server has no such setting", key=f"settings.{name}", actual=value,
                allowed=[*sorted(KINDS[kind].settings), "environment"],
            )  # fmt: skip
        names = {"precision": PRECISIONS, "device": DEVICES}.get(name)
        if names is not None and value not in names:
            raise StudyError(f"unknown {name}", key=f"settings.{name}", actual=value, allowed=names)
        if name == "continuous_batching" and not isinstance(value, bool):
            raise StudyError("must be true or false", key="settings.continuous_batching", actual=value)
        if name == "gpu_memory" and positive(value, "settings.gpu_memory") > 1:
            raise StudyError("must be a share of at most 1", key="settings.gpu_memory", actual=value)


def find_program(kind: str, environment: str | None) -> str:
    """Return the server program: in the named environment, beside this Python, or on the search path.

    A study names an environment; the user's own configuration file maps the name to a folder.
    """
    entry = KINDS[kind]
    own = os.environ.get(ENVIRONMENT_VARIABLE, "").strip()
    folder = Path(own).expanduser() / "bin" if own else Path(sys.executable).parent
    if environment is not None:
        if environment not in (folders := environments()):
            raise StudyError(
                "names no environment of your configuration file", key="settings.environment", actual=environment,
                allowed=sorted(folders),
            )  # fmt: skip
        folder = folders[environment] / "bin"
    if binary := shutil.which(entry.program, path=str(folder)):
        return binary
    if environment is None and ENVIRONMENT_VARIABLE not in os.environ and (binary := shutil.which(entry.program)):
        return binary
    where = "on the search path" if environment is None else f"in the environment {environment}"
    raise AccessRefused(
        f"there is no program {entry.program!r} {where}: install it ({entry.install}; an environment of its own is "
        f"named by {ENVIRONMENT_VARIABLE}=DIR), or name the address of a server that runs already "
        f"({url_variable(kind)}=http://host:port/v1)"
    )


def url_variable(kind: str) -> str:
    """Return the environment variable that names a running server."""
    return f"{kind.upper().replace('-', '_')}_BASE_URL"


def view_of(folder: Path) -> Path:
    """Return the folder that `transformers serve` loads: the model's files with plain sampling defaults.

    The server takes ``do_sample`` and ``top_k`` from the model's folder, and no call can set them: a model that does
    not sample by default would answer greedily at any temperature.
    """
    return cache_folder("servers") / f"{folder.name}-{short_hash(str(folder))}"


def make_view(folder: Path) -> Path:
    """Create and return the folder that `transformers serve` loads (``view_of``)."""
    view = view_of(folder)
    view.mkdir(parents=True, exist_ok=True)
    for old in view.iterdir():
        old.unlink()
    for file in folder.iterdir():
        if file.is_file() and file.name != "generation_config.json":
            (view / file.name).symlink_to(file.absolute())
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    own = folder / "generation_config.json"
    defaults = json.loads(own.read_text(encoding="utf-8")) if own.is_file() else {}
    tokens = ((name, defaults.get(name, config.get(name))) for name in ("bos_token_id", "eos_token_id", "pad_token_id"))
    plain = {**{name: token for name, token in tokens if token is not None}, "do_sample": True, **SAMPLING}
    (view / "generation_config.json").write_text(json.dumps(plain), encoding="utf-8")
    return view


def short_hash(text: str) -> str:
    """Return a short hash of a text, in hexadecimal digits.

    >>> len(short_hash("a"))
    12
    """
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
