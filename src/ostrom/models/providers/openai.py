"""A client for servers with the OpenAI API, with batches, and the rules for its address and key.

The provider ``openai`` is OpenAI's own service, or whatever server OPENAI_BASE_URL names.

A model may be behind several servers: every match stays with one of them, so that its prompts are in that server's
cache.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any

import orjson

from ostrom.ground.errors import AccessRefused, MalformedReply, StudyError, UsageError
from ostrom.models.asking import at_least_one, positive, refuse_beyond
from ostrom.models.base import Abilities, Model, Reply, Request
from ostrom.models.batches import (
    BATCH_TIMEOUT,
    BatchEndpoint,
    BatchLimits,
    BatchProblem,
    BatchRequest,
    BatchStatus,
    ResultLine,
    Wanted,
    count,
    identifier,
    is_identifier,
)
from ostrom.models.dialects import DIALECTS, Dialect, abilities_of
from ostrom.models.failures import from_document, from_error_object, in_text
from ostrom.models.grants import key_for
from ostrom.models.openai_wire import PARAMS, decode, encode, is_reasoning_model, read
from ostrom.models.services import SERVICES, checked_url, first_set, home_of, origin
from ostrom.models.transport import HttpModel, Transport


class ReplicatedModel:
    """A model that several servers offer, in the order in which the settings name them."""

    def __init__(self, replicas: Sequence[Model]) -> None:
        self.replicas = tuple(replicas)
        """The clients; the engine sends the calls of a match to one of them, and to the next after a failure."""
        first = self.replicas[0]
        self.name, self.abilities = first.name, first.abilities
        self.connections = sum(replica.connections for replica in self.replicas)
        self._turn = cycle(self.replicas)

    def __repr__(self) -> str:
        return f"<ReplicatedModel {self.name}, {len(self.replicas)} servers>"

    async def complete(self, request: Request) -> Reply:
        """Make one call outside of matches: the servers take turns."""
        return await next(self._turn).complete(request)

    async def close(self) -> None:
        """Close all clients."""
        for replica in self.replicas:
            await replica.close()

    def describe(self) -> Mapping[str, Any]:
        """The description of the first server, with the addresses of all of them."""
        facts = dict(self.replicas[0].describe())
        return {
            **facts,
            "client": {**facts["client"], "replicas": [replica.describe()["base_url"] for replica in self.replicas]},
        }


def addresses_of(address: str, replicas: Iterable[str] | None) -> list[str]:
    """The addresses of all servers of a model, its own first, each once.

    >>> addresses_of("http://a:1/v1", ["http://a:1/v1/", "http://b:1/v1"])
    ['http://a:1/v1', 'http://b:1/v1']
    """
    return list(dict.fromkeys([address, *(checked_url(url, source="replicas") for url in replicas or ())]))


__all__ = ["PARAMS", "PROVIDER", "OpenAIModel", "abilities", "check", "open_service", "open_url"]

ENDED = frozenset({"completed", "failed", "expired", "cancelled", "canceled"})
UNRUN = frozenset({"batch_expired", "batch_cancelled", "batch_canceled", "request_cancelled", "request_expired"})
"""Codes of requests that were never run."""


class OpenAIBatches(BatchEndpoint):
    """The batch endpoint at one address: a file is uploaded, a batch created from it, and output files are read.

    The rules are those of the published reference (platform.openai.com, Files and Batch): at most 50,000 requests and
    200 MB a file, one model a file, a window of 24 hours. Requests that were not run are not charged.
    """

    limits = BatchLimits(50_000, 200_000_000)
    root = "/batches"
    after = "after"

    def __init__(self, transport: Transport, endpoint: str, encode: Callable[[Request], bytes]) -> None:
        super().__init__(transport, encode)
        self._endpoint = endpoint

    def read(self, line: ResultLine, request: Request) -> Reply:
        """The reply in a line of results."""
        who, secrets = self.who, self.transport.secrets
        if line.kind == "error" and line.status != 200:
            raise from_document(line.status, line.document, who=who, secrets=secrets)
        if line.kind == "error":
            raise from_error_object(line.document, who=who, secrets=secrets)
        return self.transport.redactor.clean_reply(read(line.document, request, who=who, secrets=secrets))

    async def upload(self, marker: str, requests: Sequence[BatchRequest]) -> str:
        """Upload the file of requests."""
        boundary = f"ostrom-{marker}"
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n',
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{marker}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n",
        ]
        lines = [
            orjson.dumps({"custom_id": r.id, "method": "POST", "url": self._endpoint, "body": orjson.Fragment(r.body)})
            for r in requests
        ]
        body = b"".join([*(part.encode() for part in parts), b"\n".join(lines), f"\n\r\n--{boundary}--\r\n".encode()])
        return identifier(
            await self.json("POST", "/files", body, f"multipart/form-data; boundary={boundary}"), self.who
        )

    async def create(self, marker: str, file: str | None, requests: Sequence[BatchRequest]) -> BatchStatus:  # noqa: ARG002
        """Make a batch from an uploaded file."""
        return self._status(
            await self.json(
                "POST",
                self.root,
                {
                    "input_file_id": file,
                    "endpoint": self._endpoint,
                    "completion_window": "24h",
                    "metadata": {"ostrom": marker},
                },
            )
        )

    def is_ours(self, batch: BatchStatus, wanted: Wanted) -> bool:
        """Return whether a batch has our marker in its metadata, or was made from our file."""
        return batch.marker == wanted.marker or (wanted.file is not None and batch.input == wanted.file)

    async def results(self, batch: BatchStatus, output: str) -> list[ResultLine]:
        """The lines of an output or error file."""
        return [_line(entry) for entry in await self.lines(f"/files/{output}/content", batch.total)]

    def _status(self, document: dict[str, Any]) -> BatchStatus:
        if not isinstance(how := document.get("status"), str):
            raise MalformedReply(f"{self.who} sent a batch without a status")
        clean = self.transport.redactor.clean  # nested escapes reveal a key only now
        how = clean(how.lower())
        counts, metadata = (
            part if isinstance(part := document.get(name), dict) else {} for name in ("request_counts", "metadata")
        )
        done, failed = count(counts.get("completed")), count(counts.get("failed"))
        marker, created, source = metadata.get("ostrom"), document.get("created_at"), document.get("input_file_id")
        outputs = [document.get(name) for name in ("output_file_id", "error_file_id")]
        return BatchStatus(
            identifier(document, self.who),
            how in ENDED,
            how,
            count(counts.get("total")),
            None if done is None or failed is None else done + failed,
            done,
            float(created) if isinstance(created, int | float) else None,
            source if isinstance(source, str) else None,
            marker if isinstance(marker, str) else None,
            tuple(name for name in outputs if isinstance(name, str) and is_identifier(name)),
            _problems(document.get("errors"), clean),
        )


def _line(entry: dict[str, Any]) -> ResultLine:
    name, response, error = entry["custom_id"], entry.get("response"), entry.get("error")
    if isinstance(response, dict) and isinstance(response.get("body"), dict):
        body, status = response["body"], response.get("status_code")
        if status in (None, 200) and body.get("error"):
            return ResultLine(name, "error", body["error"])
        if status in (None, 200):
            return ResultLine(name, "reply" if isinstance(body.get("choices"), list) else "bad", body)
        if type(status) is int and 300 <= status <= 599:
            return ResultLine(name, "error", body, status)
    if isinstance(error, dict):
        return ResultLine(name, "unrun" if in_text(error.get("code")).lower() in UNRUN else "error", error)
    return ResultLine(name, "bad", None)


def _problems(errors: Any, clean: Callable[[str], str]) -> tuple[BatchProblem, ...]:
    data = errors.get("data") if isinstance(errors, dict) else errors
    return tuple(
        BatchProblem(
            clean(in_text(entry.get("code") or ""))[:100],
            clean(in_text(entry.get("message") or ""))[:1000],
            count(entry.get("line")),
        )
        for entry in (data if isinstance(data, list) else [])
        if isinstance(entry, dict)
    )


class OpenAIModel(HttpModel):
    """One model behind one OpenAI-compatible address."""

    def __init__(
        self,
        name: str,
        model: str,
        base_url: str,
        *,
        dialect: str = "plain",
        key: str | None = None,
        timeout: float = 120.0,
        connections: int = 16,
        abilities: Iterable[str] | None = None,
    ) -> None:
        if not model:
            raise UsageError(f"{name}: no model is named")
        self.name, self.connections = name, at_least_one(connections, "connections")
        self._model, self._base_url, self._dialect_name = model, base_url, dialect
        self.abilities: Abilities = abilities_for(model, dialect, abilities, who=name)
        self._dialect: Dialect = DIALECTS[dialect]
        self._token_word = (
            "max_completion_tokens" if dialect == "openai" and is_reasoning_model(model) else "max_tokens"
        )
        self._path = f"/{'chat/' if self._dialect.endpoint == 'chat' else ''}completions"
        self._timeout, self._key = positive(timeout, "timeout"), key
        self._transport = self._reach(self._path, self._timeout)

    def _reach(self, path: str, timeout: float) -> Transport:
        key = self._key
        return Transport(
            f"{self._base_url}{path}",
            {"Authorization": f"Bearer {key}"} if key else {},
            who=self.name if "://" not in self.name else self._model,
            timeout=timeout,
            secrets=(key,) if key else (),
        )

    _decode = staticmethod(decode)

    def _encode(self, request: Request) -> bytes:
        refuse_beyond(self.abilities, request, self.name)
        return encode(request, self._model, self._dialect, self._token_word)

    def batches(self) -> OpenAIBatches:
        """The batch endpoint of the same server; only a request shows whether the server has one."""
        return OpenAIBatches(self._reach("", min(self._timeout, BATCH_TIMEOUT)), f"/v1{self._path}", self._encode)

    def describe(self) -> Mapping[str, Any]:
        """Address, model and settings, without the key."""
        return {
            "name": self.name,
            "wire": "openai",
            "model": self._model,
            "base_url": self._base_url,
            "dialect": self._dialect_name,
            "abilities": self.abilities.described(),
            "client": {"timeout": self._timeout, "connections": self.connections},
        }


def check(argument: str) -> None:
    """Refuse an invalid URL, and one without a model; a service's models may have any name."""
    if "://" in argument:
        address, _, model = argument.partition("#")
        checked_url(address, source="model name")
        if not model:
            raise UsageError(f"{argument}: name the model after a #, as in http://host:port/v1#model")


