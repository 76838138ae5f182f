"""Servers that Ostrom starts: real processes, killed, hung and slow, and nothing left of them afterwards."""

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import ostrom
from ostrom.cli.commands.models import check
from ostrom.ground.errors import AccessRefused, ModelError, RequestRefused, ServerFailed, StudyError, UsageError
from ostrom.models import Message, Request, check_model, client_name, grants, open_model
from ostrom.models.base import Usage
from ostrom.models.prices import price_of
from ostrom.models.serving import client, kinds
from ostrom.models.serving.client import LocalServer, ServedModel, ServerProcess, free_port, is_started
from ostrom.models.serving.kinds import ServerPlan, make_view, view_of

REQUEST = Request((Message("user", "Valid answers: [A0] or [A1]."),))


class Machine:
    """A folder with stand-in programs and model files for them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.programs = folder, folder / "env"
        (self.programs / "bin").mkdir(parents=True)
        for name in ("llama-server", "vllm", "transformers"):
            program = self.programs / "bin" / name
            python = f"PYTHONPATH={os.pathsep.join(sys.path)} exec {sys.executable}"
            program.write_text(f'#!/bin/sh\n{python} -m tests.models.standin "$@"\n')
            program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def model(self, *starts: dict[str, Any]) -> str:
        """The name of a model whose server behaves as told, start by start."""
        file = self.folder / "model" / "m.gguf"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(starts or [{}]))
        return f"llama-server/{file}"

    @property
    def starts(self) -> list[dict[str, Any]]:
        record = self.folder / "model" / "starts"
        return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []

    @property
    def child(self) -> int:
        return int((self.folder / "model" / "child").read_text())


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("OSTROM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = Machine(tmp_path)
    monkeypatch.setenv("OSTROM_SERVER_ENV", str(made.programs))
    return made


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return False
    return not subprocess.run(["kill", "-0", str(pid)], capture_output=True, check=False).returncode


def gone(*pids: int) -> bool:
    """Wait until the processes have ended."""
    until = time.monotonic() + 600
    while any(map(is_running, pids)):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def study(model: str, seeds: int = 2, **settings: Any) -> dict[str, Any]:
    return {
        "name": "served",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 3},
        "types": {"a": {"model": model, "settings": settings}},
        "seeds": seeds,
    }


def test_a_server_starts_at_the_first_call_serves_all_clients_and_ends_with_the_last(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    name = machine.model({"child": True, "delay": 0.3})

    async def main() -> tuple[int, int]:
        one, two = open_model(name), open_model(name)
        assert not machine.starts, "opening a model starts nothing"
        replies = await asyncio.gather(one.complete(REQUEST), two.complete(REQUEST), one.complete(REQUEST))
        assert all(reply.text in ("[A0]", "[A1]") for reply in replies)
        (start,) = machine.starts
        pids = int(start["pid"]), machine.child
        await one.close()
        assert (await two.complete(REQUEST)).text and all(map(is_running, pids)), "another client uses it"
        await two.close()
        return pids

    pids = asyncio.run(main())
    assert not is_running(pids[0]), "closing the last client waits for the end of the server"
    assert gone(*pids)
    (start,) = machine.starts
    assert start["keys"] == ["LLAMA_API_KEY"], "the server gets its own key, and no other"
    assert start["arguments"][2:4] == ["--host", "127.0.0.1"]
    (log,) = (machine.folder / "cache" / "servers").glob("*.log")
    assert "llama-server --model" in log.read_text() and "secret" not in log.read_text()


def test_a_model_is_closed_while_its_server_starts(machine: Machine) -> None:
    name = machine.model({"delay": 3600})

    async def main() -> None:
        model = open_model(name)
        call = asyncio.create_task(model.complete(REQUEST))
        while not machine.starts:
            await asyncio.sleep(0.05)
        await model.close()
        assert isinstance((await asyncio.gather(call, return_exceptions=True))[0], asyncio.CancelledError)

    asyncio.run(main())
    assert gone(*(start["pid"] for start in machine.starts))


def test_a_check_tells_that_a_server_is_starting_and_ends_when_its_time_is_over(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client, "NEWS", 0.2)
    name = machine.model({"delay": 3600})
    with pytest.raises(AccessRefused) as failure:
        check(name=name, timeout=4.0)
    assert "the server gave no sign of life within 4 s" in str(failure.value)
    assert "log: " in str(failure.value) and "\n" not in str(failure.value)
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 6, "it is told less and less often"
    assert all(f"{name}: its server has been starting for" in line and "log: " in line for line in lines)
    assert gone(*(start["pid"] for start in machine.starts))


@pytest.mark.sample(1)
@pytest.mark.parametrize("end", ["dies_after", "hangs_after", "stops_after"])
def test_a_study_goes_on_when_its_server_is_lost_in_the_middle(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setattr(client, "HEALTH", 1.0)
    monkeypatch.setattr(client, "GRACE", 1.0)
    name = machine.model({end: 4}, {})
    run = ostrom.play(study(name, timeout=15.0), runs=tmp_path / "runs", progress=False)
    assert list(run.matches["state"].unique()) == ["done"] and len(run.decisions) == 12
    assert len(machine.starts) == 2
    assert gone(*(int(start["pid"]) for start in machine.starts))
    wrong = [text for text in run.calls["error"].to_list() if text]
    assert wrong and all("Error" not in text for text in wrong)
    assert any("the server" in text and "log: " in text for text in wrong)


def test_a_server_that_dies_at_its_start_ends_the_run_with_one_line_that_names_the_log(
    machine: Machine, tmp_path: Path
) -> None:
    name = machine.model({"exit": 3})
    with pytest.raises(ModelError) as failure:
        ostrom.play(study(name, seeds=8), runs=tmp_path / "runs", progress=False)
    text = str(failure.value)
    (log,) = (machine.folder / "cache" / "servers").glob("*.log")
    assert "ended at its start (status 3): cannot load the model" in text and str(log) in text
    assert "\n" not in text and len(machine.starts) == 1, "it is not started for every call"


@pytest.mark.slow
def test_a_server_that_never_answers_is_given_up_and_ended(machine: Machine) -> None:
    name = machine.model({"delay": 3600})

    async def main() -> None:
        model = open_model(name, start=8.0)
        with pytest.raises(AccessRefused, match=r"gave no sign of life within 8 s: .*log: "):
            await model.complete(REQUEST)
        with pytest.raises(AccessRefused, match="gave no sign of life"):
            await model.complete(REQUEST)
        await model.close()

    asyncio.run(main())
    # On a slow machine the time is over before the program has written down that it was started.
    assert len(machine.starts) <= 1 and gone(*(start["pid"] for start in machine.starts))


def test_servers_that_are_lost_again_and_again_are_given_up(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LOSSES", 2)
    with pytest.raises(ModelError, match="2 servers in a row gave no reply"):
        ostrom.play(study(machine.model({"dies_after": 0}), seeds=1), runs=tmp_path / "runs", progress=False)
    assert len(machine.starts) == 2


def test_another_port_is_taken_where_somebody_else_has_the_first(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ports = [other.getsockname()[1], free_port()]
        monkeypatch.setattr(client, "free_port", lambda **_: ports[len(machine.starts)])

        async def main() -> str:
            model = open_model(machine.model())
            try:
                return (await model.complete(REQUEST)).text
            finally:
                await model.close()

        assert asyncio.run(main()) in ("[A0]", "[A1]")
    assert [start["arguments"][5] for start in machine.starts] == [str(port) for port in ports]


KILLED = """
import asyncio, sys, time
from ostrom.models import Message, Request, open_model

