"""The tables of a run: one row per decision, per round and player, per match and player, or per call.

Rows depend on the study and the answers alone, never on clocks or on the order in which replies arrived, so
the same study with the same answers gives the same bytes. The rows of most finished matches are stored in the journal
(``unit_rows``); all others are made by replaying the journaled answers. The cost and the duration of a call stand in
the calls, which are read from the journal unchanged.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from heapq import merge
from itertools import chain, groupby, pairwise, zip_longest
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostrom.engine.arrays import ArrayPlayer
from ostrom.engine.entries import Journaled, Place, UnitRecord, dump, load
from ostrom.engine.journal import Journal
from ostrom.engine.kept_rounds import SETTLED, RoundRows
from ostrom.engine.match import ReplayDiffers, compare_end, replay, same
from ostrom.engine.plan import PeopleColumns, Plan, Seated, Unit
from ostrom.engine.unit_rows import OUTCOMES, PLAYERS, RowRecorder, UnitRows
from ostrom.ground.errors import RunError
from ostrom.ground.values import grouped
from ostrom.mechanisms.protocol import Decision, Outcome
from ostrom.mechanisms.settlement import breach

Row = dict[str, Any]
RULE_COLUMNS: Mapping[str, type] = {
    "stage": str, "amount": float, "least": float, "most": float, "theory": float, "as_theory": bool,
    "facts": str,
}  # fmt: skip
"""Columns of decisions in a study that has games by a rule: the stage of a round, the amount and its bounds, the amount
that theory predicts, and whether the move (an amount or an option) is the predicted one; at the last decision of a
round, the public facts of the round (``End.facts``: numbers and short texts) as JSON."""
FEW = 24
"""The most players for whom every row has the match facts; beyond this only the first player's row has them."""
SAMPLED, MOST_REPLAYED = 24, 8000
"""The most units whose rows are compared with a replay when a run is opened, and the most decisions of all of them:
about a third of a second on an idle machine."""
DECIDED = (
    "kind target answer action label options cooperative payoff expected probabilities p_cooperate reading invalid "
    "missed complaints note rationale copied"
).split()
"""Columns of decisions after those of the agent, in order."""
SETTLED_COLUMNS = ("what", "action", "amount", "cooperative", "payoff", "paid", "weight", "copied")
"""Columns of rounds after those of the agent, in order."""


class UnitTable(NamedTuple):
    """A unit with its rows, without the columns that only studies with people have."""

    unit: Unit
    state: str
    reason: str | None
    rows: UnitRows
    scores: Sequence[float | None]
    facts: str | None
    refused: Mapping[int, int]
    answers: Mapping[Place, Journaled] | None
    """The answers, if they were needed to make the rows."""


