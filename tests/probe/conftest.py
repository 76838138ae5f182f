"""Traces for the funnel, and what the tests of training need; those skip visibly without the extra ``train``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ostrom
from tests.probe.tiny import train_tiny, write_corpus, write_tiny

from ostrom.probe.funnel import Stage
from ostrom.probe.trace import Scores, Trace
from ostrom.probe.training.trainer import Trained

__all__ = ["ostrom"]

PROMPT = "You play against two others. Your points in all future rounds count. Choose A0 or A1."


def trace(number: int, reasoning: str = "A good reputation pays.", **other: Any) -> Trace:
    """A cooperative reply with good scores unless said otherwise."""
    fields: dict[str, Any] = {
        "run": "r", "match": number, "step": 0, "seat": 1, "model": "m", "game": "public_goods", "history_length": 2,
        "action": "contribute", "cooperative": True, "messages": (("user", f"{PROMPT} Match {number}."),),
        "reply": f"{reasoning}\n[A0]", "reasoning": reasoning, "scores": (Scores(9, 9, 7),),
    }  # fmt: skip
    return Trace(**{**fields, **other})


def collected(*traces: Trace) -> Stage:
    """The first stage with these traces."""
    return Stage("collected", "all", traces, ())


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A tiny random Llama as a GGUF file, and a cache of its own for what is made from it."""
    for package in ("torch", "transformers", "gguf"):
        pytest.importorskip(package, reason="make train installs the extra train")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OSTROM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield write_tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of a few short examples."""
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def trained(tiny: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """An adapter of the tiny model, trained once for all tests."""
    return train_tiny(tiny, corpus, tmp_path_factory.mktemp("adapter"))
