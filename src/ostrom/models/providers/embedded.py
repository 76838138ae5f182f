"""Models that run in this process: known ones by name, any GGUF file by path (``embedded//path/x.gguf``)."""

import asyncio
import json
import os
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal, get_args

from ostrom.ground.errors import MalformedReply, ModelError, StudyError, TimedOut, UnknownName, UsageError
from ostrom.models import client_name
from ostrom.models.asking import at_least_one, positive, put_params, refuse_beyond
from ostrom.models.base import Abilities, Reply, Request
from ostrom.models.embedded.runtime import (
    ALL_LAYERS,
    Load,
    SharedRuntime,
    announce,
    enter,
    has_gpu,
    release,
    runtime_version,
)
from ostrom.models.embedded.weights import WEIGHTS, Adapter, bar, dequantised, fetch, find_adapter
from ostrom.models.openai_wire import choice_grammar, read

Mode = Literal["reproducible", "fast"]

# Plain sampling from the model's distribution. Set explicitly: the runtime's defaults would truncate it.
SAMPLING: Mapping[str, Any] = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "max_tokens": 1024}
_SPACING = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
PARAMS = ("temperature", "top_p", "top_k", "min_p", "max_tokens", "seed", "stop", "extra")


class EmbeddedModel:
    """A model file that runs in this process. It is loaded at the first call."""

    def __init__(
        self,
        name: str,
        path: Path,
        *,
        mode: Mode = "fast",
        slots: int | None = None,
        threads: int | None = None,
        context: int = 8192,
        timeout: float = 600.0,
        sha256: str | None = None,
        adapter: Adapter | None = None,
        scale: float = 1.0,
        gpu_layers: int = 0,
    ) -> None:
        fast = mode == "fast"
        slots = at_least_one(slots if slots is not None else (4 if fast else 1), "slots")
        threads = at_least_one(threads if threads is not None else _cores(), "threads")
        self.name, self.connections, self._mode = name, slots, mode
        self.most_connections = slots
        self.abilities = Abilities(choices=True, schema=True, logprobs=True, prefill=True, deterministic=not fast)
        self._load = Load(path, slots, threads, at_least_one(context, "context"), fast, gpu_layers)
        self._timeout, self._sha256 = positive(timeout, "timeout"), sha256
        self._adapter, self._scale = adapter, scale
        self._running: set[threading.Event] = set()
        self._closed = False
        announce(self, self._load, self._adapter_path)

    def __repr__(self) -> str:
        return f"<EmbeddedModel {self.name}>"

    async def complete(self, request: Request) -> Reply:
        """Make one call in a thread; an abandoned call stops at its next token."""
        refuse_beyond(self.abilities, request, self.name)
        body = self._body(request)
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Reply] = loop.create_future()
        stop = threading.Event()
        self._running.add(stop)

        def settle(reply: Reply | None, error: BaseException | None) -> None:
            if error is not None and not done.done():
                done.set_exception(error)
            elif reply is not None and not done.done():
                done.set_result(reply)

        def work() -> None:
            reply, error = None, None
            try:
                if self._closed:
                    raise ModelError(f"{self.name} was closed before this call")
                shared = enter(self, self._load, self._adapter_path)
                with self._turn(shared, body, stop) as slot, shared.free:
                    if stop.is_set():
                        return
                    if slot is not None:
                        body["id_slot"] = slot
                    reply = self._call(shared, body, request, stop)
            except BaseException as failure:
                error = failure
            try:
                loop.call_soon_threadsafe(settle, reply, error)
            except RuntimeError:
                return  # the loop was closed; nothing awaits the result

        # A daemon thread: Python joins pool threads at exit before they can be stopped.
        threading.Thread(target=work, name="ostrom-embedded", daemon=True).start()
        try:
            return await asyncio.wait_for(done, self._timeout)
        except TimeoutError:
            raise TimedOut(f"{self.name} gave no complete reply within {self._timeout:g} s") from None
        finally:
            stop.set()
            self._running.discard(stop)

    async def close(self) -> None:
        """Stop the running calls, and free the memory unless other clients use the same weights."""
        self._closed = True
        for stop in list(self._running):
            stop.set()
        await asyncio.to_thread(release, self, self._load)

    def describe(self) -> Mapping[str, Any]:
        """Return what replies depend on: file, mode and sampling."""
        return {
            "name": self.name,
            "wire": "embedded",
            "file": self._load.path.name,
            "sha256": self._sha256,
            "runtime": runtime_version(),
            "mode": self._mode,
            "slots": self._load.slots,
            "threads": self._load.threads,
            "context": self._load.context,
            "sampling_if_unset": dict(SAMPLING),
            "abilities": self.abilities.described(),
            "client": {"timeout": self._timeout, "connections": self.connections},
            **({"adapter": {"sha256": self._adapter.sha256, "scale": self._scale}} if self._adapter else {}),
            **({"gpu_layers": self._load.gpu_layers} if self._load.gpu_layers else {}),
        }

    @property
    def _adapter_path(self) -> Path | None:
        return None if self._adapter is None else self._adapter.path

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "cache_prompt": self._load.keep_prompts,
            "stream_options": {"include_usage": True},
            **SAMPLING,
        }
        put_params(body, request.params, {name: name for name in PARAMS if name != "extra"}, PARAMS)
        if request.top_logprobs:
            body["logprobs"], body["top_logprobs"] = True, request.top_logprobs
        constraint = request.constraint
        if constraint is not None and constraint.choices is not None:
            body["grammar"] = choice_grammar(constraint.choices)
        if constraint is not None and constraint.schema is not None:
            # As a grammar: with a response format the runtime cannot continue a prefill.
            body["grammar"] = schema_grammar(constraint.schema)
        return body

    def _turn(
        self, shared: SharedRuntime, body: dict[str, Any], stop: threading.Event
    ) -> AbstractContextManager[int | None]:
        """Wait until a call may start: at once, unless one with a common prefix is running."""
        if not self._load.keep_prompts or self._load.slots == 1 or shared.adapters:
            return nullcontext()
        prompt = "\n".join(f"{m['role']}: {m['content']}" for m in body["messages"])
        return shared.beginnings.turn(prompt, stop, lambda: shared.runtime().share_idle_slots())

    def _call(self, shared: SharedRuntime, body: dict[str, Any], request: Request, stop: threading.Event) -> Reply:
        runtime = shared.runtime()
        if self._closed:
            raise ModelError(f"{self.name} was closed before this call")
        body["lora"] = shared.scales(self._adapter_path, self._scale)
        pieces: list[dict[str, Any]] = []
        runtime.chat(body, stop, pieces.append)
        if self._closed:
            raise ModelError(f"{self.name} was closed during this call")
        return read(_document(pieces, self.name), request, who=self.name)


