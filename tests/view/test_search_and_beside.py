"""Search, side by side and commands to copy, over real HTTP."""

import re
import shlex
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.view.runs import talk
from tests.view.viewed import viewed
from typer.testing import CliRunner

from ostrom.cli.app import app
from ostrom.features.attribution.plan import attribute
from ostrom.features.branching.branch import branch
from ostrom.models.base import Reply, Request, Usage
from ostrom.studies.run import open_run
from ostrom.view.index import index_path
from ostrom.view.index_writer import update

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)>\x1b[31mred\x1b]52;c;aGk=\x07 "
    "\u202eevil\u202c {{ 7*7 }} treasure & <b>bold</b>"
)


def until(done: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.1)


def hostile(_: Request) -> Reply:
    return Reply(f"[A0] {HOSTILE}", HOSTILE, "raw", usage=Usage(1, 1))


def strategies(runs: Path, name: str = "plain", **changes: Any) -> Path:
    return talk(runs, name=name, types={"tft": "tit_for_tat", "d": "defector"}, **changes)


@pytest.mark.slow
def test_a_search_makes_its_index_and_finds_words_in_context(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    with viewed(tmp_path) as view:
        first = view.page("/run/talk/search?q=trust")
        assert "index" in first
        until(lambda: "being made" not in view.page("/run/talk/search?q=trust"))
        page = view.page("/run/talk/search?q=trust")
        assert "<mark>trust</mark>" in page and "/run/talk/match/0?step=0&amp;player=1" in page
        assert re.search(r"Cell.*Calls", page, re.S) and index_path(folder).exists()
        assert "No call has these words" in view.page("/run/talk/search?q=zebra")
        assert "No call has these words" in view.page("/run/talk/search?q=trust&in=reply")
        for typed in ('"', "a AND (", "reply:x", "\0", "*"):
            view.page(f"/run/talk/search?q={quote(typed)}")
        assert view.ask("/run/talk/search?cell=x")[0] == 404


def test_hostile_words_are_text_in_hits(tmp_path: Path) -> None:
    update(talk(tmp_path, hostile))
    with viewed(tmp_path) as view:
        page = view.page("/run/talk/search?q=treasure")
    assert "<mark>treasure</mark>" in page
    for bad in ("<script>alert", "<img src=x", "<svg onload", "\x1b", "\u202e", "<b>bold"):
        assert bad not in page
    assert "&lt;svg onload" in page and "\\x1b[31mred" in page and "\\u202e" in page


def test_a_branch_stands_beside_its_parent_with_the_first_difference(tmp_path: Path) -> None:
    folder = strategies(tmp_path, rounds=6)
    with open_run(folder) as parent:
        made = branch(parent, 1, 2, ["strategy=cooperator"], seat=2, name="other", runs=tmp_path)
        rows = [r for r in parent.rows.matches() if r["match"] == 1]
    assert made.result.complete and rows
    for name in ("plain", "other"):
        update(tmp_path / name)
    with viewed(tmp_path) as view:
        assert "Branches and parents" in view.page("/run/plain/beside")
        page = view.page("/run/plain/beside/other")
        assert "match 1 of plain and its branch from round 2 on" in page
        found = re.search(r'href="(/run/other/beside/plain/0/1)"', page)
        assert found is not None and "action 2" in page
        assert found[1] in view.page("/run/other/beside/plain")
        pair = view.page(found[1])
        assert "The first difference is in round 2" in pair and "≠ first</span>" in pair and "<h2>Round 2," in pair
        assert re.search(r"chose <strong>\w+</strong>(?: \(shown as \w+\))?, got <b>\d+</b>", pair)
        assert " paid " not in pair
        assert view.ask("/run/plain/beside/plain")[0] == 404


@pytest.mark.slow
def test_an_attribution_shows_its_strip(tmp_path: Path) -> None:
    with open_run(strategies(tmp_path, rounds=4)) as run:
        attribute(run, 1, 3, seat=1, method="flip", name="why", runs=tmp_path)
    with viewed(tmp_path) as view:
        page = view.page("/run/why/strip")
        assert "What moved the decision" in page and re.search(r">[+-]1\.000</td>", page)
        assert view.ask("/run/plain/strip")[0] == 404


def test_commands_about_a_decision_are_copied_and_work(tmp_path: Path) -> None:
    folder = strategies(tmp_path)
    with viewed(tmp_path) as view:
        page = view.page("/run/plain/match/0?step=1&player=2")
        assert view.ask("/run/plain/match/0", "POST", {}, origin=view.base)[0] == 405
    commands = [shlex.split(unescape(text)) for text in re.findall(r'data-text="([^"]+)"', page)]
    place = [str(folder), "--match", "0"]
    assert commands == [
        ["ostrom", "transcript", *place, "--round", "2", "--player", "2"],
        ["ostrom", "more", "attribute", *place, "--round", "2", "--seat", "2"],
        ["ostrom", "more", "branch", *place, "--at", "2"],
    ]
    for words in commands:
        done = CliRunner().invoke(app, [*words[1:], *(["--runs", str(tmp_path)] if "more" in words else [])])
        assert done.exit_code == 0, (words, done.output)


def test_hits_are_counted_by_cell_only_where_there_are_several(tmp_path: Path) -> None:
    models = {name: {"model": f"scripted/{name}", "style": "direct"} for name in ("anna", "otto")}
    folder = talk(tmp_path, name="plain", types=models, vary={})
    talk(tmp_path, name="varied", types=models)
    assert update(folder) and update(tmp_path / "varied")
    with viewed(tmp_path) as server:
        plain, varied = (server.page(f"/run/{name}/search?q=trust") for name in ("plain", "varied"))
        assert all('aria-label="Calls by agent"' in page for page in (plain, varied))
        assert 'aria-label="Calls by cell"' in varied and 'aria-label="Calls by cell"' not in plain
