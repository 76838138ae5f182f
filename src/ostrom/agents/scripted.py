"""The scripted agent: a strategy at a seat, with draws from its odds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ostrom.agents.base import DecisionContext
from ostrom.agents.conduct import CONDUCT, Conduct, shared_past
from ostrom.agents.past import Past
from ostrom.agents.strategy import Strategy
from ostrom.answers import Answer, Choice, Form, Mixture, Number, Record, Text
from ostrom.answers.forms import Misfit, fitted
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.protocol import Decision, Round, View
from ostrom.memory.base import Memory

Draw: TypeAlias = Callable[[], float]
"""Returns a number in [0, 1) for this decision; called only if something is drawn."""


class ScriptedAgent:
    """One strategy in one seat of one match.

    With a ``memory`` the strategy plays as if the match had begun with the first round it is shown.
    ``conduct`` answers the questions that are not about its action, unless the strategy does so itself.
    """

    instant = True

    def __init__(
        self, strategy: Strategy, memory: Memory | None = None, conduct: Mapping[str, Conduct] = CONDUCT
    ) -> None:
        self.strategy, self.memory, self.conduct = strategy, memory, conduct
        # Strategies with internal randomness draw by a seed of the match, not of the decision.
        self._unseeded, self._move = getattr(strategy, "seed", 0) is None, strategy.move
        self._plain: Choice | None = None
        self._facts: Mapping[str, Any] | None = None
        """The facts of the last decision, if they hold no records and the agent has no memory."""
        self._certain: dict[tuple[float, ...], Answer] = {}
        self._past: Past | None = None
        """The past of the strategy, if its chance of cooperating was all that the last decision asked of it."""

    def reply(self, decision: Decision, context: DecisionContext) -> Answer:
        """Answer at once."""
        view, form, past = decision.view, decision.form, self._past
        if (
            form is self._plain
            and view.facts is self._facts
            and decision.kind == "act"
            and past is not None
            and view.game is past.game
            and view.seat == past.seat
        ):
            # ``Strategy.odds`` without its calls: scripted play does little else.
            past.view, past.rounds = view, view.history.played_rounds()
            p = self._move(past)
            return past.replies.get(p) or self._choose(view, form, self.strategy._odds_at(past, p), context.chance)
        self._past, self._facts = None, None if self.memory is not None or "records" in view.facts else view.facts
        if self._unseeded:
            self.strategy.seed = int(context.draw("strategy", 0).integers(2**32))  # type: ignore[attr-defined]
            self._unseeded = False
        if self.memory is None:
            return self.decide(decision, context.chance)
        memory_view = self.memory.show(decision.view, lambda number, purpose: context.draw(f"memory:{purpose}", number))
        rounds = [r for r in memory_view.rounds if not r.void] if decision.view.history.gaps else memory_view.rounds
        return self.decide(decision, context.chance, rounds)

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        """The answer of ``reply``, for callers that await it."""
        return self.reply(decision, context)

    def decide(self, decision: Decision, draw: Draw, rounds: Sequence[Round] | None = None) -> Answer:
        """Answer one decision; ``rounds`` are those remembered, by default the whole history."""
        view, form = decision.view, decision.form
        if decision.kind != "act" and not self._asks_for_action(decision.kind, view, form):
            return self._say(decision.kind, view, form)
        if "records" in view.facts and self.strategy.memory_depth:  # otherwise it is not needed
            rounds = shared_past(view, rounds)
        if rounds is not None and rounds is not view.history:
            self.strategy.forget()
        if form is not self._plain:
            return self._act(view, form, draw, rounds)
        odds = self.strategy.odds(view, rounds)
        self._past = self.strategy.fitted
        return self._certain.get(odds) or self._choose(view, form, odds, draw)

    def _by_rule(self, view: View, form: Form, draw: Draw, rounds: Sequence[Round] | None) -> Answer:
        """Return a move in a game by a rule: amounts are not enumerated, so only likely ones have odds."""
        chosen = self.strategy.choose(Past(view, rounds, self.strategy.tolerance), form)
        if isinstance(form, Mixture | Record | Text):
            raise StudyError(f"strategy {self.strategy.name} cannot act by filling in a {type(form).__name__}")
        options: Sequence[str] = form.amounts if isinstance(form, Number) else form.options
        if chosen is None:
            at = min(int(draw() * len(options)), len(options) - 1)
            even = {o: 1 / len(options) for o in options} if isinstance(form, Choice) else None
            return Answer(_plain_value(form, options[at]), "scripted", even)
        likely = {v: p for v, p in chosen.items() if p > 0} if isinstance(chosen, Mapping) else {chosen: 1.0}
        for value in likely:
            if value not in options:
                raise StudyError(
                    f"strategy {self.strategy.name} wants to play {value!r} in game {view.game.name}, "
                    f"which is not an option here: at the stage {view.facts['stage']} of round {view.round} "
                    f"seat {view.seat + 1} {asked_for(form)}"
                )
        odds = {str(v): p for v, p in likely.items()}
        drawn = next(iter(odds)) if len(odds) == 1 else _drawn(odds, draw())
        return Answer(_plain_value(form, drawn), "scripted", odds)

    def _act(self, view: View, form: Form, draw: Draw, rounds: Sequence[Round] | None) -> Answer:
        if not view.game.has_table:
            return self._by_rule(view, form, draw, rounds)
        names = view.game.actions[view.seat]
        if isinstance(form, Choice):
            if form.options == names:
                # Cache: the same form object always gives the same answer.
                self._plain, self._certain, self._past = form, {}, None
            elif len(form.options) > len(names):
                # A mechanism may offer options that are no actions of the game: these are decided first.
                for option in form.options:
                    if option not in names and self._takes(option, view, form):
                        return Answer(option, "scripted", {o: float(o == option) for o in form.options})
            return self._choose(view, form, self.strategy.odds(view, rounds), draw)
        if isinstance(form, Mixture):
            return _mixed(self._by_option(names, self.strategy.odds(view, rounds), form.options, view), form)
        raise StudyError(f"strategy {self.strategy.name} cannot act by filling in a {type(form).__name__}")

    def _choose(self, view: View, form: Choice, odds: tuple[float, ...], draw: Draw) -> Answer:
        names = view.game.actions[view.seat]
        chances = self._by_option(names, odds, form.options, view)
        if 1.0 not in odds:
            return Answer(_drawn(chances, draw()), "scripted", chances)
        answer = Answer(names[odds.index(1.0)], "scripted", chances)
        if form is self._plain:
            # Cache: most scripted moves are certain and few, so each Answer is built once.
            self._certain[odds] = answer
            if self._past is not None:
                self._past.replies[odds[view.game.cooperative[view.seat] or 0]] = answer
        return answer

    def _by_option(
        self, names: Sequence[str], odds: Sequence[float], options: Sequence[str], view: View
    ) -> dict[str, float]:
        chances = dict.fromkeys(options, 0.0)
        for name, p in zip(names, odds, strict=True):
            if name in chances:
                chances[name] = p
            elif p > 0.0:
                raise StudyError(
                    f"strategy {self.strategy.name} wants to play {name!r} in game {view.game.name}, "
                    "which is not an option here",
                    allowed=options,
                )
        return chances

    def _takes(self, option: str, view: View, form: Form) -> bool:
        """Return whether the strategy takes an option that is no action: by its own method, or by default conduct."""
        own = None if hasattr(Strategy, option) else getattr(self.strategy, option, None)
        if callable(own):
            return bool(own(view, form))
        return option in self.conduct and bool(self.conduct[option](self.strategy, view, form))

    def _asks_for_action(self, kind: str, view: View, form: Form) -> bool:
        """Return whether a question without default conduct asks for an action (a pledge, an announcement).

        Scripts are consistent: they answer with what they would do.
        """
        return (
            not (kind in self.conduct or hasattr(self.strategy, kind))
            and isinstance(form, Choice)
            and form.options == view.game.actions[view.seat]
        )

    def _say(self, kind: str, view: View, form: Form) -> Answer:
        strategy = self.strategy
        # A kind that shares its name with a method of every strategy ("move") is not the strategy's own answer.
        own = None if hasattr(Strategy, kind) else getattr(strategy, kind, None)
        if not callable(own) and kind not in self.conduct:
            raise StudyError(f"strategy {strategy.name} cannot answer a {kind!r} decision")
        value = own(view, form) if callable(own) else self.conduct[kind](strategy, view, form)
        if isinstance(form, Choice) and value not in form.options:
            raise StudyError(
                f"strategy {strategy.name} gave no valid answer to a {kind!r} decision",
                actual=value,
                allowed=form.options,
            )
        try:
            return Answer(fitted(value, form.schema) if isinstance(form, Record) else value, "scripted")
        except Misfit as misfit:
            raise StudyError(
                f"strategy {strategy.name} gave no valid answer to a {kind!r} decision: {misfit}", actual=value
            ) from None


def asked_for(form: Choice | Number) -> str:
    """Describe the allowed answers of a form.

    >>> asked_for(Number(0, 50)), asked_for(Choice(("in", "out")))
    ('names a number from 0 to 50 in steps of 1', 'chooses one of: in, out')
    """
    if isinstance(form, Number):
        return f"names a number from {form.low} to {form.high} in steps of {form.step}"
    return f"chooses one of: {', '.join(form.options)}"


def _plain_value(form: Form, name: str) -> Any:
    """Return an option as an answer value: an amount as a number."""
    return form.amounts.value(form.amounts.index(name)) if isinstance(form, Number) else name


def _drawn(chances: Mapping[str, float], u: float) -> str:
    """Draw one option by its odds, in order."""
    passed, chosen = 0.0, ""
    for option, p in chances.items():
        if p > 0.0:
            # The last possible option gets the rounding remainder.
            chosen, passed = option, passed + p
            if u < passed:
                break
    return chosen


def _mixed(chances: Mapping[str, float], form: Mixture) -> Answer:
    percentages = whole_percentages(chances, form.caps)
    free = percentages if form.caps is None else whole_percentages(chances)
    capped = [f"{o} {free[o]} to {percentages[o]}" for o in free if percentages[o] < free[o]]
    note = f"capped: {', '.join(capped)}" if capped else None
    return Answer(percentages, "scripted", {o: n / 100 for o, n in percentages.items()}, note)


def whole_percentages(odds: Mapping[str, float], caps: Mapping[str, int] | None = None) -> dict[str, int]:
    """Round to whole percentages by largest remainder; what caps cut off goes to other options.

    The cut part is shared in proportion to the odds of the options with room, or evenly if they have none.

    >>> whole_percentages({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})
    {'a': 34, 'b': 33, 'c': 33}
    >>> whole_percentages({"cooperate": 0.0, "defect": 1.0}, {"defect": 40})
    {'cooperate': 60, 'defect': 40}
    """
    room = {option: 100 if caps is None else caps.get(option, 100) for option in odds}
    if sum(room.values()) < 100:
        raise StudyError("the caps leave no room for percentages that sum to 100", actual=dict(caps or {}))
    exact = _within(odds, room)
    # The margin accepts sums like 0.1 + 0.2 that are slightly below a whole number.
    percentages = {option: int(share + 1e-9) for option, share in exact.items()}
    by_remainder = sorted(exact, key=lambda option: percentages[option] - exact[option])
    for option in by_remainder[: 100 - sum(percentages.values())]:
        percentages[option] += 1
    return percentages


def _within(odds: Mapping[str, float], room: Mapping[str, int]) -> dict[str, float]:
    """Return percentages under the caps, not yet rounded."""
    share = {option: 100.0 * p for option, p in odds.items()}
    for _ in odds:
        excess = sum(max(0.0, share[o] - room[o]) for o in share)
        if excess <= 1e-9:
            break
        share = {o: min(share[o], room[o]) for o in share}
        free = [o for o in share if share[o] < room[o]]
        weight = {o: share[o] for o in free} if any(share[o] for o in free) else dict.fromkeys(free, 1.0)
        total = sum(weight.values())
        share |= {o: share[o] + excess * weight[o] / total for o in free}
    return share
