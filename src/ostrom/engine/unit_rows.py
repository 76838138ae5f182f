"""The rows of one unit: recorded during play, stored in the journal, and read without a replay.

Few distinct values repeat in the decisions of a match. So decisions are stored as codes into three small tables:
questions (with their player), answers, and outcomes. What the plan knows (the cell, the agents, the state) is not
stored, nor are answers that would take much space: those are read from the journal's answers. Play and replay record
the same things, so stored rows equal those of a replay, byte for byte.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import fsum
from typing import Any

import numpy as np
import orjson

from ostrom.answers import Answer, Number
from ostrom.engine.entries import dump, inflated
from ostrom.engine.kept_rounds import (
    FLAGS,
    INTEGERS,
    MAYBE,
    MOST_PLAYERS,
    REALS,
    TEXT,
    TEXTS,
    Codes,
    Columns,
    KeptRounds,
    RoundRows,
    as_columns,
    from_columns,
    int_array,
    require,
    rounds_to_keep,
    steps_of,
)
from ostrom.engine.plan import Unit
from ostrom.games import games
from ostrom.games.game import Game
from ostrom.ground.errors import RunError
from ostrom.mechanisms.base import WrappedMechanism
from ostrom.mechanisms.protocol import Decision, Round
from ostrom.mechanisms.settlement import settled_rounds

QUESTIONS: Columns = {
    "player": INTEGERS, "seat": INTEGERS, "agent": INTEGERS, "kind": TEXT, "part": TEXT, "target": INTEGERS | MAYBE,
}  # fmt: skip
ANSWERS: Columns = {
    "answer": TEXTS, "label": TEXTS, "options": TEXTS, "probabilities": TEXTS, "p_cooperate": REALS,
    "reading": TEXT, "complaints": INTEGERS, "note": TEXTS, "rationale": TEXTS, "copied": FLAGS, "columns": TEXTS,
}  # fmt: skip
OUTCOMES: Columns = {
    "action": TEXTS, "cooperative": FLAGS, "payoff": REALS, "expected": REALS, "stage": TEXTS, "amount": REALS,
    "least": REALS, "most": REALS, "theory": REALS, "as_theory": FLAGS, "facts": TEXTS,
}  # fmt: skip
PLAYERS: Columns = {
    "rounds_played": INTEGERS, "total": REALS, "expected_score": REALS, "cooperation": REALS, "complaints": INTEGERS,
    "policies": INTEGERS, "missed_decisions": INTEGERS,
}  # fmt: skip
"""The columns stored of each player for the matches table; scores and facts are stored with the end of the unit."""
NOTHING_CAME: tuple[Any, ...] = (None,) * len(OUTCOMES)
SCRIPTED = 64
"""The most answers that are recognised by object identity: scripts return the same objects, models new ones."""
LONGESTTEXT = 200
"""The longest text of an answer that is stored with the rows, in characters."""
ANSWER_BYTES, ANSWER_BYTES_EACH = 2048, 8
"""The most bytes of a unit's distinct answers: a base, and an amount for each decision."""
MOST_FACTS, LONGEST_FACT = 64, 200
"""The most facts of a round in the tables, and the most characters of each; longer ones are left out."""
FEW_ROWS = 64
"""The most decisions whose codes are stored as JSON."""
MOST_BYTES = 16 << 20
"""The largest decompressed rows of a unit, in bytes: about three million decisions."""
_KINDS = {1: "<i1", 2: "<i2", 4: "<i4"}
"""Array types of integers by their size in bytes."""
_NONE: Codes = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class UnitRows:
    """The rows of one unit: steps, rounds, and for every decision an index into each of three code tables."""

    steps: Codes
    rounds: Codes
    asked: list[tuple[Any, ...]]
    asked_codes: Codes
    said: list[tuple[Any, ...]] | None
    """The answers; None if they are only in the journal's answers."""
    said_codes: Codes
    came: list[tuple[Any, ...]]
    came_codes: Codes
    players: list[tuple[Any, ...]]
    rounds_kept: KeptRounds | None = None
    """The stored rounds; None in runs of earlier versions and for unfinished matches."""

    def round_rows(self) -> RoundRows:
        """Return each player's action and payoff by round, from the stored rounds and the acts."""
        stored = self.rounds_kept
        if stored is None:
            return RoundRows(_NONE, _NONE, _NONE, [], _NONE)
        if stored.settled is None or stored.numbers is None:
            rows = np.array([kind == "act" and not part for *_, kind, part, _ in self.asked], dtype=bool)[
                self.asked_codes
            ]
            numbers = self.rounds[rows]
            pairs = self.asked_codes[rows] * len(self.came) + self.came_codes[rows]
            present = np.bincount(pairs, minlength=len(self.asked) * len(self.came)) > 0
            distinct, codes = np.flatnonzero(present), (np.cumsum(present) - 1)[pairs]
            questions, outcomes = (some.tolist() for some in np.divmod(distinct, len(self.came)))
            entries = [
                (player, seat, agent, "chose", action, amount, cooperative, payoff, None)
                for (player, seat, agent, *_), (action, cooperative, payoff, _, _, amount, *_) in zip(
                    map(self.asked.__getitem__, questions), map(self.came.__getitem__, outcomes), strict=True
                )
            ]
        else:
            numbers, entries, codes = int_array(stored.numbers), stored.settled, int_array(stored.codes or ())
        meetings, tables = (int_array(one) if isinstance(one, list) else np.full(len(codes), one) for one in stored[:2])
        if not len(meetings) == len(tables) == len(codes):
            raise RunError("the rows of its rounds are not complete")
        players = np.array([entry[0] for entry in entries], dtype=np.int64)[codes]
        if (np.diff(meetings << 40 | numbers << 20 | players) < 0).any():
            order = np.lexsort((players, numbers, meetings))
            meetings, numbers, tables, codes = (some[order] for some in (meetings, numbers, tables, codes))
        return RoundRows(meetings, numbers, tables, entries, codes)

    def __eq__(self, other: object) -> bool:
        """Return whether all rows are equal; answers and rounds are compared only if both sides have them."""
        if not isinstance(other, UnitRows):
            return NotImplemented
        both = [name for name in ("said", "rounds_kept") if None not in (getattr(self, name), getattr(other, name))]
        numbers = ["steps", "rounds", "asked_codes", "came_codes", *(["said_codes"] if "said" in both else [])]
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in numbers) and all(
            repr(getattr(self, name)) == repr(getattr(other, name)) for name in ("asked", "came", "players", *both)
        )

    def to_bytes(self) -> bytes | None:
        """Encode the rows; None if there are too many to be read at once."""
        statements = None if self.said is None else as_columns(self.said)
        if statements is not None and len(statements) > ANSWER_BYTES + ANSWER_BYTES_EACH * len(self.steps):
            statements = None
        codes = [
            steps_of(self.steps), steps_of(self.rounds), self.asked_codes, self.came_codes,
            *([] if statements is None else [self.said_codes]),
        ]  # fmt: skip
        tables = [
            as_columns(self.asked), as_columns(self.came), statements or b"null", as_columns(self.players),
            *([] if self.rounds_kept is None else [self.rounds_kept.dumped()]),
        ]  # fmt: skip
        if len(self.steps) <= FEW_ROWS:
            raw = b"[%s,%s]" % (orjson.dumps([numbers.tolist() for numbers in codes]), b",".join(tables))
        else:
            widths, parts = zip(*map(_narrow, codes), strict=True)
            head = b"[%s,%s]" % (orjson.dumps([len(self.steps), *widths]), b",".join(tables))
            raw = b"%d\n%s%s" % (len(head), head, b"".join(parts))
        answers, settled = statements and self.said, self.rounds_kept and self.rounds_kept.settled
        longest = max(len(table or ()) for table in (self.asked, self.came, answers, self.players, settled))
        return _packed(raw) if len(raw) <= MOST_BYTES and longest <= MOST_PLAYERS else None

    @classmethod
    def read(cls, content: bytes, where: str) -> UnitRows:
        """Decode stored rows; ``where`` is named in errors."""
        try:
            return cls._read(content)
        except (zlib.error, ValueError, TypeError, LookupError, OverflowError) as error:
            raise RunError(f"{where}: its rows cannot be read ({' '.join(str(error).split())[:100]})") from None

    @classmethod
    def _read(cls, content: bytes) -> UnitRows:
        raw = inflated(content, MOST_BYTES, "they are cut off or have")
        if raw[:1] == b"[":
            numbers, *tables = orjson.loads(raw)
            codes = [np.array(some or _NONE) for some in numbers]
        else:
            start = raw.index(b"\n") + 1
            at = start + int(raw[: start - 1])
            (count, *widths), *tables = orjson.loads(raw[start:at])
            codes = []
            for width in widths:
                kind = np.dtype(_KINDS[width])
                codes.append(np.frombuffer(raw, kind, count, at).astype(np.int64))
                at += count * kind.itemsize
        count = len(codes[0])
        require(all(some.dtype == np.int64 and some.shape == (count,) for some in codes), "they are not complete")
        # One extra row of outcomes stands for "no outcome".
        bounds = (QUESTIONS, count), (OUTCOMES, count + 1), (ANSWERS, count), (PLAYERS, MOST_PLAYERS)
        questions, came, answers, players = (
            None if table is None else from_columns(table, names, min(most, MOST_PLAYERS))
            for table, (names, most) in zip(tables[:4], bounds, strict=True)
        )
        if questions is None or came is None or players is None or len(codes) != 4 + (answers is not None):
            raise ValueError("they are not complete")
        for numbers, table in zip(codes[2:], (questions, came, answers), strict=False):
            coded = table is None or not count or 0 <= numbers.min() <= numbers.max() < len(table)
            require(coded, "a code is not in its table")
        return cls(
            codes[0].cumsum(), codes[1].cumsum(), questions, codes[2], answers,
            np.arange(count) if answers is None else codes[4], came, codes[3], players,
            KeptRounds.read(tables[4], len(players)) if len(tables) > 4 else None,
        )  # fmt: skip

    def with_answers(self, unit: Unit, answers: Mapping[Any, Any]) -> UnitRows:
        """Return the rows with answers from the journal."""
        if self.said is not None:
            return self
        questions = map(self.asked.__getitem__, self.asked_codes.tolist())
        statements = [
            said_of(unit.game, seat, *answers[step, player, part][:2], act=kind == "act" and not part)
            for step, (player, seat, _, kind, part, _) in zip(self.steps.tolist(), questions, strict=True)
        ]
        return replace(self, said=statements, said_codes=np.arange(len(statements)))


