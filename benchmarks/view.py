"""`ostrom view` on a run of 850,500 decisions and a journal over 1 GB, and beside a running study.

A real server process and real requests; memory is that of the server (the indexer and the integrity check are processes
of their own, which end). The cost of 20 open tabs is measured by playing the same study with and without them in turn.
"""

from __future__ import annotations

import contextlib
import http.client
import random
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import orjson

from benchmarks.grid import plan_of, write
from benchmarks.processes import child, server
from benchmarks.result import Result
from ostrom.engine.entries import CallRecord, call_rows
from ostrom.engine.prompt_chains import PromptChains
from ostrom.models.base import Reply, Usage

GROUP = "ostrom view, a run of 850,500 decisions"
REASONING = 1000
"""Characters of reasoning in each reply."""
PLAYED = """
import sys, time
from ostrom.engine.runner import Options
from ostrom.studies.load import load_study
from ostrom.studies.run import play
data = {"name": "live", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 20},
        "types": {"a": {"model": sys.argv[1], "style": "direct"}}, "seating": "ordered", "seeds": int(sys.argv[4])}
begun = time.perf_counter()
result = play(load_study(data), name=sys.argv[3], runs=sys.argv[2], options=Options(max_connections=64))
found = {"rate": result.tally.calls / (time.perf_counter() - begun), "calls": result.tally.calls}
"""


def fill(journal: Path) -> int:
    """A call for every decision, as the engine would journal it; how many bytes the journal has then."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 10))) for _ in range(20_000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    text = " ".join(rng.choices(words, weights, k=2_000_000))
    rules = "\n".join(" ".join(rng.choices(words, weights, k=15)) for _ in range(25))
    connection = sqlite3.connect(journal)
    entries = connection.execute("SELECT value FROM meta WHERE key='entries'").fetchone()[0]
    places = connection.execute("SELECT unit, step, player FROM answers").fetchall()
    for package, start in enumerate(range(0, len(places), 256), 1):
        records = []
        for unit, step, player in places[start : start + 256]:
            history = "\n".join(f"Round {step - k}: you A, the other B" for k in range(min(step, 8)))
            prompt = orjson.dumps(
                [["system", rules], ["user", f"{history}\nRound {step + 1}. Choose A or B."]]
            )
            at = rng.randrange(len(text) - REASONING)
            reply = Reply("[A0]", text[at : at + REASONING], "raw", usage=Usage(500, 120))
            records.append(
                CallRecord(
                    unit, step, player, "try0", "m", b"%016d" % start, prompt, {}, 1, "live", 0.0, 1.0, reply
                )
            )
        for statement, rows in call_rows(records, package, PromptChains()):
            connection.executemany(statement, rows)
            entries += len(rows)
    connection.execute("UPDATE meta SET value=? WHERE key='entries'", (entries,))
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    return journal.stat().st_size


class ViewServer:
    """`ostrom view` as a process."""

    def __init__(self, runs: Path) -> None:
        command = [sys.executable, "-m", "ostrom", "view", str(runs), "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        found = None
        while found is None:
            line = self.process.stderr.readline()
            assert line, "the server did not start"
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        self.port = int(found[1])

    def get(self, path: str) -> tuple[float, bytes]:
        """One page: how long it took, and what it says."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        begun = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        took = time.perf_counter() - begun
        connection.close()
        assert answer.status == 200, (path, answer.status, body[:300])
        return took, body

    def memory(self, name: str) -> float:
        """Megabytes: VmRSS now, VmHWM at the most."""
        told = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", told)[1]) / 1024  # type: ignore[index]

    def cpu(self) -> float:
        """Seconds of CPU so far, its children left out."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(20)


@contextlib.contextmanager
def tabs(port: int, path: str, count: int) -> Iterator[None]:
    """Open streams of news that are read as they come."""
    code = (
        "import selectors, socket, sys\n"
        "waiting = selectors.DefaultSelector()\n"
        "for _ in range(int(sys.argv[2])):\n"
        "    s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
        "    s.sendall(f'GET {sys.argv[3]} HTTP/1.1\\r\\nHost: 127.0.0.1:{sys.argv[1]}\\r\\n\\r\\n'.encode())\n"
        "    waiting.register(s, selectors.EVENT_READ)\n"
        "print('open', flush=True)\n"
        "while True:\n"
        "    for key, _ in waiting.select():\n"
        "        if not key.fileobj.recv(65536): sys.exit()\n"
    )
    reader = subprocess.Popen(
        [sys.executable, "-c", code, str(port), str(count), path], stdout=subprocess.PIPE, text=True
    )
    assert reader.stdout is not None
    reader.stdout.readline()
    try:
        yield
    finally:
        reader.kill()
        reader.wait()
        reader.stdout.close()


def measure(turns: int = 3, seeds: int = 60) -> list[Result]:
    """First page, a match, search and memory; then tabs beside a running study."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        found = _large(runs)
    with tempfile.TemporaryDirectory() as folder:
        return found + _live(Path(folder), turns, seeds)


