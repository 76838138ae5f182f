"""Tidy rows from a journal: replay every match and say what happened, one row per decision.

Rows depend on the study and the answers alone, never on clocks or on the order in which replies arrived, so
the same study with the same answers gives the same bytes. What a call cost and how long it took is in the
calls, which are read from the journal as they are.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from math import fsum
from typing import Any

from ostrom.answers import Number
from ostrom.engine.arrays import ArrayPlayer
from ostrom.engine.entries import Journaled, Place, dump
from ostrom.engine.journal import Journal
from ostrom.engine.match import ReplayDiffers, compare_end, replay
from ostrom.engine.plan import PeopleColumns, Plan, Seated, Unit
from ostrom.games.game import Game
from ostrom.ground.errors import RunError
from ostrom.ground.values import grouped
from ostrom.mechanisms.protocol import Decision, Outcome, Round

Row = dict[str, Any]
RULE_COLUMNS: Mapping[str, type] = {
    "stage": str, "amount": float, "least": float, "most": float, "theory": float, "as_theory": bool,
    "facts": str,
}  # fmt: skip
"""Columns of decisions in a study that has games by a rule: the stage of a round, the amount and its bounds, the amount
that theory says, and whether it was taken (an option, where there is no amount); at the last decision of a round, what
everybody learned of it (``End.facts``: numbers and short texts) as JSON."""
MOST_FACTS, LONGEST_FACT = 64, 200
"""So many facts of a round, and so many characters of each, are in the tables; longer ones and lists are left out."""
FEW = 24
"""Up to so many players have the facts of their match in every row; of more, only the first one has."""


class Rows:
    """What the tables of a run say, computed row by row from its plan and its journal."""

    def __init__(self, plan: Plan, journal: Journal, run: str) -> None:
        self.plan, self.journal, self.run = plan, journal, run
        self._arrays = ArrayPlayer()
        self._attributes = dict.fromkeys(attributes_of(plan))

    @cached_property
    def people(self) -> PeopleColumns | None:
        """What people add to the tables; None for a study without people."""
        return self.plan.people_tables(self)

    @cached_property
    def ruled(self) -> bool:
        """Whether some game of the plan is one by a rule; only then the tables have ``RULE_COLUMNS``."""
        return any(not game.has_table for game in self.plan.games)

    def visits(self) -> Iterator[Row]:
        """One row per person who came."""
        return iter(()) if self.people is None else self.people.visits()

    def played(self, match: int | None = None) -> Iterator[tuple[Unit, str, str | None]]:
        """Every unit that has begun, or one of them, with its state."""
        ended: dict[int, tuple[str, str | None]]
        if match is None:
            ended = {unit: (state, reason) for unit, state, reason in self.journal.endings()}
            begun = set(ended) | self.journal.begun()
        else:  # asks for nothing else: a journal may hold a million answers
            end = self.journal.ended(match)
            ended = {} if end is None else {match: end[:2]}
            begun = {match} if end is not None or self.journal.has_begun(match) else set()
        hidden = self.plan.hidden
        for index in sorted(begun):
            if index >= len(self.plan):
                raise RunError(
                    f"{self.journal.path}: holds match {index}, the study has only {len(self.plan)}"
                )
            state, reason = ended.get(index, ("open", None))
            if state == "withdrawn" or index in hidden:
                continue  # withdrawn by the participant, or a test visit
            yield self.plan.unit(index), state, reason

    def matches(self) -> Iterator[Row]:
        """One row per match and player: its score and how the match went."""
        refusals = self.journal.refusals()
        for unit, state, reason in self.played():
            _, outcome, answers = self.replayed(unit)
            rounds = outcome.rounds if outcome else []
            facts = dump(dict(outcome.facts)) if outcome and outcome.facts else None
            cooperation, readings, complaints = _cooperation(unit, rounds), Counter[Any](), Counter[int]()
            for (_, who, _), (answer, complained, _) in answers.items():
                readings[who, answer.reading] += 1
                complaints[who] += complained
            for player, seated in enumerate(unit.players):
                yield {
                    **self._head(unit),
                    "state": state,
                    "reason": reason,
                    **self._place(unit, player, seated),
                    "rounds_played": len({r.number for r in rounds}),
                    "score": outcome.scores[player] if outcome and player < len(outcome.scores) else None,
                    **({"total": _total(rounds, player)} if self.ruled else {}),
                    **_expected(rounds, player),
                    "cooperation": cooperation.get(player),
                    "complaints": complaints[player],
                    "policies": readings[player, "policy"] + readings[player, "refused"],
                    "missed_decisions": readings[player, "missed"],
                    "refusals": refusals.get((unit.index, player), 0),
                    "facts": facts if player == 0 or len(unit.players) <= FEW else None,
                    **({} if self.people is None else self.people.of_match(unit, player)),
                }

    def decisions(self, match: int | None = None) -> Iterator[Row]:
        """One row per decision (of one match), questions within a decision included."""
        for unit, state, _ in self.played(match):
            steps, outcome, answers = self.replayed(unit)
            played = _played(outcome, steps)
            head = {**self._head(unit), "state": state}
            who = [self._agent(seated) for seated in unit.players]
            parts = grouped(((step, player), part) for step, player, part in answers if part)
            last = _last_moves(unit, steps)
            closing = {} if last is None else {number: (step, who) for (number, who), step in sorted(
                last.items(), key=lambda move: (move[1], move[0]))}  # fmt: skip
            for step, decisions in enumerate(steps, unit.first):
                for decision in decisions:
                    if (step, decision.player, "") in answers:
                        row = self._decision(unit, head, who, step, decision, "", answers, played)
                        if last is not None and step < last.get((decision.view.round, decision.player), 0):
                            row["payoff"] = None  # it is paid at the player's last move of the round
                        if closing.get(decision.view.round) == (step, decision.player):
                            row["facts"] = _round_facts(played.get((0, decision.view.round, decision.player)))
                        yield row
                    for part in parts.get((step, decision.player), ()):
                        yield self._decision(unit, head, who, step, decision, part, answers, played)

    def calls(self, match: int | None = None) -> Iterator[Row]:
        """One row per try at a call (of one match), as journaled, without what was asked."""
        yield from self.journal.call_rows(self.run, match)

    def answers(self, unit: Unit) -> dict[Place, Journaled]:
        """The answers of a unit, whichever way it was played."""
        packed = self.journal.play(unit.index)
        return self.journal.answers(unit.index) if packed is None else self._arrays.answers(unit, *packed)

    def replayed(self, unit: Unit) -> tuple[list[list[Decision]], Outcome | None, Mapping[Place, Journaled]]:
        """The decisions of a unit step by step, its outcome if it has one, and its answers.

        What the rules make of the answers is held against the journal; any difference is refused.
        """
        try:
            answers = self.answers(unit)
            mechanism = unit.mechanism
            if unit.needs:
                facts = [self.journal.ended(index) for index in unit.needs]
                if any(f is None or f[0] != "done" for f in facts):
                    return [], None, answers
                mechanism = mechanism.given([f[3] for f in facts if f is not None])
            steps, outcome = replay(unit, mechanism.play(unit.game, unit.streams), answers)
            self._compare(unit, outcome)
        except ReplayDiffers as error:
            raise RunError(f"{self.journal.path}: {error} ({self.journal.played_by})") from None
        return steps, outcome, answers

    def _compare(self, unit: Unit, outcome: Outcome | None) -> None:
        ended = self.journal.ended(unit.index)
        if ended is None or ended[0] != "done" or ended[2] is None:
            return  # it is not at its end, or it is a beginning that was copied from another run
        if outcome is None:
            raise ReplayDiffers(f"match {unit.index}: is journaled as done, and the rules now ask for more")
        compare_end(unit.index, "scores", ended[2], list(outcome.scores))
        compare_end(unit.index, "facts", ended[3], dict(outcome.facts))

    def planned(self, unit: Unit) -> Iterator[Row]:
        """What the table of matches will say of a unit whatever is answered: where it is played and by whom."""
        for player, seated in enumerate(unit.players):
            yield {**self._head(unit), **self._place(unit, player, seated)}

    def _place(self, unit: Unit, player: int, seated: Seated) -> Row:
        seat = None if seated.observes else (unit.seat + player) % unit.game.seats
        return {
            "player": player + 1,
            "seat": None if seat is None else seat + 1,
            "role": "observer" if seat is None else unit.game.roles[seat],
            **self._agent(seated),
            "opponents": " + ".join(
                p.name for i, p in enumerate(unit.players) if i != player and not p.observes
            ),
        }

    def _agent(self, seated: Seated) -> Row:
        return {**_agent(seated), **self._attributes, **seated.config.attributes}

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

    def _decision(
        self,
        unit: Unit,
        head: Row,
        who: list[Row],
        step: int,
        decision: Decision,
        part: str,
        answers: Mapping[Any, Any],
        played: Mapping[tuple[int, int, int], Round],
    ) -> Row:
        answer, complaints, _ = answers[step, decision.player, part]
        view, seat = decision.view, decision.view.seat
        facts = answer.facts or {}
        target = facts.get("target", None if part else view.facts.get("target"))
        observes = unit.players[decision.player].observes
        row: Row = {
            **head,
            "step": step,
            "round": view.round,
            "player": decision.player + 1,
            "seat": None if observes else seat + 1,
            **who[decision.player if decision.agent is None else decision.agent],
            "kind": part or decision.kind,
            "target": None if target is None else target + 1,
            "answer": answer.value if isinstance(answer.value, str | None) else dump(answer.value),
            "action": None,
            "label": None,
            "options": dump(facts["order"]) if facts.get("order") else None,
            "cooperative": None,
            "payoff": None,
            "expected": None,
            "probabilities": None if answer.probabilities is None else dump(answer.probabilities),
            "p_cooperate": None,
            "reading": answer.reading,
            "invalid": answer.reading in ("policy", "refused"),
            "missed": answer.reading == "missed",
            "complaints": complaints,
            "note": answer.note,
            "rationale": (answer.facts or {}).get("rationale"),
            "copied": bool((answer.facts or {}).get("copied")),
        }
        if self.ruled:
            row |= dict.fromkeys(RULE_COLUMNS)
        for name in self.plan.round_columns:
            row[name] = (facts.get("columns") or {}).get(name)
        if self.people is not None:
            row |= self.people.of_decision(unit, decision.player, facts)
        if decision.kind == "act" and not part:
            bout = view.facts.get("bout", 0)
            self._act(row, unit, decision, answer, played.get((bout, view.round, decision.player)))
        return row

    def _act(self, row: Row, unit: Unit, decision: Decision, answer: Any, round_: Round | None) -> None:
        game, seat = unit.game, decision.view.seat
        if not game.has_table:
            self._move(row, game, decision, answer, round_)
            return
        labels = (answer.facts or {}).get("labels", {})
        row["label"] = labels.get(answer.value) if isinstance(answer.value, str) else None
        cooperative = game.cooperative[seat]
        # With an option that is not an action (delegating) the stated odds do not determine cooperation.
        odds = answer.probabilities
        if cooperative is not None and odds and odds.keys() == game.index_of(seat).keys():
            row["p_cooperate"] = answer.probabilities.get(game.actions[seat][cooperative])
        if round_ is not None:
            at = round_.players.index(decision.player) if round_.players else seat
            if not round_.void:
                action = round_.actions[at]
                row["action"] = game.actions[seat][action]
                row["cooperative"] = game.cooperates(seat, action)
            row["payoff"] = round_.payoffs[at]
            row["expected"] = None if round_.expected is None else round_.expected[at]

    @staticmethod
    def _move(row: Row, game: Game, decision: Decision, answer: Any, round_: Round | None) -> None:
        """A move in a game by a rule: what was done at this stage, and what theory says of it."""
        view, value = decision.view, answer.value
        row["stage"] = view.facts["stage"]
        row["label"] = (answer.facts or {}).get("labels", {}).get(value) if isinstance(value, str) else None
        if round_ is not None and not round_.void:
            # With noise, or where it was missed, another move was made than was answered.
            later = round_.facts["moves"][len(view.facts["moves"]) :]
            value = next((move["value"] for move in later if move["seat"] == view.seat), value)
        if value is not None:
            row["action"] = str(value)
            row["amount"] = None if isinstance(value, str) else float(value)
            row["cooperative"] = game.cooperates(view.seat, game.index(view.seat, value))
        said = None if game.theory is None else game.theory(view.seat, row["stage"], view.facts)
        row["theory"] = None if said is None or isinstance(said, str) else float(said)
        row["as_theory"] = None if said is None or value is None else said == value
        if isinstance(decision.form, Number):
            row["least"], row["most"] = float(decision.form.low), float(decision.form.high)
        if round_ is not None:
            at = round_.players.index(decision.player) if round_.players else view.seat
            row["payoff"] = round_.payoffs[at]


def _last_moves(unit: Unit, steps: list[list[Decision]]) -> dict[tuple[int, int], int] | None:
    """The step of every player's last move in every round of a game by a rule; None for other games."""
    if unit.game.has_table:
        return None
    return {
        (decision.view.round, decision.player): step
        for step, decisions in enumerate(steps, unit.first)
        for decision in decisions
        if decision.kind == "act"
    }


