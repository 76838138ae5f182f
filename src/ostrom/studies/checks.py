"""Checks of a study before its first match: parameters, attributes, strategies, memories and framings."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.agents.language import check_persona, library_for
from ostrom.agents.past import Past
from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.agents.strategy import Strategy
from ostrom.agents.tools import tools
from ostrom.answers import Answer, Number
from ostrom.engine.plan import Seated, Unit
from ostrom.framing import Library
from ostrom.framing.library import ENGLISH
from ostrom.framing.rules import games_in_story
from ostrom.games.amounts import Amounts
from ostrom.games.describe import formula_of
from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import StudyError, UnknownName, UsageError, unknown_key
from ostrom.ground.registry import parse_spec
from ostrom.ground.streams import Streams
from ostrom.mechanisms import Mechanism
from ostrom.mechanisms.protocol import Decision, History, Round, View
from ostrom.mechanisms.rounds import Rounds
from ostrom.memory import memories
from ostrom.models import params_of
from ostrom.models.services import full_name
from ostrom.studies.factors import RESERVED, Factor

MOST_OUTCOMES = 200
"""The number of outcomes from which a payoff list in a prompt gives a warning."""
SAMPLED = 100
"""The number of units whose prompts are sampled."""
TOKENS = 13
"""The approximate tokens of an outcome per seat."""
RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "temperature": ("must be a number of at least 0", lambda v: _is_number(v) and v >= 0),
    "top_p": ("must be a number from 0 to 1", lambda v: _is_number(v) and 0 <= v <= 1),
    "min_p": ("must be a number from 0 to 1", lambda v: _is_number(v) and 0 <= v <= 1),
    "top_k": ("must be a whole number of at least 0", lambda v: _is_number(v) and v >= 0 and v % 1 == 0),
    "max_tokens": ("must be a whole number of at least 1", lambda v: _is_number(v) and v >= 1 and v % 1 == 0),
    "seed": ("must be a whole number", lambda v: isinstance(v, int) and not isinstance(v, bool)),
    "stop": (
        "must be a text or a list of texts",
        lambda v: all(isinstance(item, str) for item in (v if isinstance(v, list) else [v])),
    ),
    "reasoning_effort": ("must be a text", lambda v: isinstance(v, str)),
    "extra": ("must map names to values", lambda v: isinstance(v, dict)),
}
"""The allowed values of sampling parameters, for clients that accept them."""
FEW_SEATS = 16
MOST_TRIED = 100
"""The number of rounds in which fixed moves are tried."""


def check_asking(config: AgentConfig, file: str | None) -> None:
    """Refuse unknown tools, parameters that the model's client does not accept, and impossible values."""
    for tool in config.tools:
        tools.build(tool, key="agent.tools", file=file)
    for name in config.params:
        params = _model_params(config.model)
        if params is not None and name not in params:
            of = f"{config.model.partition('/')[0]} models" if config.model else "models"
            text = unknown_key(name, params, f"the parameters of {of}")
            raise StudyError(
                text,
                file=file,
                key=f"agent.params.{name}",
                allowed=[k if k != "extra" else "extra (a mapping of what only this server takes)" for k in params],
            )
    for name, (rule, holds) in RULES.items():
        if config.params.get(name) is not None and not holds(config.params[name]):
            raise StudyError(rule, file=file, key=f"agent.params.{name}", actual=config.params[name])


def _model_params(model: str | None) -> Iterable[str] | None:
    """Return a model's parameters; without a model, those of any client; None if unknown."""
    with suppress(UsageError):  # an unknown provider is reported when models are checked
        return RULES if model is None else params_of(model)
    return RULES


def check_attributes(agents: Iterable[AgentConfig], factors: Iterable[Factor], file: str | None) -> None:
    """Refuse attributes whose names are invalid as columns or already in use."""
    reserved = (
        RESERVED
        | {"game", "mechanism", "model", "strategy"}
        | {name for factor in factors for name in (factor.name, *factor.traits)}
    )
    for name in dict.fromkeys(name for config in agents for name in config.attributes):
        if name in reserved or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise StudyError(
                "an attribute needs a name of its own: small letters, digits and _, no column of the tables",
                file=file, key="agent.attributes", actual=name,
            )  # fmt: skip


def check_cell(
    game: Game, mechanism: Mechanism, seatings: Sequence[Sequence[Seated]], policy: str, file: str | None
) -> None:
    """Refuse players that cannot play a cell, or must not be told its words."""
    check_strategies(game, mechanism, seatings, file)
    check_spreading(mechanism, seatings, file)
    check_chances(seatings, file)
    check_author(game, seatings, file)
    check_policy_action(policy, game, file)


