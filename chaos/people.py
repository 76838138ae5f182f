"""People: servers that are killed while visitors come, play, leave and lose patience; tables equal to a calm run."""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from chaos.finding import Finding, verdict
from ostrom.people.records import Records
from ostrom.studies.run import open_run

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.people.served import Served, Visitor, served, small_study
from tests.people.studies import whole_study

APART = 12
"""People by which cells may differ: a fifth of the draws are at random, and three in ten people leave."""


def run(short: bool, seed: int) -> list[Finding]:
    """Visitors with fixed minds, once in peace and once under kills."""
    people, kills = (20, 4) if short else (200, 20)
    with tempfile.TemporaryDirectory() as folder:
        calm = hosted(Path(folder) / "calm", people, 0, seed)
        rough = hosted(Path(folder) / "rough", people, kills, seed)
        kept = acknowledged(Path(folder) / "acknowledged", 10 if short else 100)
    (moves, ends, _), (rough_moves, rough_ends, audit) = calm, rough
    other = sum(((moves - rough_moves) + (rough_moves - moves)).values())
    return [
        verdict("people", f"the same answers in the tables after {kills} kills", people, not other, f"{other} differ"),
        verdict("people", "visits end as in a calm run", people, ends == rough_ends, f"{ends} and {rough_ends}"),
        *(verdict("people", what, count, not wrong, wrong) for what, count, wrong in audit),
        kept,
    ]


def acknowledged(folder: Path, kills: int) -> Finding:
    """Kill the server as soon as it has acknowledged an answer, again and again: every one of them is there."""
    study = small_study()
    study["mechanism"]["rounds"] = kills
    moves = [random.Random(number).choice("JF") for number in range(kills)]
    lost = []
    with served(folder, study) as server:
        person = server.visitor(join=True)
        person.answer("agree")
        for number, move in enumerate(moves, 1):
            person.settled()
            if person.title != f"Round {number} of {kills}":
                lost.append(f"answer {number - 1}: the page says {person.title!r}")
                break
            person.request("POST", "/answer", {"place": person.at, "answer": move}, X_Part="main")
            server.kill()
            if person.status != 200:
                lost.append(f"answer {number}: status {person.status}")
                break
            person.close()
            server.start()
        person.settled()
        server.stop()
        with open_run(server.run) as opened:
            rows = [
                row["label"] for row in opened.rows.decisions() if row["reading"] == "person" and row["kind"] == "act"
            ]
    if rows != moves:
        lost.append(f"{len(rows)} answers of {len(moves)} are in the tables, or others")
    check = "an answer that was acknowledged just before kill -9 is there"
    return verdict("people", check, len(rows), not lost, "; ".join(lost))


def hosted(
    folder: Path, people: int, kills: int, seed: int
) -> tuple[Counter[Any], Counter[str], list[tuple[str, int, str]]]:
    """Serve so many people; what they answered, how they ended, and the audit."""
    with served(folder, whole_study(quota=people), "--joins-a-minute", "10000") as server:
        # In order, so that everybody has the same visit, and with it the same draws, in both runs.
        visitors = [joined(server, number) for number in range(people)]
        minds = [threading.Thread(target=take_part, args=each) for each in enumerate(visitors, 1000 * seed)]
        for mind in minds:
            mind.start()
        chance = random.Random(7 + seed)
        for _ in range(kills):
            time.sleep(chance.uniform(0.2, 2.0) * (1 if people < 100 else 3))
            server.kill()
            server.start()
        for mind in minds:
            mind.join()
        assert server.ostrom("people", "whole", "bonuses", "-o", "one.csv").returncode == 0
        assert server.ostrom("people", "whole", "bonuses", "-o", "two.csv").returncode == 0
        twice = (server.folder / "two.csv").read_text().partition("\n")[2]
        server.stop()
        with open_run(server.run) as opened:
            rows = [row for row in opened.rows.decisions() if row["reading"] == "person"]
        with Records(server.run) as records:
            names = {v.code: v.who.external for v in records.visits() if v.who is not None}
            ends = Counter(str(v.end) for v in records.visits())
            audit = [*records.audit(), ("no second payment file pays anybody", people, twice)]
            cells = Counter(v.cell for v in records.visits() if v.end == "done")
            apart = max(cells.values()) - min(cells.values())
            told = f"{min(cells.values())} to {max(cells.values())} people finished in {len(cells)} cells"
            wrong = "" if apart <= APART and len(cells) == records.plan.cells else told
            audit.append((f"cells are balanced, at most {APART} apart", len(cells), wrong))
            book = records.plan.book
            who = {
                index: names[book.visits[visit].code]
                for index, table in book.tables.items()
                for visit in table.people.values()
            }
            who |= {visit * records.plan.stride: names[v.code] for visit, v in book.visits.items()}
    # By label, not by action: who is assigned first, and with it the order of the games, depends on the threads.
    moves = Counter((who[row["match"]], row["kind"], row["round"], row["label"] or row["answer"]) for row in rows)
    return moves, ends, audit


def joined(server: Served, number: int) -> Visitor:
    """A visitor at the beginning of a visit."""
    visitor = Visitor(server.port)
    patiently(visitor, "POST", "/join", {"PROLIFIC_PID": f"p{number}", "SESSION_ID": "s"})
    assert visitor.cookie, visitor.page
    return visitor


def take_part(number: int, visitor: Visitor) -> None:
    """One visitor, whose answers depend on nothing but its number; three in ten leave on the way."""
    chance = random.Random(number)
    leaves_after = chance.randrange(1, 9) if chance.random() < 0.3 else None
    answered = 0
    for _ in range(2000):
        patiently(visitor, "GET", "/")
        if visitor.at.startswith("end"):
            break
        if leaves_after is not None and answered >= leaves_after:
            patiently(visitor, "POST", "/leave", {"how": "departed"})
            continue
        fields = answer(visitor, random.Random(f"{number} {visitor.title} {answered}"))
        if fields is None:
            time.sleep(0.2)
            continue
        place = visitor.at
        patiently(visitor, "POST", "/answer", {"place": place, **fields})
        answered += visitor.at != place
    visitor.close()


def answer(visitor: Visitor, chance: random.Random) -> dict[str, str] | None:
    """The answer to what a page asks; None: it waits."""
    if visitor.title.startswith("Round"):
        return {"answer": chance.choice("JF")}
    known: dict[str, dict[str, str]] = {
        "Consent": {"answer": "agree"},
        "Instructions": {"answer": "continue"},
        "Questions on the rules": {"rounds": "1", "same": "0"},
        "Choose one": {"guess": "0"},
        "About you": {"age": "30", "remarks": ""},
        "Thank you": {"answer": "continue"},
    }
    return known.get(visitor.title)


def patiently(visitor: Visitor, method: str, path: str, fields: dict[str, str] | None = None) -> None:
    """A request that is repeated until there is a server to answer it."""
    for _ in range(3000):
        try:
            visitor.request(method, path, fields)
        except OSError:
            time.sleep(0.3)
            continue
        if visitor.status < 500:
            return
