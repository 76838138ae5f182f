"""The embedded model, for real: SmolLM2 in this process."""

import asyncio
import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.ground.errors import ModelError, RequestRefused, StudyError, TimedOut
from ostrom.models import Constraint, Message, Model, Request, open_model
from ostrom.models.check import check_model
from ostrom.models.embedded.runtime import enter
from ostrom.models.embedded.weights import fetch
from ostrom.models.providers.embedded import EmbeddedModel

pytestmark = pytest.mark.embedded
xllamacpp = pytest.importorskip("xllamacpp")

# One thread: the threads of the model wait for each other by spinning, and other tests need the other cores.
SMALL: dict[str, Any] = {"context": 512, "threads": 1}
# A system message of our own replaces the longer one in the model's template: reading prompts is slow.
BRIEF = Message("system", "Hi.")
ASKED = Message("user", "Pick A or B.")


@pytest.fixture(scope="module")
def model() -> Any:
    opened = open_model("embedded/smollm2-135m", mode="reproducible", **SMALL)
    yield opened
    asyncio.run(opened.close())


def complete(
    model: Model, *messages: Message, constraint: Constraint | None = None, top: int = 0, **params: Any
) -> Any:
    request = Request((BRIEF, *(messages or (ASKED,))), {"max_tokens": 6, **params}, constraint, top)
    return asyncio.run(model.complete(request))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_text_whatever_ran_before(model: Model) -> None:
    first = complete(model, seed=3)
    complete(model, Message("user", "Pick A or B. Quickly!"), seed=4)
    assert complete(model, seed=3).text == first.text
    assert first.usage.input > 5 and 1 <= first.usage.output <= 6 and first.usage.cached == 0
    assert len({complete(model, seed=seed).text for seed in range(4)}) > 1


@pytest.mark.slow
def test_calls_at_once_give_what_they_give_alone(model: Model) -> None:
    async def together() -> list[str]:
        requests = [Request((BRIEF, ASKED), {"max_tokens": 4, "seed": seed}) for seed in (1, 2, 3)]
        return [reply.text for reply in await asyncio.gather(*map(model.complete, requests))]

    assert asyncio.run(together()) == [complete(model, seed=seed, max_tokens=4).text for seed in (1, 2, 3)]


@pytest.mark.slow
def test_a_choice_is_one_of_the_choices(model: Model) -> None:
    choices = ('[say "no"]', "back\\slash\nline", "日本")
    found = {complete(model, constraint=Constraint(choices=choices), seed=s, max_tokens=20).text for s in range(3)}
    assert found <= set(choices)


@pytest.mark.slow
def test_an_object_satisfies_its_schema(model: Model) -> None:
    schema = {
        "type": "object",
        "properties": {"pick": {"enum": ["A", "B"]}},
        "required": ["pick"],
        "additionalProperties": False,
    }
    reply = complete(model, constraint=Constraint(schema=schema), max_tokens=40, seed=1)
    assert json.loads(reply.text)["pick"] in "AB" and reply.finish == "stop"


@pytest.mark.slow
def test_a_given_beginning_is_gone_on_from_and_not_repeated(model: Model) -> None:
    begun = Message("assistant", "I choose the letter")
    reply = complete(model, ASKED, begun, seed=1, top=5, temperature=0)
    assert not reply.text.startswith("I choose") and reply.text
    best = max(reply.logprobs, key=reply.logprobs.get)
    assert reply.text.startswith(best) and len(reply.logprobs) == 5


@pytest.mark.slow
def test_a_given_beginning_can_be_ended_by_an_object_of_a_schema(model: Model) -> None:
    schema = {
        "type": "object",
        "properties": {"sign": {"type": "boolean"}},
        "required": ["sign"],
        "additionalProperties": False,
    }
    begun = Message("assistant", "I think it over.\n")
    bound = Constraint(schema=schema, name="sign")
    for seed in range(6):  # white space would be likely here, and is not allowed: the tokens suffice
        reply = complete(model, ASKED, begun, constraint=bound, max_tokens=12, temperature=1.5, seed=seed)
        assert reply.text in ('{"sign": true}', '{"sign": false}')


@pytest.mark.slow
def test_stop_and_length_are_told_apart(model: Model) -> None:
    assert complete(model, seed=1, max_tokens=2, extra={"ignore_eos": True}).finish == "length"
    assert complete(model, constraint=Constraint(choices=("A",))).finish == "stop"


@pytest.mark.slow
def test_a_prompt_beyond_the_context_is_refused_with_both_numbers(model: Model) -> None:
    with pytest.raises(RequestRefused, match=r"tokens\) exceeds the available context size \(512 tokens\)"):
        complete(model, Message("user", "word " * 700))


def test_unknown_parameters_are_refused(model: Model) -> None:
    with pytest.raises(RequestRefused, match="unknown model parameter 'temprature'"):
        complete(model, temprature=1)


@pytest.mark.slow
def test_a_call_that_takes_too_long_is_stopped(model: Model) -> None:
    hasty = open_model("embedded/smollm2-135m", timeout=0.8, mode="reproducible", **SMALL)
    with pytest.raises(TimedOut, match=r"within 0\.8 s"):
        complete(hasty, max_tokens=450, extra={"ignore_eos": True})
    asyncio.run(hasty.close())


