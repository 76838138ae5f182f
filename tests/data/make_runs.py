"""How the kept runs of earlier versions were made, and what is asked of them in every later version.

Each `Kept` is one folder under ``tests/data/VERSION``: the runs that its commands wrote, and in ``expected/`` the
tables that were read then. Where a run was left unfinished, ``goes_on`` finishes it: ``expected/`` holds the
tables of the finished run, which a person can read, and ``begun.txt`` the digests of those of the unfinished one. The
files that the commands name lie in ``tests/data/studies``.

A folder is never written again by a later version: that it was written by that version is its point. To keep runs of
another version, add an entry to ``VERSIONS``, check that version out, copy this folder into it and name the new one::

    python -m tests.data.make_runs tests/data/1.0

Where a later version gives other tables on purpose (2.0: visits are no matches, rows of a branch belong to whom decided
them, intervals have other ends, who had no choice has no cooperation), ``renew`` writes ``expected/`` and ``begun.txt``
anew from the kept runs, which it leaves as they are; it refuses to where a score differs::

    python -m tests.data.make_runs --renew tests/data/1.0 turns
"""

import csv
import hashlib
import io
import json
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.batch_server import BatchServer
from tests.cli.in_process import Call, caller
from tests.data.replies_of_0_1 import answer

from ostrom.engine.folder import manifest_bytes
from ostrom.models.asking import tool_turn
from ostrom.models.base import Reply, Request, Usage
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.run import open_run

HERE = "@HERE@"
"""Stands for the folder of a kept run in its manifest, which records the folders of its prompts as absolute paths."""
CHANGING = ("at", "latency", "seconds", "id")
"""Columns that differ where something is asked once more: times, and the numbers of calls in their order of arrival."""
DERIVED = shutil.ignore_patterns("lock", "*.svg", "*.html")
"""What a run folder holds beside its run: pictures, and the lock of a process that has ended."""
STUDIES = Path(__file__).with_name("studies")


@dataclass(frozen=True)
class Kept:
    """One folder of kept runs."""

    name: str
    about: str
    """What of the formats it is an example of."""
    commands: tuple[str, ...]
    """What was called, one command of `ostrom` each."""
    goes_on: tuple[str, ...] = ()
    """What finishes the runs."""
    prints: Mapping[str, str] = field(default_factory=dict)
    """Commands whose output is compared beside the tables of all runs, by the name of the file that holds it."""


# ---------------------------------------------------------------------------------------------- who answers


def steady(request: Request) -> str:
    """A reply in the form that is asked for, chosen by the prompt."""
    body: dict[str, Any] = {"messages": [{"role": m.role, "content": m.content} for m in request.messages]}
    if request.constraint is not None and request.constraint.choices:
        body["guided_choice"] = list(request.constraint.choices)
    elif request.constraint is not None and request.constraint.schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"schema": dict(request.constraint.schema)}}
    return answer(body)


def thoughtful(request: Request) -> str:
    """Reasons before it answers, long enough to be judged; the last word is that of `steady`."""
    label = steady(request).rpartition("\n")[2]
    return (
        "A good reputation pays in the long-term, so I think of the rounds that follow before I choose, and "
        f"of what the other player has done so far.\n{label}"
    )


def fickle(request: Request) -> str:
    """Nothing that can be read at first; after a complaint as `steady`."""
    again = sum(message.role == "assistant" for message in request.messages)
    return steady(request) if again or len(request.messages[-1].content) % 3 else "I cannot decide."


def judge(request: Request) -> str:
    """Labels or scores by the schema that the question states."""
    assert request.constraint is not None and request.constraint.schema is not None
    properties = request.constraint.schema["properties"]
    if "forward" in properties:
        return json.dumps(dict.fromkeys(properties, 9))
    return steady(request)


def author(request: Request) -> str:
    """A story of the right length."""
    story = " ".join(["The mill pays as long as it smokes, and the town lives on the mill;"] * 6)
    return json.dumps({"title": "Smoke over the mill", "narrative": story})


def reader(request: Request) -> str:
    """Finds the tragedy stable, wherever it stands."""
    first = re.search(r"The first: (.*?)\. The second", request.messages[0].content)
    assert first is not None
    place = "first" if first[1].startswith("POLLUTE") else "second"
    return json.dumps({"stable": place, "reason": "The mill must smoke."})


def counting(request: Request) -> Reply | str:
    """Calls a calculator and a notebook once in each decision, then answers as `steady`."""
    if any(message.role == "tool" for message in request.messages):
        return steady(request)
    arguments = {"calculate": {"expression": "3 * 4 + 1"}, "write_note": {"text": "Seen."}, "read_notes": {}}
    calls = [
        {"id": f"c{number}", "name": name, "arguments": json.dumps(values)}
        for number, (name, values) in enumerate(arguments.items())
    ]
    return Reply(tool_turn("", calls).content, finish="tools", usage=Usage(10, 5))