async def main():
    model = open_model(sys.argv[1])
    await model.complete(Request((Message("user", "Valid answers: [A0] or [A1]."),)))
    print("ready", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_when_ostrom_is_killed(machine: Machine, number: int) -> None:
    name = machine.model({"child": True})
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        pids = machine.starts[0]["pid"], machine.child
        assert all(map(is_running, pids))
        os.killpg(process.pid, number)
        process.wait()
    assert gone(*pids)


@pytest.mark.parametrize(
    ("program", "words"), [("exit 3", "status 3"), ("exit 0", "status 0"), ("kill -9 $$", "signal 9")]
)
def test_how_a_server_ended_is_told(machine: Machine, program: str, words: str) -> None:
    (machine.programs / "bin" / "llama-server").write_text(f"#!/bin/sh\n{program}\n")
    process = ServerProcess(ServerPlan("llama-server", "/m.gguf"), machine.folder / "log", "m")
    process.process.wait()
    assert process.outcome() == words
    process.end()


def test_a_server_that_hangs_is_ended_for_all_who_use_it(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "GRACE", 1.0)
    monkeypatch.setattr(client, "HEALTH", 1.0)
    name = machine.model({"stops_after": 2, "child": True}, {})

    async def main() -> None:
        one, two = open_model(name, timeout=3.0), open_model(name, timeout=3.0)
        await one.complete(REQUEST)
        await two.complete(REQUEST)
        child = machine.child
        with pytest.raises(ServerFailed, match="the server hangs"):
            await one.complete(REQUEST)
        assert not is_running(machine.starts[0]["pid"]) and gone(child)
        with pytest.raises(ServerFailed, match="the server ended \\(signal 9\\)"):
            await two.complete(REQUEST)
        await asyncio.gather(one.complete(REQUEST), two.complete(REQUEST))
        assert len(machine.starts) == 2, "both use the second server"
        await one.close()
        await two.close()

    asyncio.run(main())
    assert gone(*(start["pid"] for start in machine.starts))


def test_what_a_dead_server_started_ends_before_the_next_server_starts(machine: Machine) -> None:
    name = machine.model({"dies_after": 1, "child": True}, {})

    async def main() -> None:
        model, other = open_model(name), open_model(name)
        await model.complete(REQUEST)
        with pytest.raises(ModelError):
            await model.complete(REQUEST)
        child = machine.child
        await other.complete(REQUEST)
        assert gone(child)
        await model.close()
        await other.close()

    asyncio.run(main())


def test_a_program_that_cannot_be_started_is_named_in_one_line(machine: Machine) -> None:
    (machine.programs / "bin" / "llama-server").write_text("no program\n")

    async def main() -> None:
        model = open_model(machine.model())
        with pytest.raises(AccessRefused, match="could not be started: Exec format error; log: "):
            await model.complete(REQUEST)
        await model.close()

    asyncio.run(main())


def test_a_server_that_reuses_no_address_can_listen_on_a_port_that_does_not_rest() -> None:
    with socket.socket() as plain:
        plain.bind(("127.0.0.1", free_port(rests=False)))
    with socket.socket() as plain, pytest.raises(OSError, match="in use"):
        plain.bind(("127.0.0.1", free_port()))


def test_the_line_that_names_a_failure_is_reported_not_what_was_written_after_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("--- 1 a\nerror: old\n--- 2 a\nmain: couldn't bind HTTP server socket\ncleaning up before exit...\n")
    assert client.last_line(log) == "main: couldn't bind HTTP server socket"
    log.write_text("--- 1 a\nerror: old\n--- 2 a\nloading\n\n")
    assert client.last_line(log) == "loading"


def test_a_free_port_can_be_listened_on_and_is_not_given_twice() -> None:
    ports = [free_port() for _ in range(20)]
    assert len(set(ports)) == 20
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", ports[0]))
        listener.listen()


VLLM = ["serve", "org/m", "--host", "127.0.0.1", "--port", "8001", "--generation-config", "vllm",
        "--enable-prompt-tokens-details"]  # fmt: skip
LLAMA = ["--n-gpu-layers", "999", "--temp", "1", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--no-webui"]


@pytest.mark.parametrize(
    ("plan", "arguments"),
    [
        (ServerPlan("vllm", "org/m"), VLLM),
        (
            ServerPlan(
                "vllm",
                "org/m",
                {"context": 4096, "slots": 8, "precision": "bfloat16", "gpus": 2, "gpu_memory": 0.5},
                ("/a b", "/c"),
            ),
            [*VLLM, "--max-model-len", "4096", "--max-num-seqs", "8", "--dtype", "bfloat16",
             "--tensor-parallel-size", "2", "--gpu-memory-utilization", "0.5", "--enable-lora", "--max-loras", "2",
             "--lora-modules", '{"name": "/a b", "path": "/a b"}', '{"name": "/c", "path": "/c"}'],
        ),
        (
            ServerPlan("llama-server", "/m.gguf"),
            ["--model", "/m.gguf", "--host", "127.0.0.1", "--port", "8001", "--parallel", "4", "--ctx-size", "32768",
             *LLAMA],
        ),
        (
            ServerPlan("llama-server", "/m.gguf", {"slots": 2, "context": 100, "threads": 3, "gpu": "none"}, ("/l",)),
            ["--model", "/m.gguf", "--host", "127.0.0.1", "--port", "8001", "--parallel", "2", "--ctx-size", "200",
             "--n-gpu-layers", "0", "--threads", "3", *LLAMA[2:], "--lora", "/l", "--lora-init-without-apply"],
        ),
        (
            ServerPlan("llama-server", "/m.gguf", {"gpu": 12}),
            ["--model", "/m.gguf", "--host", "127.0.0.1", "--port", "8001", "--parallel", "4", "--ctx-size", "32768",
             "--n-gpu-layers", "12", *LLAMA[2:]],
        ),
    ],
)  # fmt: skip
def test_argument_lists(plan: ServerPlan, arguments: list[str]) -> None:
    assert plan.arguments(8001) == arguments


def test_a_server_gets_no_key_of_another_service(monkeypatch: pytest.MonkeyPatch) -> None:
    others = ("CLOUDFLARE_API_TOKEN", "DEEPINFRA_TOKEN", "MISTRAL_API_KEY", "OSTROM_API_KEY", "SOME_API_TOKEN")
    for name in (*others, "LAB_KEY", "OTHER_LAB", "HF_TOKEN", "HF_HOME", "LLAMA_API_KEY"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setattr(grants, "said", lambda: [("LAB_KEY", ("https", "lab.example", 443))])
    monkeypatch.setattr(grants, "_configured", lambda: {"OTHER_LAB": frozenset()})
    given = ServerPlan("llama-server", "/m.gguf").variables("its own")
    assert not {*others, "LAB_KEY", "OTHER_LAB"} & given.keys()
    assert given["HF_TOKEN"] == given["HF_HOME"] == "secret" and given["LLAMA_API_KEY"] == "its own"
    assert "LLAMA_API_KEY" not in ServerPlan("vllm", "org/m").variables("its own")


def test_transformers_serves_a_view_of_the_folder_that_samples_plainly(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "config.json").write_text('{"eos_token_id": 2, "bos_token_id": 1}')
    (folder / "generation_config.json").write_text('{"eos_token_id": [2, 5], "do_sample": false, "top_k": 20}')
    (folder / "model.safetensors").write_bytes(b"w")
    settings = {"precision": "float32", "device": "cpu", "continuous_batching": True}
    plan = ServerPlan("transformers", str(folder), settings)
    view = view_of(folder)
    assert plan.arguments(7) == [
        "serve", str(view), "--host", "127.0.0.1", "--port", "7", "--continuous-batching", "--dtype", "float32",
        "--device", "cpu",
    ]  # fmt: skip
    for _ in range(2):
        assert make_view(folder) == view
    assert (view / "model.safetensors").read_bytes() == b"w"
    assert json.loads((view / "generation_config.json").read_text()) == {
        "bos_token_id": 1, "eos_token_id": [2, 5], "do_sample": True, "temperature": 1.0, "top_p": 1.0, "top_k": 0,
    }  # fmt: skip
    assert "--continuous-batching" not in ServerPlan("transformers", str(folder)).arguments(7)


def test_transformers_serve_is_called_by_the_name_of_what_it_loaded(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"standin": [{}]}')

    async def main() -> dict[str, Any]:
        model = open_model(f"transformers/{folder}")
        try:
            return {"model": (await model.complete(REQUEST)).model, **model.describe()}
        finally:
            await model.close()

    facts = asyncio.run(main())
    assert facts["model"] == str(folder) and facts["server"] == "transformers"
    assert facts["sampling_if_unset"] == {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": 1024}
    assert machine.starts[0]["arguments"][1] == str(view_of(folder)) and machine.starts[0]["keys"] == []


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("llama-server/no.gguf", {}, "there is no such file"),
        ("transformers/nowhere", {}, "has no config.json"),
        (f"transformers/{Path(__file__).parent}", {}, "has no config.json"),
        ("vllm/--config=evil.yaml", {}, "neither a folder nor the name"),
        ("vllm/a/b/c", {}, "neither a folder nor the name"),
        ("vllm/org/-m", {}, "neither a folder nor the name"),
        ("vllm/org/m;rm", {}, "neither a folder nor the name"),
        ("vllm/org/m", {"threads": 2}, "a vllm server has no such setting"),
        ("vllm/org/m", {"context": 0}, "context: must be a whole number"),
        ("vllm/org/m", {"slots": "2; rm"}, "slots: must be a whole number"),
        ("vllm/org/m", {"precision": "int4 --x"}, "unknown precision"),
        ("vllm/org/m", {"gpu_memory": 1.5}, "at most 1"),
        ("vllm/org/m", {"gpu_memory": 0}, "above 0"),
        ("vllm/org/m", {"adapter": "/no/such"}, "no such adapter"),
        ("vllm/org/m", {"command": "sh"}, "vllm models have no such setting"),
        ("vllm/org/m", {"environment": 3}, "must be a text"),
        ("vllm/org/m", {"start": 0}, "above 0"),
        ("vllm/org/m", {"gpus": 0}, "gpus: must be a whole number"),
    ],
)
def test_what_no_server_takes_is_refused_before_anything_starts(
    machine: Machine, name: str, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        check_model(name, settings)
    with pytest.raises(UsageError, match=words):
        open_model(name, **settings)


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        ("llama-server", {"gpu": "some"}, "all, none or a number of layers"),
        ("llama-server", {"gpu": -1}, "all, none or a number of layers"),
        ("llama-server", {"gpu": True}, "all, none or a number of layers"),
        ("llama-server", {"scale": 1}, "is the scale of an adapter"),
        ("transformers", {"device": "tpu0"}, "unknown device"),
        ("transformers", {"continuous_batching": 1}, "true or false"),
        ("transformers", {"adapter": "."}, "a transformers server has no such setting"),
        ("transformers", {"context": 10}, "a transformers server has no such setting"),
    ],
)
def test_settings_of_each_kind(
    machine: Machine, tmp_path: Path, kind: str, settings: dict[str, Any], words: str
) -> None:
    machine.model()
    (tmp_path / "model" / "config.json").write_text("{}")
    path = tmp_path / "model" / ("m.gguf" if kind == "llama-server" else "")
    with pytest.raises(StudyError, match=words):
        open_model(f"{kind}/{path}", **settings)


def test_an_environment_is_named_by_the_study_and_found_in_the_persons_own_file(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OSTROM_SERVER_ENV")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(AccessRefused, match=r"no program 'vllm' on the search path: .*VLLM_BASE_URL="):
        kinds.find_program("vllm", None)
    with pytest.raises(StudyError, match="names no environment of your configuration file"):
        kinds.find_program("vllm", str(machine.programs))
    config = tmp_path / "config" / "ostrom" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"environments: {{lab: {machine.programs}, empty: {tmp_path}}}\n")
    assert kinds.find_program("vllm", "lab") == str(machine.programs / "bin" / "vllm")
    with pytest.raises(AccessRefused, match="in the environment empty"):
        kinds.find_program("vllm", "empty")
    monkeypatch.setenv("OSTROM_SERVER_ENV", str(tmp_path))
    with pytest.raises(AccessRefused, match="no program 'vllm'"):
        kinds.find_program("vllm", None)
    config.write_text("environments: [lab]\n")
    with pytest.raises(StudyError, match="must map names to folders"):
        kinds.find_program("vllm", "lab")


def test_an_address_takes_the_place_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_started("vllm/m", {}) and is_started("transformers/m", {"timeout": 3})
    assert not is_started("vllm/m", {"base_url": "http://localhost:1/v1"}) and not is_started("openai/m", {})
    assert not is_started("vllm/m", {"replicas": ["http://localhost:1/v1"]})
    for key, value in {"slots": 2, "environment": "lab", "device": "cpu", "gpus": 1, "scale": 0.5}.items():
        said = rf"settings.{key}: is for a server that Ostrom starts.*found .?{value}"
        with pytest.raises(StudyError, match=said):
            open_model("vllm/m", base_url="http://localhost:1/v1", **{key: value})
    monkeypatch.setenv("LLAMA_SERVER_BASE_URL", "http://localhost:7/v1")
    assert open_model("llama-server/any").describe()["base_url"] == "http://localhost:7/v1"
    assert open_model("llama-server/any", timeout=3).describe()["client"]["timeout"] == 3


def test_what_is_recorded_of_a_server_holds_for_the_next_one_too(machine: Machine) -> None:
    model = open_model(machine.model(), slots=3, gpu="none", connections=5)
    facts = model.describe()
    assert facts["settings"] == {"slots": 3, "gpu": "none"} and facts["dialect"] == "llamacpp"
    assert "base_url" not in facts and facts["client"] == {"timeout": 600.0, "connections": 5, "start": 900.0}
    assert model.abilities.choices and model.connections == 5
    assert check_model(machine.model(), {}) == model.abilities
    assert price_of(model.name, Usage(10, 10)) == 0.0


def test_clients_with_several_adapters_share_a_server(machine: Machine, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).touch()
    base = machine.model()
    one = open_model(base, adapter=str(tmp_path / "one"), scale=0.5)
    two = open_model(base, adapter=str(tmp_path / "two"))
    other = open_model(base, adapter=str(tmp_path / "one"), slots=2)
    plain = open_model(base)
    clients = [one, two, plain]
    assert all(isinstance(client, ServedModel) for client in [*clients, other])
    plans = [client._plan() for client in clients if isinstance(client, ServedModel)]
    assert plans[0] == plans[1] == plans[2] and plans[0].adapters == (str(tmp_path / "one"), str(tmp_path / "two"))
    assert one.name == client_name(base, {"adapter": str(tmp_path / "one"), "scale": 0.5}) != two.name
    assert one.describe()["scale"] == 0.5 and "adapter" not in plain.describe()
    sent = []
    for one_client in clients:
        assert isinstance(one_client, ServedModel)
        local = LocalServer(one_client._plan(), who="m")
        sent.append(one_client._addressed(REQUEST, local).params["extra"]["lora"])
    assert sent == [[{"id": 0, "scale": a}, {"id": 1, "scale": b}] for a, b in [(0.5, 0.0), (0.0, 1.0), (0.0, 0.0)]]


def test_one_temperature_where_the_server_would_apply_the_first_to_all(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"standin": [{}]}')

    async def main(batching: bool) -> None:
        model = open_model(f"transformers/{folder}", continuous_batching=batching)
        try:
            for temperature in (0.7, 0.7, 0.2):
                await model.complete(Request(REQUEST.messages, {"temperature": temperature}))
        finally:
            await model.close()

    with pytest.raises(RequestRefused, match=r"at temperature 0.7 and top_p 1.0 \(found 0.2 and 1.0\)"):
        asyncio.run(main(True))
    asyncio.run(main(False))
    model = open_model(f"transformers/{folder}", continuous_batching=True)
    assert isinstance(model, ServedModel)
    model._check_sampling(REQUEST)
    with pytest.raises(RequestRefused, match=r"and top_p 1.0 \(found 1.0 and 0.5\)"):
        model._check_sampling(Request(REQUEST.messages, {"top_p": 0.5}))


def test_looking_at_a_study_starts_nothing(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from ostrom.cli.app import app

    monkeypatch.chdir(tmp_path)
    file = tmp_path / "s.yaml"
    file.write_text(json.dumps(study(machine.model({"exit": 1}))))
    for words in (["validate", str(file)], ["run", str(file), "--dry-run"], ["models", "list"]):
        outcome = CliRunner().invoke(app, words)
        assert outcome.exit_code == 0, outcome.output
    assert not machine.starts
