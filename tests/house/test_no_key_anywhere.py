"""A server that repeats the key in every form and place: no output of any command holds it."""

import asyncio
import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from tests.cli.in_process import caller
from tests.models.test_redaction import KEY, WRITTEN

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import RetryPolicy
from ostrom.features.trees.plan import TreePlan
from ostrom.models.batches import BatchStatus
from ostrom.models.providers.openai import OpenAIBatches
from ostrom.models.redaction import redactor
from ostrom.studies.load import load_study
from ostrom.studies.resolve import resolve
from ostrom.studies.run import open_run, play
from ostrom.testing.server import LoopbackServer

ECHO = " | ".join(WRITTEN.values())
"""The key in every form."""
FLAT = re.compile(r"[\s\u00ad\u200b\u00a0]+")


CALLS = count()


def echoing(_: dict[str, Any]) -> Any:
    """A reply, a refusal or an error, in turn; all of them repeat the key wherever they can."""
    kind = next(CALLS) % 7
    error = {"error": {"message": ECHO, "type": ECHO, "code": ECHO, "param": {ECHO: [ECHO]}}}
    if kind == 0:
        return 500, error
    if kind == 1:
        return 400, {"error": {"message": f"flagged by the content filter {ECHO}", "code": "content_filter"}}
    if kind == 2:
        return 200, {**error, "choices": []}
    message = {"content": f"{ECHO}\n[A0]", "reasoning": ECHO, "refusal": None if kind > 3 else ECHO}
    choice = {"message": message, "finish_reason": ECHO if kind == 4 else "stop"}
    return {"id": ECHO, "model": ECHO, "system_fingerprint": ECHO, "choices": [choice], "usage": {ECHO: ECHO}}


def inside(data: bytes) -> Iterator[bytes]:
    """The bytes of a file, and what is packed in it."""
    yield data
    for start in (m.start() for m in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", data)):
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(data[start:], 1 << 22)
    if data[:2] == b"\x1f\x8b":
        yield gzip.decompress(data)
    if data[:2] == b"PK":
        packed = zipfile.ZipFile(io.BytesIO(data))
        yield from (packed.read(name) for name in packed.namelist())
    if data[:4] == b"PAR1":
        yield json.dumps(pl.read_parquet(io.BytesIO(data)).to_dicts(), default=str).encode()


def repeats(text: str) -> str | None:
    """How a text holds the key: a run of 16 characters of it in any form and case."""
    flat = FLAT.sub("", text.replace('\\"', '"').replace("\\/", "/")).lower()
    for how, written in WRITTEN.items():
        form = FLAT.sub("", written).lower()
        size = 48 if how.startswith(("base64", "hexa")) else 16
        if any(form[i : i + size] in flat for i in range(max(1, len(form) - size + 1))):
            return how
    return None


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OSTROM_API_KEY", KEY)
    with LoopbackServer(echoing) as server:
        study = {
            "name": "echo", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 4},
            "agent": {"style": "direct", "settings": {"base_url": server.url}}, "seeds": 6,
            "types": {"m": {"model": "openai/m"}, "tft": "tit_for_tat"}, "seating": "ordered",
            "invalid": {"retries": 1, "policy": "uniform"},
        }  # fmt: skip
        play(load_study(study), runs=tmp_path / "runs", options=PlayOptions(retry=RetryPolicy(tries=2, first=0.001)))
        assert KEY in str(server.requests[0].headers)
    return tmp_path


def test_no_output_of_a_run_holds_the_key(
    played: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with open_run(played / "runs" / "echo") as run:
        calls = list(run.rows.calls())
    assert sum(call["error"] is not None for call in calls) > 2 and any("[key]" in str(call) for call in calls)
    ostrom = caller(monkeypatch, played)
    said = [str(calls), caplog.text]
    for words in (
        "transcript echo", "report echo", "export echo", "export echo --format csv --out csv",
        "export echo --format jsonl --out jsonl", "export echo --format inspect --out inspect",
        "export echo --format hf --texts --out hf", "resume echo", "view bundle echo --out bundle",
    ):  # fmt: skip
        done = ostrom(*words.split())
        assert done.code == (words == "resume echo"), (words, done.err)
        said += [done.out, done.err]
    assert nothing_leaked(said, played) > 20


def nothing_leaked(said: list[str], folder: Path) -> int:
    """Look for the key in what was said and in every file of a folder; how many files there are."""
    for place, text in enumerate(said):
        assert repeats(text) is None, (place, repeats(text))
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        for content in inside(path.read_bytes()):
            how = repeats(content.decode("utf-8", "replace"))
            assert how is None, (path, how)
    return len(files)


@pytest.mark.slow
def test_no_tree_and_no_run_with_one_holds_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OSTROM_API_KEY", KEY)
    ostrom, file = caller(monkeypatch, tmp_path), tmp_path / "echo.yaml"
    with LoopbackServer(echoing) as server:
        study = {
            "name": "echo", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 3},
            "agent": {"settings": {"base_url": server.url}, "params": {"temperature": 0}},
            "types": {"m": {"model": "openai/m", "tree": "auto"}, "tft": "tit_for_tat"}, "seating": "seats",
            "invalid": {"retries": 1, "policy": "uniform"}, "budget": {"tokens": 10**9},
        }  # fmt: skip
        file.write_text(json.dumps(study))
        plan = TreePlan(resolve(str(file)).plan, "echo")
        options = PlayOptions(retry=RetryPolicy(tries=9, first=0.001), ask_again=True)
        said = []
        for _ in range(100):  # a refusal ends a session, and the next one goes on
            done = plan.play(options=options)
            said += done.tally.failures
            if done.complete:
                break
        assert done.complete and said and server.count > plan.nodes
        said.append(caplog.text)
        for words in (
            "more tree echo.yaml --json", "run echo.yaml", "report echo", "export echo", "transcript echo",
            "view bundle echo --out bundle", "view bundle trees/echo --out leaves",
        ):  # fmt: skip
            ended = ostrom(*words.split())
            assert ended.code == 0 or words.endswith("leaves"), (words, ended.err)
            said += [ended.out, ended.err]
    assert nothing_leaked(said, tmp_path) > 20


def test_the_check_notices_a_key() -> None:
    for how, written in WRITTEN.items():
        assert repeats(f"x {written} y") is not None, how
        assert any(repeats(part.decode("utf-8", "replace")) for part in inside(zlib.compress(written.encode())))


class Repeating:
    """A transport whose service repeats the key wherever it can."""

    who, secrets, redactor = "m", (KEY,), redactor((KEY,))

    def __init__(self, document: Any) -> None:
        self.document = document

    async def exchange(self, *_: object, **__: object) -> Any:
        return SimpleNamespace(body=json.dumps(self.document).encode())


@pytest.mark.parametrize("how", WRITTEN)
def test_why_a_batch_failed_holds_no_key(how: str) -> None:
    told = WRITTEN[how]
    document = {"id": "b", "status": "failed", "errors": {"data": [{"code": told, "message": f"see {told} end"}]}}
    transport: Any = Repeating(document)
    found: BatchStatus = asyncio.run(OpenAIBatches(transport, "/v1", lambda _: b"").retrieve("b"))
    assert repeats(repr(found)) is None and found.problems[0].message.count("[key]")
    document["status"] = told
    assert repeats(repr(asyncio.run(OpenAIBatches(transport, "/v1", lambda _: b"").retrieve("b")))) is None