def _narrow(codes: Codes) -> tuple[int, bytes]:
    """Encode integers in the smallest size that fits all of them."""
    most = int(abs(codes).max()) if len(codes) else 0
    width = 1 if most < 1 << 7 else 2 if most < 1 << 15 else 4
    return width, codes.astype(_KINDS[width]).tobytes()


def _packed(raw: bytes) -> bytes:
    """Compress bytes; for few bytes with a small window, which is ten times as fast to set up."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 9, 1) if len(raw) < 2048 else zlib.compressobj(1)
    return packer.compress(raw) + packer.flush()


def keeps_rows(unit: Unit, decisions: int) -> bool:
    """Return whether the rows of a unit are stored when it ends.

    They are not stored where people play, who may withdraw, nor for few decisions of scripts, which are replayed as
    quickly as rows are read. Rows of a game or mechanism of another package are always stored: the package may be gone
    one day.
    """
    seated = [player.config for player in unit.players]
    if any(config.person for config in seated):
        return False
    if decisions >= FEW_ROWS or any(config.strategy is None for config in seated):
        return True
    rules = unit.mechanism
    while isinstance(rules, WrappedMechanism):
        rules = rules.rules
    wrote = {type(part).__module__.partition(".")[0] for part in (rules, getattr(rules, "network", rules))}
    return wrote != {"ostrom"} or unit.game.name not in games or games.is_foreign(unit.game.name)


class RowRecorder:
    """Records the decisions of a unit in the order of its rows."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._question_codes: dict[tuple[Any, ...], int] = {}
        self._answer_codes: dict[Any, int] = {}
        self._long = False
        """Whether some text is too long to be stored."""
        self._scripted_codes: dict[tuple[int, int, int], tuple[int, Answer]] = {}
        """Codes of answers by object identity: scripts return the same objects again and again."""
        self._rows: list[tuple[Any, ...]] = []
        self._rest: list[tuple[int, str, int]] = []
        self._ruled, self._forked = not unit.game.has_table, bool(unit.earlier)

    def add(self, step: int, decision: Decision, answer: Answer, complaints: int, part: str = "") -> None:
        """Record an answer to a decision, or to a sub-question."""
        view, player, facts = decision.view, decision.player, answer.facts
        about, seat, kind = view.facts, view.seat, decision.kind
        act = kind == "act" and not part
        target = None if part or not about else about.get("target")
        if facts and "target" in facts:
            target = facts["target"]
        agent = player if decision.agent is None else decision.agent
        if self._forked:
            agent = self.unit.decides(agent, step)
        name = (part.partition(".")[0] or kind) if part else kind
        question = self._question_codes.setdefault((player, seat, agent, name, part, target), len(self._question_codes))
        key = (id(answer), seat if act else -1, complaints)
        cached = self._scripted_codes.get(key)
        if cached is None or cached[1] is not answer:
            cached = (self._answer_code(seat, answer, complaints, act), answer)
            if len(self._scripted_codes) < SCRIPTED:
                self._scripted_codes[key] = cached
        bout = (about.get("bout", 0) if about else 0) if act else None
        move = _move(self.unit.game, decision, answer) if act and self._ruled else None
        self._rows.append((step, view.round, question, cached[0], bout, move))

    def __len__(self) -> int:
        """Return the number of recorded answers."""
        return len(self._rows)

    def count(self, player: int, answer: Answer, complaints: int) -> None:
        """Count an answer without a row, because its decision is unfinished."""
        self._rest.append((player, answer.reading, complaints))

    def _answer_code(self, seat: int, answer: Answer, complaints: int, act: bool) -> int:
        columns = said_of(self.unit.game, seat, answer, complaints, act=act)
        text = repr(columns)
        if not self._long and len(text) > LONGESTTEXT:
            self._long = any(isinstance(value, str) and len(value) > LONGESTTEXT for value in columns)
        if self._long:  # long texts are not held in memory until the unit ends
            columns = (None, None, None, None, None, answer.reading, complaints, None, None, False, None)
            text = repr(columns)
        # Numbers that are equal but not the same (1 and 1.0) get different codes.
        return self._answer_codes.setdefault((columns, text), len(self._answer_codes))

    def rows(self, rounds: Sequence[Round], *, ended: bool = True) -> UnitRows:
        """Return the rows with the outcomes of the decisions; rounds are stored only if the unit has ended."""
        played = {
            (r.facts.get("bout", 0) if r.facts else 0, r.number, player): r
            for r in rounds
            for player in (r.players or range(len(r.payoffs)))
        }
        questions, answers = list(self._question_codes), [answers for answers, _ in self._answer_codes]
        steps, numbers, question_codes, answer_codes, bouts, _ = (
            zip(*self._rows, strict=True) if self._rows else ((),) * 6
        )
        deciders = map([one[0] for one in questions].__getitem__, question_codes)
        results = map(played.get, zip(bouts, numbers, deciders, strict=True))
        came = (
            self._move_outcomes(questions, results, played)
            if self._ruled
            else self._action_outcomes(questions, question_codes, results)
        )
        return UnitRows(
            int_array(steps), int_array(numbers), questions, int_array(question_codes), None if self._long else answers,
            int_array(answer_codes), *came,
            self._players(rounds if ended else (), zip(question_codes, answer_codes, strict=True)),
            rounds_to_keep(self.unit, rounds, questions, self._rows) if ended else None,
        )  # fmt: skip

    def _action_outcomes(
        self, questions: Sequence[tuple[Any, ...]], codes: Sequence[int], results: Iterable[Round | None]
    ) -> tuple[list[tuple[Any, ...]], Codes]:
        """Return the outcomes of actions in a game with a payoff table."""
        game, cache, came = self.unit.game, dict[Any, int](), {NOTHING_CAME: 0}
        numbers = []
        for code, round_ in zip(codes, results, strict=True):
            if round_ is None:
                numbers.append(0)
                continue
            key = (code, round_.actions, round_.payoffs, round_.expected, round_.players)
            if (number := cache.get(key)) is None:
                player, seat = questions[code][:2]
                number = cache[key] = came.setdefault(_action_outcome(game, seat, player, round_), len(came))
            numbers.append(number)
        return list(came), int_array(numbers)

    def _move_outcomes(
        self, questions: Sequence[tuple[Any, ...]], results: Iterable[Round | None], played: Mapping[Any, Round]
    ) -> tuple[list[tuple[Any, ...]], Codes]:
        """Return the outcomes of moves in a game by a rule."""
        game, came = self.unit.game, {NOTHING_CAME: 0}
        last, closing = _last_moves(questions, self._rows)
        numbers = []
        for (step, number, code, _, _, move), round_ in zip(self._rows, results, strict=True):
            if move is None:
                numbers.append(0)
                continue
            player, seat = questions[code][:2]
            facts = _round_facts(played.get((0, number, player))) if closing[number] == (step, player) else None
            outcome = _move_outcome(game, seat, player, round_, move, paid=last[number, player] == step, facts=facts)
            numbers.append(came.setdefault(outcome, len(came)))
        return list(came), int_array(numbers)

    def _players(self, rounds: Sequence[Round], answers: Iterable[tuple[int, int]]) -> list[tuple[Any, ...]]:
        """Return the matches-table columns of each player, without its score."""
        game, count = self.unit.game, len(self.unit.players)
        everybody = tuple(range(count))
        paid: list[list[float]] = [[] for _ in range(count)]
        acts = [[0, 0] for _ in range(count)]
        for round_ in rounds:
            for payoff, player in zip(round_.payoffs, round_.players or range(count), strict=False):
                paid[player].append(payoff)
        if self._ruled:
            done: Counter[tuple[tuple[int, ...], int, tuple[int, ...]]] = Counter(
                ((one.player,), one.seat, (one.action,))
                for one in settled_rounds(game, rounds)
                if one.action is not None
            )
        else:
            done = Counter((r.players or everybody, 0, r.actions) for r in rounds)
        for (players, first, actions), times in done.items():
            for seat, (action, player) in enumerate(zip(actions, players, strict=False), first):
                if (cooperates := game.cooperates(seat, action)) is not None:
                    acts[player][cooperates] += times
        number = len({r.number for r in rounds if not r.unplayed})
        expected = _expected(rounds)
        questions, statements = list(self._question_codes), list(self._answer_codes)
        complaints, policies, missed = [0] * count, [0] * count, [0] * count
        counted = [
            (questions[a][0], statements[s][0][5], statements[s][0][6], times)
            for (a, s), times in Counter(answers).items()
        ]
        for player, reading, complained, times in [*counted, *((*one, 1) for one in self._rest)]:
            complaints[player] += complained * times
            policies[player] += times * (reading in ("policy", "refused"))
            missed[player] += times * (reading == "missed")
        return [
            (
                number,
                fsum(paid[player]),
                expected.get(player),
                acts[player][1] / sum(acts[player]) if any(acts[player]) else None,
                complaints[player],
                policies[player],
                missed[player],
            )
            for player in range(count)
        ]