def abilities_for(model: str, dialect: str, wanted: Iterable[str] | None, *, who: str) -> Abilities:
    """Return the abilities of a model with a dialect."""
    if dialect not in DIALECTS:
        raise StudyError("unknown dialect", key="dialect", actual=dialect, allowed=sorted(DIALECTS))
    abilities = abilities_of(DIALECTS[dialect], wanted, who=who)
    hides_logprobs = dialect == "openai" and is_reasoning_model(model) and wanted is None
    return replace(abilities, logprobs=False) if hides_logprobs else abilities


def abilities(name: str, settings: Mapping[str, Any]) -> Abilities:
    """Return the abilities of a model of a service or a URL, without its key."""
    service, _, model = name.partition("/")
    usual = SERVICES[service].dialect if service in SERVICES else "plain"
    model = model if service in SERVICES else name.partition("#")[2]
    return abilities_for(model, settings.get("dialect") or usual, settings.get("abilities"), who=name)


def open_service(
    service: str,
    model: str,
    *,
    base_url: str | None = None,
    replicas: Iterable[str] | None = None,
    key_variable: str | None = None,
    dialect: str | None = None,
    timeout: float = 120.0,
    connections: int = 16,
    abilities: Iterable[str] | None = None,
) -> OpenAIModel | ReplicatedModel:
    """Open a model of a known service, at its own address or at those the user names."""
    entry = SERVICES[service]
    moved = first_set((entry.url_variable,)) if entry.url_variable else None
    first, *_ = replicas or (None,)
    stated = ((base_url, "base_url"), (first, "replicas"), (moved, str(entry.url_variable)))
    addresses = (checked_url(url, source=source) for url, source in stated if url is not None)
    address = next(addresses, None) or home_of(service)
    homes = [entry.base_url, *([moved] if moved else [])]

    def client(address: str) -> OpenAIModel:
        key = key_for(address, homes, entry.keys, named=key_variable, who=f"{service}/{model}")
        if key is None and entry.needs_key and origin(address) == origin(entry.base_url):
            raise AccessRefused(f"{service}/{model}: set the environment variable {entry.keys[0]} to your key")
        return OpenAIModel(
            f"{service}/{model}",
            model,
            address,
            dialect=dialect or entry.dialect,
            key=key,
            timeout=timeout,
            connections=connections,
            abilities=abilities,
        )

    return _all([client(each) for each in addresses_of(address, replicas)])


def open_url(
    name: str,
    *,
    replicas: Iterable[str] | None = None,
    key_variable: str | None = None,
    dialect: str = "plain",
    timeout: float = 120.0,
    connections: int = 16,
    abilities: Iterable[str] | None = None,
) -> OpenAIModel | ReplicatedModel:
    """Open the model at ``http://host:port/v1#model``, with further addresses if it has replicas."""
    check(name)
    address, _, model = name.partition("#")
    base_url = checked_url(address, source="model name")
    home = first_set(("OPENAI_BASE_URL",))
    homes = [checked_url(home, source="OPENAI_BASE_URL")] if home else []
    return _all(
        [
            OpenAIModel(
                f"{base_url}#{model}",
                model,
                each,
                dialect=dialect,
                key=key_for(each, homes, ("OPENAI_API_KEY",), named=key_variable, who=f"{each}#{model}"),
                timeout=timeout,
                connections=connections,
                abilities=abilities,
            )
            for each in addresses_of(base_url, replicas)
        ]
    )


def _all(clients: list[OpenAIModel]) -> OpenAIModel | ReplicatedModel:
    return clients[0] if len(clients) == 1 else ReplicatedModel(clients)


PROVIDER = partial(open_service, "openai")
