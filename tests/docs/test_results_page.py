"""The numbers of docs/results.md come out of the published tables by the commands and the code on the page."""

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ostrom  # noqa: F401
from tests.docs.commands import blocks_of

Command = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "results.md"
TEXT = PAGE.read_text(encoding="utf-8")
PASTS = ("last2", "last10", "last40", "made40")


def row(*cells: str | float) -> str:
    return "| " + " | ".join(cell if isinstance(cell, str) else f"{cell:.3f}" for cell in cells) + " |"


def span(low: float, high: float) -> str:
    return f"{low:.3f} to {high:.3f}"


def test_the_commands_give_what_the_page_says(ostrom: Command, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    ran = 0
    for words in (shlex.split(line)[1:] for block in blocks_of(PAGE) for line in block.lines):
        done = ostrom(*words, "--json")
        assert done.returncode == (1 if words[0] == "register" else 0), f"{words}\n{done.stderr}"
        document = json.loads(done.stdout)
        (check,) = document["registered"]
        assert all(deviation["text"] in TEXT for deviation in check["deviations"])
        assert {contrast["verdict"] for contrast in check["contrasts"]} == {"not judged"}
        ran += 1
        if "--by" in words:
            level = {(e["game"], e["past"]): e["value"] for e in document["estimates"]}
            for game in ("prisoners_dilemma", "public_goods"):
                assert row(f"{game}, direct", *(level[game, past] for past in PASTS)) in TEXT
        elif "--contrast" in words:
            (e,) = document["estimates"]
            ends = span(e["low"], e["high"]), span(e["bound_low"], e["bound_high"])
            assert row(e["past"].replace(" ", ""), e["value"], *ends) in TEXT
    assert ran == 5


def test_the_code_gives_what_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    level = {(game, past): value for game, past, value in names["levels"].select("game", "past", "cooperative").rows()}
    for game in ("prisoners_dilemma", "public_goods"):
        assert row(f"{game}, reasoned", *(level[game, past] for past in PASTS)) in TEXT
    low, high = names["interval"]
    assert f"is {names['difference'].mean():.3f} ({span(low, high)}, ten pairs)" in TEXT
    calls = names["calls"]
    assert (
        f"{len(calls):,} calls with {calls['tokens_in'].sum():,} tokens in and {calls['tokens_out'].sum():,} out"
        in TEXT
    )
    latency = [calls["latency"].quantile(share) for share in (0.05, 0.5, 0.95)]
    assert "latency {:.2f} s, {:.2f} s and {:.1f} s at 5, 50 and 95 %".format(*latency) in TEXT
