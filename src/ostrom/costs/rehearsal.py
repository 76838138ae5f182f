"""Rehearsal of a match: the number of questions, and the lengths of prompts and replies.

The rules play, chance answers in place of models, and agents write the prompts that they would send; nothing is called
and nothing is kept. Prompts are written in some rounds only: in those between them lengths are interpolated. Rounds of
long matches that are not played repeat the last one that was.
"""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import numpy as np

from ostrom.agents.config import AgentConfig
from ostrom.agents.dialogue import turn_of, with_turn
from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.answers import Answer
from ostrom.answers.random_answers import random_answer
from ostrom.costs.lengths import Lengths
from ostrom.costs.rehearsing import MOST_STEPS, Extreme, RehearsingAgent, alike_steps
from ostrom.engine.plan import Plan, Unit
from ostrom.ground.streams import Streams
from ostrom.mechanisms.protocol import Decision
from ostrom.mechanisms.talk import SILENT
from ostrom.studies.prompts import prepared

REHEARSED, FEWEST = 240, 5
"""The most rehearsed decisions of a match, and the fewest rounds."""
REHEARSED_IN_ALL = 5000
"""The most rehearsed decisions of societies over all cells."""
TIMES = 12
"""The number of rehearsals if the number of decisions varies."""
ALIKE = 3
"""The number of members of a society with equal questions whose prompts are rendered in a round."""
MARGIN = 1.03
"""The factor by which longer action names may lengthen a prompt."""
FAR = 10_000
"""A number of rounds beyond every bounded memory."""


@dataclass(slots=True)
class CallSum:
    """The sum of a player's calls in a match: calls, characters of prompts, tokens of replies."""

    calls: float = 0.0
    characters: float = 0.0
    tokens_out: float = 0.0

    def add(self, times: float, calls: float, characters: float, tokens_out: float, margin: float = 1.0) -> None:
        """Add the calls of a question, ``times`` times; ``margin`` is a factor for longer prompts."""
        self.calls += times * calls
        self.characters += times * characters * margin
        self.tokens_out += times * tokens_out


@dataclass(slots=True)
class Rehearsal:
    """The cost of a match, by player."""

    likely: list[CallSum]
    """The expectation, over random ends too."""
    most: list[CallSum]
    """The bound."""
    bounded: bool
    """Whether every reply is bounded."""
    decisions: float
    varies: bool
    """Whether the number of decisions depended on the players' actions."""
    exact: bool
    """Whether every match has the same number of decisions."""
    tools: bool
    """Whether players may call tools, and so make more calls than decisions."""


@dataclass(slots=True)
class _Sample:
    """One decision with rendered prompts."""

    round: int
    calls: float = 0
    characters: float = 0
    tokens_out: float = 0.0
    most_out: float = 0.0