def said_of(game: Game, seat: int, answer: Answer, complaints: int, *, act: bool) -> tuple[Any, ...]:
    """Return the row columns of an answer, in the order of ``ANSWERS``."""
    facts, value, odds = answer.facts or {}, answer.value, answer.probabilities
    label = p_cooperate = None
    if act:
        label = (facts.get("labels") or {}).get(value) if isinstance(value, str) else None
        cooperative = game.cooperative[seat] if game.has_table else None
        # If an option is not an action (delegating), the stated odds do not determine cooperation.
        if cooperative is not None and odds and odds.keys() == game.index_of(seat).keys():
            p_cooperate = odds.get(game.actions[seat][cooperative])
    columns = facts.get("columns")
    return (
        value if isinstance(value, str | None) else dump(value),
        label,
        dump(facts["order"]) if facts.get("order") else None,
        None if odds is None else dump(odds),
        p_cooperate,
        answer.reading,
        complaints,
        answer.note,
        facts.get("rationale"),
        bool(facts.get("copied")),
        dump(columns) if columns else None,
    )


def _action_outcome(game: Game, seat: int, player: int, round_: Round) -> tuple[Any, ...]:
    """Return the outcome of an action in a game with a payoff table, in the order of ``OUTCOMES``."""
    at = round_.players.index(player) if round_.players else seat
    action = round_.actions[at] if round_.actions else None
    return (
        None if action is None else game.actions[seat][action],
        None if action is None else game.cooperates(seat, action),
        round_.payoffs[at],
        None if round_.expected is None else round_.expected[at],
        *NOTHING_CAME[4:],
    )


