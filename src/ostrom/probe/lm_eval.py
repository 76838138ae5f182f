"""Tasks of lm-eval (Language Model Evaluation Harness), which asks and scores both models; items are paired here.

The models are served on this machine while `lm_eval` runs, so that whatever Ostrom plays can be evaluated: an adapter
on an embedded model, or both on a server. lm-eval is a program of its own, in any environment on PATH; it gets no key
but the one of these two addresses.
"""

import asyncio
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ostrom.analysis.statistics.counts import mcnemar
from ostrom.ground.errors import ModelError, UsageError
from ostrom.ground.terminal import one_line
from ostrom.probe.regression import Regression, ReplyFile
from ostrom.web.server import listen_on, serving

PROGRAM = "lm_eval"
FOLDER = "lm-eval"
"""The folder of lm-eval's samples and logs, in the adapter's folder."""
PARAMS = ("temperature", "max_tokens", "stop", "seed")
SECRET = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
UNSAFE = ("marked as unsafe", "HF_ALLOW_CODE_EVAL")
"""Phrases by which lm-eval says that a task runs model-written code."""
SECONDS = 3600
"""The most seconds for one reply: an embedded model is slow."""

TextItem = tuple[Any, ...]
Scores = dict[tuple[str, str, str], dict[TextItem, bool]]
"""Whether each item is right, by task, filter and metric."""


def program() -> str:
    """Return the program `lm_eval`, beside this Python or on PATH."""
    path = shutil.which(PROGRAM, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if path is None:
        raise UsageError("--task needs the program lm_eval: pip install 'lm-eval[api]' (in any environment on PATH)")
    return path


async def compare_tasks(
    replies: ReplyFile, tasks: Sequence[str], folder: Path, *, items: int, include: Path | None, run_code: bool
) -> list[Regression]:
    """Run base and adapter on the first items of each task, and compare the results in pairs."""
    command, key, failures = program(), secrets.token_urlsafe(24), list[str]()

    async def reply(request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {key}":
            return JSONResponse({"error": {"message": "wrong key"}}, 401)
        body = await request.json()
        messages = [(str(one["role"]), str(one["content"])) for one in body["messages"]]
        params = {name: body[name] for name in PARAMS if body.get(name) not in (None, [])}
        try:
            text = await replies.reply(request.path_params["arm"], messages, params)
        except ModelError as error:
            failures.append(str(error))
            return JSONResponse({"error": {"message": str(error)}}, 500)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return JSONResponse({"object": "chat.completion", "choices": [choice]})

    app = Starlette(routes=[Route("/{arm}/v1/chat/completions", reply, methods=["POST"])])
    scores = {}
    with listen_on("127.0.0.1", 0) as bound:
        async with serving(app, bound):
            for arm, model in replies.models.items():
                out = folder / FOLDER / arm
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir(parents=True)
                address = f"http://127.0.0.1:{bound.getsockname()[1]}/{arm}/v1/chat/completions"
                arguments = [
                    "--model", "local-chat-completions", "--model_args",
                    f"model={arm},base_url={address},num_concurrent={model.connections},timeout={SECONDS}",
                    "--apply_chat_template", "--tasks", ",".join(tasks), "--limit", str(items),
                    "--log_samples", "--output_path", str(out),
                    *([] if include is None else ["--include_path", str(include)]),
                    *(["--confirm_run_unsafe_code"] if run_code else []),
                ]  # fmt: skip
                await _run([command, *arguments], out / "log.txt", key, failures, run_code)
                scores[arm] = read_scores(out)
    return pairs(scores["base"], scores["adapter"])


async def _run(command: Sequence[str], log: Path, key: str, failures: Sequence[str], run_code: bool) -> None:
    """Run lm-eval to its end; its output goes to the log."""
    environment = {name: text for name, text in os.environ.items() if not name.endswith(SECRET)}
    allowed = {"HF_ALLOW_CODE_EVAL": "1"} if run_code else {}
    environment |= {"OPENAI_API_KEY": key, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **allowed}
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, env=environment
        )
        try:
            code = await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    if code == 0:
        return
    text = log.read_text("utf-8", "replace")
    if not run_code and any(words in text for words in UNSAFE):
        raise UsageError(
            "--task: lm-eval runs what the model wrote for this task, with your rights and in no sandbox: "
            "add --allow-code-execution, in a container or virtual machine"
        )
    if failures:
        raise UsageError(f"stopped: {failures[-1]}; the same command goes on")
    last = next((line for line in reversed(text.splitlines()) if line.strip()), f"exit code {code}")
    raise UsageError(f"lm-eval failed: {one_line(last)[:300]} (all of it: {log})")


def read_scores(folder: Path) -> Scores:
    """Return which items are right, from lm-eval's logged samples; only 0/1 metrics with 1 as good."""
    scores: Scores = {}
    for file in sorted(folder.rglob("samples_*.jsonl")):
        results = next(file.parent.glob("results_*.json"), None)
        facts = {} if results is None else json.loads(results.read_text("utf-8")).get("higher_is_better", {})
        task = file.stem.removeprefix("samples_").rpartition("_")[0]
        for row in _rows(file):
            item = (row["doc_id"], row["doc_hash"], row["prompt_hash"])
            for metric in row["metrics"]:
                if facts.get(task, {}).get(metric) is not False:
                    own = scores.setdefault((task, row["filter"], metric), {})
                    if item in own:
                        raise UsageError(
                            f"{file}: item {row['doc_id']} stands there twice: repeats cannot be compared in pairs"
                        )
                    own[item] = row[metric]
    paired = {name: values for name, values in scores.items() if all(value in (0, 1) for value in values.values())}
    for task, *_ in scores.keys() or [("lm-eval", "", "")]:
        if not any(task == name[0] for name in paired):
            raise UsageError(f"{task}: no metric in {folder} is 0 or 1 for each item, and pairs need one")
    return paired


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        for line in file.read_text("utf-8").splitlines():
            row = json.loads(line)
            yield {
                name: row[name] for name in ("doc_id", "doc_hash", "prompt_hash", "filter", "metrics", *row["metrics"])
            }
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{file}: is no file of samples of lm-eval ({type(error).__name__}: {error})") from None


def pairs(base: Scores, adapter: Scores) -> list[Regression]:
    """Pair both models on the same items; differing items or prompts are refused."""
    compared = []
    for task, way, metric in sorted(base.keys() | adapter.keys()):
        before, after = (scores.get((task, way, metric), {}) for scores in (base, adapter))
        if before.keys() != after.keys():
            raise UsageError(
                f"{task}: lm-eval asked base and adapter other items ({len(before)} and {len(after)} of them)"
            )
        right = [[bool(scores[item]) for item in before] for scores in (before, after)]
        compared.append(Regression(f"{task} {metric}" + ("" if way == "none" else f" ({way})"), mcnemar(*right)))
    return compared
