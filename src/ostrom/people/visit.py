"""A visit as a sequence of decisions: consent, texts, quiz, matches, questions, survey, debriefing.

The rules are pure, like those of a match. What the host decides (who somebody is, which cell, which seat, how a
match ended) is an answer too, of reading ``assigned``; so a visit is journaled, resumed and replayed like a match.
``Book`` is what these assignments add up to: who came, which cell they belong to and which seats they took.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from ostrom.answers import Answer, Choice, Form, Record
from ostrom.games.game import Game
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.protocol import Decision, Outcome, Play, View
from ostrom.people.questions import Questionnaire
from ostrom.people.schema import ENDS, Ask, People, Quiz, Step, Survey

HOSTED = ("arrive", "assign", "seat", "match")
"""Kinds of decisions that the host answers, not the person."""
AGREE = Choice(("agree", "decline"))
GO_ON = Choice(("continue",))

Steps: TypeAlias = Generator[list[Decision], Sequence[Answer], Any]


def _assigned(name: str, required: Mapping[str, str], optional: Mapping[str, str] = {}) -> Record:
    properties = {key: {"type": kind} for key, kind in {**required, **optional}.items()}
    return Record(
        name, {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    )


ARRIVE = _assigned("arrive", {"code": "string", "test": "boolean", "at": "number"})
ASSIGN = _assigned("assign", {"cell": "integer"})
SEAT = _assigned("seat", {"table": "integer", "player": "integer", "match": "integer"}, {"stand_ins": "object"})
MATCH = _assigned("match", {"points": "number", "missed": "integer", "ended": "string"})


class Ended(Exception):
    """Raised when a visit ends before its last step; ``how`` names the end."""

    def __init__(self, how: str) -> None:
        super().__init__(how)
        self.how = how


@dataclass
class VisitFacts:
    """The state of a visit so far."""

    facts: dict[str, Any] = field(default_factory=dict)
    points: float = 0.0
    cell: int | None = None


class Visit(Mechanism):
    """The mechanism of a visit.

    ``sheets`` are the quiz and survey files by name, ``orders`` the games of a visit in every cell.
    """

    name: ClassVar[str] = "visit"

    def __init__(self, people: People, sheets: Mapping[str, Questionnaire], orders: Sequence[tuple[str, ...]]) -> None:
        self.people, self.sheets, self.orders = people, sheets, orders
        self.forms = {name: sheet.form("survey") for name, sheet in sheets.items()}
        before = [step.name for step in people.visit[: [step.kind for step in people.visit].index("match")]]
        after = people.assign.after
        self.assigned_at = len(before) if after is None else before.index(after) + 1
        """The step before which people are assigned to a cell."""

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Lead one person through the steps."""
        story = VisitFacts()
        try:
            arrived = yield from self._ask(game, story, "arrive", ARRIVE)
            story.facts |= {"code": arrived["code"], "test": arrived["test"]}
            yield from self._steps(game, story)
            how = "done"
        except Ended as end:
            how = end.how
        return Outcome([], (story.points,), {**story.facts, "end": how, "cell": story.cell, "points": story.points})

    def _steps(self, game: Game, story: VisitFacts) -> Steps:
        for number, step in enumerate(self.people.visit):
            if number == self.assigned_at:
                story.cell = (yield from self._ask(game, story, "assign", ASSIGN))["cell"]
                yield from self._accommodate(game, story)
            match step:
                case Step(consent=str()):
                    if (yield from self._ask(game, story, "consent", AGREE, number)) == "decline":
                        raise Ended("declined")
                case Step(text=str()) | Step(debrief=str()):
                    yield from self._ask(game, story, step.kind, GO_ON, number)
                case Step(quiz=Quiz() as quiz):
                    yield from self._quiz(game, story, number, quiz)
                case Step(match=int() as match):
                    yield from self._match(game, story, number, match - 1)
                case Step(ask=Ask() as ask):
                    form = Questionnaire(questions=(ask,)).form("survey")
                    reply = yield from self._ask(game, story, "ask", form, number)
                    story.facts.setdefault("asked", {}).setdefault(ask.name, []).append(reply.get(ask.name))
                case Step(survey=Survey() as survey):
                    reply = yield from self._ask(game, story, "survey", self.forms[survey.file], number)
                    story.facts.setdefault("surveys", {})[survey.name] = reply

    def _quiz(self, game: Game, story: VisitFacts, number: int, quiz: Quiz) -> Steps:
        """Ask until all answers are correct; a wrong one returns to the named text, or uses up a try."""
        sheet, tries = self.sheets[quiz.file], 0
        back = next(
            (i for i, s in enumerate(self.people.visit) if quiz.wrong is not None and s.name == quiz.wrong), None
        )
        wrong: list[str] = []
        while True:
            facts = {"tries": tries, "wrong": wrong, "tries_left": None if quiz.tries is None else quiz.tries - tries}
            wrong = sheet.wrong((yield from self._ask(game, story, "quiz", self.forms[quiz.file], number, facts)))
            tries += 1
            story.facts |= {"quiz_tries": tries, "quiz_passed": not wrong}
            is_last = quiz.tries is not None and tries >= quiz.tries
            if wrong and is_last and quiz.failed == "screened_out":
                raise Ended("screened_out")
            if not wrong or is_last:
                return
            if back is not None:
                yield from self._ask(game, story, "text", GO_ON, back, {"again": True})

    def _accommodate(self, game: Game, story: VisitFacts) -> Steps:
        """Offer more time before the first match, if there is a time limit and a choice."""
        time = self.people.time
        if time.decision is None or len(time.accommodation) < 2:
            return
        form = Choice(tuple("none" if f == "none" else f"{f:g}" for f in time.accommodation))
        story.facts["accommodation"] = yield from self._ask(game, story, "accommodation", form)

    def _match(self, game: Game, story: VisitFacts, number: int, match: int) -> Steps:
        assert story.cell is not None
        key = self.orders[story.cell][match]
        facts = {"match": match, "game": key}
        seat = yield from self._ask(game, story, "seat", SEAT, number, facts)
        ended = yield from self._ask(game, story, "match", MATCH, number, {**facts, "table": seat["table"]})
        story.points += ended["points"]
        story.facts.setdefault("matches", []).append({"game": key, **seat, **ended})
        story.facts["missed"] = story.facts.get("missed", 0) + ended["missed"]
        if ended["ended"] in ENDS and ended["ended"] != "done":
            raise Ended(ended["ended"])

    def _ask(
        self,
        game: Game,
        story: VisitFacts,
        kind: str,
        form: Form,
        number: int | None = None,
        facts: Mapping[str, Any] = {},
    ) -> Generator[list[Decision], Sequence[Answer], Any]:
        """Ask one question and return its answer; raise Ended if the host answered with an ``end``."""
        chosen = {key: story.facts[key] for key in ("accommodation",) if key in story.facts}
        view_facts = {"number": number, "points": story.points, **facts, **chosen}
        (answer,) = yield [Decision(0, kind, View(game, 0, self.name, facts=view_facts), form)]
        if answer.reading == "assigned" and isinstance(answer.value, Mapping) and "end" in answer.value:
            raise Ended(str(answer.value["end"]))
        if kind == "consent" and answer.facts:
            story.facts["consent"] = answer.facts.get("hash")
        return answer.value

    def most_decisions(self, game: Game) -> int:  # noqa: ARG002
        """Return about how many decisions a visit has: two for every step, and arrival, cell and extra time."""
        return 3 + 2 * len(self.people.visit)