def _move(game: Game, decision: Decision, answer: Answer) -> tuple[Any, ...]:
    """Return the facts of a move in a game by a rule that are known when it is made."""
    view, form = decision.view, decision.form
    stage = view.facts["stage"]
    theory = None if game.theory is None else game.theory(view.seat, stage, view.facts)
    bounds = (float(form.low), float(form.high)) if isinstance(form, Number) else (None, None)
    return (answer.value, stage, len(view.facts["moves"]), theory, *bounds)


def _move_outcome(
    game: Game, seat: int, player: int, round_: Round | None, move: tuple[Any, ...], *, paid: bool, facts: str | None
) -> tuple[Any, ...]:
    """Return the outcome of a move in a game by a rule, with the theoretical move, in the order of ``OUTCOMES``."""
    value, stage, before, theory, least, most = move
    if round_ is not None and round_.void:
        value = None  # whatever was answered, no move was made
    elif round_ is not None:
        # With noise, or after a missed decision, the move differs from the answer.
        value = next((one["value"] for one in round_.facts["moves"][before:] if one["seat"] == seat), value)
    action = amount = cooperative = payoff = None
    if value is not None:
        action = str(value)
        amount = None if isinstance(value, str) else float(value)
        cooperative = game.cooperates(seat, game.index(seat, value))
    if round_ is not None and paid:  # a round is paid at the player's last move in it
        payoff = round_.payoffs[round_.players.index(player) if round_.players else seat]
    theory_value = None if theory is None or isinstance(theory, str) else float(theory)
    as_theory = None if theory is None or value is None else theory == value
    return (action, cooperative, payoff, None, stage, amount, least, most, theory_value, as_theory, facts)


