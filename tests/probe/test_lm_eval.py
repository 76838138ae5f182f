"""Base and adapter through lm-eval: served to it, asked once, compared item by item; by a stand-in and by lm-eval."""

import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from ostrom.ground.errors import UsageError
from ostrom.probe.lm_eval import pairs, read_scores
from ostrom.testing.faults import Faults
from ostrom.testing.server import LoopbackServer

INSTALLED = shutil.which("lm_eval") is not None
ITEM = {"filter": "none", "metrics": ["exact_match"], "doc_hash": "d", "prompt_hash": "p"}


def adding(wrong: int) -> Callable[[dict[str, Any]], str]:
    """A model that adds two numbers, the first ``wrong`` sums wrongly."""

    def respond(body: dict[str, Any]) -> str:
        first, second = map(int, re.findall(r"\d+", body["messages"][-1]["content"]))
        return str(first + second + (first < wrong))

    return respond


@pytest.fixture
def servers() -> Iterator[tuple[LoopbackServer, LoopbackServer]]:
    """The base model and the adapter."""
    with LoopbackServer(adding(1)) as base, LoopbackServer(adding(9)) as adapter:
        yield base, adapter


@pytest.fixture
def regress(servers: tuple[LoopbackServer, LoopbackServer], ostrom: Command, tmp_path: Path) -> Callable[..., Any]:
    """Run the command over ten items of a task."""
    (tmp_path / "adapter").mkdir()
    base, adapter = servers

    def run(*options: str) -> Any:
        return ostrom("more", "regress", "adapter", "--model", base.model, "--adapter-model", adapter.model,
                      "--items", "10", *options)  # fmt: skip

    return run