def _document(pieces: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Join streamed pieces to one reply of the OpenAI protocol."""
    document: dict[str, Any] = {}
    texts: list[str] = []
    tokens: list[Any] = []
    finish: str | None = None
    for piece in pieces:
        if "error" in piece:
            return {"error": piece["error"]}
        for choice in piece.get("choices") or ():
            texts.append((choice.get("delta") or {}).get("content") or "")
            tokens += (choice.get("logprobs") or {}).get("content") or ()
            finish = choice.get("finish_reason") or finish
        document.update((key, piece[key]) for key in ("id", "model", "usage") if piece.get(key))
    if finish is None:
        raise MalformedReply(f"{name}: the reply was stopped before its end")
    document["choices"] = [
        {"message": {"content": "".join(texts)}, "finish_reason": finish, "logprobs": {"content": tokens}}
    ]
    document["model"] = Path(str(document.get("model"))).name
    return document


def schema_grammar(schema: Mapping[str, Any]) -> str:
    """Return a grammar for the JSON texts of a schema, made by the runtime.

    White space is fixed: a small model that is free to write white space spends its tokens on it.
    """
    from xllamacpp import json_schema_to_grammar

    return str(json_schema_to_grammar(json.dumps({**schema, "x-guidance": _SPACING})))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Precision = Literal["file", "float32"]

VARIANTS = ("adapter", "scale")
"""Settings in which clients of one model may differ within a study: they share its weights."""


def check(model: str) -> None:
    """Refuse a name without weights, and a missing file."""
    is_path = model.endswith(".gguf")
    if is_path and not Path(model).expanduser().is_file():
        raise UsageError(f"embedded/{model}: there is no such file")
    if not is_path and model not in WEIGHTS:
        raise UnknownName("embedded model", model, WEIGHTS)


def _open(
    model: str,
    *,
    mode: Mode = "fast",
    slots: int | None = None,
    threads: int | None = None,
    context: int = 8192,
    timeout: float = 600.0,
    adapter: str | None = None,
    scale: float | None = None,
    precision: Precision = "file",
    gpu: str | int = "none",
) -> EmbeddedModel:
    for key, value, allowed in (("mode", mode, get_args(Mode)), ("precision", precision, get_args(Precision))):
        if value not in allowed:
            raise StudyError(f"unknown {key}", key=key, actual=value, allowed=allowed)
    if mode == "reproducible" and slots not in (None, 1):
        raise StudyError("mode reproducible has one slot; mode fast has more", key="slots", actual=slots)
    if scale is not None and adapter is None:
        raise StudyError("is the scale of an adapter: set adapter too", key="settings.scale", actual=scale)
    layers = {"none": 0, "all": ALL_LAYERS}[gpu] if isinstance(gpu, str) else gpu
    if layers and not has_gpu():
        raise StudyError(
            f"the installed runtime ({runtime_version()}) finds no GPU: install a build for yours, or leave this out",
            key="settings.gpu",
            actual=gpu,
        )
    check(model)
    if model.endswith(".gguf"):
        path, sha256 = Path(model).expanduser(), None
    else:
        with bar(f"fetching embedded/{model}") as progress:
            path = fetch(model, progress)
        sha256 = WEIGHTS[model].sha256
    adapter_file = None if adapter is None else find_adapter(adapter, path)
    return EmbeddedModel(
        client_name(f"embedded/{model}", {"adapter": adapter, "scale": scale}),
        dequantised(path) if precision == "float32" else path,
        mode=mode,
        slots=slots,
        threads=threads,
        context=context,
        timeout=timeout,
        sha256=sha256,
        adapter=adapter_file,
        scale=1.0 if scale is None else float(scale),
        gpu_layers=layers,
    )


PROVIDER = _open