@dataclass(frozen=True, slots=True)
class SeatTaken:
    """A seat of a visit in a match."""

    unit: int
    player: int


@dataclass(slots=True)
class Visitor:
    """One visit, as far as it has been assigned."""

    code: str
    test: bool = False
    at: float = 0.0
    """When it began, in seconds since 1970."""
    cell: int | None = None
    seats: dict[int, SeatTaken] = field(default_factory=dict)
    """Seats by the number of the match in the visit, from 0."""


@dataclass(slots=True)
class BookedMatch:
    """A match in which people have seats."""

    cell: int
    match: int
    """The number of the match in its people's visits, from 0."""
    people: dict[int, int] = field(default_factory=dict)
    """The visit of each player."""
    stand_ins: dict[int, str] = field(default_factory=dict)
    """The agent type of each replaced player."""


class Book:
    """All visits of a run, built from journaled assignments in any order between visits."""

    def __init__(self) -> None:
        self.visits: dict[int, Visitor] = {}
        self.tables: dict[int, BookedMatch] = {}
        self.codes: dict[str, int] = {}
        self.last = -1

    def record(self, visit: int, value: Any) -> None:
        """Record one assignment."""
        value = value if isinstance(value, Mapping) else {}
        if "code" in value:
            self.visits[visit] = Visitor(str(value["code"]), bool(value["test"]), float(value["at"]))
            self.codes[str(value["code"])] = visit
            self.last = max(self.last, visit)
        if (visitor := self.visits.get(visit)) is not None and "cell" in value:
            visitor.cell = int(value["cell"])
        elif visitor is not None and "table" in value and visitor.cell is not None:
            index, player, match = int(value["table"]), int(value["player"]), int(value["match"])
            visitor.seats[match] = SeatTaken(index, player)
            table = self.tables.setdefault(index, BookedMatch(visitor.cell, match))
            table.people[player] = visit
            for seat, name in (value.get("stand_ins") or {}).items():
                table.stand_ins[int(seat)] = str(name)
