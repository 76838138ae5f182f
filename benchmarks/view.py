"""`ostrom view` on a run of 850,500 decisions and a journal over 1 GB, and beside a running study.

A real server process and real requests; memory is that of the server (the indexer and the integrity check are processes
of their own, which end). The cost of 20 open tabs is measured within one play of a study.
"""

from __future__ import annotations

import contextlib
import http.client
import os
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
from urllib.request import urlopen

import orjson

from benchmarks.grid import plan_of, write
from benchmarks.processes import server
from benchmarks.result import Result
from ostrom.engine.entries import CallRecord, PromptChains, call_rows
from ostrom.models.base import Reply, Usage
from ostrom.view.index import index_path

GROUP = "ostrom view, a run of 850,500 decisions"
REASONING = 1000
"""Characters of reasoning in each reply."""
PLAYED = """
import sys
from ostrom.engine.play_options import PlayOptions
from ostrom.studies.load import load_study
from ostrom.studies.run import play
data = {"name": "live", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 20},
        "types": {"a": {"model": sys.argv[1], "style": "direct"}}, "seating": "ordered", "seeds": 40_000}
play(load_study(data), name=sys.argv[3], runs=sys.argv[2], options=PlayOptions(max_connections=64))
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
            prompt = orjson.dumps([["system", rules], ["user", f"{history}\nRound {step + 1}. Choose A or B."]])
            at = rng.randrange(len(text) - REASONING)
            reply = Reply("[A0]", text[at : at + REASONING], "raw", usage=Usage(500, 120))
            records.append(
                CallRecord(unit, step, player, "try0", "m", b"%016d" % start, prompt, {}, 1, "live", 0.0, 1.0, reply)
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

    def together(self) -> float:
        """Megabytes that the server and what it started take now."""
        found = 0
        for process in self.processes():
            with contextlib.suppress(OSError):
                told = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
                found += int(told[1]) if told else 0
        return found / 1024

    def processes(self) -> list[int]:
        """The server and its children."""
        own = self.process.pid
        return [own, *map(int, Path(f"/proc/{own}/task/{own}/children").read_text().split())]

    def cpu(self) -> float:
        """Seconds of CPU so far, those of its children too."""
        return sum(map(cpu_of, self.processes()))

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(20)


def cpu_of(process: int) -> float:
    """Seconds of CPU so far, with those of children that have ended."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


@contextlib.contextmanager
def tabs(port: int, path: str, count: int) -> Iterator[int]:
    """Open streams of news that are read as they come; gives the process that reads them."""
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
        yield reader.pid
    finally:
        reader.kill()
        reader.wait()
        reader.stdout.close()


