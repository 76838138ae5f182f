"""The prompt files of a plan: their hashes bind a run; before play scripts rehearse a match, which tries them all."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import numpy as np

from ostrom.agents.config import AgentConfig
from ostrom.agents.explained import explained, mixed
from ostrom.agents.language import library_for, renderer_of, styles
from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.answers import Choice, Form, Number, Record
from ostrom.engine.plan import Plan, Unit
from ostrom.framing import Library
from ostrom.framing.fingerprint import difference, hashes, in_set
from ostrom.framing.library import ENGLISH
from ostrom.framing.rules import (
    FIRST,
    NEUTRAL,
    OBSERVER,
    PAGE,
    answer_file,
    first_file,
    game_file,
    past_file,
    question_file,
    record_file,
    rules_files,
    stage_file,
    story_file,
    told_file,
)
from ostrom.games import is_game_file
from ostrom.ground.errors import RunError, StudyError
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.protocol import Decision, Outcome
from ostrom.memory import MemoryView, memories

_INCLUDED = re.compile(r"""\{%[-+]?\s*(?:include|import|from)\s+["']([^"']+)["']""")


EVERY_PROMPT = (
    "prompt.txt", "system.txt", "turn.txt", "stories/neutral.txt", "common.txt", "answers/correction.txt",
    "answers/nothing.txt", "answers/stub.txt", "amount.txt", "standing.txt", "names/number.txt", "names/short.txt",
    "names/title.txt", "names/you.txt", "names/other.txt",
)  # fmt: skip
"""The files of every agent that reads prompts."""


def prompts_of(plan: Plan) -> dict[str, str]:
    """Every prompt file that the models and persons of a plan may be shown, with a hash of its content.

    A file that no question of the study leads to has no part in it: adding or changing it changes nothing.
    """
    files: dict[str | None, set[str]] = {}
    """Paths of prompt files, by prompt set."""
    for unit, config, decisions in _questions(plan):
        library = library_for(config, plan.library)
        used = set(_files(library, config, unit.mechanism.name, decisions))
        if unit.mechanism.missing is not None:
            used.add("history/missed.txt")
        files[config.prompts] = files.get(config.prompts, set()) | {
            library.path_of(file) for file in _with_included(library, used)
        }
    return hashes(plan.library, [in_set(name, file) for name, used in files.items() for file in used])


def _questions(plan: Plan) -> Iterator[tuple[Unit, AgentConfig, list[Decision]]]:
    """Yield every unit with each agent that reads prompts, and one decision of every kind it may be asked."""
    for unit, configs in plan.question_units():
        speaking = [config for config in configs if config.kind in ("model", "person")]
        decisions = _decisions(plan, unit) if speaking else []
        for config in speaking:
            yield unit, config, decisions


def try_prompts(plan: Plan) -> None:
    """Fill in one prompt for every kind of question; errors are raised now."""
    for unit, config, decisions in _questions(plan):
        renderer = renderer_of(config, plan.library)
        if config.framing.language != ENGLISH:
            library = library_for(config, plan.library)
            for file in sorted(_files(library, config, unit.mechanism.name, decisions)):
                library.need_file(file)
        for decision in decisions:
            renderer.prompt(with_answer_form(decision, config), _memory_view(config, decision), None, config.facts)
        renderer.correction("no answer", "")


def refuse_other_prompts(old: Mapping[str, str], new: Mapping[str, str], where: str, so: str) -> None:
    """Refuse a run whose prompts differ from the present ones; ``so`` says what to do."""
    # Runs of 1.0 have no hash of the game files that their studies name.
    how = difference(old, {name: of for name, of in new.items() if name in old or not is_game_file(name)})
    if how is not None:
        raise RunError(f"{where}: its prompts were other ones than now: {how} ({so})")


def _decisions(plan: Plan, unit: Unit) -> list[Decision]:
    """Return one decision of every kind and form that occurs in a match of scripts."""
    decisions: dict[tuple[Any, ...], Decision] = {}
    for decision in chain(*rehearse(plan, unit, enough=MOST_STEPS).values()):
        view, form = decision.view, decision.form
        key = (
            view.mechanism,
            decision.kind,
            type(form),
            getattr(form, "name", None),
            bool(view.facts.get("observer")),
            bool(view.history),
            view.facts.get("stage"),
        )
        decisions.setdefault(key, decision)
    return list(decisions.values())


def _files(library: Library, config: AgentConfig, mechanism: str, decisions: list[Decision]) -> Iterator[str]:
    framing, style, memory = config.framing, styles.build(config.style), memories.build(config.memory)
    yield from EVERY_PROMPT
    yield "setup.txt" if framing.layout is None else f"layouts/{framing.layout}.txt"
    yield from (f"{kind}/{name}.txt" for kind, name in (("goals", framing.goal), ("hints", framing.hint)) if name)
    own = [f"{kind}/{name}.txt" for kind, name in (("personas", config.persona), ("systems", config.system)) if name]
    yield from filter(library.has, own)
    if framing.language != ENGLISH:
        yield "answers/reasons.txt"
    if config.conversation == "dialogue":
        yield from (*(f"dialogue/{name}.txt" for name in ("turn", "past", "results", "no_answer")), "names/seat.txt")
    if memory.takes_notes:
        yield from _question(library, config, mechanism, memory.asks, memory.note_form)
    kinds = (*style.questions, *((memory.asks,) if memory.takes_notes else ()))
    for kind in style.questions:
        yield from _question(library, config, mechanism, kind, Choice(("a", "b")))
    for decision in decisions:
        view = decision.view
        yield from rules_files(view, framing.wording)
        yield story_file(framing, view.game)
        yield from filter(
            None, (told_file(library, view.mechanism, kind, framing.wording, view.facts) for kind in (*kinds, "act"))
        )
        rule = not view.game.has_table
        if rule:
            yield from (past_file(library, view.game, framing.story), "games/_round.txt", "games/_labels.txt")
            if framing.story == NEUTRAL:
                yield game_file(view.game)
        if framing.payoffs is not None and not rule:
            yield f"payoffs/{framing.payoffs}.txt"
        if view.facts.get("repeated"):
            yield from ("past.txt", f"history/{framing.history}.txt")
            if _memory_view(config, decision).counts is not None:
                yield from ("count.txt", "counts.txt")
        form, sham = with_answer_form(decision, config).form, bool(view.facts.get("sham"))
        if rule and view.facts.get("observer"):
            yield OBSERVER
        if rule and decision.kind in FIRST:
            yield from (
                stage_file(library, decision, framing.story),
                first_file(library, decision, framing.story),
                answer_file(library, form, config.style),
            )
        elif rule and decision.kind == "act":
            yield from (stage_file(library, decision, framing.story), answer_file(library, form, config.style))
            for kind in style.questions:
                yield from ("games/_expected.txt", first_file(library, replace(decision, kind=kind), framing.story))
        else:
            yield from _question(library, config, view.mechanism, decision.kind, form, sham)


def _question(
    library: Library, config: AgentConfig, mechanism: str, kind: str, form: Form, sham: bool = False
) -> Iterator[str]:
    yield question_file(library, mechanism, kind, config.framing.wording, sham)
    yield answer_file(library, form, config.style)
    if isinstance(form, Record):
        yield record_file(library, form.name, config.framing.wording)
        if config.kind == "person":
            yield record_file(library, form.name, PAGE)


def with_answer_form(decision: Decision, config: AgentConfig) -> Decision:
    """Return the decision in the answer form that the agent is asked for."""
    form, way = decision.form, config.answer
    if not isinstance(form, Choice | Number) or config.kind != "model" or way not in ("mixture", "explained"):
        return decision
    return replace(decision, form=mixed(form) if way == "mixture" else explained(form, config.framing.words))


def _memory_view(config: AgentConfig, decision: Decision) -> MemoryView:
    """Return the memory's view of the past, with arbitrary random draws."""
    return memories.build(config.memory).show(decision.view, lambda number, _: np.random.default_rng(number), ())


def _with_included(library: Library, files: Iterable[str]) -> set[str]:
    """Return the files and all that they include."""
    todo, paths = list(files), set[str]()
    while todo:
        file = todo.pop()
        if file in paths:
            continue
        paths.add(file)
        path = library.find(file)
        if path is None:
            continue
        try:
            text = library.read(path).decode("utf-8")
        except UnicodeDecodeError:
            raise StudyError("is not a text file in UTF-8", file=str(path)) from None
        todo += _INCLUDED.findall(text)
    return paths


def prompts_folder(manifest: Mapping[str, Any], path: Path) -> str | None:
    """Return the folder of a run's own prompts; refused if it is gone."""
    home: str | None = manifest.get("prompts_folder")
    if home is not None and not Path(home).is_dir():
        raise RunError(f"{path}: its prompts were in {home}, which is no folder now (ostrom resume --prompts DIR)")
    return home


def library_of_run(manifest: Mapping[str, Any], path: Path, prompts: str | None = None) -> Library:
    """Return the prompt library of a run; ``prompts`` replaces its own folder of prompts."""
    folder = prompts_folder({"prompts_folder": prompts} if prompts else manifest, path)
    home: str | None = manifest.get("prompts_home")
    if home is not None and not Path(home).is_dir():
        raise RunError(f"{path}: its prompt sets were in {home}, which is no folder now (put it back)")
    return Library(folder, home=home)


def home_of(file: str | None) -> Path:
    """Return the folder of a study's prompt sets: that of its file, or the current one."""
    return Path(file).parent if file is not None and Path(file).is_file() else Path()


MOST_STEPS = 200


def rehearse(plan: Plan, unit: Unit, enough: int) -> dict[int, list[Decision]]:
    """Return each player's first ``enough`` decisions (or all) when everybody plays at random.

    A society is played briefly.
    """
    by_player: dict[int, list[Decision]] = {player: [] for player in range(len(unit.players))}
    for decisions in _first_steps(unit, prepared(plan, unit).shortened()):
        for decision in decisions:
            by_player[answering_player(unit, decision)].append(decision)
        if all(len(own) >= enough for own in by_player.values()):
            break
    return {player: own[:enough] for player, own in by_player.items()}


def answering_player(unit: Unit, decision: Decision) -> int:
    """Return the player who answers a decision: an observer in place of a player, or the player."""
    return decision.agent if decision.agent is not None and unit.players[decision.agent].observes else decision.player


def every_step(plan: Plan, unit: Unit) -> Iterator[list[Decision]]:
    """Return the decisions of each step when everybody plays at random, up to a limit."""
    return _first_steps(unit, prepared(plan, unit))


def _first_steps(unit: Unit, rules: Mechanism) -> Iterator[list[Decision]]:
    """Return the decisions of the first ``MOST_STEPS`` steps."""
    return (due for due in islice(_steps(unit, rules), MOST_STEPS) if not isinstance(due, Outcome))


def prepared(plan: Plan, unit: Unit) -> Mechanism:
    """Return the mechanism of a unit, with the outcomes of its preparations played by scripts."""
    if not unit.needs:
        return unit.mechanism
    return unit.mechanism.with_preparations([rehearsed_facts(plan.unit(index)) for index in unit.needs])


def rehearsed_facts(preparation: Unit) -> Mapping[str, Any]:
    """Return the facts of a preparation's outcome when a script plays it."""
    return next(outcome.facts for outcome in _steps(preparation, preparation.mechanism) if isinstance(outcome, Outcome))


def _steps(unit: Unit, rules: Mechanism) -> Iterator[list[Decision] | Outcome]:
    """Yield the decisions step by step, and the outcome at the end."""
    agents = [ScriptedAgent(strategies.build("random")) for _ in unit.players]
    streams = unit.streams
    play = rules.play(unit.game, streams)
    try:
        decisions = next(play)
        for step in count():
            yield decisions
            decisions = play.send(
                [agents[d.player].decide(d, partial(streams.chance, step, d.player)) for d in decisions]
            )
    except StopIteration as stop:
        yield stop.value
