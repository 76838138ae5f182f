"""A static copy of a run: complete, in small files, without secrets and without the words of people."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from markupsafe import escape
from tests.people.crawling import WORDS, crawl
from tests.people.served import served
from tests.people.test_mechanisms import people_study
from tests.view.runs import said, talk
from tests.view.test_search_and_beside import HOSTILE, hostile
from tests.view.viewed import viewed

from ostrom.data.rundata import run_data
from ostrom.features.transcript.transcript import transcript
from ostrom.ground.errors import UsageError
from ostrom.models.base import Reply, Request, Usage
from ostrom.reports.build import build_report
from ostrom.studies.run import open_run
from ostrom.view import bundle as making
from ostrom.view.bundle import LONGEST, Cleaner, _packed, bundle

SECRET = "opensesame-7f3a9c2b41d8e6"
ODD = "quick<brown>&fox-91"
"""A secret that markup spells in another way."""


def js(path: Path) -> Any:
    """What a script hands to the page."""
    found = re.fullmatch(rb'bundle\("[a-z0-9]+",(.*)\);\n', path.read_bytes(), re.S)
    assert found is not None, path
    return orjson.loads(found[1])


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def unpacked(out: Path) -> dict[tuple[int, int, int], list[Any]]:
    """Every decision with its calls; messages as the page puts them together."""
    run, found, before = js(out / "run.js"), dict[tuple[int, int, int], list[Any]](), dict[Any, Any]()
    for number in range(len(run["chunks"])):
        before.clear()
        for match, step, _, player, told, calls in js(out / "decisions" / f"{number}.js"):
            for call in calls:
                for i, message in enumerate(call["messages"]):
                    if len(message) > 2:
                        lines, (role, start, end, *between) = before[match, player][i][1].split("\n"), message
                        text = "\n".join([*lines[:start], *between, *(lines[-end:] if end else [])])
                        call["messages"][i] = [role, text]
                before[match, player] = call["messages"]
            found.setdefault((match, step, player), []).append((told, calls))
    return found


def test_every_decision_is_there_as_it_was_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "CHUNK", 3000)
    folder = talk(tmp_path / "runs", rounds=5)
    made = bundle("talk", tmp_path / "runs", tmp_path / "out", report=False)
    found = unpacked(tmp_path / "out")
    with open_run(folder) as run:
        for match in range(len(run.plan)):
            for decision in transcript(run, match):
                (told, calls), *_ = found[match, decision["step"], decision["player"]]
                assert told["answer"] == decision["answer"] and told["payoff"] == decision["payoff"]
                assert [c["messages"] for c in calls] == [
                    [[m["role"], m["content"]] for m in c["messages"]] for c in decision["calls"]
                ]
                assert [c["reasoning"] for c in calls] == [c["reasoning"] for c in decision["calls"]]
        assert made.calls == run.journal.spent()["calls"] and made.decisions == len(list(run.rows.decisions()))
    chunks = list((tmp_path / "out" / "decisions").iterdir())
    assert len(chunks) > 2 and max(path.stat().st_size for path in chunks) < 12_000
    assert made.bytes == len(all_bytes(tmp_path / "out")) and made.files > 8


def test_the_words_lead_to_the_calls_that_hold_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostrom.view.bundle.SHARD", 500)
    talk(tmp_path / "runs", lambda r: Reply("[A0] für 合作", said(r).reasoning, "raw", usage=Usage(1, 1)))
    made = bundle("talk", tmp_path / "runs", tmp_path / "out", report=False)
    run = js(tmp_path / "out" / "run.js")
    words: dict[str, Any] = {}
    for number, first in enumerate(run["shards"]):
        shard = js(tmp_path / "out" / "words" / f"{number}.js")
        assert next(iter(shard)) == first
        words |= shard
    assert list(words) == sorted(words) and len(run["shards"]) > 2
    for word in ("trust", "fur", "合", "points"):
        count, steps = words[word]
        assert count == made.calls == len(steps.split(","))


def test_every_file_that_a_report_links_is_in_the_copy_and_on_the_server(tmp_path: Path) -> None:
    folder = talk(tmp_path / "runs", seeds=3)
    made = bundle("talk", tmp_path / "runs", tmp_path / "out")
    assert made.without_report == ""
    with open_run("talk", tmp_path / "runs") as run, run_data(run.rows, folder, run.manifest) as data:
        build_report(data)

    def links(page: Path) -> set[str]:
        return set(re.findall(r'href="((?:figures|tables)/[^"]+)"', page.read_text(encoding="utf-8")))

    copied, linked = links(tmp_path / "out" / "report" / "index.html"), links(folder / "report" / "index.html")
    kinds = {name.rpartition(".")[2] for name in linked}
    assert kinds == {"svg", "png", "pdf", "csv", "md"}
    assert {name.rpartition(".")[2] for name in copied} == kinds - {"png", "pdf"}, "nothing can be masked in these"
    assert all((tmp_path / "out" / "report" / name).is_file() for name in copied)
    assert not [path for path in (tmp_path / "out").rglob("*") if path.suffix in (".png", ".pdf")]
    with viewed(tmp_path / "runs") as server:
        for name in linked:
            status, _, headers = server.ask(f"/run/talk/report/{name}")
            assert status == 200, name
            assert "sandbox" in headers["content-security-policy"]


@pytest.mark.slow
def test_secrets_and_hostile_words_are_harmless_in_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    monkeypatch.setenv("ODD_TOKEN", ODD)

    def script(request: Request) -> Reply:
        bad = f"{HOSTILE} {SECRET} sk-abcdefghijklmnopqrstuvwx http://me:hunter2secret@host/v1 Bearer abcdefgh12345"
        return Reply(f"[A0] {bad}", f"{request.messages[0].content[:20]} {bad}", "raw", usage=Usage(1, 1))

    talk(tmp_path / "runs", script, about=f"Written with {SECRET} and {ODD}, or {escape(ODD)}")
    made = bundle("talk", tmp_path / "runs", tmp_path / "out")
    assert made.without_report == ""
    everything = all_bytes(tmp_path / "out")
    for bad in (SECRET, "7f3a9c2b41d8e6", "opensesame", "sk-abcdef", "hunter2secret", "abcdefgh12345", "fox-91"):
        assert bad.encode() not in everything.lower(), bad
    assert made.masked > 0 and b"treasure" in everything
    page = (tmp_path / "out" / "index.html").read_text()
    for bad in ("\x1b", "\u202e"):
        assert bad.encode() not in everything
    assert "default-src 'none'" in page and not re.findall(r"<script(?! src=.bundle\.js. defer)", page)
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?/", page)


@pytest.mark.slow
def test_a_bundle_is_a_choice_of_matches_and_replaces_only_a_bundle(tmp_path: Path) -> None:
    talk(tmp_path / "runs", hostile, seeds=2)
    made = bundle("talk", tmp_path / "runs", tmp_path / "out", per_cell=1, report=False)
    cells = {cell for _, cell, _ in js(tmp_path / "out" / "words" / "matches.js")}
    assert made.matches == len(cells) == 2
    again = bundle("talk", tmp_path / "runs", tmp_path / "out", report=False)
    assert again.matches > made.matches
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="is no bundle"):
        bundle("talk", tmp_path / "runs", tmp_path / "mine", report=False)
    assert (tmp_path / "mine" / "thesis.txt").exists()
    # Nothing of somebody's is lost beside a bundle, in one, or behind a link to one.
    (tmp_path / "out.part").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "out")
    bundle("talk", tmp_path / "runs", tmp_path / "linked", report=False)
    (tmp_path / "out" / "notes.md").write_text("mine")
    with pytest.raises(UsageError, match=r"holds notes\.md"):
        bundle("talk", tmp_path / "runs", tmp_path / "out", report=False)
    assert (tmp_path / "out.part").is_dir() and (tmp_path / "linked").is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "out", "mine", "out.part", "linked"}


@pytest.mark.slow
def test_nothing_that_a_person_wrote_is_copied(tmp_path: Path) -> None:
    games = {
        "talk": {"mechanism": {"name": "cheap_talk", "rounds": 2}},
        "plain": {"mechanism": {"name": "repetition", "rounds": 2}},
    }
    with served(tmp_path, people_study(2, 1, games)) as server:
        person = server.visitor(join=True)
        crawl(person, 0)
        assert "CDONE" in person.page
        server.stop()
        journal = server.run / "journal.db"
        assert "☕" in WORDS and "☕".encode() in journal.read_bytes()
        made = bundle(str(server.run), tmp_path, tmp_path / "out")
    everything = all_bytes(tmp_path / "out")
    assert "☕".encode() not in everything and b"hello" not in everything
    assert "people took part" in made.without_report and not (tmp_path / "out" / "report").exists()
    assert (made.matches, made.without_words) == (2, 1) and made.decisions > 4


def test_a_text_is_masked_and_cut_and_what_is_cut_is_counted() -> None:
    clean = Cleaner((SECRET,))
    assert clean.text("x" * LONGEST) == "x" * LONGEST and clean.masked == 0
    cut = clean.text("x" * (LONGEST + 1))
    assert cut == "x" * LONGEST + "\n[1 more characters are left out of this copy]"
    found = clean.data({f"a {SECRET}": (SECRET, 3, None)})
    assert SECRET not in str(found) and next(iter(found.values()))[1:] == [3, None] and clean.masked == 2


@pytest.mark.parametrize(
    ("new", "before", "packed"),
    [
        ("a\nb\nc", None, ["user", "a\nb\nc"]),
        ("a\nb\nc", ["system", "a\nb\nc"], ["user", "a\nb\nc"]),
        ("a\nb\nc", ["user", "a\nb\nc"], ["user", 3, 0]),
        ("a\nb\nc\nd", ["user", "a\nb\nc"], ["user", 3, 0, "d"]),
        ("a\nb\nx\nc", ["user", "a\nb\nc"], ["user", 2, 1, "x"]),
        ("a\nx\nc", ["user", "a\nb\nc"], ["user", "a\nx\nc"]),
        ("a\nb", ["user", "a\nb"], ["user", "a\nb"]),
    ],
)
def test_of_messages_that_repeat_three_lines_only_what_is_new_is_kept(
    new: str, before: list[str] | None, packed: list[Any]
) -> None:
    assert _packed(["user", new], before) == packed