def measure() -> list[Result]:
    """First page, a match, search and memory; then tabs beside a running study."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        found = _large(runs)
    with tempfile.TemporaryDirectory() as folder:
        return found + _live(Path(folder))


def _large(runs: Path) -> list[Result]:
    decisions = write(runs / "grid", plan_of("http://127.0.0.1:9/v1#m"), missing_rounds=0)
    size = fill(runs / "grid" / "journal.db")
    assert decisions == 850_500 and size > 1e9
    view = ViewServer(runs)
    try:
        begun = time.perf_counter()
        first = max(view.get("/")[0], view.get("/run/grid")[0])
        listed = view.get("/run/grid/matches")[0]
        index = index_path(runs / "grid")
        checked = indexed = together = 0.0
        while not checked or not indexed:
            time.sleep(1)
            together = max(together, view.together())
            body = view.get("/run/grid")[1]
            checked = checked or (b"journal checked" in body and time.perf_counter() - begun) or 0.0
            indexed = indexed or (_complete(index) and time.perf_counter() - begun) or 0.0
        after = max(view.get("/")[0], view.get("/run/grid")[0])
        matches = median(view.get(f"/run/grid/matches?sort=cooperation&p={n}")[0] for n in range(5))
        match = median(view.get(f"/run/grid/match/{n}?step={n % 400}&player=1")[0] for n in (3, 77, 300, 500, 755))
        word = _rare(index)
        asked = [f"/run/grid/search?q={q}" for q in (word, f"{word}*", "round", "choose+round", "choose+-zebra")]
        search = max(view.get(path)[0] for path in asked)
        counted = max(view.get(f"{path}&count=1")[0] for path in asked)
        for part in ("first", "heat?measure=cooperation", "chart"):
            while b'class="waiting"' in view.get(f"/run/grid/{part}")[1]:
                together = max(together, view.together())
                time.sleep(0.2)
        together = max(together, view.together())
        memory = view.memory("VmHWM")
    finally:
        view.close()
    group = f"{GROUP} and {size / 1e9:.2f} GB"
    index_size = index.stat().st_size / 1e6
    return [
        Result(group, "first page, while the check runs", first, "s", aim="< 1 s", met=first < 1),
        Result(group, "first page after the check", after, "s", aim="< 1 s", met=after < 1),
        Result(group, "list of matches, first time", listed, "s", aim="< 1 s", met=listed < 1),
        Result(group, "matches sorted by cooperation", matches * 1000, "ms"),
        Result(group, "a match of 1,000 decisions", match * 1000, "ms", aim="< 100 ms", met=match < 0.1),
        Result(group, "search, first hits in context", search, "s", aim="< 1 s", met=search < 1,
               note="slowest of 5: a rare word, a beginning, a word of every prompt, two of them, one without another"),
        Result(group, "search with all hits counted by cell", counted, "s", note="slowest of 5; comes after the hits"),
        Result(group, "memory of the server, peak", memory, "MB", aim="< 300 MB", met=memory < 300),
        Result(group, "memory of the server, the indexer, the check and the figures together, peak", together, "MB"),
        Result(group, "integrity check in the background", checked, "s"),
        Result(group, "index of words in the background", indexed, "s", note="beside the check of the journal"),
        Result(group, "size of the index", index_size, "MB", aim="< 150 MB", met=index_size < 150),
    ]  # fmt: skip


def _complete(index: Path) -> bool:
    from ostrom.ground.errors import OstromError
    from ostrom.view.index import RunIndex

    try:
        with RunIndex(index) as opened:
            return opened.progress.complete and opened.progress.calls > 0
    except (OstromError, OSError):
        return False


def _rare(index: Path) -> str:
    connection = sqlite3.connect(f"file:{index}?mode=ro", uri=True)
    query = "SELECT term FROM words_terms WHERE doc BETWEEN 20 AND 200 AND term GLOB '[a-z]*' LIMIT 1"
    connection.execute("CREATE VIRTUAL TABLE temp.words_terms USING fts5vocab (main, words, row)")
    found = connection.execute(query).fetchone()
    connection.close()
    return str(found[0])


def _live(runs: Path, turns: int = 6, seconds: float = 5) -> list[Result]:
    """One long play, looked at in turn by 20 tabs, by none, by none (the control), by none, and again from the start.

    A turn with tabs and a control are each compared with the mean of the two turns around them.
    """
    rates: list[float] = []
    used = {"server": 0.0, "tabs": 0.0}
    with server(0.002) as model, _playing(runs, model, "live"):
        view = ViewServer(runs)
        try:
            _settled(view)
            for turn in range(4 * turns + 1):
                watched = turn % 4 == 1
                with tabs(view.port, "/events", 20 if watched else 0) as reader:
                    time.sleep(1)  # the page is there, the stream runs
                    before, begun = view.cpu(), time.perf_counter()
                    calls, read = _calls(model), cpu_of(reader)
                    time.sleep(seconds)
                    rates.append((_calls(model) - calls) / (time.perf_counter() - begun))
                    if watched:
                        used["server"] += view.cpu() - before
                        used["tabs"] += cpu_of(reader) - read
        finally:
            view.close()
    ratios = [2 * rates[n] / (rates[n - 1] + rates[n + 1]) for n in range(1, 4 * turns, 2)]
    ratio, control = median(ratios[::2]), median(ratios[1::2])
    wall = turns * seconds
    group = "ostrom view beside a running study"
    note = f"{turns} turns of {seconds:.0f} s in one play, each against the mean of its neighbours; median"
    return [
        Result(group, "calls/s with 20 tabs open", median(rates[1::4]), "calls/s", "without tabs", ratio, ">= 0.98",
               ratio >= 0.98, note=note),
        Result(group, "calls/s in turns without tabs (control)", median(rates[3::4]), "calls/s", "without tabs",
               control, note="what the method gives where nothing differs"),
        Result(group, "CPU of the server and its children", 100 * used["server"] / wall, "% of a core"),
        Result(group, "CPU of the process that reads the streams", 100 * used["tabs"] / wall, "% of a core",
               note="is on the same cores, so it is part of the ratio"),
    ]  # fmt: skip


@contextlib.contextmanager
def _playing(runs: Path, model: str, name: str) -> Iterator[None]:
    """A study that is played for as long as it is looked at."""
    player = subprocess.Popen([sys.executable, "-c", PLAYED, model, str(runs), name], stderr=subprocess.DEVNULL)
    try:
        while _calls(model) < 2000:
            assert player.poll() is None, "the study does not play"
            time.sleep(0.2)
        yield
        assert player.poll() is None, "the study was over too early"
    finally:
        player.kill()
        player.wait()


def _settled(view: ViewServer) -> None:
    """Wait until the server has seen the run, so that what it does once is not counted."""
    view.get("/")
    last = -1.0
    while (now := view.cpu()) - last > 0.2:
        last = now
        time.sleep(3)


def _calls(model: str) -> int:
    """How many calls the stand-in for a model has answered."""
    with urlopen(model.partition("/v1")[0] + "/stats", timeout=60) as answer:
        return int(orjson.loads(answer.read())["count"])


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    with tempfile.TemporaryDirectory() as spare:  # `python -m benchmarks.view live`: only the tabs, in four minutes
        found = _live(Path(spare)) if sys.argv[1:] == ["live"] else measure()
    for result in found:
        sys.stdout.write(f"{result}\n")