class Rows:
    """The tables of a run, unit by unit, from its plan and its journal."""

    def __init__(self, plan: Plan, journal: Journal, run: str) -> None:
        self.plan, self.journal, self.run = plan, journal, run
        self._arrays = ArrayPlayer()
        self._attributes = dict.fromkeys(attributes_of(plan))

    @cached_property
    def people(self) -> PeopleColumns | None:
        """The columns that only studies with people have; None for a study without people."""
        return self.plan.people_tables(self)

    @cached_property
    def has_rule_games(self) -> bool:
        """Return whether some game of the plan follows a rule; only then the tables have ``RULE_COLUMNS``."""
        return any(not game.has_table for game in self.plan.games)

    def visits(self) -> Iterator[Row]:
        """Yield one row for each person who came."""
        return iter(()) if self.people is None else self.people.visits()

    def played(self, match: int | None = None) -> Iterator[tuple[Unit, str, str | None]]:
        """Every unit that has begun, or one of them, with its state."""
        return ((unit, end.state, end.reason) for unit, end in self._begun(match))

    def _begun(self, match: int | None = None) -> Iterator[tuple[Unit, UnitRecord]]:
        """Yield every unit that has begun (or one of them) with its record, in order."""
        # For one unit a single query: a journal may hold a million answers.
        begun = sorted(self.journal.begun()) if match is None else [match] if self.journal.has_begun(match) else []
        hidden = self.plan.hidden
        for end in _merged(self.journal.unit_records(match), begun):
            if end.unit >= len(self.plan):
                raise RunError(f"{self.journal.path}: holds match {end.unit}, the study has only {len(self.plan)}")
            if end.state != "withdrawn" and end.unit not in hidden:  # withdrawn by the participant, or a test visit
                yield self.plan.unit(end.unit), end

    def tables(self, match: int | None = None, *, stored: bool = True, rounds: bool = False) -> Iterator[UnitTable]:
        """Yield the rows of every unit that has begun, or of one.

        With ``stored=False`` all rows are made by replay; with ``rounds``, stored rows without rounds are, too.
        """
        return (self._table(unit, end, stored=stored, rounds=rounds) for unit, end in self._begun(match))

    def _is_stored(self, end: UnitRecord) -> bool:
        """Return whether a unit's rows are read from the journal; people may withdraw, so theirs are replayed."""
        return end.rows is not None and end.play is None and end.state == "done" and self.people is None

    def _table(self, unit: Unit, end: UnitRecord, *, stored: bool, rounds: bool = False) -> UnitTable:
        if stored and end.rows is not None and self._is_stored(end):
            rows = UnitRows.read(end.rows, f"{self.journal.path}: match {unit.index}")
            players = {str(player): player for player in range(len(unit.players))}
            named = {str(one[0]) for one in rows.asked} | end.refused.keys()
            settled = (rows.rounds_kept and rows.rounds_kept.settled) or ()
            if (
                len(rows.players) != len(players)
                or not named <= players.keys()
                or not {one[2] for one in (*rows.asked, *settled)} <= {*range(len(unit.seated))}
            ):
                raise RunError(f"{self.journal.path}: match {unit.index}: its rows are those of another match")
            # Before 2.0 stored rows had no rounds, and differed for forks and games by a rule.
            if rows.rounds_kept is not None or not (rounds or unit.earlier or not unit.game.has_table):
                return UnitTable(
                    unit, end.state, end.reason, rows, end.scores or (), end.facts,
                    {players[player]: count for player, count in end.refused.items()}, None,
                )  # fmt: skip
        self._need_parts(unit)
        if stored and end.play is not None and end.state == "done" and self.people is None:
            return UnitTable(unit, end.state, end.reason, self._moved(unit, end), end.scores or (), end.facts, {}, None)
        return self._replayed(unit, end, *self.replayed(unit))

    def _replayed(
        self, unit: Unit, end: UnitRecord, steps: Sequence[Sequence[Decision]], outcome: Outcome | None,
        answers: Mapping[Place, Journaled],
    ) -> UnitTable:  # fmt: skip
        """Return the rows of a replayed unit."""
        return UnitTable(
            unit, end.state, end.reason, rows_of(unit, steps, outcome, answers), outcome.scores if outcome else (),
            dump(dict(outcome.facts)) if outcome and outcome.facts else None, self.journal.refusals(unit.index),
            answers,
        )  # fmt: skip

    def _need_parts(self, unit: Unit) -> None:
        """Refuse to replay a unit whose game or mechanism is not installed."""
        for kind, part in (("game", unit.game), ("mechanism", unit.mechanism)):
            if getattr(part, "absent", False):
                raise RunError(
                    f"{self.journal.file(unit.index)}: match {unit.index} cannot be replayed: "
                    f"the package of the {kind} {part.name} is not installed"
                )

    def _moved(self, unit: Unit, end: UnitRecord, *, drawn: bool = False) -> UnitRows:
        """Return the rows of a unit played as arrays, from its moves."""
        assert end.play is not None
        try:
            rows, scores = self._arrays.rows(unit, *end.play, drawn=drawn)
            compare_end(unit.index, "scores", end.scores or [], scores)
            compare_end(unit.index, "facts", load(end.facts) or {}, {})
        except ReplayDiffers as error:
            raise ReplayDiffers(f"{self.journal.path}: {error} ({self.journal.played_by})") from None
        return rows

    def matches(self, match: int | None = None) -> Iterator[Row]:
        """Yield one row for each match and player, with score and course of the match; visits are no matches."""
        return chain.from_iterable(self.match_rows(table) for table in self.tables(match) if table.unit.kind != "visit")

    def match_rows(self, table: UnitTable) -> Iterator[Row]:
        """One row per player of a match."""
        unit, head = table.unit, self._head(table.unit)
        for player, seated in enumerate(unit.players):
            columns = dict(zip(PLAYERS, table.rows.players[player], strict=True))
            yield {
                **head,
                "state": table.state,
                "reason": table.reason,
                **self._place(unit, player, seated),
                "rounds_played": columns["rounds_played"],
                "score": table.scores[player] if player < len(table.scores) else None,
                **({"total": columns["total"]} if self.has_rule_games else {}),
                "expected_score": columns["expected_score"],
                "cooperation": columns["cooperation"],
                "complaints": columns["complaints"],
                "policies": columns["policies"],
                "missed_decisions": columns["missed_decisions"],
                "refusals": table.refused.get(player, 0),
                "facts": table.facts if player == 0 or len(unit.players) <= FEW else None,
                **({} if self.people is None else self.people.of_match(unit, player)),
            }

    def decisions(self, match: int | None = None) -> Iterator[Row]:
        """Yield one row for each decision and sub-question, of all matches or of one."""
        return chain.from_iterable(map(self.decision_rows, self.tables(match)))

    def tool_calls(self) -> Iterator[Row]:
        """Yield one row for each tool call within a decision: its name, arguments and result."""
        for row in self.decisions():
            if row["kind"] == "tool":
                call = load(row["answer"])
                facts = call if isinstance(call, dict) else {}
                place = {name: row[name] for name in ("run", "match", "step", "round", "player", "agent")}
                yield place | {name: facts.get(name) for name in ("tool", "arguments", "result", "failed")}

    def decision_rows(self, table: UnitTable) -> Iterator[Row]:
        """One row per decision of a match."""
        table = self.with_answers(table)
        unit, rows = table.unit, table.rows
        head, names = self.decision_head(table), self.decision_columns
        questions, answers, came = self.decoded(table)
        cache: dict[tuple[int, int, int], Row] = {}  # a match repeats few distinct combinations
        for step, number, a, s, c in zip(
            rows.steps.tolist(), rows.rounds.tolist(), rows.asked_codes.tolist(), rows.said_codes.tolist(),
            rows.came_codes.tolist(), strict=True,
        ):  # fmt: skip
            if (values := cache.get((a, s, c))) is None:
                every = {**questions[a], **answers[s], **came[c]}
                values = cache[a, s, c] = {name: every[name] for name in names}
            row = {**head, "step": step, "round": number, **values}
            if self.people is not None and table.answers is not None:
                player, part = rows.asked[a][0], rows.asked[a][4]
                row |= self.people.of_decision(unit, player, table.answers[step, player, part][0].facts or {})
            yield row

    def rounds(self, match: int | None = None) -> Iterator[Row]:
        """Yield one row for each player and settled round: action and payoff, even if the player was not asked."""
        return chain.from_iterable(map(self.round_rows, self.tables(match, rounds=True)))

    def round_rows(self, table: UnitTable) -> Iterator[Row]:
        """One row per player and round of a match that has ended."""
        head, rows, weights = self.decision_head(table), *self.weighted_rounds(table)
        entries = self.settled_entries(table, rows)
        for meeting, number, at, code, weight in zip(
            rows.meetings.tolist(), rows.numbers.tolist(), rows.tables.tolist(), rows.codes.tolist(), weights.tolist(),
            strict=True,
        ):  # fmt: skip
            every = {**entries[code], "weight": weight}
            yield {
                **head, "meeting": meeting + 1, "round": number, "at_table": None if at < 0 else at + 1,
                **{name: every[name] for name in self.round_columns},
            }  # fmt: skip

    @cached_property
    def round_columns(self) -> list[str]:
        """The columns of rounds after ``at_table``, in order."""
        return list(dict.fromkeys(["player", "seat", *AGENT, *self._attributes, *SETTLED_COLUMNS]))

    def weighted_rounds(self, table: UnitTable) -> tuple[RoundRows, NDArray[np.float64]]:
        """Return the rounds of a match, and the weight of each in its player's score."""
        try:
            rows = table.rows.round_rows()
        except RunError as error:
            raise RunError(f"{self.journal.path}: match {table.unit.index}: {error}") from None
        rules, weights = table.unit.mechanism, np.empty(len(rows.codes))
        places = np.cumsum(np.diff(rows.numbers, prepend=rows.numbers[:1]) != 0)
        count = len({entry[0] for entry in rows.settled})
        if len(places) and not rows.meetings.any() and len(places) == (places[-1] + 1) * count:
            return rows, np.asarray(rules.weights(int(places[-1]) + 1))[places]
        players = np.array([entry[0] for entry in rows.settled], dtype=np.int64)[rows.codes]
        order = np.lexsort((rows.numbers, players, rows.meetings))
        starts = np.flatnonzero(
            (np.diff(np.stack([rows.meetings, players])[:, order], axis=1, prepend=-1) != 0).any(axis=0)
        )
        for start, end in pairwise([*starts.tolist(), len(order)]):
            weights[order[start:end]] = rules.weights(end - start)
        return rows, weights

    def settled_entries(self, table: UnitTable, rows: RoundRows) -> list[Row]:
        """Return the columns of each distinct entry of a match's rounds: player, seat, agent, action and payoff."""
        agents, count = [self._agent(seated) for seated in table.unit.seated], len(table.unit.players)
        return [
            {
                **entry, "player": entry["player"] + 1, "seat": entry["seat"] + 1, **agents[entry["agent"]],
                "copied": entry["agent"] >= count,
            }
            for entry in (dict(zip(SETTLED, one, strict=True)) for one in rows.settled)
        ]  # fmt: skip

    def decision_head(self, table: UnitTable) -> Row:
        """Return the columns that all decisions of a match share."""
        return {**self._head(table.unit), "state": table.state}

    @cached_property
    def decision_columns(self) -> list[str]:
        """Return the columns of decisions after step and round, in order."""
        of_rules = RULE_COLUMNS if self.has_rule_games else ()
        return list(
            dict.fromkeys(["player", "seat", *AGENT, *self._attributes, *DECIDED, *of_rules, *self.plan.round_columns])
        )

    def with_answers(self, table: UnitTable) -> UnitTable:
        """Return the table with its answers, read from the journal if they are too large to be stored with the rows."""
        if table.rows.said is not None:
            return table
        try:
            answers = self.answers(table.unit) if table.answers is None else table.answers
            return table._replace(rows=table.rows.with_answers(table.unit, answers), answers=answers)
        except LookupError as error:
            raise RunError(
                f"{self.journal.path}: match {table.unit.index}: its rows do not fit its answers ({error!r})"
            ) from None

    def decoded(self, table: UnitTable) -> tuple[list[Row], list[Row], list[Row]]:
        """Return the three code tables of a unit as columns: questions, answers and outcomes."""
        unit, rows = table.unit, table.rows
        agents = [self._agent(seated) for seated in unit.seated]
        questions = [
            {
                "player": player + 1,
                "seat": None if unit.players[player].observes else seat + 1,
                **agents[agent],
                "kind": kind,
                "target": None if target is None else target + 1,
            }
            for player, seat, agent, kind, _, target in rows.asked
        ]
        answers = [self._answer_columns(*one) for one in rows.said or ()]
        return questions, answers, [dict(zip(OUTCOMES, one, strict=True)) for one in rows.came]

    def _answer_columns(
        self, answer: str | None, label: str | None, options: str | None, odds: str | None, p_cooperate: float | None,
        reading: str, complaints: int, note: str | None, rationale: Any, copied: bool, columns: str | None,
    ) -> Row:  # fmt: skip
        more = {} if columns is None else load(columns)
        if not isinstance(more, dict):
            raise RunError(f"{self.journal.path}: the journal is damaged: {columns!r:.60} names no columns")
        return {
            "answer": answer,
            "label": label,
            "options": options,
            "probabilities": odds,
            "p_cooperate": p_cooperate,
            "reading": reading,
            "invalid": reading in ("policy", "refused"),
            "missed": reading == "missed",
            "complaints": complaints,
            "note": note,
            "rationale": rationale,
            "copied": copied,
            **{name: more.get(name) for name in self.plan.round_columns},
        }

    def calls(self, match: int | None = None) -> Iterator[Row]:
        """Yield one row for each try at a call, without its prompt."""
        yield from self.journal.call_rows(self.run, match)

    def answers(self, unit: Unit) -> dict[Place, Journaled]:
        """Return the answers of a unit, played as arrays or step by step."""
        packed = self.journal.play(unit.index)
        return self.journal.answers(unit.index) if packed is None else self._arrays.answers(unit, *packed)

    def replayed(self, unit: Unit) -> tuple[list[list[Decision]], Outcome | None, Mapping[Place, Journaled]]:
        """Replay a unit; return its decisions step by step, its outcome if it has one, and its answers.

        The scores and facts of the replay are compared with the journal; any difference is refused.
        """
        self._need_parts(unit)
        try:
            answers = self.answers(unit)
            mechanism = unit.mechanism
            if unit.needs:
                facts = [self.journal.outcome_of(index) for index in unit.needs]
                if any(f is None or f[0] != "done" for f in facts):
                    return [], None, answers
                mechanism = mechanism.with_preparations([f[3] for f in facts if f is not None])
            steps, outcome = replay(unit, mechanism.play(unit.game, unit.streams), answers)
            self._compare(unit, outcome)
        except ReplayDiffers as error:
            raise ReplayDiffers(f"{self.journal.path}: {error} ({self.journal.played_by})") from None
        return steps, outcome, answers

    def verify(self, match: int) -> None:
        """Replay a unit; refuse stored rows that differ from the replay, and rounds that do not make its scores."""
        for unit, end in self._begun(match):
            steps, outcome, answers = self.replayed(unit)
            why = breach(unit.mechanism, unit.game, outcome) if outcome and unit.kind == "match" else None
            if why is not None:
                raise RunError(
                    f"{self.journal.path}: match {match}: mechanism {unit.mechanism.name} breaks the law of "
                    f"settlement: {why}"
                )
            replayed = self._replayed(unit, end, steps, outcome, answers)
            if self._is_stored(end) and (why := self._difference(self._table(unit, end, stored=True), replayed)):
                raise ReplayDiffers(
                    f"{self.journal.file(match)}: match {match}{why} ({self.journal.played_by}; "
                    "ostrom check RUN --rows makes its rows anew)"
                )

    def follows(self, match: int) -> bool:
        """Return whether a match was played as arrays, and length, moves, scores and facts follow from the study alone.

        Every move is computed and drawn again. What is wrong where one differs, or of a call that such a match cannot
        have, ``verify`` and ``Chain`` say.
        """
        for unit, end in self._begun(match):
            if next(self.journal.calls_of(match), None) is not None:
                return False
            if end.play is None or end.rows is not None or end.state != "done" or not self._arrays.can_play(unit):
                return False
            with suppress(ReplayDiffers):
                return self._moved(unit, end, drawn=True) is not None
        return False

    def check_sample(self) -> tuple[int, int]:
        """Compare the rows of random units with a replay; return how many were compared, and how many drawn.

        Fewer are compared than drawn where matches are long: at most ``MOST_REPLAYED`` decisions are replayed.
        """
        units = self.journal.sample(SAMPLED)
        left, checked = MOST_REPLAYED, 0
        for unit in units:
            left -= sum(len(UnitRows.read(end.rows, "").steps) for end in self.journal.unit_records(unit) if end.rows)
            if left < 0:
                break
            self.verify(unit)
            checked += 1
        return checked, len(units)

    def _difference(self, stored: UnitTable, replayed: UnitTable) -> str | None:
        """Return the first difference between stored and replayed rows; None if equal up to the last bits."""
        if stored.rows == replayed.rows and stored.refused == replayed.refused:
            return None
        rounds = [] if stored.rows.rounds_kept is None else [self.round_rows]
        for table in (self.match_rows, self.decision_rows, *rounds):
            for one, other in zip_longest(table(stored), table(replayed)):
                if one is None or other is None:
                    return ": its rows are fewer or more than those of its replay"
                for column, value in other.items():
                    if not _alike(one[column], value):
                        place = "round" if "what" in one else "step"
                        at = f", {place} {one[place]}" if place in one else ""
                        return (
                            f"{at}, player {one['player']}: its rows say {column} {one[column]!r:.60}, "
                            f"its replay says {value!r:.60}"
                        )
        return None

    def _compare(self, unit: Unit, outcome: Outcome | None) -> None:
        ended = self.journal.outcome_of(unit.index)
        if ended is None or ended[0] != "done" or ended[2] is None:
            return  # it is unfinished, or a part copied from another run
        if outcome is None:
            raise ReplayDiffers(f"match {unit.index}: is journaled as done, and the rules now ask for more")
        compare_end(unit.index, "scores", ended[2], list(outcome.scores))
        compare_end(unit.index, "facts", ended[3], dict(outcome.facts))

    def planned(self, unit: Unit) -> Iterator[Row]:
        """Yield the columns of the matches table that are known before play: cell, seat and agent."""
        return ({**self._head(unit), **self._place(unit, *seated)} for seated in enumerate(unit.players))

    def _place(self, unit: Unit, player: int, seated: Seated) -> Row:
        seat = None if seated.observes else (unit.seat + player) % unit.game.seats
        return {
            "player": player + 1,
            "seat": None if seat is None else seat + 1,
            "role": "observer" if seat is None else unit.game.roles[seat],
            **self._agent(seated),
            "opponents": " + ".join(p.name for i, p in enumerate(unit.players) if i != player and not p.observes),
        }

    def _agent(self, seated: Seated) -> Row:
        config = seated.config
        values = (
            seated.name,
            config.identity,
            config.called or config.model,
            config.label if config.strategy is not None else None,
            config.memory if isinstance(config.memory, str) else dump(config.memory),
            config.style if config.kind == "model" else None,
        )
        return {**dict(zip(AGENT, values, strict=True)), **self._attributes, **config.attributes}

    def _head(self, unit: Unit) -> Row:
        return {
            "run": self.run,
            "match": unit.index,
            "unit": unit.kind,
            "seed": unit.seed,
            "game": unit.game.name,
            "mechanism": unit.mechanism.name,
            **unit.cell,
        }