@pytest.mark.slow
def test_the_endpoint_of_the_runtime_is_on_loopback_and_locked(model: Model) -> None:
    complete(model, max_tokens=1)
    assert isinstance(model, EmbeddedModel)
    address = enter(model, model._load, None).runtime().address
    assert address.startswith("http://127.0.0.1:")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{address}/v1/models")


@pytest.mark.slow
def test_it_keeps_the_contract(model: Model) -> None:
    assert model.abilities.deterministic
    asyncio.run(check_model(model, concurrent=2, close=False))


@pytest.mark.slow
def test_any_file_of_the_users_can_be_opened(tmp_path: Path) -> None:
    link = tmp_path / "own.gguf"
    link.symlink_to(fetch("smollm2-135m"))
    opened = open_model(f"embedded/{link}", **SMALL)
    assert complete(opened, max_tokens=1, seed=1).model == "own.gguf"
    asyncio.run(opened.close())


@pytest.mark.slow
def test_a_file_that_is_no_model_is_told(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF nonsense")
    with pytest.raises(ModelError, match=r"broken\.gguf: the runtime cannot load this file"):
        complete(open_model(f"embedded/{path}", **SMALL))


@pytest.mark.parametrize(
    "settings", [{"mode": "quick"}, {"mode": "reproducible", "slots": 2}, {"threads": 0}, {"context": -1}]
)
def test_wrong_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(StudyError):
        open_model("embedded/smollm2-135m", **settings)


LEAVE = """
import asyncio, sys
from ostrom.models import Message, Request, open_model

async def main():
    model = open_model("embedded/smollm2-135m", context=512, mode="reproducible")
    long = Request((Message("user", "Tell a story."),), {"max_tokens": 450, "extra": {"ignore_eos": True}})
    task = asyncio.create_task(model.complete(long))
    await asyncio.sleep(1.5)
    if sys.argv[1] == "close":
        await model.close()
        print(type((await asyncio.gather(task, return_exceptions=True))[0]).__name__)
    elif sys.argv[1] == "fail":
        raise KeyError("on purpose")

asyncio.run(main())
"""


@pytest.mark.parametrize(("how", "status"), [("close", 0), ("leave", 0), ("fail", 1)])
@pytest.mark.slow
def test_leaving_in_the_middle_of_a_call_neither_hangs_nor_crashes(how: str, status: int) -> None:
    done = subprocess.run([sys.executable, "-c", LEAVE, how], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, done.stderr
    if how == "close":
        assert done.stdout.strip() == "ModelError"
    if how != "fail":
        assert done.stderr == ""  # the runtime's log stays silent


def test_a_gpu_is_used_where_the_runtime_finds_one_and_refused_where_not(monkeypatch: pytest.MonkeyPatch) -> None:
    from ostrom.models.embedded import runtime
    from ostrom.models.providers import embedded as provider

    name = "embedded/smollm2-135m"
    plain = open_model(name).describe()
    assert "gpu_layers" not in plain and open_model(name, gpu="none").describe() == plain
    with pytest.raises(StudyError, match=r"settings.gpu: the installed runtime .* finds no GPU.*\(found 'all'\)"):
        open_model(name, gpu="all")
    with pytest.raises(StudyError, match=r"all, none or a number of layers.*found 'some'"):
        open_model(name, gpu="some")
    devices = [{"type": "GGML_BACKEND_DEVICE_TYPE_CPU"}]

    def refuse(params: Any) -> None:
        raise RuntimeError(params.n_gpu_layers)

    names = ("CommonParams", "common_reasoning_format")
    parts = {name: getattr(xllamacpp, name) for name in names}
    library = SimpleNamespace(get_device_info=lambda: devices, Server=refuse, **parts)
    monkeypatch.setattr(runtime, "_library", lambda: library)
    assert not runtime.has_gpu()
    devices.append({"type": "GGML_BACKEND_DEVICE_TYPE_GPU"})
    assert runtime.has_gpu()
    for gpu, layers in (("all", runtime.ALL_LAYERS), (7, 7)):
        model = open_model(name, gpu=gpu)
        assert isinstance(model, provider.EmbeddedModel) and model._load.gpu_layers == layers
        assert model.describe()["gpu_layers"] == layers
        with pytest.raises(ModelError, match=f"the runtime cannot load this file \\({layers}\\)"):
            runtime.Runtime(model._load)


@pytest.mark.parametrize(("adapters", "size"), [((), 512), ((Path("a.gguf"),), 0)])
def test_with_adapters_nothing_is_kept_that_another_one_computed(
    adapters: tuple[Path, ...], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ostrom.models.embedded import runtime

    def refuse(params: Any) -> None:
        raise RuntimeError(params.cache_ram_mib)

    names = ("CommonAdapterLoraInfo", "CommonParams", "common_reasoning_format")
    parts = {name: getattr(xllamacpp, name) for name in names}
    monkeypatch.setattr(runtime, "_library", lambda: SimpleNamespace(Server=refuse, **parts))
    load = runtime.Load(Path("m.gguf"), slots=2, threads=1, context=512, keep_prompts=True)
    with pytest.raises(ModelError, match=rf"cannot load this file \({size}\)"):
        runtime.Runtime(load, adapters)