def _round_facts(round_: Round | None) -> str | None:
    """What everybody learned of a round of a game by a rule, as JSON: numbers and short texts; None if nothing."""
    if round_ is None or round_.void:
        return None
    kept = {
        name: value
        for name, value in round_.facts.items()
        if len(name) <= LONGEST_FACT
        and ((isinstance(value, str) and len(value) <= LONGEST_FACT)
             or (isinstance(value, int | float) and abs(value) < 2**53))
    }  # fmt: skip
    return dump(dict(islice(kept.items(), MOST_FACTS))) if kept else None


def attributes_of(plan: Plan) -> dict[str, list[Any]]:
    """The attributes that a study gives its agents, with the values that occur."""
    found: dict[str, list[Any]] = {}
    for config in plan.agents:
        for name, known in config.attributes.items():
            found.setdefault(name, []).append(known)
    return found


def _agent(seated: Seated) -> Row:
    config = seated.config
    return {
        "agent": seated.name,
        "agent_id": config.identity,
        "model": config.called or config.model,
        "strategy": config.label if config.strategy is not None else None,
        "agent_memory": config.memory if isinstance(config.memory, str) else dump(config.memory),
        "agent_style": config.style if config.model is not None else None,
    }


def _played(outcome: Outcome | None, steps: list[list[Decision]]) -> dict[tuple[int, int, int], Round]:
    """Rounds by bout, number and player; of an unfinished match, those that some seat has seen."""
    rounds = outcome.rounds if outcome is not None else steps[-1][0].view.history if steps else []
    return {
        (r.facts.get("bout", 0), r.number, player): r
        for r in rounds
        for player in (r.players or range(len(r.payoffs)))
    }


def _cooperation(unit: Unit, rounds: Any) -> dict[int, float]:
    """The share of cooperative actions of every player; nothing where the game defines none."""
    acts: dict[int, list[bool]] = {}
    for r in rounds:
        if r.void:
            continue
        for seat, who in enumerate(r.players or range(len(r.actions))):
            known = unit.game.cooperates(seat, r.actions[seat])
            if known is not None:
                acts.setdefault(who, []).append(known)
    return {player: sum(known) / len(known) for player, known in acts.items()}


def _total(rounds: Any, player: int) -> float:
    """What a player is paid in all rounds, also where it had nothing to decide."""
    return fsum(
        r.payoffs[seat]
        for r in rounds
        for seat, who in enumerate(r.players or range(len(r.payoffs)))
        if who == player
    )


def _expected(rounds: Any, player: int) -> Row:
    """The exact expectation of the score, where the match was one shot with known odds."""
    if len(rounds) == 1 and rounds[0].expected is not None:
        seats = rounds[0].players or range(len(rounds[0].actions))
        if player in seats:
            return {"expected_score": rounds[0].expected[list(seats).index(player)]}
    return {"expected_score": None}
