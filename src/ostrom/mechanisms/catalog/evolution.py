"""Evolution: members of a population each carry an instruction, play, are selected by payoff and mutate by paraphrase.

The operators are those that the referee of Tewolde et al. (2026) asks for; every generation is a unit of work that
needs the one before.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ostrom.answers import Answer, Text
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Amount, Count, Ge, OneOf, Share, checked, options_of
from ostrom.ground.streams import Streams, key_of
from ostrom.ground.values import value
from ostrom.mechanisms.base import DelegatingMechanism
from ostrom.mechanisms.protocol import Decision, Outcome, Play, Round, View
from ostrom.mechanisms.selection import POPULATION_RULES, next_parents
from ostrom.mechanisms.statements import Recognised

if TYPE_CHECKING:
    import numpy as np

Genome = list[str]
"""The sentences of an instruction."""

LONGEST = 400
"""The longest sentence in characters; longer ones are cut."""
MOST_SENTENCES = 60
_END = re.compile(r"(?<=[.!?])\s+")


def sentences(text: str) -> Genome:
    """The sentences of a text.

    >>> sentences("Be kind.  Forgive once! Then stop")
    ['Be kind.', 'Forgive once!', 'Then stop']
    """
    return [part for part in (tidy(piece) for piece in _END.split(text.strip())) if part]


def tidy(sentence: str) -> str:
    """Return a sentence as one line of bounded length without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in sentence).split())[:LONGEST].strip()


def chosen(genome: Sequence[str], share: float, rng: np.random.Generator) -> list[int]:
    """Return the indices of the sentences to be reworded: a share of them, at least one if it is not 0.

    >>> import numpy as np
    >>> len(chosen(["a", "b", "c", "d", "e"], 0.4, np.random.default_rng(0)))
    2
    """
    return sorted(int(i) for i in rng.permutation(len(genome))[: ceil(share * len(genome))])


def crossed(one: Sequence[str], other: Sequence[str], rng: np.random.Generator) -> Genome:
    """Return the beginning of one genome and the rest of another, cut at a common place.

    >>> import numpy as np
    >>> crossed(["a", "b"], ["c", "d"], np.random.default_rng(3)) in (["c", "d"], ["a", "d"], ["a", "b"])
    True
    """
    cut = int(rng.integers(min(len(one), len(other)) + 1))
    return [*one[:cut], *other[cut:]]


Steps = Generator[list[Decision], Sequence[Answer], list[Genome]]
Design = Any
"""The design of a member from a preparation: a mediator or contract as a list of integers."""
Designs = Generator[list[Decision], Sequence[Answer], list[Design] | None]
Matches = Generator[list[Decision], Sequence[Answer], tuple[list[Round], list[float]]]


@value
class ParentSelection:
    """Who has offspring (``next_parents``): rule, strength, size of a tournament, births of a Moran process."""

    rule: Annotated[str, OneOf(POPULATION_RULES)] = "proportional"
    strength: Amount = 1.0
    size: Count = 2
    births: Count = 1


@value
class Mutation:
    """With chance ``rate`` a newborn's genome has a ``share`` of its sentences said in other words, ``by`` its own
    agent or by an observer; with chance ``crossover`` it has a second parent. With chance ``design`` it makes a design
    of its own where the rules need one, instead of taking over its parent's."""

    share: Share = 0.2
    rate: Share = 1.0
    crossover: Share = 0.0
    design: Share = 0.2
    by: Literal["own", "observer"] = "own"