def _last_moves(
    questions: Sequence[tuple[Any, ...]], rows: Sequence[tuple[Any, ...]]
) -> tuple[dict[tuple[int, int], int], dict[int, tuple[int, int]]]:
    """Return the step of each player's last move by round, and each round's last step with its last player."""
    moves = {(number, questions[code][0]): step for step, number, code, _, bout, _ in rows if bout is not None}
    # In order of step and player: the last entry of a round stays.
    last = sorted((step, player, number) for (number, player), step in moves.items())
    return moves, {number: (step, player) for step, player, number in last}


def _round_facts(round_: Round | None) -> str | None:
    """Return the public facts of a round of a game by a rule as JSON (numbers, short texts); None if empty."""
    if round_ is None or round_.void:
        return None
    facts = {
        name: value
        for name, value in round_.facts.items()
        if len(name) <= LONGEST_FACT
        and ((isinstance(value, str) and len(value) <= LONGEST_FACT)
             or (isinstance(value, int | float) and abs(value) < 2**53))
    }  # fmt: skip
    return dump(dict(islice(facts.items(), MOST_FACTS))) if facts else None


def _expected(rounds: Sequence[Round]) -> dict[int, float]:
    """Return the exact expected score of each player, if the match was one shot with known odds."""
    if len(rounds) != 1 or rounds[0].expected is None:
        return {}
    return dict(zip(rounds[0].players or range(len(rounds[0].actions)), rounds[0].expected, strict=False))
