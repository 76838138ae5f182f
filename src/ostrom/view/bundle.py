"""A run as static files: a copy for a paper's appendix that needs no server.

Pages read their data from small scripts (a browser lets a page on disk load scripts, and nothing else): matches by the
hundred, decisions in chunks, the words for search in shards. Everything that is written passes ``Cleaner``: keys and
passwords are masked. Of people only their choices are copied: no visits, and no texts of a match in which a person
wrote any.
"""

import os
import re
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.resources import files
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import orjson
from markupsafe import escape

from ostrom.answers import Choice, Mixture
from ostrom.data.rundata import RunData, run_data
from ostrom.features.transcript.transcript import transcript
from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.terminal import escaped, one_line, without_passwords
from ostrom.ground.version import __version__
from ostrom.models.redaction import redact
from ostrom.reports.build import build_report
from ostrom.reports.card import findings, registered_lines, warnings
from ostrom.reports.figures import BINARY_KINDS, need_extras
from ostrom.studies.run import Run, open_run
from ostrom.view.listing import MatchList
from ostrom.view.render import draw
from ostrom.view.words import split_unspaced_scripts

SHARD = 300_000
"""The size at which a new shard of words begins, in bytes."""
MOST_CALLS = 20_000
"""The most calls listed for one word; further ones are only counted."""
LONGEST_WORD = 64


class WordShards:
    """The index of words for the search: collects the words of all calls, then writes them in shards."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; CREATE VIRTUAL TABLE words USING fts5 "
            "(text, content='', columnsize=0, detail=none, tokenize='unicode61 remove_diacritics 2'); "
            "CREATE VIRTUAL TABLE listed USING fts5vocab (words, instance);"
        )

    def add(self, call: int, *texts: str | None) -> None:
        """Add the words of one call."""
        text = split_unspaced_scripts("\n".join(text for text in texts if text))
        self.connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (call + 1, text))

    def write(self, folder: Path, put: Callable[[str, str, Any], None]) -> list[str]:
        """Write all shards; returns the first word of each."""
        self.connection.commit()
        firsts: list[str] = []
        for number, shard in enumerate(self._shards()):
            firsts.append(next(iter(shard)))
            put(f"{folder.name}/{number}.js", f"words{number}", shard)
        self.connection.close()
        return firsts

    def _shards(self) -> Iterator[dict[str, list[Any]]]:
        """Yield words in order, as many together as fit into one file."""
        shard: dict[str, list[Any]] = {}
        size = 0
        for word, count, calls in self._words():
            shard[word] = [count, calls]
            size += len(word) + len(calls) + 8
            if size > SHARD:
                yield shard
                shard, size = {}, 0
        if shard:
            yield shard

    def _words(self) -> Iterator[tuple[str, int, str]]:
        """Yield every word in order with its number of calls and the first calls as differences."""
        for word, rows in groupby(self.connection.execute("SELECT term, doc FROM listed"), key=lambda row: row[0]):
            calls = [call for call, _ in groupby(call for _, call in rows)]
            if len(word) <= LONGEST_WORD:
                yield word, len(calls), ",".join(str(b - a) for a, b in pairwise([0, *calls[:MOST_CALLS]]))


CHUNK = 400_000
"""The size at which a new chunk of decisions begins, in bytes."""
TOGETHER = 500
"""The number of matches in one file of the list."""
LONGEST = 200_000
"""The longest copied text in characters; the rest is only counted."""
MARK = "ostrom-bundle.json"
STATIC = ("style.css", "view.css", "bundle.js", "icon.svg")
PARTS = frozenset({"index.html", "run.js", MARK, "matches", "decisions", "words", "report", *STATIC})
"""The files of a bundle: a folder with anything else is not replaced."""
SECRET_NAMES = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
ROW = (
    "match state reason cell seed game mechanism agents rounds scores cooperation outcome first_defection strips "
    "complaints policies calls errors tokens_in tokens_out"
).split()
"""The columns of a match in a bundle."""
ANSWER = "kind stage answer said action label payoff reading complaints".split()
"""The fields of a decision in a bundle."""
CALL = "part try model source finish error status tokens_in tokens_out latency".split()
"""The fields of a call in a bundle, besides its texts."""


@dataclass(frozen=True)
class BundleResult:
    """The counts of what a bundle contains."""

    folder: Path
    matches: int
    decisions: int
    calls: int
    files: int
    bytes: int
    without_words: int
    """Matches without texts, because a person wrote some of them."""
    masked: int
    """Texts with masked parts."""
    without_report: str
    """The reason why the report is missing; empty if it is there."""

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {**asdict(self), "folder": str(self.folder)}


class Cleaner:
    """Masks keys and passwords in all texts of plain data, and truncates long ones."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self.secrets, self.masked = secrets, 0

    def text(self, text: str) -> str:
        """A text with secrets masked, escaped, and cut to ``LONGEST`` characters."""
        clean = self.mask(text)
        if len(clean) > LONGEST:
            clean = f"{clean[:LONGEST]}\n[{len(clean) - LONGEST:,} more characters are left out of this copy]"
        return escaped(clean)

    def mask(self, text: str) -> str:
        """Mask secrets in a text, also in their HTML-escaped form."""
        clean = without_passwords(redact(text, self.secrets))
        self.masked += clean != text
        return clean

    def data(self, data: Any) -> Any:
        """Clean every text in plain data, keys included."""
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, Mapping):
            return {self.text(str(key)): self.data(value) for key, value in data.items()}
        return [self.data(value) for value in data] if isinstance(data, list | tuple) else data