MODELS = {
    "counting": counting,
    "steady": steady,
    "thoughtful": thoughtful,
    "fickle": fickle,
    "judge": judge,
    "author": author,
    "reader": reader,
}


@contextmanager
def those_who_answer() -> Iterator[None]:
    """The scripted models, and a server on loopback that `openai/loopback` reaches, batches included."""
    for name, reply in MODELS.items():
        register(name, reply)
    try:
        with BatchServer() as server, pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_BASE_URL", server.url)
            patch.setenv("OPENAI_API_KEY", "none")
            yield
    finally:
        for name in MODELS:
            unregister(name)


# ---------------------------------------------------------------------------------------------- what is kept

AUTHOR = "author mill --model scripted/author --reader scripted/reader --names debt_crisis,water_crisis"
PROFILE = "profile --model scripted/steady --battery mine.yaml --prices prices.yaml --budget-usd 1"

RUNS = (
    Kept(
        "plain",
        "Strategies alone: moves packed into the table of plays, a game of three seats, a game from a file.",
        ("run plain.yaml",),
    ),
    Kept(
        "asked",
        "Models in several styles with notes, drawn labels, unreadable replies and a policy; stopped on the way.",
        ("run asked.yaml --limit 9 --max-connections 2",),
        ("resume asked",),
        {"transcript.txt": "transcript asked --match 2"},
    ),
    Kept(
        "derived",
        "A study and what is derived from it: a branch, a branch of that branch, two attributions, an observation, "
        "a judged corpus and a scored corpus, the last four of them unfinished.",
        (
            "run talk.yaml",
            "branch talk --match 0 --at 3 --set memory=window:1 --seeds 2 --name branch",
            "branch branch --match 1 --at 4 --set rounds=5 --name second-branch",
            "attribute talk --match 0 --round 3 --seat 2 --name odds",
            "attribute talk --match 1 --round 4 --samples 2 --name sample --budget-calls 5",
            "observe talk --model scripted/steady --name seen --budget-calls 10",
            "judge talk --model scripted/judge --passes 2 --limit 2",
            "corpus talk --judge scripted/judge --out corpus --budget-calls 3",
        ),
        (
            "branch talk --match 0 --at 3 --set memory=window:1 --seeds 2 --name branch",
            "attribute talk --match 1 --round 4 --samples 2 --name sample --budget-calls 100",
            "observe talk --model scripted/steady --name seen --budget-calls 100",
            "judge talk --model scripted/judge --passes 2",
            "corpus talk --judge scripted/judge --out corpus",
        ),
        {"odds.json": "attribute talk --match 0 --round 3 --seat 2 --name odds --json"},
    ),
    Kept(
        "around",
        "Every mechanism that is not below, and what goes around repetition: noise, statements, predictions, talk.",
        ("run around.yaml --limit 10",),
        ("resume around",),
    ),
    Kept(
        "designs",
        "Units that wait for others: mediators and contracts are designed before matches; stopped on the way.",
        ("run designs.yaml --limit 4",),
        ("resume designs",),
    ),
    Kept(
        "society",
        "A society on a network with a planted type, imitation and partner choice; more seeds are added.",
        ("run society.yaml --seeds 1",),
        ("resume society --seeds 2",),
    ),
    Kept(
        "amounts",
        "Games by a rule: amounts, stages, a stock, a price; stopped on the way.",
        ("run amounts.yaml --limit 5",),
        ("resume amounts",),
    ),
    Kept(
        "generations",
        "A population whose instructions evolve; stopped by its budget.",
        ("run generations.yaml --budget-calls 30",),
        ("resume generations --budget-calls 1000",),
    ),
    Kept(
        "looks",
        "A sequential design with its record of looks; stopped before the criterion was met.",
        ("run looks.yaml --limit 5",),
        ("resume looks",),
    ),
    Kept(
        "batched",
        "Batch endpoints: a journal of format 5, with its table of batches; stopped on the way.",
        ("run batched.yaml --batch --limit 2",),
        ("resume batched",),
    ),
    Kept(
        "foretold",
        "A tree that is not complete yet; then the study that is played with it.",
        ("tree foretold.yaml --yes --budget-calls 4",),
        ("tree foretold.yaml --yes", "run foretold.yaml"),
    ),
    Kept("stories", "Stories by a model, not all of them written yet.", (f"{AUTHOR} --budget-calls 2",), (AUTHOR,)),
    Kept(
        "people",
        "Visits of simulated people, of whom some drop out and some miss decisions, with their register.",
        ("pilot people.yaml --people 6 --dropout 0.4 --miss 0.3",),
        (),
        {"people.json": "people people-pilot list --json"},
    ),
    Kept(
        "imported",
        "Rounds of a CSV file, and payoff files of a tournament and of a society.",
        (
            "import rounds.csv --mapping repeated-games-pd --name rounds",
            "import data --mapping coopeval --name tournament",
        ),
        (),
        {"estimate.json": "estimate rounds cooperation --by agent --json"},
    ),
    Kept("profile", "A battery of studies with its record.", (PROFILE,), (), {"profile.json": f"{PROFILE} --json"}),
    Kept(
        "worded",
        "A prompt set beside the study and a folder of prompts; stopped on the way.",
        ("run worded.yaml --prompts own --limit 2",),
        ("resume worded --prompts own",),
    ),
)

