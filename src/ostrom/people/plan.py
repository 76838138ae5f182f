"""The plan of a study with people: units are created as people arrive.

Visit v has the number v * stride. The matches of the visit follow it, and each match is followed by the preparations of
its players. The journal holds who came, which cell they were assigned to and which seat they took (answers with the
reading ``assigned``), so that every unit can be rebuilt from its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

from ostrom.agents.config import AgentConfig
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Counted, PlanSource, Seated, Unit
from ostrom.engine.rows import Rows
from ostrom.framing import Library
from ostrom.ground.errors import StudyError
from ostrom.ground.registry import parse_spec
from ostrom.ground.validation import validate
from ostrom.mechanisms import mechanisms
from ostrom.people.pictures import find_pictures
from ostrom.people.questions import Questionnaire
from ostrom.people.schema import People, Step
from ostrom.people.tables import PeopleTables
from ostrom.people.text_checks import KINDS, Values, contradictions, fill, places, shared
from ostrom.people.text_files import localised, questionnaire, read_texts
from ostrom.people.visit import Book, Visit
from ostrom.people.words import words
from ostrom.studies.checks import check_framing_labels, check_memory, check_spreading, check_strategies
from ostrom.studies.factors import Cell, canonical, merge, on_top, set_path, type_spec, unit_key
from ostrom.studies.plan import StudyPlan
from ostrom.studies.prompts import rehearsed_facts
from ostrom.studies.schema import StudyFile

VARIABLE = ("matches", "games", "time", "pay")
"""Keys of the section ``people`` that may differ between cells."""
MOST_PEOPLE_CELLS = 1000


class PeoplePlan(StudyPlan):
    """The engine's plan of a study with people."""

    kind: ClassVar[str] = "people"
    counts: ClassVar[str] = "person"

    def __init__(self, study: StudyFile, library: Library | None = None, file: str | None = None) -> None:
        assert study.people is not None
        self.people: People = study.people
        self.book = Book()
        for name, size in (("variant", 1024), ("people_of", 1024), ("_sheet", 256), ("values", 4096)):
            setattr(self, name, lru_cache(maxsize=size)(getattr(self, name)))  # computed once per plan
        super().__init__(study, library, file)
        self._check_people()
        seats = [len(self.variant(0, key).seatings[0]) for key in self.people_of(0).games]
        self.stride = 1 + len(self.people.order) * (1 + max(seats))
        self.visit_rules = self._visit()

    @classmethod
    def read(cls, source: PlanSource) -> Self:
        """Read the plan of a run, with everybody who came."""
        plan = super().read(source)
        plan.read_assignments(source.journal)
        return plan

    @classmethod
    def resume_hint(cls, manifest: Mapping[str, Any]) -> str | None:  # noqa: ARG003
        """Return why `ostrom resume` cannot continue a run with people, and that `ostrom serve` can."""
        return "is a study with people; `ostrom serve` with its study file goes on with it"

    @classmethod
    def with_files(cls, study: StudyFile, folder: Path, file: str) -> StudyFile:
        """The study with the texts that people read, and the hashes of their pictures."""
        assert study.people is not None
        texts = read_texts(study.people, folder, file)
        people = study.people.model_copy(update={"texts": texts, "pictures": find_pictures(texts, folder, file)})
        return study.model_copy(update={"people": people})

    def resolved(self) -> dict[str, Any]:
        """Return the resolved study; without pictures it has the form of earlier versions."""
        data = super().resolved()
        if not data["people"]["pictures"]:
            del data["people"]["pictures"]
        return data

    # -- cells and games -----------------------------------------------------------------------------

    def cell_name(self, cell: int) -> str:
        """The levels of a cell in words."""
        return ", ".join(f"{name}: {level}" for name, level in self._cell(cell).labels.items()) or "all"

    def people_of(self, cell: int | None) -> People:
        """Return the section ``people`` of one cell; None for that of the study."""
        if cell is None:
            return self.people
        data, _ = self._data(cell)
        return validate(StudyFile, {"name": self.study.name, **data}, self.file).people or self.people

    def tables(self) -> Iterator[Cell]:
        """Yield the cell of every game of a visit, for every cell of the study."""
        return (self.variant(number, key) for number in range(self.cells) for key in self.people_of(number).order)

    def variant(self, cell: int, key: str) -> Cell:
        """Return the cell of one game of a visit."""
        data, labels = self._data(cell)
        people = self.people_of(cell)
        data, time = merge(data, people.games[key]), people.time
        if time.decision is not None:
            name, _, _ = parse_spec(data["mechanism"], key="mechanism", file=self.file)
            self._refuse_if(
                not getattr(mechanisms.get(name), "may_miss", False),
                f"mechanism {name} has no rule for missed decisions: leave the time limit out",
                "people.time.decision", actual=time.decision,
            )  # fmt: skip
            set_path(data, "mechanism.missed", time.missed)
            if time.missed_at_most is not None:
                set_path(data, "mechanism.missed_at_most", time.missed_at_most)
        return self._cell_of(data, labels, self._traits(cell))

    def _cell_of(self, data: Mapping[str, Any], labels: Mapping[str, Any], traits: Mapping[str, Any]) -> Cell:
        """Return the cell of a study with people; a type that only replaces missing people has no seat."""
        lobby, types = self.people.lobby, dict(data["types"] or {})
        names = {lobby.stand_in, lobby.departed.partition(":")[2]} & set(types)
        seats = self._game(canonical(data["game"])).seats
        if not names or (data["seating"] == "seats" and len(types) <= seats):
            return super()._cell_of(data, labels, traits)
        spare = {str(name): types.pop(str(name)) for name in sorted(map(str, names))}
        cell = super()._cell_of({**data, "types": types}, labels, traits)
        agents = {name: self._agent(canonical(on_top(data["agent"], type_spec(spec)))) for name, spec in spare.items()}
        return replace(cell, types={**cell.types, **agents})

    def _refuse_if(self, wrong: object, problem: str, key: str, **facts: Any) -> None:
        if wrong:
            raise StudyError(problem, file=self.file, key=key, **facts)

    def _check_people(self) -> None:
        self._refuse_if(
            self.study.seeds != 1, "people come once each: leave seeds out", "seeds", actual=self.study.seeds
        )
        self._refuse_if(
            self.cells > MOST_PEOPLE_CELLS, f"makes {self.cells} cells, at most {MOST_PEOPLE_CELLS} with people", "vary"
        )
        variable = [f"people.{name}" for name in VARIABLE]
        assigns = ((f"vary.{f.name}", path) for f in self.factors for level in f.levels for path in level.assigns)
        for key, path in assigns:
            wrong = path.split(".")[0] == "people" and ".".join(path.split(".")[:2]) not in variable
            self._refuse_if(wrong, "cannot be varied", key, actual=path, allowed=variable)
        counts = {len(self.people_of(number).order) for number in range(self.cells)}
        self._refuse_if(len(counts) > 1, "has more matches in some cells than in others", "people.matches")
        for cell in self.tables():
            self._check_variant(cell)

    def _check_variant(self, cell: Cell) -> None:
        self._refuse_if(
            len(cell.seatings) != 1,
            f"with people a cell has one seating (found {len(cell.seatings)}): set seating to seats",
            "seating",
        )
        players = cell.seatings[0]
        persons = [seated.config.person for seated in players]
        self._refuse_if("web" not in persons, "no seat is taken by people: a type needs 'person: web'", "types")
        self._refuse_if(True in persons, "a person at the terminal cannot be served: write 'person: web'", "types")
        for config in {id(seated.config): seated.config for seated in players}.values():
            check_memory(config, cell.game, self.file)
            self._check_words(config, cell.game)
            check_framing_labels(config, cell.game, self.file)
        check_strategies(cell.game, cell.mechanism, cell.seatings, self.file)
        check_spreading(cell.mechanism, cell.seatings, self.file)
        lobby = self.people.lobby
        for key, name in (("stand_in", lobby.stand_in), ("departed", lobby.departed.partition(":")[2])):
            agents = [other for other, config in cell.types.items() if config.kind != "person"]
            wrong = name and name not in agents
            self._refuse_if(wrong, "names no type of agent", f"people.lobby.{key}", actual=name, allowed=agents)

    def human_players(self, cell: int, key: str) -> tuple[int, ...]:
        """The players of a match that are people."""
        return tuple(i for i, seated in enumerate(self.variant(cell, key).seatings[0]) if seated.config.person == "web")

    def sheet(self, step: Step, language: str) -> Questionnaire | None:
        """Return the questionnaire of a step in a language; None if it has none."""
        if step.ask is not None:
            return Questionnaire(
                questions=(step.ask.model_copy(update={"text": fill(step.ask.text, self.values(None, language))}),)
            )
        if step.kind not in ("quiz", "survey"):
            return None
        return self._sheet(localised(step.file or "", language, self.people.languages), language)

    def _sheet(self, name: str, language: str) -> Questionnaire:
        return questionnaire(fill(self.people.texts[name], self.values(None, language)), name, self.file)

    # -- values in texts -----------------------------------------------------------------------------

    def values(self, cell: int | None, language: str) -> Values:
        """Return the values that texts may use in a cell; None for those common to all cells."""
        if cell is None:
            return shared([self.values(number, language) for number in range(self.cells)])
        people, w = self.people_of(cell), words(language)
        variants = {key: self.variant(cell, key) for key in people.order}
        rounds = {key: getattr(variant.mechanism, "rounds", None) for key, variant in variants.items()}
        values: dict[str, Any] = {f"rounds.{key}": count for key, count in rounds.items()}
        values["rounds"] = next(iter(rounds.values())) if len(set(rounds.values())) == 1 else None
        values["matches"] = len(people.order)
        values |= {f"pay.{name}": getattr(people.pay, name) for name in ("base", "per_point", "at_most", "currency")}
        low, high = people.time.reveal or (None, None)
        values |= {"time.decision": people.time.decision, "time.reveal_low": low, "time.reveal_high": high}
        values["time.missed_at_most"] = people.time.missed_at_most
        kinds = frozenset(
            "model" if other.config.tree else other.config.kind
            for key, variant in variants.items()
            for seat, other in enumerate(variant.seatings[0])
            if seat != self.human_players(cell, key)[0]
        )
        values["met"] = w.met_and.join(w[f"met_{kind}"] for kind in KINDS if kind in kinds)
        return Values({name: _as_words(value) for name, value in values.items() if value is not None}, kinds)

    def check_texts(self) -> None:
        """Refuse texts with unknown values, or with claims that hold in no cell."""
        for number, step in enumerate(self.people.visit):
            for language in self.people.languages:
                if step.ask is not None:
                    name, text, late = "people.visit.ask", step.ask.text, False
                elif step.file is not None:
                    name = localised(step.file, language, self.people.languages)
                    text, late = (
                        self.people.texts[name],
                        number >= self.visit_rules.assigned_at and name.endswith(".md"),
                    )
                else:
                    continue
                cells = [self.values(cell, language) for cell in range(self.cells)]
                self._check_places(name, text, cells, late)
                if step.ask is None and step.kind != "survey":
                    for claim, so in contradictions(text, cells, self.people.pay.currency):
                        raise StudyError(f"says {claim!r}, the study has {so}", file=self.file, key=name)

    def _check_places(self, name: str, text: str, cells: list[Values], late: bool) -> None:
        alike = shared(cells).known
        conditions = [f"only {kind}" for kind in KINDS]
        for place in places(text):
            if place in alike or place in conditions:
                continue
            written, known = f"{{{{ {place} }}}}", [place in cell.known for cell in cells]
            self._refuse_if(
                not any(known), "the study has no such value", name, actual=written, allowed=[*alike, *conditions]
            )
            self._refuse_if(
                not late or not all(known), "differs between cells, and this text is the same for all", name,
                actual=written,
            )  # fmt: skip

    def _visit(self) -> Visit:
        people = self.people
        sheets = {
            name: self._sheet(name, people.languages[0]) for name in people.files if name.endswith((".yaml", ".yml"))
        }
        return Visit(people, sheets, tuple(self.people_of(number).order for number in range(self.cells)))

    # -- units ---------------------------------------------------------------------------------------

    def read_assignments(self, journal: Journal) -> None:
        """Read from the journal who came and where they were assigned."""
        for unit, _, _, value in journal.assigned():
            self.book.record(unit // self.stride, value)

    def people_tables(self, rows: Rows) -> PeopleTables:
        """The columns and rows that people add to the tables of a run."""
        return PeopleTables(self, rows)

    @property
    def hidden(self) -> _Hidden:
        """Return the units of test visits, which are never counted."""
        return _Hidden(self)

    def __len__(self) -> int:
        return (self.book.last + 1) * self.stride

    def progress(self, states: Mapping[int, str]) -> Counted:
        """Count the people who came, and those whose visit is over, whatever happened in their matches.

        Tests, and people who took their data back, are not counted.
        """
        visits = [states.get(v * self.stride, "") for v, who in self.book.visits.items() if not who.test]
        return Counted(
            len(visits) - visits.count("withdrawn"), visits.count("done"), visits.count("skipped"),
            visits.count("failed"),
        )  # fmt: skip

    def played(self, states: Mapping[int, str]) -> Counted:
        """Count matches with people; after everybody has left, broken-off ones are no longer due."""
        hidden, visits = self.hidden, self.progress(states)
        booked = [states.get(index, "") for index in self.book.tables if index not in hidden]
        done, failed = booked.count("done"), booked.count("failed")
        over = visits.done + visits.skipped + visits.failed == visits.planned
        return Counted(done if over else len(booked), done, booked.count("skipped"), failed)

    def units(self) -> Iterator[Unit]:
        """Yield the visits and matches known so far."""
        for visit in sorted(self.book.visits):
            yield self.unit(visit * self.stride)
            for index in sorted({seat.unit for seat in self.book.visits[visit].seats.values()}):
                if index // self.stride == visit:
                    yield self.unit(index)

    def unit(self, index: int) -> Unit:
        """The unit with this number: a visit, a match or a preparation."""
        visit, rest = divmod(index, self.stride)
        if rest == 0:
            return self._visit_unit(visit)
        match, part = divmod(rest - 1, (self.stride - 1) // len(self.people.order))
        return self._match_unit(index - part, visit, match, part)

    def units_of(self, visit: int) -> list[int]:
        """The numbers of a visit and of the matches that its person has a seat in."""
        visitor = self.book.visits.get(visit)
        return [visit * self.stride, *(seat.unit for seat in (visitor.seats.values() if visitor else ()))]

    def match_index(self, visit: int, match: int) -> int:
        """The unit number of a visit's match (counted from 0); others may join it as partners."""
        return visit * self.stride + 1 + match * ((self.stride - 1) // len(self.people.order))

    def seat_of(self, index: int, player: int) -> tuple[int, int]:
        """Return the match and the player of a unit: a preparation belongs to one player of a match."""
        part = (index % self.stride - 1) % ((self.stride - 1) // len(self.people.order))
        return (index - part, part - 1) if part else (index, player)

    def agent_type(self, index: int, name: str) -> AgentConfig:
        """Return an agent type of the study, as it is in the cell of a match."""
        table = self.book.tables[self.seat_of(index, 0)[0]]
        return self.variant(table.cell, self.people_of(table.cell).order[table.match]).types[name]

    def _visit_unit(self, visit: int) -> Unit:
        visitor = self.book.visits.get(visit)
        cell = None if visitor is None else visitor.cell
        at = cell or 0
        table = self.variant(at, self.people_of(at).order[0])
        labels = self._cell(at).columns if cell is not None else dict.fromkeys(self._cell(0).columns)
        name = next(seated for seated in table.seatings[0] if seated.config.person == "web")
        return Unit(
            visit * self.stride,
            canonical(["visit", visit]),
            self.study.seed,
            labels,
            table.game,
            self.visit_rules,
            (name,),
            kind="visit",
        )

    def _match_unit(self, index: int, visit: int, match: int, part: int) -> Unit:
        table = self.book.tables.get(index)
        if table is None:
            raise StudyError(f"match {index} is not known: nobody has taken a seat in it")
        key = self.people_of(table.cell).order[match]
        cell = self.variant(table.cell, key)
        players = list(cell.seatings[0])
        for seat, name in table.stand_ins.items():
            players[seat] = Seated(name, cell.types[name])
        label = unit_key(cell.labels, [[seated.key for seated in players], key, "visit", visit])
        if part:
            rules = cell.mechanism.preparation(cell.game, part - 1)
            assert rules is not None
            return Unit(
                index + part, f"{label}|{part}", self.study.seed, cell.columns, cell.game, rules,
                (players[part - 1],), kind="preparation", seat=part - 1,
            )  # fmt: skip
        needs = tuple(index + 1 + seat for seat in range(cell.game.seats)) if cell.preparations else ()
        return Unit(
            index,
            label,
            self.study.seed,
            cell.columns,
            cell.game,
            cell.mechanism.for_players(len(players)),
            tuple(players),
            needs,
        )

    def question_units(self) -> Iterator[tuple[Unit, Iterable[AgentConfig]]]:
        """Yield one match of every game in every cell, and its preparations."""
        return ((unit, configs) for number in range(self.cells) for unit, configs in self._units_in(number))

    def matches_in(self, number: int) -> Iterator[Unit]:
        """One match of every game in a cell."""
        return (unit for unit, _ in self._units_in(number) if unit.kind == "match")

    def _units_in(self, number: int) -> Iterator[tuple[Unit, Iterable[AgentConfig]]]:
        for key in self.people_of(number).order:
            cell = self.variant(number, key)
            players = cell.seatings[0]
            rules, label, facts = cell.mechanism.for_players(len(players)), unit_key(cell.labels, [key]), []
            for seat in range(cell.game.seats if cell.preparations else 0):
                design = rules.preparation(cell.game, seat)
                assert design is not None
                unit = Unit(
                    -1, f"{label}|{seat}", 0, cell.columns, cell.game, design, (players[seat],), kind="preparation",
                    seat=seat,
                )  # fmt: skip
                facts.append(rehearsed_facts(unit))
                yield unit, [players[seat].config]
            rules = rules.with_preparations(facts) if facts else rules
            unit = Unit(-1, label, 0, cell.columns, cell.game, rules, players)
            yield unit, [seated.config for seated in players]


def _as_words(value: Any) -> str:
    """Format a value for texts: money with two decimals unless it has more, numbers without trailing zeros."""
    if isinstance(value, Decimal):
        return f"{value:.2f}" if value == round(value, 2) else f"{value.normalize():f}"
    return f"{value:g}" if isinstance(value, float) else str(value)


class _Hidden:
    """The units of test visits, as a container."""

    def __init__(self, plan: PeoplePlan) -> None:
        self._plan = plan

    def __contains__(self, index: object) -> bool:
        visit = self._plan.book.visits.get(index // self._plan.stride) if isinstance(index, int) else None
        return visit is not None and visit.test