def _large(runs: Path) -> list[Result]:
    decisions = write(runs / "grid", plan_of("http://127.0.0.1:9/v1#m"), missing_rounds=0)
    size = fill(runs / "grid" / "journal.db")
    assert decisions == 850_500 and size > 1e9
    view = ViewServer(runs)
    try:
        begun = time.perf_counter()
        first = max(view.get("/")[0], view.get("/run/grid")[0])
        view.get("/run/grid/matches")
        index = runs / "grid" / "view.db"
        checked = indexed = 0.0
        while not checked or not indexed:
            time.sleep(1)
            body = view.get("/run/grid")[1]
            checked = checked or (b"journal checked" in body and time.perf_counter() - begun) or 0.0
            indexed = indexed or (_complete(index) and time.perf_counter() - begun) or 0.0
        after = max(view.get("/")[0], view.get("/run/grid")[0])
        matches = median(view.get(f"/run/grid/matches?sort=cooperation&p={n}")[0] for n in range(5))
        match = median(
            view.get(f"/run/grid/match/{n}?step={n % 400}&player=1")[0] for n in (3, 77, 300, 500, 755)
        )
        word = _rare(index)
        asked = [
            f"/run/grid/search?q={q}" for q in (word, f"{word}*", "round", "choose+round", "choose+-zebra")
        ]
        search = max(view.get(path)[0] for path in asked)
        counted = max(view.get(f"{path}&count=1")[0] for path in asked)
        memory = view.memory("VmHWM")
    finally:
        view.close()
    group = f"{GROUP} and {size / 1e9:.2f} GB"
    index_size = index.stat().st_size / 1e6
    return [
        Result(group, "first page, while the check runs", first, "s", aim="< 1 s", met=first < 1),
        Result(group, "first page after the check", after, "s", aim="< 1 s", met=after < 1),
        Result(group, "matches sorted by cooperation", matches * 1000, "ms"),
        Result(group, "a match of 1,000 decisions", match * 1000, "ms", aim="< 100 ms", met=match < 0.1),
        Result(group, "search, first hits in context", search, "s", aim="< 1 s", met=search < 1,
               note="slowest of 5: a rare word, a beginning, a word of every prompt, two of them, one without another"),
        Result(group, "search with all hits counted by cell", counted, "s", note="slowest of 5; comes after the hits"),
        Result(group, "memory of the server, peak", memory, "MB", aim="< 300 MB", met=memory < 300),
        Result(group, "integrity check in the background", checked, "s"),
        Result(group, "index in the background", indexed, "s", note=f"{index_size:,.0f} MB beside the journal"),
    ]  # fmt: skip


def _complete(index: Path) -> bool:
    from ostrom.errors import OstromError
    from ostrom.web.view.index import RunIndex

    try:
        with RunIndex(index) as opened:
            return opened.progress.complete and opened.progress.calls > 0
    except (OstromError, OSError):
        return False


def _rare(index: Path) -> str:
    connection = sqlite3.connect(f"file:{index}?mode=ro", uri=True)
    connection.execute("CREATE VIRTUAL TABLE temp.v USING fts5vocab(main, words, row)")
    found = connection.execute("SELECT term FROM v WHERE doc BETWEEN 5 AND 5000 LIMIT 1").fetchone()
    connection.close()
    return str(found[0])


def _live(runs: Path, turns: int, seeds: int) -> list[Result]:
    rates: dict[bool, list[float]] = {False: [], True: []}
    with server(0.002) as model:
        child(PLAYED, model, str(runs), "warm", "5")
        view = ViewServer(runs)
        try:
            used, wall = 0.0, 0.0
            for turn in range(turns):
                for watched in (False, True) if turn % 2 else (True, False):
                    name = f"live{turn}{int(watched)}"
                    with tabs(view.port, "/events", 20 if watched else 0):
                        before, begun = view.cpu(), time.perf_counter()
                        rates[watched].append(child(PLAYED, model, str(runs), name, str(seeds))["rate"])
                        if watched:
                            used, wall = used + view.cpu() - before, wall + time.perf_counter() - begun
        finally:
            view.close()
    ratio = median(rates[True]) / median(rates[False])
    return [
        Result("ostrom view beside a running study", "calls/s with 20 tabs open", median(rates[True]), "calls/s",
               "without tabs", ratio, ">= 0.98", ratio >= 0.98, note=f"median of {turns} plays each, in turn"),
        Result("ostrom view beside a running study", "CPU of the server", 100 * used / wall, "% of a core"),
    ]  # fmt: skip


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    for result in measure():
        sys.stdout.write(f"{result}\n")