def _alike(one: Any, other: Any) -> bool:
    """Return whether two values are equal up to the last bits of numbers, also inside JSON."""
    are_json = isinstance(one, str) and isinstance(other, str) and one[:1] == other[:1] == "{"
    with suppress(RunError):
        return same(one, other) or (are_json and same(load(one), load(other)))
    return False


def _merged(ended: Iterator[UnitRecord], begun: Sequence[int]) -> Iterator[UnitRecord]:
    """Yield the records of ended units, and an ``open`` record for those that have only begun, in order."""
    unit = itemgetter(0)
    records = merge(ended, (UnitRecord(number, "open") for number in begun), key=unit)
    # Of two records of a unit that of its end comes first: the merge is stable.
    return (next(of_unit) for _, of_unit in groupby(records, key=unit))


def rows_of(
    unit: Unit, steps: Sequence[Sequence[Decision]], outcome: Outcome | None, answers: Mapping[Place, Journaled]
) -> UnitRows:
    """Build the rows of a unit from its replay; an unfinished match has the outcomes of the rounds in its last view."""
    record, rest = RowRecorder(unit), dict(answers)
    parts = grouped(((step, player), part) for step, player, part in answers if part)
    for step, decisions in enumerate(steps, unit.first):
        for decision in decisions:
            for part in ("", *parts.get((step, decision.player), ())):
                if (entry := rest.pop((step, decision.player, part), None)) is not None:
                    record.add(step, decision, entry[0], entry[1], part)
    for (_, player, _), (answer, complaints, _) in rest.items():
        record.count(player, answer, complaints)  # within a decision that is not finished
    history = steps[-1][0].view.history if steps else ()
    return record.rows(history if outcome is None else outcome.rounds, ended=outcome is not None)


def attributes_of(plan: Plan) -> dict[str, list[Any]]:
    """Return the attributes that a study gives its agents, with their values."""
    return grouped(pair for config in plan.agents for pair in config.attributes.items())


AGENT = ("agent", "agent_id", "model", "strategy", "agent_memory", "agent_style")