PAPERS = Kept(
    "papers",
    "The four papers, each at its smallest size.",
    (
        "run memory --preset smoke --model scripted/thoughtful",
        "run pd-tournament --preset smoke --model scripted/steady",
        "run mechanisms --preset smoke --model scripted/steady",
        "run personas --preset smoke --model scripted/thoughtful",
    ),
)
TURNS = Kept(
    "turns",
    "Games whose rounds have stages: offers in turn, a centipede; a model, a strategy and missing answers.",
    ("run turns.yaml",),
)
JOINED = Kept(
    "joined",
    "Shards and the run that lists them; one shard is not complete.",
    ("run parts.yaml --shard 1/2", "run parts.yaml --shard 2/2 --limit 1", "join parts parts.1-of-2 parts.2-of-2"),
    ("resume parts.1-of-2", "resume parts.2-of-2"),
)
REGISTERED = Kept(
    "registered",
    "A registration and the run that is bound to it; results were read once before it was complete.",
    (
        "register plan.yaml --primary cooperation:_memory_full_-_window_>_0 --smallest 0.1",
        "run plan.yaml --registered registration.yaml --limit 3",
        "estimate plan cooperation",
    ),
    ("resume plan",),
)
TOOLS = Kept("tools", "Tools within a decision, with their results.", ("run tools.yaml",))
NEGOTIATION = Kept(
    "negotiation",
    "Offers in turn about actions and payments; stopped on the way.",
    ("run negotiation.yaml --limit 2",),
    ("resume negotiation",),
)

VERSIONS: dict[str, tuple[Kept, ...]] = {
    "1.0": (*RUNS, PAPERS, TURNS, JOINED),
    "before-2.0": (REGISTERED, TOOLS, NEGOTIATION),
}
"""What is kept of each version, by the name of its folder."""


# ---------------------------------------------------------------------------------------------- making and asking


def do(call: Call, commands: tuple[str, ...], codes: tuple[int, ...] = (0, 1)) -> None:
    """Call commands one after the other; each ends with one of these codes.

    ``_`` is a blank in a word that holds ``_-_``: the contrast of a registration.
    """
    for command in commands:
        done = call(*(word.replace("_", " ") if "_-_" in word else word for word in command.split()))
        assert done.code in codes, f"ostrom {command}: exit code {done.code}\n{done.err}"


def read(kept: Kept, call: Call) -> dict[str, str]:
    """What a kept folder gives: the tables of all its runs, and what its commands print."""
    texts: dict[str, str] = {}
    for folder in sorted(path.parent for path in Path().rglob("run.json")):
        if _is_a_study(folder):
            texts |= {f"{folder.name}.{name}.csv": table for name, table in _tables(folder).items()}
        else:  # a corpus, a tree or stories have no tables: what was answered
            texts[f"{folder.name}.answers.csv"] = _answers(folder / "journal.db")
    for name, command in kept.prints.items():
        done = call(*command.split())
        assert done.code == 0, f"ostrom {command}: exit code {done.code}\n{done.err}"
        texts[name] = done.out
    return texts


def _is_a_study(folder: Path) -> bool:
    manifest: dict[str, Any] = json.loads((folder / "run.json").read_bytes())
    return "game" in manifest["study"]