class Evolution(DelegatingMechanism):
    """``population`` members play ``under`` another mechanism, ``meetings`` times per generation, for ``generations``.

    Each is told its genome, an instruction, in the role of the system. ``genomes`` are the founding instructions, in
    turn. ``selection`` says who has offspring, ``mutation`` how the offspring differ. ``arm`` is ``selected`` or one of
    the controls: ``drift`` (the same mutation, parents drawn whatever they earned) and ``frozen`` (everybody stays).

    Under rules with designs that are not given (``mediation``, ``contracting``) the founders each make one, guided by
    their instructions; it is inherited with the instruction, and proposed in every match of its owner.
    """

    society: ClassVar[bool] = True
    may_talk: ClassVar[bool] = False

    @checked
    def __init__(
        self,
        genomes: Sequence[str],
        under: str | Mapping[str, Any] = "none",
        population: Annotated[int, Ge(2)] = 50,
        generations: Count = 10,
        meetings: Count = 1,
        selection: Mapping[str, Any] | str | None = None,
        mutation: Mapping[str, Any] | None = None,
        arm: Literal["selected", "drift", "frozen"] = "selected",
    ) -> None:
        from ostrom.mechanisms import mechanisms

        self.rules = mechanisms.build(under, key="mechanism.under")
        self.name = self.rules.name  # type: ignore[misc]
        self.told = getattr(self.rules, "told", {})
        if isinstance(genomes, str) or not genomes or not all(isinstance(g, str) and sentences(g) for g in genomes):
            raise ValueError(f"genomes must list at least one instruction in words, found {genomes!r}")
        self.founders = [sentences(genome) for genome in genomes]
        if (most := max(map(len, self.founders))) > MOST_SENTENCES:
            raise ValueError(f"genomes may have at most {MOST_SENTENCES} sentences, found {most}")
        self.size, self.generations, self.meetings = population, generations, meetings
        self.selection = options_of(
            ParentSelection, selection if isinstance(selection, str) else selection or {}, "selection", first="rule"
        )
        self.mutation = options_of(Mutation, mutation or {}, "mutation")
        self.arm, self.number = arm, 0
        self.apart = not self.rules.society
        self.observers = int(self.mutation.by == "observer")
        self.players: int | None = None
        self.genomes: list[Genome] | None = None
        self.designs: list[Design | None] | None = None

    def check(self, game: Game) -> None:
        """Refuse inner rules that cannot evolve, games that these refuse, and members that do not fill the tables."""
        if self.rules.observers or isinstance(self.rules, Evolution):
            raise GameError(f"mechanism evolution: cannot be played under {self.rules.name}")
        if isinstance(self.rules, Recognised):
            raise GameError("mechanism evolution: recognise is asked after the last decision, and generations go on")
        members = self.members
        (self.rules.for_players(members) if self.rules.society else self.rules).check(game)
        if not self.rules.society and members % game.seats:
            raise GameError(f"mechanism evolution: {members} members do not fill tables of {game.seats} seats")

    def population(self, names: Sequence[str], seats: int) -> Sequence[str]:  # noqa: ARG002
        """Return the type of every member; all types have equal shares."""
        bounds = [self.size * place // len(names) for place in range(len(names) + 1)]
        return [name for place, name in enumerate(names) for _ in range(bounds[place + 1] - bounds[place])]

    @property
    def members(self) -> int:
        """Return the number of playing members; an observer who paraphrases does not play."""
        return self.size if self.players is None else self.players - self.observers

    def for_players(self, players: int) -> Evolution:
        """The population of so many players, the observer included."""
        return self.with_values(players=players)

    def generation(self, number: int) -> Evolution:
        """These rules for the generation with this number."""
        return self.with_values(number=number)

    def with_preparations(self, outcomes: Sequence[Mapping[str, Any]]) -> Evolution:
        """Return these rules with the genomes and designs that the previous generation left for this one."""
        left = outcomes[0]["next"]
        return self.with_values(genomes=[list(genome) for genome in left["genomes"]], designs=left.get("designs"))

    def play(self, game: Game, streams: Streams) -> Play:
        """Play the matches of a generation, then create the next one."""
        self.check(game)
        genomes = self.genomes or [list(self.founders[i % len(self.founders)]) for i in range(self.members)]
        designs = yield from self._designed(game, streams, genomes)
        rounds, scores = yield from self._matches(game, streams, genomes, designs)
        facts: dict[str, Any] = {"generation": self.number, "genomes": genomes}
        if designs is not None:
            facts["designs"] = designs
        if self.number + 1 < self.generations:
            parents, mates, newborn = self._parents(game, scores, streams)
            bred = [
                list(genomes[p])
                if mate is None
                else crossed(genomes[p], genomes[mate], streams.generator(0, i, "crossover"))
                for i, (p, mate) in enumerate(zip(parents, mates, strict=True))
            ]
            facts["next"] = {
                "genomes": (yield from self._mutated(game, bred, newborn, streams)),
                "parents": parents,
                "mates": mates,
            }
            if designs is not None:
                facts["next"]["designs"] = [
                    None
                    if born and streams.for_round(self.number, i, "design").random() < self.mutation.design
                    else designs[p]
                    for i, (p, born) in enumerate(zip(parents, newborn, strict=True))
                ]
        return Outcome(rounds, tuple(scores), facts)

    def _designed(self, game: Game, streams: Streams, genomes: list[Genome]) -> Designs:
        """Return each member's design: inherited, or made now."""
        preparation = self.rules.preparation(game, 0)
        if preparation is None:
            return None
        designs = list(self.designs or [None] * len(genomes))
        makers = [member for member, design in enumerate(designs) if design is None]
        instructions, cache = [" ".join(genome) for genome in genomes], dict[tuple[int, int], Any]()
        plays = [preparation.play(game, streams) for _ in makers]
        due = [
            self._with_genomes(decision, [member], instructions, 0, cache)
            for member, play in zip(makers, plays, strict=True)
            for decision in next(play)
        ]
        for member, play, answer in zip(makers, plays, (yield due) if due else [], strict=True):
            try:
                play.send([answer])
            except StopIteration as stop:
                designs[member] = stop.value.facts["design"]
        return designs

    def _matches(self, game: Game, streams: Streams, genomes: list[Genome], designs: list[Design] | None) -> Matches:
        """Play the matches of each meeting side by side, meeting after meeting."""
        count, rounds, scores = self.members, list[Round](), [list[float]() for _ in genomes]
        instructions = [" ".join(genome) for genome in genomes]
        for meeting in range(self.meetings):
            order = [int(i) for i in streams.for_round(meeting, 0, "tables").permutation(count)]
            seats = count if self.rules.society else game.seats
            tables = [order[i : i + seats] for i in range(0, count, seats)]
            rules = self.rules.for_players(count) if self.rules.society else self.rules
            plays = [
                (rules if designs is None else rules.with_preparations([{"design": designs[m]} for m in table])).play(
                    game, Streams(streams.seed, key_of(f"{streams.match} {meeting} {place}"))
                )
                for place, table in enumerate(tables)
            ]
            cache: dict[tuple[int, int], tuple[Any, dict[str, Any]]] = {}
            due = {place: next(play) for place, play in enumerate(plays)}
            while due:
                questions = [
                    self._with_genomes(decision, tables[place], instructions, meeting, cache)
                    for place, decisions in due.items()
                    for decision in decisions
                ]
                answers = iter((yield questions))
                replies_at = {place: [next(answers) for _ in decisions] for place, decisions in due.items()}
                for place, replies in replies_at.items():
                    try:
                        due[place] = plays[place].send(replies)
                    except StopIteration as stop:
                        del due[place]
                        table, ended = tables[place], stop.value
                        rounds += [_seated(played, table, meeting) for played in ended.rounds]
                        for player, score in zip(table, ended.scores, strict=True):
                            scores[player].append(score)
        return rounds, [sum(earned) / len(earned) for earned in scores]

    def weights(self, rounds: int) -> Sequence[float]:
        """Return the inner weights divided by the meetings: a generation's score is the mean over them."""
        return [weight / self.meetings for weight in self.rules.weights(rounds)]

    def _with_genomes(
        self, decision: Decision, table: Sequence[int], instructions: Sequence[str], meeting: int,
        told: dict[tuple[int, int], tuple[Any, dict[str, Any]]],
    ) -> Decision:  # fmt: skip
        """Return a question to the member at the table, with its instruction."""
        member, view = table[decision.player], decision.view
        cached = told.get((member, id(view.facts)))
        if cached is None or cached[0] is not view.facts:
            facts = {**view.facts, "instruction": instructions[member], "bout": meeting}
            # Equal facts stay the same object, so that cached texts are reused.
            cached = told[member, id(view.facts)] = (view.facts, facts)
        seen = View(view.game, view.seat, view.mechanism, view.round, view.history, cached[1], view.names)
        return Decision(
            member, decision.kind, seen, decision.form, None if decision.agent is None else table[decision.agent]
        )

    def _parents(
        self, game: Game, scores: Sequence[float], streams: Streams
    ) -> tuple[list[int], list[int | None], list[bool]]:
        count, rule = len(scores), self.selection
        if self.arm == "frozen":
            return list(range(count)), [None] * count, [False] * count
        earned = [0.0] * count if self.arm == "drift" else scores
        rng = streams.for_round(self.number, 0, "selection")
        how = {"strength": rule.strength, "size": rule.size, "births": rule.births}
        least = float(game.payoffs.min())
        parents, newborn = next_parents(rule.rule, earned, rng, **how, least=least)  # type: ignore[arg-type]
        mates: list[int | None] = [None] * count
        if self.mutation.crossover:
            others, _ = next_parents("proportional", earned, rng, **how, least=least)  # type: ignore[arg-type]
            mates = [
                other if born and rng.random() < self.mutation.crossover else None
                for other, born in zip(others, newborn, strict=True)
            ]
        return parents, mates, newborn

    def _mutated(self, game: Game, bred: list[Genome], newborn: Sequence[bool], streams: Streams) -> Steps:
        """Ask for new wordings of sentences of newborns, one sentence of each newborn at a time."""
        places: dict[int, list[int]] = {}
        for member, genome in enumerate(bred):
            rng = streams.generator(0, member, "mutation")
            if newborn[member] and self.mutation.share and rng.random() < self.mutation.rate:
                places[member] = chosen(genome, self.mutation.share, rng)
        while places:
            members = sorted(places)
            answers = yield [self._question(game, member, bred[member][places[member][0]]) for member in members]
            for member, answer in zip(members, answers, strict=True):
                place = places[member].pop(0)
                bred[member][place] = tidy(str(answer.value)) or bred[member][place]
                if not places[member]:
                    del places[member]
        return bred

    def _question(self, game: Game, member: int, sentence: str) -> Decision:
        facts = {"alone": True, "sentence": sentence}
        return Decision(
            member,
            "paraphrase",
            View(game, 0, self.name, facts=facts),
            Text(words=max(20, 3 * len(sentence.split())), characters=1000),
            self.members if self.observers else None,
        )

    def _most_paraphrases(self) -> int:
        """Return the most sentences reworded for one member in one generation."""
        return (
            0
            if self.arm == "frozen" or self.number + 1 >= self.generations or not self.mutation.rate
            else ceil(self.mutation.share * max(map(len, self.founders)))
        )

    def most_decisions(self, game: Game) -> int:
        """The most decisions of one generation: those of its matches, and one per sentence that is reworded."""
        return self.members * (self._playing(game) + self._most_paraphrases())

    def _most_designs(self, game: Game) -> int:
        """The most designs that one member makes in one generation."""
        return (
            0
            if self.rules.preparation(game, 0) is None
            else int(self.number == 0 or (self.arm != "frozen" and self.mutation.design > 0))
        )

    def _playing(self, game: Game) -> int:
        """Return the decisions of one member in a generation's matches, and before them."""
        rules, players = (
            (self.rules.for_players(self.members), self.members) if self.rules.society else (self.rules, game.seats)
        )
        return self.meetings * max(
            rules.decisions_of(game, seat, players) for seat in range(game.seats)
        ) + self._most_designs(game)

    def decisions_of(self, game: Game, player: int, players: int) -> int:  # noqa: ARG002
        """Return the decisions of a member, or of the observer who paraphrases for all."""
        return (
            self.members * self._most_paraphrases()
            if player >= self.members
            else self._playing(game) + (0 if self.observers else self._most_paraphrases())
        )


def _seated(played: Round, table: Sequence[int], meeting: int) -> Round:
    players = tuple(table[p] for p in (played.players or range(len(played.payoffs))))
    way = {"way": table[played.facts["way"]]} if "way" in played.facts else {}
    return replace(played, players=players, facts={**played.facts, **way, "bout": meeting})


MECHANISM = Evolution