@pytest.fixture
def standin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program `lm_eval` that comes first on PATH."""
    program = tmp_path / "bin" / "lm_eval"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).parent}/lm_eval_standin.py "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))


def check(done: Any, task: str = "sums exact_match") -> None:
    """What ten sums give of which the base has 9 right and the adapter 1: 8 lost, p = 2 / 2^8."""
    assert done.returncode == 0, done.stderr
    (one,) = json.loads(done.stdout)["tasks"]
    assert (one["task"], one["pairs"], one["before"], one["after"]) == (task, 10, 9, 1)
    assert (one["lost"], one["gained"], one["p"]) == (8, 0, pytest.approx(2 / 2**8))
    assert one["detectable"] == 6 and one["detectable_share"] == 0.6


def test_both_models_are_asked_once_and_compared_in_pairs(
    standin: None, regress: Callable[..., Any], servers: tuple[LoopbackServer, LoopbackServer], tmp_path: Path
) -> None:
    check(regress("--task", "sums", "--json"))
    asked = servers[0].bodies()[0]
    assert asked["max_tokens"] == 8 and asked["temperature"] == 0 and "stop" not in asked
    table = regress("--task", "sums").stdout
    assert "6 items (60 %)" in table and "length" not in table and "errors" not in table
    assert [server.count for server in servers] == [10, 10]
    answers = (tmp_path / "adapter" / "regression.jsonl").read_text().splitlines()
    assert len([line for line in answers if line]) == 20


def test_another_model_of_the_same_folder_is_asked_anew(
    standin: None, regress: Callable[..., Any], servers: tuple[LoopbackServer, LoopbackServer]
) -> None:
    check(regress("--task", "sums", "--json"))
    done = regress("--task", "sums", "--json", "--adapter-model", servers[1].model.replace("#", "#other-"))
    assert done.returncode == 0 and [server.count for server in servers] == [10, 20]


@pytest.mark.parametrize(
    ("how", "options", "line"),
    [
        ("unsafe", (), "with your rights and in no sandbox: add --allow-code-execution"),
        ("broken", (), "lm-eval failed: KeyError: 'no such"),
        ("other", (), "sums: lm-eval asked base and adapter other items (10 and 10 of them)"),
        ("shares", (), "sums: no metric in "),
        ("stranger", (), "lm-eval failed: urllib.error.HTTPError: HTTP Error 401"),
    ],
)
def test_what_goes_wrong_is_said_in_one_line(
    standin: None, regress: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, how: str, options: Any, line: str
) -> None:
    monkeypatch.setenv("OSTROM_STANDIN", how)
    done = regress("--task", "sums", *options)
    assert done.returncode == 2 and line in done.stderr and done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr


def test_code_is_run_only_when_that_is_allowed(
    standin: None, regress: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTROM_STANDIN", "unsafe")
    check(regress("--task", "sums", "--allow-code-execution", "--json"))


def test_lm_eval_gets_no_key_of_yours(
    standin: None, regress: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OSTROM_STANDIN", "keys")
    for name in ("MY_KEY", "HF_TOKEN", "A_SECRET", "OSTROM_VIEW_PASSWORD"):
        monkeypatch.setenv(name, "mine")
    assert regress("--task", "sums").returncode == 0
    names = json.loads((tmp_path / "adapter/lm-eval/base/base/keys.json").read_text())
    secret = [name for name in names if name.endswith(("_KEY", "_TOKEN", "_SECRET", "_PASSWORD"))]
    assert secret == ["OPENAI_API_KEY"] and "HF_ALLOW_CODE_EVAL" not in names and "PATH" in names


def test_a_model_that_fails_is_named_and_the_same_command_goes_on(
    standin: None, regress: Callable[..., Any], servers: tuple[LoopbackServer, LoopbackServer]
) -> None:
    servers[1].faults = Faults(first=(None, None, "server_error"))
    done = regress("--task", "sums")
    assert done.returncode == 2 and "; the same command goes on" in done.stderr
    assert done.stderr.startswith("ostrom: stopped: ") and done.stderr.count("\n") == 1
    check(regress("--task", "sums", "--json"))
    assert [server.count for server in servers] == [10, 11]


def write_samples(folder: Path, *rows: dict[str, Any], name: str = "samples_t_a_2026.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(json.dumps({**ITEM, **row}) + "\n" for row in rows))
    return folder


def test_samples_are_read_by_task_filter_and_metric(tmp_path: Path) -> None:
    rows = [
        {"doc_id": n, "filter": way, "metrics": ["exact_match", "bleu"], "exact_match": n, "bleu": n / 2}
        for n in (0, 1)
        for way in ("strict", "none")
    ]
    scores = read_scores(write_samples(tmp_path, *rows))
    assert scores == {("t_a", way, "exact_match"): {(0, "d", "p"): 0, (1, "d", "p"): 1} for way in ("strict", "none")}
    assert [one.task for one in pairs(scores, scores)] == ["t_a exact_match", "t_a exact_match (strict)"]
    assert [(one.compared.pairs, one.compared.before) for one in pairs(scores, scores)] == [(2, 1)] * 2


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([], "lm-eval: no metric in "),
        ([{"doc_id": 1, "exact_match": 0.5}], "t_a: no metric in "),
        ([{"doc_id": 1, "exact_match": [1]}], "t_a: no metric in "),
        ([{"doc_id": 1, "exact_match": 1}] * 2, "item 1 stands there twice"),
        ([{"doc_id": 1}], "is no file of samples of lm-eval (KeyError: 'exact_match')"),
        ([{"exact_match": 1}], "is no file of samples of lm-eval (KeyError: 'doc_id')"),
    ],
)
def test_samples_that_give_no_pairs_are_refused(tmp_path: Path, rows: list[dict[str, Any]], line: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_scores(write_samples(tmp_path, *rows))
    assert line in str(refused.value)


def test_a_task_without_pairs_is_named_beside_one_that_has_them(tmp_path: Path) -> None:
    write_samples(tmp_path, {"doc_id": 1, "exact_match": 1})
    write_samples(tmp_path, {"doc_id": 1, "exact_match": 0.3}, name="samples_other_2026.jsonl")
    with pytest.raises(UsageError, match=r"^other: no metric"):
        read_scores(tmp_path)


def test_items_that_only_one_model_was_asked_are_refused(tmp_path: Path) -> None:
    one = read_scores(write_samples(tmp_path / "a", {"doc_id": 1, "exact_match": 1}))
    two = read_scores(write_samples(tmp_path / "b", *({"doc_id": n, "exact_match": 1} for n in (1, 2))))
    with pytest.raises(UsageError, match=r"t_a: lm-eval asked base and adapter other items \(1 and 2 of them\)"):
        pairs(one, two)


SUMS = """task: sums
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/sums.jsonl}}}}
output_type: generate_until
test_split: test
doc_to_text: "What is {{{{a}}}} plus {{{{b}}}}?"
doc_to_target: "{{{{a + b}}}}"
generation_kwargs: {{until: ["\\n"], max_gen_toks: 8}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
unsafe_code: {unsafe}
"""


def write_task(folder: Path, *, unsafe: bool) -> None:
    """A task of lm-eval with data on this machine."""
    folder.mkdir(exist_ok=True)
    (folder / "sums.yaml").write_text(SUMS.format(folder=folder, unsafe=str(unsafe).lower()))
    (folder / "sums.jsonl").write_text("".join(json.dumps({"a": n, "b": 2 * n}) + "\n" for n in range(12)))


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED, reason="lm-eval is not installed: make interop")
def test_lm_eval_itself_asks_and_judges_a_local_task(
    regress: Callable[..., Any],
    servers: tuple[LoopbackServer, LoopbackServer],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    write_task(tmp_path / "tasks", unsafe=True)
    refused = regress("--task", "sums", "--task-folder", "tasks")
    assert refused.returncode == 2 and "add --allow-code-execution" in refused.stderr
    assert refused.stderr.count("\n") == 1 and servers[0].count == 0
    check(regress("--task", "sums", "--task-folder", "tasks", "--allow-code-execution", "--json"))
    write_task(tmp_path / "tasks", unsafe=False)
    check(regress("--task", "sums", "--task-folder", "tasks", "--json"))
    assert [server.count for server in servers] == [10, 10]
    unknown = regress("--task", "no_such_task")
    assert unknown.returncode == 2 and "lm-eval failed: " in unknown.stderr and unknown.stderr.count("\n") == 1