def _tables(folder: Path) -> dict[str, str]:
    """The tables of a run as CSV, which a person can read and compare: every column of any row."""
    texts = {}
    with open_run(folder) as run:
        for name in ("matches", "decisions", "calls", *(("visits",) if run.rows.people else ())):
            rows: list[Mapping[str, Any]] = list(getattr(run.rows, name)())
            columns = dict.fromkeys(column for row in rows for column in row)
            texts[name] = _csv(list(columns), ([_plain(row.get(column)) for column in columns] for row in rows))
    return texts


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _csv(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


def _answers(journal: Path) -> str:
    """What was answered in a journal, read without Ostrom."""
    columns = ("unit", "step", "player", "part", "value", "reading")
    with closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as connection:
        rows = connection.execute(f"SELECT {', '.join(columns)} FROM answers ORDER BY 1, 2, 3, 4")
        return _csv(columns, rows)


def placed(folder: Path, old: str, new: str) -> None:
    """Write manifests anew with one path in place of another; nothing of what they decide depends on it."""
    for path in folder.rglob("run.json"):
        text = path.read_text()
        if old in text:
            data = json.loads(text.replace(old, new))
            del data["checksum"]
            path.write_bytes(manifest_bytes(data))
    for path in folder.rglob("session.json"):
        path.write_text(path.read_text().replace(old, new))


def comparable(text: str, columns: Sequence[str], leave_out: Collection[str] = ()) -> str:
    """The rows of a table in an order of their own, with these columns alone: later versions may add some.

    The last bits of a number are those of the machine that 0.1 ran on: 12 digits count.
    """
    kept = [name for name in columns if name not in leave_out]
    rows = [[_rounded(row[name]) for name in kept] for row in csv.DictReader(io.StringIO(text))]
    return _csv(kept, sorted(rows))


def _rounded(cell: str) -> str:
    return f"{float(cell):.12g}" if re.fullmatch(r"-?[0-9]+\.[0-9]+(e-?[0-9]+)?", cell) else cell


def columns_of(table: str) -> list[str]:
    """The columns of a table."""
    return next(csv.reader(io.StringIO(table)), [])


def digest(texts: Mapping[str, str], finished: Mapping[str, str]) -> str:
    """Number of rows and a hash of each table, over the columns that it has when the run is finished."""
    lines = []
    for name, text in sorted(texts.items()):
        if name.endswith(".csv"):
            table = comparable(text, columns_of(finished[name]) if text else ())
            lines.append(f"{name} {table.count(chr(10)) - 1} {hashlib.sha256(table.encode()).hexdigest()}")
    return "\n".join(lines) + "\n"


def make(kept: Kept, root: Path) -> None:
    """Make one kept folder: in a temporary folder, so that nothing of this machine gets into it."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        home = Path(name) / kept.name
        shutil.copytree(STUDIES / kept.name, home) if (STUDIES / kept.name).is_dir() else home.mkdir()
        call = caller(patch, home)
        (root / kept.name).mkdir(parents=True)
        do(call, kept.commands)
        for path in sorted(home.iterdir()):
            if path.is_dir() and path.name != ".state" and not (STUDIES / kept.name / path.name).exists():
                shutil.copytree(path, root / kept.name / path.name, ignore=DERIVED)
            elif path.name == "registration.yaml":
                shutil.copy(path, root / kept.name)
        placed(root / kept.name, str(home), HERE)
        texts = read(kept, call)
        if kept.goes_on:
            do(call, kept.goes_on, (0,))
            begun, texts = texts, read(kept, call)
            (root / kept.name / "begun.txt").write_text(digest(begun, texts))
        (root / kept.name / "expected").mkdir()
        for file, text in texts.items():
            (root / kept.name / "expected" / file).write_text(text)


def renew(kept: Kept, root: Path) -> None:
    """Write what is expected of one kept folder anew, from a copy of its runs; refused where a score differs."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        home, expected = Path(name) / kept.name, root / kept.name / "expected"
        shutil.copytree(root / kept.name, home)
        if (STUDIES / kept.name).is_dir():
            shutil.copytree(STUDIES / kept.name, home, dirs_exist_ok=True)
        placed(home, HERE, str(home))
        call = caller(patch, home)
        texts = read(kept, call)
        if kept.goes_on:
            do(call, kept.goes_on, (0,))
            begun, texts = texts, read(kept, call)
            (root / kept.name / "begun.txt").write_text(digest(begun, texts))
        for file, text in texts.items():
            if file.endswith(".matches.csv"):
                old, new = (_scores(table) for table in ((expected / file).read_text(), text))
                missing = len(old) - len(new)  # a sequential design may stop at another look
                assert old[: len(new)] == new, f"{expected / file}: scores differ"
                print(f"{file}: {len(new)} scores are the same, {missing} are no longer there")
            (expected / file).write_text(text)


def _scores(table: str) -> list[tuple[str, ...]]:
    """Who scored what in the matches of a table."""
    rows = csv.DictReader(io.StringIO(table))
    columns = ("match", "player", "score")
    return [tuple(_rounded(row[name]) for name in columns) for row in rows if row["unit"] != "visit"]


def main(root: Path, *names: str, one: Callable[[Kept, Path], None] = make) -> None:
    """Make all kept folders, or some of them by name."""
    with those_who_answer():
        for kept in VERSIONS[root.name]:
            if not names or kept.name in names:
                one(kept, root)
                print(kept.name)


if __name__ == "__main__":
    if sys.argv[1] == "--renew":
        main(Path(sys.argv[2]).absolute(), *sys.argv[3:], one=renew)
    else:
        main(Path(sys.argv[1]).absolute(), *sys.argv[2:])
