"""Every kind of page of the viewer, over kept runs."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from tests.golden.conftest import place
from tests.golden.normalise import normalised
from tests.golden.render import outline
from tests.people.served import wait_for
from tests.view.viewed import Viewed, viewed

PAGES: dict[str, str] = {
    "runs": "/",
    "run": "/run/plain",
    "run-asked": "/run/asked",
    "run-people": "/run/people-pilot",
    "run-amounts": "/run/amounts",
    "run-registered": "/run/plan",
    "run-joined": "/run/parts",
    "first": "/run/plain/first",
    "first-registered": "/run/plan/first",
    "heat": "/run/plain/heat?measure=cooperation&rows=agent&columns=game",
    "heat-score": "/run/pd-tournament/heat?measure=score&rows=agent&columns=opponents",
    "chart": "/run/plain/chart",
    "matches": "/run/plain/matches",
    "matches-filtered": "/run/asked/matches?agent=one&sort=score&desc=1",
    "matches-amounts": "/run/amounts/matches",
    "matches-turns": "/run/turns/matches",
    "match": "/run/talk/match/0",
    "match-strategies": "/run/plain/match/0",
    "match-decision": "/run/asked/match/2?round=2&player=1",
    "match-tools": "/run/tools/match/0",
    "match-negotiation": "/run/negotiation/match/1",
    "match-society": "/run/society/match/0",
    "match-none": "/run/plain/match/999",
    "decision-text": "/run/talk/match/0/decision.txt?round=1&player=1",
    "decision-json": "/run/talk/match/0/decision.json?round=1&player=1",
    "transcript": "/run/talk/match/0/transcript.txt",
    "call-prompt": "/run/talk/call/1/prompt",
    "call-reply": "/run/talk/call/1/reply",
    "beside": "/run/branch/beside",
    "beside-run": "/run/branch/beside/talk",
    "beside-pair": "/run/branch/beside/talk/0/0",
    "search-empty": "/run/talk/search",
    "unknown-run": "/run/nothing",
    "unknown-page": "/nothing",
    "static-none": "/static/none.js",
}
RUNS = (
    "plain", "asked", "people-pilot", "amounts", "plan", "parts", "parts.1-of-2", "parts.2-of-2", "pd-tournament",
    "turns", "talk", "branch", "tools", "negotiation", "society",
)  # fmt: skip


@pytest.fixture(scope="module")
def viewer() -> Iterator[tuple[Viewed, Path]]:
    home = Path(tempfile.mkdtemp(prefix="golden-", dir=Path("/tmp").resolve()))
    place(home, RUNS)
    with pytest.MonkeyPatch.context() as patch, viewed(home / "runs") as server:
        patch.chdir(home)  # a study names its game file relative to the folder that it is played in
        wait_for(lambda: not re.search("not checked yet|still counting|checking", server.ask("/")[1]), 300)
        yield server, home
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.parametrize("case", PAGES)
def test_view(case: str, viewer: tuple[Viewed, Path], golden: SnapshotAssertion) -> None:
    server, home = viewer
    status, text, headers = server.ask(PAGES[case])
    kind = headers.get("content-type", "")
    shown = outline(text) if "html" in kind else text
    assert normalised(f"GET {PAGES[case]}\n{status} {kind}\n----\n{shown}", home) == golden
