"""`make all` knows every target of the Makefile that checks or measures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.every.__main__ import TARGETS, main

ROOT = Path(__file__).parents[2]
APART = {"all", "help", "clean", "lock", "format", "golden", "pictures", "chaos-short", "bench-quick"}
"""Targets that change the tree or the machine, or are a part of another one."""


def test_every_target_is_run() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    described = set(re.findall(r"^([a-z-]+):.*##", text, re.M))
    assert described - APART == set(TARGETS)


def test_an_unknown_target_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tset"]) == 2
    assert "unknown target tset (allowed: demo" in capsys.readouterr().err
