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
README = (ROOT / "README.md").read_text(encoding="utf-8")
PASTS = ("last2", "last10", "last40", "made40")
GAMES = ("prisoners_dilemma", "public_goods")
WORDS = {"less": "below", "different": "differs from"}


def row(*cells: str | float) -> str:
    return "| " + " | ".join(cell if isinstance(cell, str) else f"{cell:.3f}" for cell in cells) + " |"


def span(low: float, high: float) -> str:
    return f"{low:.3f}, {high:.3f}"


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
    claims = {"": 8, "-large": 3, "-reasoned": 3, "-80": 3, "-floor": 6}
    registered: dict[str, dict[float, dict[str, Any]]] = {}
    label = {"-large": "72 seeds", "-reasoned": "reasoned", "-80": "80", "-floor": "floor"}
    gaps = {
        "-floor": ["112 of 192 are left out (112 failed)"], "-reasoned": ["80 of 216 are left out (80 skipped)"]
    }  # fmt: skip
    ran = 0
    for words in (shlex.split(line)[1:] for block in blocks_of(PAGE) for line in block.lines):
        if words[0] == "pool":
            continue  # below
        done = ostrom(*words, "--json")
        name = next(word for word in words if word.endswith("tables")).split("/")[-2].removeprefix("memory-length")
        assert done.returncode == (name in gaps and words[0] == "register"), f"{words}\n{done.stderr}"
        document = json.loads(done.stdout)
        (check,) = document["registered"]
        assert check["status"] == "confirmatory" and check["complete"]
        missing = [one["text"] for one in check["deviations"]]
        assert missing == gaps.get(name, [])
        assert len(check["contrasts"]) == claims[name]
        for contrast in check["contrasts"]:
            if name == "-reasoned":  # the registered rule leaves a match out: below
                assert contrast["verdict"] == "undecided" and abs(contrast["smallest"]) == 0.1
            elif contrast["estimate"]:
                assert claim(contrast, label.get(name)) in TEXT
                if "at either end" in contrast["note"]:
                    least, most = contrast["estimate"]["failed_low"], contrast["estimate"]["failed_high"]
                    assert f"{least:.3f} to {most:.3f}" in TEXT
                assert ("caution" in contrast["note"]) == (name == "-floor")
            else:
                assert name == "-floor" and "reasoned" in contrast["statement"]
        ran += 1
        if "--by" in words:
            level = {(e["game"], e["style"], e["past"]): e["value"] for e in document["estimates"]}
            for game, style in [(game, style) for game in GAMES for style in ("direct", "reasoned")]:
                assert row(f"{game}, {style}", *(level[game, style, past] for past in PASTS)) in TEXT
        if "--where" in words:
            (one,) = document["estimates"]
            registered.setdefault(one["past"], {})[one["level"]] = one
            assert not one["note"]
        elif name == "-reasoned":
            whole = check["contrasts"][0]["estimate"]
            assert (
                f"{whole['value']:.3f} ({whole['low']:.3f} to {whole['high']:.3f}); {whole['failed_low']:.3f} to "
                f"{whole['failed_high']:.3f} with the skipped matches at either end" in TEXT
            )
    assert ran == 12 and len(registered) == 3
    for contrast, at in registered.items():
        value, low, high, least, most = at[0.95]["value"], at[0.95]["low"], at[0.95]["high"], *bounds_of(at[0.9])
        assert low < 0 < high and not (least > -0.1 and most < 0.1), "undecided"
        one, other = contrast.split(" - ")
        statement = {"made40": "made40 differs from last2"}.get(one, f"{one} below {other}")
        primary = " (primary)" if contrast == "last40 - last2" else ""
        cells = ("reasoned", statement + primary, "undecided", value, span(low, high), span(least, most))
        assert row(*cells) in TEXT
        if primary:
            points, around = f"{100 * value:.1f}", f"({100 * low:.0f} to {100 * high:.0f})"
            assert f"+{points} {around} in a later one" in TEXT and f"{points} points more {around}" in README


def bounds_of(one: dict[str, Any]) -> tuple[float, float]:
    return one["bound_low"], one["bound_high"]


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
    minutes = ((calls["at"] + calls["latency"]).max() - calls["at"].min()) / 60
    assert f"all 192 matches in {minutes:.0f} minutes" in TEXT
    assert f"Of {ended + forced:,} reasoned replies {ended:,} ended with a label; the other {forced:,} were" in TEXT


def test_the_figure_is_what_the_command_draws(ostrom: Command, tmp_path: Path) -> None:  # noqa: F811
    for study in (ROOT / "examples" / "results").iterdir():
        (tmp_path / study.name).symlink_to(study)
    (words,) = (shlex.split(line)[1:] for block in blocks_of(PAGE) for line in block.lines if "ostrom pool" in line)
    done = ostrom(*words)
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", (ROOT / "docs/images/results.svg").read_text(encoding="utf-8"))
    runs = [word for word in words if word.endswith("/tables")]
    assert {text for text in shown if "/" in text} == set(runs) and all(run in drawn for run in runs)
    assert shown.count("pooled") == 3, "in the legend and for each style"


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


def test_the_study_of_reasons_is_described_by_its_tables() -> None:
    tables = ROOT / "examples" / "results" / "memory-length-reasoned" / "tables"
    calls, decisions = (pl.read_parquet(tables / f"{name}.parquet") for name in ("calls", "decisions"))
    matches = pl.read_parquet(tables / "matches.parquet").filter(pl.col("state") == "done").unique("match")
    assert matches.filter(pl.col("seed") > 4045).select("seed", "past").rows() == [(4046, "last2")]
    matches = matches.filter(pl.col("seed") <= 4045)
    calls, decisions = (table.filter(pl.col("match").is_in(matches["match"].to_list())) for table in (calls, decisions))
    quick, middle, slow = (calls["latency"].quantile(share) for share in (0.05, 0.5, 0.95))
    assert (
        f"({len(matches)} of 216 matches; {len(calls):,} calls, latency {quick:.2f} s, {middle:.2f} s and {slow:.1f} s)"
        in TEXT
    )
    forced = (decisions["reading"] == "constrained").sum()
    assert f"Of {len(decisions):,} decisions {forced:,} were forced labels" in TEXT
    seeds = matches.group_by("seed").len().filter(pl.col("len") == 3)["seed"].to_list()
    assert sorted(seeds) == list(range(4001, 4046)), "all seeds that every cell completed"