@dataclass(slots=True)
class _Player:
    """A player's state in a rehearsed match."""

    parts: dict[str, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    turns: list[Answer] = field(default_factory=list)
    left: dict[str, list[Answer]] = field(default_factory=dict)
    """The answers with turns that the last rendered decision of a kind left."""


class _Context:
    """The decision context of a rehearsal."""

    def __init__(self, streams: Streams, step: int, place: int, rehearsed: _Player) -> None:
        self._streams, self.step, self.player, self._rehearsed = streams, step, place, rehearsed
        self.unit = 0

    def draw(self, purpose: str = "", step: int | None = None) -> np.random.Generator:
        return self._streams.generator(self.step if step is None else step, self.player, purpose)

    def chance(self, purpose: str = "") -> float:
        return self._streams.chance(self.step, self.player, purpose)

    async def answer_once(self, part: str, work: Callable[[], Awaitable[Answer]]) -> Answer:
        answer = await work()
        self._rehearsed.parts[part].append(answer)
        self.keep(answer)
        return answer

    def keep(self, answer: Answer) -> None:
        if turn_of(answer) is not None:
            self._rehearsed.turns.append(answer)

    def earlier_answers(self, part: str) -> list[Answer]:
        return self._rehearsed.parts[part]

    def earlier_turns(self) -> list[Answer]:
        return list(self._rehearsed.turns)

    def count_invalid(self, reason: str) -> None:
        raise AssertionError(f"a drawn answer was refused: {reason}")


NOTE = "a note"
"""The kind of the question for a memory note."""
_Key = tuple[int, int, str]
"""A configuration, a seat, and a kind of question: equal questions."""


class RehearsedMatch:
    """One rehearsed unit: its agents, and the samples of all rehearsals."""

    agent_class: type[RehearsingAgent] = RehearsingAgent
    most_steps = MOST_STEPS
    with_trees = False
    """Whether precomputed agents render their prompts too."""

    def __init__(self, plan: Plan, unit: Unit, lengths: Lengths, *, longest: bool):
        self.unit, self.longest = unit, longest
        rules, game = prepared(plan, unit), unit.game
        self.rounds = rules.most_rounds(game)
        self.played = min(self.rounds, max(FEWEST, REHEARSED // max(1, rules.most_decisions(game) // self.rounds)))
        self.rules = rules.with_rounds(self.played)
        self.asked: list[list[tuple[int, _Key, int]]] = []
        """For each rehearsal its decisions: player, question key, round."""
        self.samples: dict[_Key, list[_Sample]] = defaultdict(list)
        self.configs = {id(seated.config): seated.config for seated in unit.players}
        self.agents: dict[int, Any] = {
            key: self.agent_class(plan, config, lengths, longest=longest)
            for key, config in self.configs.items()
            if config.model is not None and (config.tree is None or self.with_trees)
        }
        self.memories = {key: agent.memory for key, agent in self.agents.items()}
        self.nodes = self._nodes()
        self.steps = 0
        self._means: dict[_Key, dict[int, _Sample]] = {}
        self._lines: dict[_Key, float] = {}

    def _nodes(self) -> set[int]:
        """Return the rounds in which prompts are rendered: increasingly sparse, and where a memory is full."""
        full = {memory.most_lines(FAR) + 1 for memory in self.memories.values()}
        self.bends = {1, 2, self.played, self.played + 1} | full
        """The rounds between which a prompt grows linearly."""
        doubled = (3 * 2**power for power in range(self.played.bit_length()))  # 3, 6, 12, ...
        return self.bends | {number for number in doubled if number < self.played}

    def speaks(self, place: int) -> bool:
        """Return whether a model answers for a player."""
        return id(self.unit.players[place].config) in self.agents

    @property
    def texts(self) -> bool:
        """Return whether calls or prompts depend on text lengths, tool calls, ended replies, or a random memory."""
        agents = self.agents.values()
        return any(a.tools or a.model.abilities.prefill or (self.steps > 1 and a.texts) for a in agents)

    def decisions(self, number: int) -> int:
        """How many decisions a rehearsal had."""
        return sum(key[2] != NOTE for _, key, _ in self.asked[number])

    def weighted(self, number: int) -> float:
        """Return the expected number of decisions of a match, from one rehearsal."""
        survival = self.unit.mechanism.survival
        return sum(sum(self._weights(key, at, survival)) for _, key, at in self.asked[number] if key[2] != NOTE)

    def _weights(self, key: _Key, number: int, survival: Callable[[int], float]) -> list[float]:
        """Return the expected number of occurrences of a rehearsed round, and of those it represents."""
        if number > self.played:  # after the match
            return [1.0]
        last = self.rounds if number == self.played and key[2] not in SILENT else number
        return [survival(at) for at in range(number, last + 1)]

    def weighed(self, key: _Key, number: int, survival: Callable[[int], float]) -> Iterator[tuple[float, _Sample]]:
        """Yield the questions of one kind in a round and those it represents: how often, and their size."""
        if not self.samples.get(key):
            return
        weights = self._weights(key, number, survival)
        total, mean, more = sum(weights), self._mean(key, number), 0.0
        if len(weights) > 1:
            memory = self.memories[key[0]]
            lines = memory.most_lines(number - 1)
            more = sum(weight * (memory.most_lines(number - 1 + later) - lines) for later, weight in enumerate(weights))
        if total:
            more *= self._lines[key] / total
            yield total, replace(mean, characters=mean.characters + more) if more else mean

    def _mean(self, key: _Key, number: int) -> _Sample:
        """Return the size of a question in a round, interpolated between rendered rounds."""
        if key not in self._means:
            self._tabulate(key)
        return self._means[key][number]

    def _tabulate(self, key: _Key) -> None:
        """Compute the size of a question in every round, and the growth per shown round."""
        samples, memory = self.samples[key], self.memories[key[0]]
        rounds, middle = sorted({sample.round for sample in samples}), np.max if self.longest else np.mean
        rows = np.array([middle([astuple(s)[1:] for s in samples if s.round == at], axis=0) for at in rounds])
        every = range(1, max(self.played + 1, rounds[-1]) + 1)
        columns = [np.interp(every, rounds, column).tolist() for column in rows.T]
        self._means[key] = {
            at: _Sample(at, *values) for at, *values in zip(every, *columns, strict=True)
        }  # fmt: skip
        lines, line = [memory.most_lines(at - 1) for at in rounds], 0.0
        if len(rounds) > 1 and lines[-1] > lines[-2]:
            line = max(0.0, float(rows[-1][1] - rows[-2][1]) / (lines[-1] - lines[-2]))
        self._lines[key] = line

    def growth(self, config: AgentConfig) -> float:
        """Return the characters that rounds not rehearsed can add to a prompt."""
        memory, keys = self.memories[id(config)], [key for key in self.samples if key[0] == id(config)]
        for key in keys:
            self._mean(key, self.played)
        return float(
            (memory.most_lines(self.rounds - 1) - memory.most_lines(self.played - 1))
            * max(self._lines[key] for key in keys)
        )

    def rehearse(self, times: int, extreme: Extreme | None = None) -> None:
        """Play the match until it was rehearsed ``times`` times, each with its own random draws."""
        for agent in self.agents.values():
            agent.extreme = extreme
        while len(self.asked) < times:
            self._rehearse()

    def _rehearse(self) -> None:
        unit, place = self.unit, len(self.asked)
        streams = unit.streams if place == 0 else Streams(unit.seed + 7919 * place, unit.streams.match)
        players: dict[int, _Player] = defaultdict(_Player)
        scripts = {
            place: ScriptedAgent(strategies.build(seated.config.strategy))
            for place, seated in enumerate(unit.players)
            if seated.config.strategy is not None
        }
        questions: list[tuple[int, _Key, int]] = []
        self._before: Counter[tuple[Any, ...]] = Counter()
        # The longest prompt may occur in any rehearsal; the likely one needs one sample.
        self._from = Counter({key: len(of) for key, of in self.samples.items()} if self.longest else {})
        self.asked.append(questions)
        play, self._rng = self.rules.play(unit.game, streams), streams.generator(0, 0, "rehearsal")
        try:
            due = next(play)
            for step in range(self.most_steps):
                self.steps = max(self.steps, step + 1)
                due = play.send([
                    self._answer(decision, step, streams, players, scripts, questions) for decision in due
                ])  # fmt: skip
        except StopIteration:
            return

    def _answer(
        self, decision: Decision, step: int, streams: Streams, players: dict[int, _Player],
        scripts: dict[int, ScriptedAgent], questions: list[tuple[int, _Key, int]],
    ) -> Answer:  # fmt: skip
        who = decision.player if decision.agent is None else decision.agent
        config, number = self.unit.players[who].config, decision.view.round
        agent = self.agents.get(id(config))
        seats, society = self.unit.game.seats, self.unit.mechanism.society
        kind = decision.kind if society else self._numbered(decision, who)
        key = (id(config), decision.view.seat if society else who % max(seats, 1), kind)
        questions.append((who, key, number))
        if agent is None and who in scripts:
            context = _Context(streams, step, decision.player, players[decision.player])
            return scripts[who].reply(decision, context)  # type: ignore[arg-type]
        if agent is None:
            return random_answer(decision.form, self._rng, 40)
        if self._writes(decision, agent, key):
            return self._written(
                decision, agent, key, _Context(streams, step, decision.player, players[who]), players[who]
            )
        return self._unwritten(decision, agent, key, self._rng, players[who], questions, who)

    def _writes(self, decision: Decision, agent: RehearsingAgent, key: _Key) -> bool:  # noqa: ARG002
        """Return whether the prompts of a decision are rendered: some of equal ones, in some rounds."""
        number, nodes = decision.view.round, self.nodes if key[2] == decision.kind else self.bends
        alike = sum(sample.round == number for sample in self.samples[key][self._from[key] :])
        return alike < (ALIKE if self.unit.mechanism.society else 1) and (number in nodes or not self.samples[key])

    def _numbered(self, decision: Decision, who: int) -> str:
        """Return the kind of a question, numbered within a round, since later ones quote more."""
        place = who, decision.kind, decision.view.round, decision.view.facts.get("bout", 0)
        self._before[place] += 1
        return decision.kind if self._before[place] == 1 else f"{decision.kind} {self._before[place]}"

    def _written(
        self, decision: Decision, agent: RehearsingAgent, key: _Key, context: _Context, player: _Player
    ) -> Answer:
        """Answer with rendered and measured prompts."""
        agent.calls.clear()
        before = len(player.turns)
        answer: Answer = _run(agent.answer(decision, context))  # type: ignore[arg-type]
        context.keep(answer)
        player.left[decision.kind] = player.turns[before:]
        note, sample, number = f"{agent.memory.asks}.", _Sample(decision.view.round), decision.view.round
        for part, characters, usual, most in agent.calls:
            of = sample
            if agent.memory.takes_notes and part.startswith(note):
                of = _Sample(number)
                self.samples[key[0], key[1], NOTE].append(of)
                self.asked[-1].append((context.player, (key[0], key[1], NOTE), number))
            of.calls += 1
            of.characters += characters
            of.tokens_out += usual
            of.most_out += most
        self.samples[key].append(sample)
        return answer

    def _unwritten(
        self, decision: Decision, agent: RehearsingAgent, key: _Key, rng: np.random.Generator, player: _Player,
        questions: list[tuple[int, _Key, int]], who: int,
    ) -> Answer:  # fmt: skip
        """Answer without prompts, with the same effects as a rendered one."""
        view, memory = decision.view, agent.memory
        if memory.takes_notes:
            notes = agent._notes(_Context(Streams(0, 0), 0, who, player))  # type: ignore[arg-type]
            if (due := memory.due(view, notes)) is not None:
                player.parts[memory.asks].append(replace(agent.drawn(due.form, rng), facts={"covers": due.covers}))
                questions.append((who, (key[0], key[1], NOTE), view.round))
        for left in player.left.get(decision.kind, ()):
            turn = turn_of(left)
            if turn is not None:
                turn = replace(turn, nth=len(player.turns), round=view.round, bout=int(view.facts.get("bout", 0)))
                player.turns.append(with_turn(left, turn))
        return agent.drawn(decision.form, rng)


def _run(work: Any) -> Any:
    """The result of a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("a rehearsal waits for nothing")


def rehearsed(plan: Plan, unit: Unit, lengths: Lengths, cells: int = 1) -> Rehearsal:
    """Rehearse a unit of one of so many cells, with the lengths that were measured."""
    match = RehearsedMatch(plan, unit, lengths, longest=False)
    rules, most = unit.mechanism, match.rules.most_decisions(unit.game)
    match.rehearse(1 if rules.society else 3)  # one may be the longest by chance
    counts = [match.decisions(number) for number in range(len(match.asked))]
    if not rules.society:  # chance may come to the longest every time
        counts += [_count(match, Extreme(last=last)) for last in (False, True)]
    exact = min(counts) >= most and not rules.spreads and not unit.game.stateful
    again = not exact and not rules.society
    if not exact:  # societies have many members, and many cells, which make up for times
        match.rehearse(TIMES if again else max(1, min(TIMES, REHEARSED_IN_ALL // (cells * match.decisions(0)))))
    longest = match
    if match.texts or again:
        longest = RehearsedMatch(plan, unit, lengths, longest=True)
        longest.rehearse(1)
    if again:  # the longest match may be one that chance does not come to
        longest.rehearse(2, Extreme(last=False))
        longest.rehearse(3, Extreme(last=True))
    counts = [of.decisions(number) for of in (match, longest) for number in range(len(of.asked))]
    spread = rules.spreads and len(match.agents) < len(match.configs)
    numbers = range(len(match.asked))
    return Rehearsal(
        _likely(match),
        _exact_bound(longest) if longest.decisions(0) >= most and not rules.spreads else _loose_bound(longest),
        all(agent.bounded for agent in longest.agents.values()),
        sum(match.weighted(number) for number in numbers) / len(numbers),
        spread or min(counts) < max(counts),
        exact,
        any(agent.tools for agent in match.agents.values()),
    )


def _count(match: RehearsedMatch, extreme: Extreme) -> int:
    """How many decisions a match has in which all players answer alike, without a word."""
    return sum(map(len, alike_steps(match.rules, match.unit, extreme)))


def _likely(match: RehearsedMatch) -> list[CallSum]:
    """The mean over all rehearsals, in which every round counts as often as it takes place."""
    shares, part = [CallSum() for _ in match.unit.players], 1 / len(match.asked)
    for course in match.asked:
        for (who, key, number), count in Counter(course).items():
            for weight, mean in match.weighed(key, number, match.unit.mechanism.survival):
                shares[who].add(part * count * weight, mean.calls, mean.characters, mean.tokens_out)
    return shares


def _exact_bound(match: RehearsedMatch) -> list[CallSum]:
    """Every round takes place, and every player is asked in it as often as it was."""
    shares = [CallSum() for _ in match.unit.players]
    for (who, key, number), count in Counter(match.asked[0]).items():
        for weight, mean in match.weighed(key, number, lambda _: 1.0):
            shares[who].add(count * weight, mean.calls, mean.characters, mean.most_out, MARGIN)
    return shares


def _loose_bound(match: RehearsedMatch) -> list[CallSum]:
    """An upper bound of each player's calls: the most the rules allow or that were seen, with the longest prompt."""
    unit, shares = match.unit, list[CallSum]()
    rules, game, players = unit.mechanism, unit.game, len(unit.players)
    speaking = [place for place in range(players) if match.speaks(place)]
    stretch = match.rounds / match.played
    seen = [Counter(who for who, key, _ in decisions if key[2] != NOTE) for decisions in match.asked]
    for place in range(players):
        own = place if match.speaks(place) or not rules.spreads or not speaking else speaking[0]
        config = unit.players[own].config
        means = [sample for key, of in match.samples.items() if key[0] == id(config) for sample in of]
        if not means:
            shares.append(CallSum())
            continue
        decisions = max(rules.decisions_of(game, place, players), *(round(count[place] * stretch) for count in seen))
        calls = decisions * max(mean.calls for mean in means) + match.memories[id(config)].most_notes(
            rules.longest_history(game)
        )
        longest = max(mean.characters / mean.calls for mean in means) + match.growth(config)
        shares.append(
            CallSum(calls, calls * longest * MARGIN, calls * max(mean.most_out / mean.calls for mean in means))
        )
    most = rules.most_decisions(game) * max(
        (sample.calls for samples in match.samples.values() for sample in samples), default=0
    )
    total = sum(share.calls for share in shares)
    every_seat = rules.spreads or len(speaking) == players
    if not every_seat or total <= most or any(memory.takes_notes for memory in match.memories.values()):
        return shares
    return [CallSum(*(most / total * part for part in astuple(share))) for share in shares]
