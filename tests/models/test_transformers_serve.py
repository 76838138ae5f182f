"""`transformers serve` itself, on the CPU, with the embedded weights as a folder of transformers (`make servers`)."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

import ostrom
from ostrom.models import Message, Request, open_model
from ostrom.models.embedded.weights import fetch

ENVIRONMENT = os.environ.get("OSTROM_SERVERS")
pytestmark = [
    pytest.mark.skipif(ENVIRONMENT is None, reason="needs transformers and torch: make servers sets them up"),
    pytest.mark.timeout(1800),
]

CONVERT = """
import json, sys
from pathlib import Path
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

file, folder = Path(sys.argv[1]), Path(sys.argv[2])
tokenizer = AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
model = AutoModelForCausalLM.from_pretrained(str(file.parent), gguf_file=file.name, dtype=torch.float32)
folder.mkdir()
tensors = {name: each.contiguous().clone() for name, each in model.state_dict().items() if name != "lm_head.weight"}
save_file(tensors, str(folder / "model.safetensors"), {"format": "pt"})
config = model.config.to_dict()
config.pop("quantization_config", None)
config |= {"tie_word_embeddings": True, "architectures": ["LlamaForCausalLM"], "dtype": "float32"}
(folder / "config.json").write_text(json.dumps(config, default=str))
tokenizer.save_pretrained(str(folder))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2 as transformers reads it."""
    folder = tmp_path_factory.mktemp("weights") / "smollm2"
    python = Path(str(ENVIRONMENT)) / "bin" / "python"
    subprocess.run([python, "-c", CONVERT, fetch("smollm2-135m"), folder], check=True, capture_output=True)
    return folder


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OSTROM_SERVER_ENV", str(ENVIRONMENT))
    monkeypatch.setenv("OSTROM_CACHE", str(tmp_path / "cache"))


def processes(folder: Path) -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if " serve " in line and folder.name in line]


def test_a_study_is_played_with_a_server_that_starts_and_ends_by_itself(folder: Path, tmp_path: Path) -> None:
    study = {
        "name": "served",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 2},
        "types": {
            "small": {
                "model": f"transformers/{folder}",
                "style": "direct",
                "params": {"temperature": 0.7, "max_tokens": 12},
                "settings": {"device": "cpu", "timeout": 300},
            }
        },
        "invalid": {"retries": 0, "policy": "uniform"},
    }
    run = ostrom.play(study, runs=tmp_path / "runs", progress=False)
    assert run.matches["state"].to_list() == ["done"] * len(run.matches) and len(run.decisions) == 4
    assert all(run.calls["tokens_out"].to_list()) and processes(folder) == []
    (log,) = (tmp_path / "cache" / "servers").glob("*.log")
    assert "transformers serve" in log.read_text()


def test_a_temperature_is_heard_though_the_folder_says_nothing_of_sampling(folder: Path) -> None:
    async def texts(temperature: float) -> set[str]:
        model = open_model(f"transformers/{folder}", device="cpu", timeout=300)
        question = (Message("user", "Name any animal."),)
        try:
            wanted = {"temperature": temperature, "max_tokens": 8}
            return {(await model.complete(Request(question, wanted))).text for _ in range(4)}
        finally:
            await model.close()

    assert len(asyncio.run(texts(0.0))) == 1
    assert len(asyncio.run(texts(1.5))) > 1
    assert processes(folder) == []