def check_spreading(mechanism: Mechanism, seatings: Iterable[Sequence[Seated]], file: str | None) -> None:
    """Refuse people in mechanisms in which players adopt each other's strategies."""
    if mechanism.spreads or mechanism.generations > 1:
        for person in (p for players in seatings for p in players if p.config.kind == "person"):
            raise StudyError(
                f"ways of playing spread, and {person.name} is a person, whose way nobody else can take over",
                file=file, key="mechanism.imitation" if mechanism.spreads else "mechanism.generations",
            )  # fmt: skip


def check_author(game: Game, seatings: Iterable[Sequence[Seated]], file: str | None) -> None:
    """Refuse a model as player of a story that it wrote itself."""
    author = game.params.get("author")
    if author is not None and any(p.config.model == author for players in seatings for p in players):
        raise StudyError(
            f"wrote the scenario {game.name}; a model does not play what it wrote",
            file=file,
            key="model",
            actual=author,
        )


def check_chances(seatings: Iterable[Sequence[Seated]], file: str | None) -> None:
    """Refuse a framing that says all players choose by chances, if one of them does not."""
    for players in seatings:
        asked = [p for p in players if p.config.strategy is None]
        for p in asked if any(p.config.framing.chances for p in asked) else ():
            if not p.observes and p.config.answer != "mixture":
                raise StudyError(
                        f"says that all players choose by chances; {p.name} answers with one action "
                        "(answer: mixture makes it choose by chances)",
                        file=file, key="agent.framing.chances", actual=True,
                    )  # fmt: skip


def check_strategy_name(spec: str | Mapping[str, Any], file: str | None) -> None:
    """Build a strategy; the error for a model's name in its place says so."""
    try:
        strategies.build(spec, key="agent.strategy", file=file)
    except UnknownName as error:
        name = parse_spec(spec)[0]
        guess = full_name(name)
        if guess is None:
            raise
        raise StudyError(
            f"{name!r} is no strategy but looks like a model: write {guess!r}", file=file, key=error.key
        ) from None


def library_of(config: AgentConfig, library: Library, file: str | None) -> Library:
    """Return the prompt library of a configuration; a missing prompt set is refused."""
    try:
        return library_for(config, library)
    except StudyError as error:
        if error.key not in ("agent.prompts", "agent.framing.language"):
            raise
        raise StudyError(
            error.problem,
            file=file,
            key=error.key,
            actual=config.prompts if error.key == "agent.prompts" else config.framing.language,
        ) from None


def check_prompts(config: AgentConfig, library: Library, file: str | None) -> None:
    """Refuse names without a prompt file, with the key at which they stand."""
    framing = config.framing
    names = {
        "payoffs": ("payoffs", framing.payoffs),
        "history": ("history", framing.history),
        "goal": ("goals", framing.goal),
        "hint": ("hints", framing.hint),
        "story": ("stories", framing.story),
        "layout": ("layouts", framing.layout),
    }
    for key, (kind, name) in names.items():
        if name is not None and (key != "story" or not games_in_story(name, library)):
            try:
                library.need(kind, name)
            except UnknownName as error:
                if framing.language != ENGLISH:
                    raise library.missing(f"{kind}/{name}.txt") from None
                raise error.with_place(file, f"agent.framing.{key}") from None
    if framing.language != ENGLISH and (framing.meanings or framing.names == "titles"):
        key = "meanings" if framing.meanings else "names"
        raise StudyError(
            f"the words that games carry are not translated into {framing.language}",
            file=file, key=f"agent.framing.{key}", actual=getattr(framing, key),
        )  # fmt: skip
    if framing.story in library.names("stories"):
        library.story(f"stories/{framing.story}.txt")
    try:
        check_persona(config, library)
    except UnknownName as error:
        raise error.with_place(file, error.key) from None


def long_tables(units: Iterable[Unit]) -> str:
    """Return a warning if prompts list the payoffs of very many outcomes; empty otherwise."""
    for unit in units:
        framings = [player.config.framing for player in unit.players if player.config.kind == "model"]
        tables = any(framing.payoffs not in ("formula", "words", None) for framing in framings)
        outcomes = math.prod(map(len, unit.game.actions)) if isinstance(unit.game, TensorGame) else 0
        if tables and outcomes >= MOST_OUTCOMES:
            short = None not in [formula_of(unit.game, seat) for seat in range(unit.game.seats)]
            way = "formula` says the same in a line" if short else "null` leaves them out"
            tokens = int(float(f"{outcomes * unit.game.seats * TOKENS:.2g}"))
            return (
                f"{unit.game.name}: every prompt lists the payoffs of {outcomes:,} outcomes, about {tokens:,} tokens "
                f"(`agent.framing.payoffs: {way})"
            )
    return ""


def check_framing_labels(config: AgentConfig, game: Game, file: str | None) -> None:
    """Refuse labels that do not fit the actions of a game."""
    if not game.has_table:
        return
    for seat in range(game.seats):
        try:
            config.framing.labels_for(game.named_actions(seat))
        except ValueError as error:
            raise StudyError(f"game {game.name}: {error}", file=file, key="agent.framing.labels") from None


