"""The numbers of docs/results.md and of the page of earlier studies come out of the published tables."""

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
EARLIER = ROOT / "examples" / "results" / "README.md"
LABELS = ROOT / "examples" / "results" / "memory-length-labels" / "tables"
RESULT, TEXT = (page.read_text(encoding="utf-8") for page in (PAGE, EARLIER))
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


def test_the_commands_give_what_the_result_says(ostrom: Command, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    commands = [shlex.split(line)[1:] for block in blocks_of(PAGE) for line in block.lines]
    checked, levels, differences = (ostrom(*words, "--json") for words in commands if words[0] != "report")
    assert {checked.returncode, levels.returncode, differences.returncode} == {0}, checked.stderr + levels.stderr
    (check,) = json.loads(checked.stdout)["registered"]
    assert check["status"] == "confirmatory" and check["complete"] and not check["deviations"]
    assert len(check["contrasts"]) == 4
    for contrast in check["contrasts"]:
        assert contrast["estimate"]["unit"] == "seed" and not contrast["note"]
        one, other = contrast["contrast"].partition("=")[2].split(" - ")
        statement = f"{one} {WORDS.get(contrast['direction'], 'above')} {other}"
        value, bounds = contrast["estimate"], contrast["equivalence"]
        cells = (contrast["verdict"], value["value"], span(value["low"], value["high"]))
        primary = " (primary)" if contrast["role"] == "primary" else ""
        assert row(statement + primary, *cells, span(bounds["low"], bounds["high"])) in RESULT
        if primary:
            points = [f"{-100 * value[end]:.1f}" for end in ("value", "high", "low")]
            words = "{} points less ({} to {})".format(*points)
            assert words in RESULT and words in README
    means = {(e["labels"], e["past"]): e["value"] for e in json.loads(levels.stdout)["estimates"]}
    for one in json.loads(differences.stdout)["estimates"]:
        label = one["labels"]
        shown = (*(means[label, past] for past in ("last2", "last40", "made40")), one["value"])
        assert row(label, *shown, span(one["low"], one["high"])) in RESULT


def test_the_code_gives_what_the_result_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"^```python\n(.*?)^```", RESULT, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    calls, played = names["calls"], pl.read_parquet(LABELS / "decisions.parquet")
    assert (
        f"{len(played):,} decisions in {len(calls):,} calls with {calls['tokens_in'].sum():,} tokens in "
        f"and {calls['tokens_out'].sum():,} out" in RESULT
    )
    assert "latency {:.2f} s, {:.2f} s and {:.1f} s at 5, 50 and 95 %".format(*names["latency"]) in RESULT
    assert f"{calls['tokens_out'].null_count()} calls had no reply within 120 s" in RESULT
    assert f"all 672 matches in {((calls['at'] + calls['latency']).max() - calls['at'].min()) / 60:.0f} min" in RESULT
    matches = pl.read_parquet(LABELS / "matches.parquet").filter(pl.col("state") == "done").unique("match")
    assert matches.group_by("labels", "past").len()["len"].to_list() == [56] * 12
    explained = f"explains {100 * names['explained']:.0f} % of the variance between matches"
    assert explained in RESULT and explained in TEXT
    assert f"all of {len(names['decisions']):,} decisions in the same words had been read" in RESULT
    assert set(played["reading"]) == set(names["decisions"]["reading"]) == {"constrained"}, "none by policy"


def test_the_commands_give_what_the_page_of_earlier_studies_says(ostrom: Command, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    claims = {"": 8, "-large": 3, "-reasoned": 3, "-80": 3, "-floor": 6}
    registered: dict[str, dict[float, dict[str, Any]]] = {}
    label = {"-large": "72 seeds", "-reasoned": "reasoned", "-80": "80", "-floor": "floor"}
    gaps = {
        "-floor": ["112 of 192 are left out (112 failed)"], "-reasoned": ["80 of 216 are left out (80 skipped)"]
    }  # fmt: skip
    ran = 0
    for words in (shlex.split(line)[1:] for block in blocks_of(EARLIER) for line in block.lines):
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


def bounds_of(one: dict[str, Any]) -> tuple[float, float]:
    return one["bound_low"], one["bound_high"]


def test_the_code_gives_what_the_page_of_earlier_studies_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, str(EARLIER), "exec"), names)
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
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (words,) = (shlex.split(line)[1:] for block in blocks_of(PAGE) for line in block.lines if "--chart" in line)
    done = ostrom(*words)
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", (ROOT / "docs/images/results.svg").read_text(encoding="utf-8"))
    assert {"JF", "FJ", "PM", "MP", "last2", "last40", "made40"} <= set(shown)
    assert [word for word in shown if re.search("[a-zA-Z]", word) and word not in drawn] == []


def test_what_is_published_is_small_and_has_no_texts() -> None:
    """At most 4 MiB, as every clone carries it."""
    files = [file for file in (ROOT / "examples" / "results").rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= 4 * 2**20
    for file in (file for file in files if file.name == "calls.parquet"):
        calls = pl.read_parquet(file)
        assert calls["reply"].null_count() == len(calls) == calls["reasoning"].null_count()


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
