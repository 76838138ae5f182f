"""The numbers of docs/results.md come out of the published tables by the commands and the code on the page."""

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.cli.conftest import ostrom  # noqa: F401
from tests.docs.commands import blocks_of

Command = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "results.md"
TEXT = PAGE.read_text(encoding="utf-8")
PASTS = ("last2", "last10", "last40", "made40")
GAMES = ("prisoners_dilemma", "public_goods")
WORDS = {"less": "below", "different": "differs from"}


def row(*cells: str | float) -> str:
    return "| " + " | ".join(cell if isinstance(cell, str) else f"{cell:.3f}" for cell in cells) + " |"


def span(low: float, high: float) -> str:
    return f"{low:.3f} to {high:.3f}"


def claim(contrast: dict[str, Any], sequel: str | None) -> str:
    """The row of the page for a registered contrast, of the first study or of a sequel."""
    one, other = contrast["contrast"].partition("=")[2].split(" - ")
    primary = " (primary)" if contrast["role"] == "primary" else ""
    value, bounds = contrast["estimate"], contrast["equivalence"]
    statement = f"{one} {WORDS[contrast['direction']]} {other}{primary}"
    return row(
        *((sequel, statement) if sequel else (statement, contrast["where"].get("style", ["both"])[0])),
        contrast["verdict"],
        value["value"],
        span(value["low"], value["high"]),
        span(bounds["low"], bounds["high"]),
    )


def test_the_commands_give_what_the_page_says(ostrom: Command, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    claims = {"memory-length": 8, "memory-length-large": 3, "memory-length-80": 3, "memory-length-floor": 6}
    label = {"memory-length-large": "72 seeds", "memory-length-80": "80", "memory-length-floor": "floor"}
    ran = 0
    for words in (shlex.split(line)[1:] for block in blocks_of(PAGE) for line in block.lines):
        done = ostrom(*words, "--json")
        name = next(word for word in words if word.endswith("tables")).split("/")[-2]
        assert done.returncode == (name == "memory-length-floor"), f"{words}\n{done.stderr}"
        document = json.loads(done.stdout)
        (check,) = document["registered"]
        assert check["status"] == "confirmatory" and check["complete"]
        missing = [one["text"] for one in check["deviations"]]
        assert missing == (["112 of 192 are left out (112 failed)"] if name == "memory-length-floor" else [])
        assert len(check["contrasts"]) == claims[name]
        for contrast in check["contrasts"]:
            if contrast["estimate"]:
                assert claim(contrast, label.get(name)) in TEXT
            else:
                assert name == "memory-length-floor" and "reasoned" in contrast["statement"]
        ran += 1
        if "--by" in words:
            level = {(e["game"], e["style"], e["past"]): e["value"] for e in document["estimates"]}
            for game, style in [(game, style) for game in GAMES for style in ("direct", "reasoned")]:
                assert row(f"{game}, {style}", *(level[game, style, past] for past in PASTS)) in TEXT
    assert ran == 5


def test_the_code_gives_what_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    calls, decisions = names["calls"], names["decisions"]
    assert (
        f"{len(decisions):,} decisions in {len(calls):,} calls with {calls['tokens_in'].sum():,} tokens in "
        f"and {calls['tokens_out'].sum():,} out" in TEXT
    )
    assert "latency {:.2f} s, {:.2f} s and {:.1f} s at 5, 50 and 95 %".format(*names["latency"]) in TEXT
    readings = {
        (style, reading): count for style, reading, count in decisions.group_by("style", "reading").len().rows()
    }
    ended = readings["reasoned", "exact"] + readings["reasoned", "loose"]
    forced = readings["reasoned", "constrained"]
    assert f"Of {ended + forced:,} reasoned replies {ended:,} ended with a label; the other {forced:,} were" in TEXT


def test_the_floor_is_described_by_its_tables() -> None:
    tables = ROOT / "examples" / "results" / "memory-length-floor" / "tables"
    decisions = pl.read_parquet(tables / "decisions.parquet").filter(pl.col("agent_style") == "reasoned")
    labels = decisions.filter(pl.col("reading") != "constrained")
    matches = pl.read_parquet(tables / "matches.parquet").filter(pl.col("state") == "done")
    assert f"{matches['match'].n_unique()} of the floor's 192 matches, all direct" in TEXT
    assert set(matches["agent_style"]) == {"direct"}
    assert f"Of {len(decisions):,} reasoned replies {len(labels)} ended with a label" in TEXT


def test_the_large_study_is_described_by_its_tables() -> None:
    tables = ROOT / "examples" / "results" / "memory-length-large" / "tables"
    calls = pl.read_parquet(tables / "calls.parquet")
    assert f"Of their {len(calls):,} calls {calls['tokens_out'].null_count()} had no reply" in TEXT
    matches = pl.read_parquet(tables / "matches.parquet").filter(pl.col("state") == "done")
    assert (matches["seed"].n_unique(), set(matches["past"])) == (72, {"last2", "last40", "made40"})
    seconds = calls.filter(pl.col("tokens_out").is_null())["latency"]
    assert seconds.min() > 119
