"""The list of matches: strips, order, filters and pages that are parts of the address."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.datastructures import QueryParams
from tests.view.runs import said, talk
from tests.view.viewed import Viewed, viewed

from ostrom.ground.errors import UsageError
from ostrom.models.base import Reply, Request, Usage
from ostrom.view import matches, runs
from ostrom.view.matches import filters_of
from ostrom.view.shelf import RunsFolder


def moody(request: Request) -> Reply:
    """Defects as soon as there is a past; a third round is never answered."""
    text = "".join(message.content for message in request.messages)
    if "R1:" not in text:
        return said(request)
    return Reply("[A1]" if "R2:" not in text else "no answer", "I fear them.", "raw", usage=Usage(100, 20))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    runs = tmp_path_factory.mktemp("listed") / "runs"
    talk(runs, moody)
    with viewed(runs) as made:
        yield made


def listed(server: Viewed, query: str = "") -> list[int]:
    page = server.page(f"/run/talk/matches{query}")
    return [int(number) for number in re.findall(r'<a class="row" href="/run/talk/match/(\d+)"', page)]


def test_filters_are_part_of_the_address(server: Viewed) -> None:
    assert listed(server) == [0, 1, 2, 3, 4, 5, 6, 7]  # anna against anna, anna and tft, tft and anna, tft against tft
    assert listed(server, "?level.rounds=2") == [0, 1, 2, 3]
    assert listed(server, "?retries=1") == listed(server, "?reading=policy") == [4, 5, 6]
    assert listed(server, "?reading=policy&level.rounds=2") == []
    assert listed(server, "?agent=anna&level.rounds=3") == [4, 5, 6] and listed(server, "?agent=nobody") == []
    assert listed(server, "?bound=first_defection&low=2&high=2") == [0, 1, 2, 4, 5, 6]
    assert listed(server, "?bound=first_defection&high=1") == []
    assert listed(server, "?min.complaints=3&max.complaints=99") == [4]
    assert listed(server, "?sort=cooperation&level.rounds=2") == [0, 1, 2, 3]
    assert listed(server, "?sort=cooperation&desc=1&level.rounds=2") == [3, 2, 1, 0]
    page = server.page("/run/talk/matches?level.rounds=2&sort=usd")
    assert 'href="?sort=usd">rounds: 2' in page


def test_a_number_of_any_column_leads_to_its_matches() -> None:
    cell = {"key": ["investor", "a"], "value": 1.0, "n": 2, "unit": "match", "low": None, "high": None}
    cell |= {"method": "", "note": ""}
    found = {"scale": "share", "factors": ["model"]}
    made = runs._cell(cell, 0.0, 1.0, found, ["role", "model"], {"game": ["stag_hunt"], "depth": ["2"]})
    assert made["matches"] == "game=stag_hunt&level.depth=2&role=investor&level.model=a"


def test_pages_follow_each_other_without_a_gap_in_any_order(server: Viewed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matches, "PAGE", 3)
    for order in ("?sort=match", "?sort=score&desc=1", "?sort=first_defection", "?sort=complaints"):
        seen: list[int] = []
        query: str | None = order
        while query is not None:
            page = server.page(f"/run/talk/matches{query}", hx_request="true" if seen else "false")
            found = [int(n) for n in re.findall(r'<a class="row" href="/run/talk/match/(\d+)"', page)]
            assert len(found) <= 3
            seen += found
            more = re.search(r'<tr class="next"><td[^>]*><a href="([^"]+)"', page)
            query = None if more is None else more[1].replace("&amp;", "&")
        assert sorted(seen) == list(range(8))


@pytest.mark.parametrize(
    "query", ["?sort=nothing", "?min.usd=x", "?min.reason=1", "?after=nonsense", "?bound=usd&low=inf"]
)
def test_a_wrong_address_is_one_line(server: Viewed, query: str) -> None:
    status, text, _ = server.ask(f"/run/talk/matches{query}")
    assert status == 404 and "ostrom:" in text and "Traceback" not in text


def test_a_list_is_there_at_once_and_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunsFolder, "_fill", lambda *_: None)
    talk(tmp_path)
    with viewed(tmp_path) as server:
        assert listed(server) == list(range(8))
    monkeypatch.setattr("ostrom.view.matches.AT_ONCE", 0.0)
    with viewed(tmp_path) as server:
        page = server.page("/run/talk/matches")
        assert "The list is being read: 1 of 8 matches" in page and "No match fits" not in page


@pytest.mark.slow
def test_a_page_that_was_drawn_too_early_is_drawn_anew_when_all_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostrom.view.matches.AT_ONCE", 0.0)
    monkeypatch.setattr("ostrom.view.shelf.RunsFolder._fill", lambda *_: None)
    talk(tmp_path)
    with viewed(tmp_path) as server:
        replies = [server.ask("/run/talk/matches", hx_request="true", hx_target="indexing")]
        while 'id="indexing"' in replies[-1][1]:
            replies.append(server.ask("/run/talk/matches", hx_request="true", hx_target="indexing"))
        first, *_, last = replies
        assert "The list is being read" in first[1] and "hx-retarget" not in first[2]
        assert " so far" in first[1] and "8 in all" not in first[1] and "8 in all" in last[1]
        assert last[2]["hx-retarget"] == last[2]["hx-reselect"] == "#main" and "match/7" in last[1]
        assert "hx-retarget" not in server.ask("/run/talk/matches")[2]


def test_filters_are_read_from_the_address() -> None:
    found = filters_of(
        QueryParams("level.dose=3&level.arm=&min.score=1&max.score=2.5&min.rounds=&state=done&game=&retries=1&errors=0")
    )
    assert found.levels == {"dose": "3"} and (found.least, found.most) == ({"score": 1.0}, {"score": 2.5})
    assert (found.state, found.game, found.retries, found.errors) == ("done", None, True, False)
    bound = filters_of(QueryParams("bound=usd&low=0.5&errors=1"))
    assert (bound.least, bound.most, bound.errors, bound.retries) == ({"usd": 0.5}, {}, True, False)
    high = filters_of(QueryParams("bound=usd&high=2"))
    assert (high.least, high.most) == ({}, {"usd": 2.0})
    assert filters_of(QueryParams("bound=usd")).least == {} == filters_of(QueryParams("low=1")).least
    for text in ("x", "nan", "inf"):
        with pytest.raises(UsageError, match=rf"min\.score={text}: must be a number"):
            filters_of(QueryParams(f"min.score={text}"))
