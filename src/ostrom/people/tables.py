"""Tables about people: extra columns of matches and decisions, and the visits table.

Everything comes from the journal: random codes, offsets in milliseconds since a visit began, and who was served.
Personal data is in the register alone and never in a table.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from ostrom.engine.plan import Unit
from ostrom.engine.rows import Rows
from ostrom.people.payment import Payment, read_payments
from ostrom.people.questions import Questionnaire
from ostrom.people.schema import People, Step
from ostrom.people.visit import Book
from ostrom.studies.factors import Cell, Factor

Row = dict[str, Any]
DECISIONS: Mapping[str, type] = {
    "visit": int, "person": str, "shown": int, "answered": int, "served": str, "assigned": str, "interrupted": bool,
}  # fmt: skip
VISITS: Mapping[str, type] = {
    "run": str, "visit": int, "person": str, "cell": int, "order_of_games": str, "state": str, "end": str,
    "consented": bool, "quiz_tries": int, "quiz_passed": bool, "accommodation": str, "matches_done": int,
    "points": float, "missed_rounds": int, "excluded": bool, "extended": int, "interrupted": int, "seconds": float,
    "paid": float,
}  # fmt: skip


class TabledPlan(Protocol):
    """The part of the plan of a study with people that tables need."""

    people: People
    book: Book
    stride: int
    factors: tuple[Factor, ...]

    def people_of(self, cell: int) -> People: ...
    def sheet(self, step: Step, language: str) -> Questionnaire | None: ...
    def seat_of(self, index: int, player: int) -> tuple[int, int]: ...
    def variant(self, cell: int, key: str) -> Cell: ...


class PeopleTables:
    """The columns and rows about the people of a run."""

    def __init__(self, plan: TabledPlan, rows: Rows) -> None:
        self.plan, self.rows = plan, rows
        people = plan.people
        self.asks, self.after = _asks(people)
        self.surveys = {
            f"{step.survey.name}_{name}": (step.survey.name, name, int if question.number is not None else str)
            for step in people.visit
            if step.survey is not None and (sheet := plan.sheet(step, people.languages[0])) is not None
            for name, question in sheet.named()
            if not question.kept_apart
        }

    @cached_property
    def columns(self) -> dict[str, dict[str, type]]:
        """The columns that people add to each table, with their types."""
        ask_columns: dict[str, type] = dict.fromkeys(dict.fromkeys(self.asks), str)
        factors = dict.fromkeys((name for f in self.plan.factors for name in (f.name, *f.traits)), str)
        numbered = dict.fromkeys(self._numbered(), str)
        surveys = {column: kind for column, (_, _, kind) in self.surveys.items()}
        return {
            "matches": {"visit": int, "person": str, "excluded": bool, **ask_columns},
            "decisions": dict(DECISIONS),
            "visits": {**factors, **VISITS, **numbered, **surveys},
        }

    def of_match(self, unit: Unit, player: int) -> Row:
        """Return the columns about people in a match: of the player's visit, or of the only person at the table."""
        row: Row = dict.fromkeys(self.columns["matches"])
        visit = self._visit_of(unit, player)
        if visit is None:
            return row
        visit_row = self._visits[visit]
        row |= {"visit": visit, "person": visit_row["person"], "excluded": visit_row["excluded"]}
        if unit.kind == "match":
            asked = enumerate(zip(self.asks, self.after, strict=True))
            last = self.plan.book.tables[unit.index].match
            row |= {name: visit_row["answers"].get(place) for place, (name, match) in asked if match == last}
        return row

    def of_decision(self, unit: Unit, player: int, facts: Mapping[str, Any]) -> Row:
        """Return the visit of a decision, the times at which it was shown and answered, and the agents met."""
        visit, served = self._visit_of(unit, player), facts.get("served")
        return {
            "visit": visit,
            "person": None if visit is None else self.plan.book.visits[visit].code,
            "shown": facts.get("shown"),
            "answered": facts.get("answered"),
            "served": None if served is None else " + ".join(served),
            "assigned": None if served is None else self._assigned(unit, player, visit),
            "interrupted": bool(facts.get("interrupted")),
        }

    def _assigned(self, unit: Unit, player: int, visit: int | None) -> str | None:
        """Return the agents of the person's own cell, whichever table they sat at."""
        cell = None if visit is None else self.plan.book.visits[visit].cell
        if cell is None:
            return None
        table = self.plan.book.tables[self.plan.seat_of(unit.index, player)[0]]
        variant = self.plan.variant(cell, self.plan.people_of(cell).order[table.match])
        configs = {seat: seated.config for seat, seated in enumerate(variant.seatings[0])}
        configs |= {seat: variant.types[name] for seat, name in table.stand_ins.items()}
        return " + ".join(config.identity for seat, config in configs.items() if seat != player)

    def visits(self) -> Iterator[Row]:
        """One row per person."""
        for row in self._visits.values():
            yield {name: row.get(name) for name in self.columns["visits"]}

    @cached_property
    def _visits(self) -> dict[int, Row]:
        visits = [(unit, state) for unit, state, _ in self.rows.played() if unit.kind == "visit"]
        indices = [unit.index // self.plan.stride for unit, _ in visits]
        return {visit: self._visit(visit, *played) for visit, played in zip(indices, visits, strict=True)}

    @cached_property
    def _payments(self) -> dict[str, Payment]:
        return read_payments(self.rows.journal.path.parent)

    def _visit(self, visit: int, unit: Unit, state: str) -> Row:
        steps, outcome, answers = self.rows.replayed(unit)
        book = self.plan.book.visits[visit]
        facts = dict(outcome.facts) if outcome is not None else {}
        pairs = [
            (decision, answers[step, decision.player, ""][0])
            for step, decisions in enumerate(steps)
            for decision in decisions
            if (step, decision.player, "") in answers
        ]
        matches = [
            a.value for d, a in pairs if d.kind == "match" and isinstance(a.value, Mapping) and "points" in a.value
        ]
        timings = [a.facts or {} for _, a in pairs] + self._answer_timings(visit)
        quizzes = [a.value for d, a in pairs if d.kind == "quiz" and a.reading == "person"]
        missed = sum(int(m["missed"]) for m in matches)
        row: Row = {
            "run": self.rows.run,
            "visit": visit,
            "person": book.code,
            "cell": book.cell,
            **({} if book.cell is None else unit.cell),
            "order_of_games": None if book.cell is None else ", ".join(self.plan.people_of(book.cell).order),
            "state": state,
            "end": facts.get("end", "open"),
            "consented": next((a.value == "agree" for d, a in pairs if d.kind == "consent"), None),
            "quiz_tries": len(quizzes),
            "quiz_passed": facts.get("quiz_passed", None if not quizzes else any(d.kind == "seat" for d, _ in pairs)),
            "accommodation": next((str(a.value) for d, a in pairs if d.kind == "accommodation"), None),
            "matches_done": sum(m["ended"] == "done" for m in matches),
            "points": sum(float(m["points"]) for m in matches),
            "missed_rounds": missed,
            "excluded": self.plan.people.exclude.leaves_out(missed),
            "extended": sum(int(k.get("extended", 0)) for k in timings),
            "interrupted": sum(bool(k.get("interrupted")) for k in timings),
            "seconds": max((int(k["answered"]) for k in timings if k.get("answered") is not None), default=0) / 1000,
            "paid": float(self._payments[book.code].amount) if book.code in self._payments else None,
        }
        sheets = [a.value for d, a in pairs if d.kind == "ask" and a.reading == "person"]
        row["answers"] = {i: value.get(name) for i, (name, value) in enumerate(zip(self.asks, sheets, strict=False))}
        row |= {column: row["answers"].get(i) for i, column in enumerate(self._numbered())}
        surveys = [a.value for d, a in pairs if d.kind == "survey" and a.reading == "person"]
        named = [step.survey.name for step in self.plan.people.visit if step.survey is not None]
        by_survey = dict(zip(named, surveys, strict=False))
        row |= {column: by_survey.get(survey, {}).get(name) for column, (survey, name, _) in self.surveys.items()}
        return row

    def _answer_timings(self, visit: int) -> list[Mapping[str, Any]]:
        """The facts recorded with each answer of a person in the matches of a visit, timings among them."""
        return [
            answer.facts or {}
            for seat in self.plan.book.visits[visit].seats.values()
            for (_, player, part), (answer, *_) in self.rows.journal.answers(seat.unit).items()
            if player == seat.player and not part
        ]

    def _visit_of(self, unit: Unit, player: int) -> int | None:
        if unit.kind == "visit":
            return unit.index // self.plan.stride
        table, place = self.plan.seat_of(unit.index, player)
        people = self.plan.book.tables[table].people
        return people.get(place, next(iter(people.values())) if len(people) == 1 else None)

    def _numbered(self) -> list[str]:
        """Return the columns of questions in the visits table, numbered if a question is asked several times."""
        return [
            name if self.asks.count(name) == 1 else f"{name}_{self.asks[: i + 1].count(name)}"
            for i, name in enumerate(self.asks)
        ]


def _asks(people: People) -> tuple[Sequence[str], Sequence[int | None]]:
    """Return the questions of a visit in order, and the number (from 0) of the match that each follows."""
    asks: list[tuple[str, int | None]] = []
    match: int | None = None
    for step in people.visit:
        match = step.match - 1 if step.match is not None else match
        if step.ask is not None:
            asks.append((step.ask.name, match))
    return [name for name, _ in asks], [after for _, after in asks]