def secrets_here() -> tuple[str, ...]:
    """The values of environment variables that hold keys and passwords."""
    secrets = [value for name, value in sorted(os.environ.items()) if name.endswith(SECRET_NAMES) and value]
    return tuple(dict.fromkeys([*secrets, *(str(escape(value)) for value in secrets)]))


def write_bundle(
    run: Run,
    out: Path,
    *,
    per_cell: int | None = None,
    report: bool = True,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> BundleResult:
    """Write a static copy of a run; with ``per_cell`` only that many matches of every cell.

    Without ``report`` it has neither findings nor the report, which take most of the time.
    """
    place = out.resolve()
    if place.exists() and (not place.is_dir() or any(place.iterdir())) and not (place / MARK).is_file():
        raise UsageError(f"-o {out}: exists and is no bundle (name another folder)")
    if foreign := sorted(path.name for path in place.iterdir() if path.name not in PARTS) if place.exists() else []:
        raise UsageError(
            f"-o {out}: holds {foreign[0]}, which is no part of a bundle (move it, or name another folder)"
        )
    holder: Path | None = None
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        holder = Path(tempfile.mkdtemp(prefix=".ostrom-bundle-", dir=place.parent))
        draft = holder / "bundle"
        draft.mkdir()
        with tempfile.TemporaryDirectory() as spare, closing(MatchList(run)) as match_list:
            match_list.update()
            counts = _Bundle(run, match_list, draft, per_cell, progress, report).write(Path(spare))
        if place.exists():
            shutil.rmtree(place)
        draft.replace(place)
    except OSError as error:
        raise UsageError(f"-o {out}: cannot be written ({error.strerror or error})") from None
    finally:
        if holder is not None:
            shutil.rmtree(holder, ignore_errors=True)
    copied_files = [path for path in out.rglob("*") if path.is_file()]
    return BundleResult(
        out, *counts[:3], len(copied_files), sum(path.stat().st_size for path in copied_files), *counts[3:]
    )


class _Bundle:
    """Writes the files of one bundle and counts its contents."""

    def __init__(
        self, run: Run, match_list: MatchList, out: Path, per_cell: int | None, progress: Callable[[int, int], None],
        report: bool,
    ) -> None:  # fmt: skip
        self.run, self.match_list, self.out, self.per_cell, self.progress = run, match_list, out, per_cell, progress
        self.without_report = "" if report else "it was not wanted"
        self.clean = Cleaner(secrets_here())
        self.chunks: list[int] = []
        """The number of the first call of every chunk."""
        self._chunk: list[Any] = []
        self._size = self._first = self.calls = self.decisions = self.without_words = 0

    def write(self, spare: Path) -> tuple[int, int, int, int, int, str]:
        for folder in ("matches", "decisions", "words"):
            (self.out / folder).mkdir()
        shards = WordShards(spare / "words.db")
        rows: list[dict[str, Any]] = []
        starts: list[list[int]] = []
        pages, total = 0, self.match_list.count()
        for done, row in enumerate(self._rows()):
            self.progress(done, total)
            first, chunk = self.calls, len(self.chunks)
            self._match(row, shards)
            rows.append({**self.clean.data({name: row[name] for name in ROW}), "chunks": [chunk, len(self.chunks)]})
            starts.append([row["match"], row["cell"] or 0, first])
            if len(rows) == TOGETHER:
                self._put(f"matches/{pages}.js", f"matches{pages}", rows)
                pages, rows = pages + 1, []
        if rows:
            self._put(f"matches/{pages}.js", f"matches{pages}", rows)
        self._flush()
        self._put("words/matches.js", "starts", starts)
        self._pages(starts, shards.write(self.out / "words", self._put))
        return (len(starts), self.decisions, self.calls, self.without_words, self.clean.masked, self.without_report)

    def _rows(self) -> Iterator[dict[str, Any]]:
        """Yield the matches that are copied, in order."""
        seen: Counter[int] = Counter()
        after: str | None = None
        while True:
            page = self.match_list.matches(after=after)
            for row in page.rows:
                seen[row["cell"]] += row["kind"] == "match"
                if row["kind"] == "match" and (self.per_cell is None or seen[row["cell"]] <= self.per_cell):
                    yield row
            if (after := page.after) is None:
                return

    # -- decisions -----------------------------------------------------------------------------------

    def _match(self, row: dict[str, Any], shards: WordShards) -> None:
        number = row["match"]
        if row["state"] == "damaged":
            return
        person_wrote = self._person_wrote(number)
        self.without_words += person_wrote
        players = self.run.plan.unit(number).players
        for decision in transcript(self.run, number):
            person = bool(players[decision["player"] - 1].config.person)
            fields = self.clean.data({name: decision[name] for name in ANSWER})
            if person_wrote or person:
                fields |= {"answer": fields["action"], "said": fields["action"], "label": None}
            calls = [] if person_wrote else [self._call(call, shards) for call in decision["calls"]]
            self._keep([number, decision["step"], decision["round"], decision["player"], fields, calls])
            self.decisions += 1

    def _person_wrote(self, number: int) -> bool:
        """Return whether a person may have written text in a match, which models may have repeated."""
        unit = self.run.plan.unit(number)
        if not any(seated.config.person for seated in unit.players):
            return False
        steps, _, _ = self.run.rows.replayed(unit)
        return not all(
            isinstance(decision.form, Choice | Mixture)
            for step in steps
            for decision in step
            if unit.players[decision.player].config.person
        )

    def _call(self, call: dict[str, Any], shards: WordShards) -> dict[str, Any]:
        messages = [[str(m["role"]), self.clean.text(str(m["content"]))] for m in call["messages"]]
        fields: dict[str, Any] = self.clean.data({name: call[name] for name in CALL})
        fields |= {name: self.clean.text(call[name]) for name in ("reply", "reasoning") if call[name] is not None}
        shards.add(self.calls, "\n".join(text for _, text in messages), fields.get("reply"), fields.get("reasoning"))
        self.calls += 1
        return {**{k: v for k, v in fields.items() if v is not None}, "messages": messages}

    def _keep(self, decision: list[Any]) -> None:
        """Add a decision to the chunk; a message that repeats lines of the previous call has only its new lines."""
        if not self._chunk:
            self._before: dict[tuple[int, int], list[list[str]]] = {}
        for call in decision[5]:
            key = decision[0], decision[3]
            before, messages = self._before.get(key, []), call["messages"]
            self._before[key] = messages
            call["messages"] = [_packed(m, before[i] if i < len(before) else None) for i, m in enumerate(messages)]
        self._chunk.append(decision)
        self._size += len(orjson.dumps(decision))
        if self._size > CHUNK:
            self._flush()

    def _flush(self) -> None:
        if self._chunk:
            self._put(f"decisions/{len(self.chunks)}.js", f"decisions{len(self.chunks)}", self._chunk)
            self.chunks.append(self._first)
        self._chunk, self._size, self._first = [], 0, self.calls

    # -- files ---------------------------------------------------------------------------------------

    def _put(self, path: str, name: str, data: Any) -> None:
        body = orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
        (self.out / path).write_bytes(b"bundle(%b,%b);\n" % (orjson.dumps(name), body))

    def _findings(self) -> dict[str, Any]:
        """Return findings and warnings of the run, and whether its report is beside the page."""
        conclusions: dict[str, Any] = {"registered": [], "findings": [], "warnings": []}
        if self.run.manifest.get("registered"):
            with run_data(self.run.rows, self.run.folder.path, self.run.manifest) as data:
                conclusions["registered"] = self.clean.data(registered_lines(data))
        if not self.without_report:
            try:
                need_extras()
                with run_data(self.run.rows, self.run.folder.path, self.run.manifest) as data:
                    conclusions |= self.clean.data({"findings": findings(data), "warnings": warnings(data)})
                    if data.study.get("people"):
                        self.without_report = "people took part, and it may tell one from another"
                    else:
                        self._report(data)
            except OstromError as problem:
                self.without_report = one_line(str(problem))
        return {**conclusions, "report": not self.without_report}

    def _report(self, data: RunData) -> None:
        """Write the report, masked; without its binary figures, in which nothing can be masked (the SVG is there)."""
        build_report(data, home=self.out)
        for path in sorted(path for path in (self.out / "report").rglob("*") if path.is_file()):
            if path.suffix[1:] in BINARY_KINDS:
                path.unlink()
                continue
            text = self.clean.mask(path.read_text(encoding="utf-8"))
            if path.suffix == ".html":
                text = re.sub(rf' <a href="figures/[^"]+\.(?:{"|".join(BINARY_KINDS)})">\w+</a>', "", text)
            path.write_text(text, encoding="utf-8")

    def _pages(self, starts: list[list[int]], firsts: list[str]) -> None:
        study = self.run.manifest["study"]
        title = self.clean.text(str(study.get("title") or study["name"]))
        facts = {
            "run": self.clean.text(self.run.name), "title": title, "matches": len(starts),
            "cells": {str(number): self.clean.data(levels) for number, levels in self.match_list.cells().items()},
            "decisions": self.decisions, "calls": self.calls, "chunks": self.chunks, "shards": firsts,
            "together": TOGETHER,
            "counted": Counter(str(cell) for _, cell, _ in starts), "version": __version__,
            "without_words": self.without_words, "per_cell": self.per_cell,
        }  # fmt: skip
        self._put("run.js", "run", facts)
        (self.out / "index.html").write_text(
            draw(
                "bundle",
                title=title,
                facts=facts,
                study={k: v for k, v in self.clean.data(study).items() if k != "people"},
                found=self._findings(),
            ),
            encoding="utf-8",
        )
        for name in STATIC:
            (self.out / name).write_bytes(files("ostrom.web").joinpath("static", name).read_bytes())
        (self.out / MARK).write_bytes(orjson.dumps({"run": facts["run"], "ostrom": __version__}) + b"\n")


def _packed(message: list[str], before: list[str] | None) -> list[Any]:
    """Return a message as [role, lines kept at the start, lines kept at the end, new text], or [role, text].

    >>> _packed(["user", "rules\\nround 1\\nchoose\\nnow"], ["user", "rules\\nchoose\\nnow"])
    ['user', 1, 2, 'round 1']
    """
    if before is None or before[0] != message[0]:
        return message
    old, new = before[1].split("\n"), message[1].split("\n")
    most = min(len(old), len(new))
    start = next((i for i in range(most) if old[i] != new[i]), most)
    end = next((i for i in range(most - start) if old[-1 - i] != new[-1 - i]), most - start)
    if start + end < 3:
        return message
    return [message[0], start, end, "\n".join(new[start : len(new) - end])] if start + end < len(new) else [
        message[0], start, end
    ]  # fmt: skip


def bundle(name: str, runs: Path, out: Path, **options: Any) -> BundleResult:
    """Write a static copy of a run, given by its name or folder, after the check of its integrity."""
    with open_run(name, runs) as run:
        return write_bundle(run, out, **options)