def check_memory(config: AgentConfig, game: Game, file: str | None) -> None:
    """Refuse a memory that does not work in the game."""
    memory = memories.build(config.memory, key="agent.memory", file=file)
    lacking = memory.unsupported(game)
    if lacking:
        raise StudyError(f"memory {memory.name}: {lacking}", file=file, key="agent.memory", actual=config.memory)
    if config.conversation == "dialogue" and memory.invents:
        raise StudyError(
            f"memory {memory.name} shows rounds that were never played, and a dialogue has no turns for them: "
            "use conversation: prompt",
            file=file, key="agent.memory", actual=config.memory,
        )  # fmt: skip


def check_policy_action(policy: str, game: Game, file: str | None) -> None:
    """Refuse 'default:ACTION' if no seat of the game has that action."""
    kind, _, action = policy.partition(":")
    if kind == "default" and not any(action in names for names in game.actions):
        # Amounts are not listed: there may be a billion of them.
        options = [
            [f"{names.low} to {names.high}", *names.also] if isinstance(names, Amounts) else names
            for names in game.actions
        ]
        raise StudyError(
            f"game {game.name} has no such action", file=file, key="invalid.policy", actual=policy,
            allowed=[f"default:{name}" for name in dict.fromkeys(chain(*options))],
        )  # fmt: skip


def check_strategies(game: Game, mechanism: Mechanism, seatings: Iterable[Sequence[Seated]], file: str | None) -> None:
    """Refuse a strategy that does not work in the game, by asking for its first move.

    In a large group it is asked at one seat of each kind: a round of a thousand for each of a thousand seats is slow.
    """
    few = game.seats <= FEW_SEATS
    seats = {
        (seat if few else (game.actions[seat], game.roles[seat]), id(seated.config)): (seat, seated)
        for seating in seatings
        for place, seated in enumerate(seating)
        if seated.config.strategy is not None and not seated.observes
        for seat in (range(game.seats) if mechanism.society else [place % game.seats])
    }
    for seat, seated in seats.values():
        spec = seated.config.strategy
        assert spec is not None
        strategy = strategies.build(spec)
        if getattr(strategy, "seed", 0) is None:
            continue  # it draws by the seed of its match
        try:
            if game.has_table:
                strategy.odds(View(game, seat, mechanism.name))
            else:
                _try_moves(strategy, game, seat, mechanism)
        except StudyError as error:
            owner = f"types.{seated.name}" if seated.type is None else f"seats.{seat + 1}"
            raise StudyError(str(error), file=file, key=f"{owner}.strategy", actual=spec) from None


def _try_moves(strategy: Strategy, game: Game, seat: int, mechanism: Mechanism) -> None:
    """Ask a strategy for its moves in the first round of a game by a rule; others take their first option.

    Of moves that are fixed beforehand those of all rounds are asked for. What fits after the first move may depend on
    what others do: there, only a name in place of an amount, or what is no option, is refused.
    """
    rounds, moved = list[Round](), False
    playing = Rounds(game, mechanism.name, Streams(0, 0))
    for number in range(1, min(max(strategy.fixed_rounds, 1), mechanism.most_rounds(game), MOST_TRIED) + 1):
        moves = playing.play(number, History(rounds), None)
        try:
            due = next(moves)
            while True:
                values = [
                    d.form.low if isinstance(d.form, Number) else getattr(d.form, "options", ("",))[0] for d in due
                ]
                for place, decision in enumerate(due):
                    if decision.player == seat:
                        values[place] = _tried(strategy, decision, values[place], strict=not moved)
                        moved = True
                due = moves.send(list(map(Answer, values)))
        except StopIteration as stop:
            rounds.append(stop.value)
        if rounds[-1].void or playing.over is not None:
            return


def _tried(strategy: Strategy, decision: Decision, otherwise: Any, *, strict: bool) -> Any:
    """Return a strategy's move; ``otherwise`` if it does not fit here but might after other moves."""
    try:
        return ScriptedAgent(strategy).decide(decision, lambda: 0.5).value
    except StudyError:
        wanted = strategy.choose(Past(decision.view), decision.form)
        if strict or not isinstance(decision.form, Number) or not _is_number(wanted):
            raise
        return otherwise


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_divisible(where: str, stops: bool, people: bool, together: int) -> None:
    """Refuse to split a study that must stay whole; ``together`` is how many units depend on each other."""
    reasons = {
        "a study with a stopping rule looks at all of its matches before it plays more, and a shard has only its own "
        "(play it undivided, or without stop)": stops,
        "people come to one server (ostrom serve), not to shards": people,
        f"its {together} units all share one preparation or descend from one generation, and stay together; with more "
        "seeds or cells they can be divided": together,
    }
    for reason, holds in reasons.items():
        if holds:
            raise UsageError(f"{where}: {reason}")
