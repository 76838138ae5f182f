"""Records about the people of a run: who came, what is due, what was paid, and their consistency."""

from __future__ import annotations

import asyncio
import csv
import io
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from ostrom.engine.folder import Folder, identity
from ostrom.ground import loop
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import write_atomically
from ostrom.ground.words import how_many
from ostrom.people.payment import Payment, due, owed, pays_for
from ostrom.people.plan import PeoplePlan
from ostrom.people.register import Overdue, Participant, Register, overdue
from ostrom.studies.run import Run, find_run, open_run


@dataclass(frozen=True, slots=True)
class Visited:
    """One visit, from journal and register."""

    code: str
    visit: int
    test: bool
    cell: str
    end: str | None
    points: float
    missed: int
    base: Decimal
    bonus: Decimal
    owed: Decimal
    """The amount left for a payment file."""
    who: Participant | None
    """The person; None if erased, or if the register is older than the journal."""


class Records(AbstractContextManager["Records"]):
    """The journal of a run with its register of personal data, for `ostrom people`."""

    def __init__(self, run: str | Path, runs: str | Path = "runs") -> None:
        self.folder: Folder = find_run(run, runs)
        with ExitStack() as opened:
            self.run: Run = opened.enter_context(open_run(self.folder.path))
            if not isinstance(self.run.plan, PeoplePlan):
                raise UsageError(f"{self.folder.path}: is no run with people")
            self.plan: PeoplePlan = self.run.plan
            self.register = Register(self.folder.path, identity(self.run.manifest))
            opened.callback(self.register.close)
            self._close = opened.pop_all().close

    def __exit__(self, *_: object) -> None:
        self._close()

    def visits(self) -> Iterator[Visited]:
        """Every visit, in the order of arrival."""
        by_code = {who.code: who for who in self.register.participants()}
        for visit, visitor in sorted(self.plan.book.visits.items()):
            ended = self.run.journal.outcome_of(visit * self.plan.stride)
            facts: dict[str, Any] = {} if ended is None else ended[3]
            end = None if ended is None else "withdrawn" if ended[0] == "withdrawn" else str(facts.get("end", ended[0]))
            points = float(facts.get("points") or 0.0)
            pay, earned = self.plan.people_of(visitor.cell).pay, str(facts.get("earned") or end)
            base, bonus = due(pay, earned, points) if end is not None else (Decimal(0), Decimal(0))
            cell = "" if visitor.cell is None else self.plan.cell_name(visitor.cell)
            left = Decimal(0) if visitor.test else owed(self.plan.people.source.name, base, bonus)
            yield Visited(
                visitor.code, visit, visitor.test, cell, end, points, int(facts.get("missed") or 0), base, bonus,
                left, by_code.get(visitor.code),
            )  # fmt: skip

    def find(self, code: str) -> Visited:
        """One visit by its code."""
        for visited in self.visits():
            if visited.code == code:
                return visited
        raise UsageError(f"{self.folder.path}: nobody has the code {code!r} (ostrom people {self.folder.path} list)")

    # -- paying --------------------------------------------------------------------------------------

    def pay(self, out: Path) -> tuple[int, Decimal]:
        """Write a payment file for everybody who is done and unpaid; return how many, and the sum.

        The ledger is written before the file gets its name: a crash in between leaves nobody paid twice, and the
        same command then gives the file its name.
        """
        if out.exists():
            raise UsageError(f"{out}: is there already; a payment file is written once")
        paid, draft = self.register.payments(), out.with_name(f".{out.name}.draft")
        if (begun := [one for one in paid.values() if one.file == out.name]) and draft.exists():
            draft.rename(out)
            return len(begun), sum((Decimal(one.amount) for one in begun), Decimal(0))
        rows = [
            visited
            for visited in self.visits()
            if visited.owed and visited.who is not None and visited.code not in paid
        ]
        text = io.StringIO()
        currency, pays = self.plan.people.pay.currency, pays_for(self.plan.people.source.name)
        lines = [(visited.who.external, f"{visited.owed:.2f}", currency, pays) for visited in rows if visited.who]
        csv.writer(text, lineterminator="\n").writerows([("id", "amount", "currency", "pays"), *lines])
        try:
            write_atomically(draft, text.getvalue().encode(), sync=True)
            draft.chmod(0o600)
        except OSError as error:
            raise RunError(f"{out}: cannot be written ({error.strerror})") from None
        self.register.pay([Payment(v.code, f"{v.owed:.2f}", currency, out.name) for v in rows])
        draft.rename(out)
        return len(rows), sum((visited.owed for visited in rows), Decimal(0))

    # -- forgetting ----------------------------------------------------------------------------------

    def overdue(self, keep: float | None = None) -> Overdue:
        """Return whose personal data is older than ``keep`` seconds, or than the study's retention time."""
        paid = self.register.payments()
        unpaid = {v.code for v in self.visits() if v.owed and v.code not in paid}
        keep = self.plan.people.keep.people if keep is None else keep
        return overdue(self.register, keep, time.time(), unpaid.__contains__)

    # -- taking back ---------------------------------------------------------------------------------

    def withdraw(self, code: str) -> bool:
        """Remove a visit and its matches from all tables; False if the running server was asked to do it."""
        visited = self.find(code)
        try:
            self.folder.lock()
        except RunError:
            self.register.request("withdraw", code)
            self.register.commit()
            return False
        try:
            loop.run(self._take_out(visited))
        finally:
            self.folder.unlock()
        self.register.ended(code, "withdrawn")
        self.register.commit()
        return True

    async def _take_out(self, visited: Visited) -> None:
        with self.folder.open_journal() as journal:
            journal.start()
            facts = {"end": "withdrawn", "points": visited.points, "earned": visited.end}
            for index in self.plan.units_of(visited.visit):
                journal.finish(index, "withdrawn", "taken back by a person", 0, facts=facts)
            await journal.flush()
            await asyncio.sleep(0)

    # -- checking ------------------------------------------------------------------------------------

    def audit(self) -> list[tuple[str, int, str]]:
        """Return each check: what must hold, how often it was checked, and the first violation ('' if none)."""
        rounds, wrong = self._served()
        visits = [visited for visited in self.visits() if not visited.test]
        codes = {visited.code for visited in self.visits()}
        tombs = self.register.tombstones()
        strangers = [who.code for who in self.register.participants() if who.code not in codes and who.ended]
        unknown = [v.code for v in visits if v.who is None and v.code not in tombs]
        paid = self.register.payments()
        amounts = {v.code: v.owed for v in self.visits()}
        more = [c for c, one in paid.items() if c in amounts and Decimal(one.amount) > amounts[c]]
        lost = [v.code for v in visits if v.end == "done" and not v.cell]
        return [
            ("served = assigned, round by round", rounds, "; ".join(wrong[:5])),
            ("every visit in the journal is in the register or erased", len(visits), ", ".join(unknown[:5])),
            ("everybody in the register who finished is in the journal", len(codes), ", ".join(strangers[:5])),
            ("nobody was paid more than is due, or twice", len(paid), ", ".join(more[:5])),
            ("finished people were assigned to a cell", sum(v.end == "done" for v in visits), ", ".join(lost[:5])),
            ("personal data is erased when people.keep is over", len(codes), self._overdue_text()),
        ]  # fmt: skip

    def _overdue_text(self) -> str:
        old = self.overdue()
        if not old:
            return ""
        text = f"{how_many(len(old), 'person')} joined more than {self.plan.people.keep.people / 86400:g} days ago"
        return f"{text}, {len(old.unpaid)} of them are not paid" if old.unpaid else text

    def _served(self) -> tuple[int, list[str]]:
        """Compare the agents that people met, stored with every answer, with those of their cell."""
        rounds, wrong = 0, []
        for index, table in sorted(self.plan.book.tables.items()):
            unit = self.plan.unit(index)
            served = {
                (step, player): list(answer.facts["served"])
                for (step, player, part), (answer, *_) in self.run.journal.answers(index).items()
                if not part and player in table.people and answer.facts and "served" in answer.facts
            }
            rounds += len(served)
            for (step, player), met in served.items():
                assigned = [s.config.identity for i, s in enumerate(unit.players) if i != player]
                visitor = self.plan.book.visits[table.people[player]]
                if met != assigned or visitor.cell != table.cell:
                    wrong.append(f"match {index}, step {step}: {visitor.code} met another agent than assigned")
        return rounds, wrong
