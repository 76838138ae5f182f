"""Renders the decisions of one player in one match as prompts; parts that stay the same between prompts are cached."""

import marshal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from ostrom.answers import Choice, Form, Mixture, Number, Record, Text
from ostrom.framing.blocks import Blocks, Labelling, naming
from ostrom.framing.config import Framing
from ostrom.framing.history_renderer import HistoryRenderer
from ostrom.framing.library import LIVE, Library, mark, put_in, split_marks
from ostrom.framing.rules import (
    FIRST,
    PAGE,
    answer_file,
    common_names,
    lacks_meaning,
    lacks_names,
    lacks_story,
    number_range,
    question_file,
    record_file,
    rule_question,
    rules_files,
    stage_file,
    story_file,
    talk_files,
    told_file,
)
from ostrom.games.describe import formula_of
from ostrom.games.equilibria import least_continuation
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.values import value
from ostrom.mechanisms.protocol import EMPTY, Decision, Round, View
from ostrom.memory import MemoryView


@value
class Prompt:
    """A prompt for a model, and the labels of its options."""

    text: str
    labels: Mapping[str, str]
    """Labels by option key, in the order of the prompt."""
    instruction: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts recorded with the answer: the labels, and their order."""
    system: str = ""
    """The system message; empty for none."""
    stub: str = ""
    """The given beginning of the reply; empty for none."""

    @property
    def full_text(self) -> str:
        """Return the system message and the text as one text."""
        return f"{self.system}\n\n{self.text}" if self.system else self.text


class CachedPrompt:
    """A prompt without round number and past: reused wherever a player is told the same."""

    __slots__ = (
        "decision",
        "facts",
        "instruction",
        "options",
        "order",
        "pieces",
        "setup",
        "stub",
        "system",
        "uses",
        "values",
    )

    def __init__(
        self,
        decision: Decision,
        order: tuple[int, ...],
        options: Mapping[str, str],
        values: Mapping[str, Any],
        instruction: str = "",
        setup: str | None = None,
    ) -> None:
        self.decision, self.order, self.options, self.values = decision, order, options, values
        self.instruction, self.setup = instruction, setup
        self.facts = {"labels": dict(options), "order": list(options.values())} if options else {}
        self.system = self.stub = ""
        self.uses = 0
        self.pieces: list[str] | None = None
        """The text around its placeholders, once it is worth caching."""


def alike(one: Decision, other: Decision) -> bool:
    """Return whether two decisions of a kind have the same words, apart from round and past."""
    old, new = one.view, other.view
    return (
        old.facts is new.facts
        and old.game is new.game
        and old.seat == new.seat
        and old.mechanism == new.mechanism
        and old.names == new.names
        and (one.form is other.form or one.form == other.form)
    )


def with_round_offset(decision: Decision, before: int) -> Decision:
    """Return the decision of a match that pretends to have had this many earlier rounds."""
    if not before:
        return decision
    view = decision.view
    facts = {**view.facts, "rounds": view.facts["rounds"] + before} if "rounds" in view.facts else view.facts
    return replace(decision, view=replace(view, round=view.round + before, facts=facts))


def options_of(form: Form, named: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a form's options in order; an option that is no action is its own label."""
    if isinstance(form, (Text, Number)):
        return {}
    labelled = {key: label for key, label in named.items() if key in form.options}
    return {**labelled, **{key: key for key in form.options if key not in labelled}}


_MOST_SHARED = 2000
"""The most bytes of facts with which a page is cached for other matches."""


class PromptRenderer:
    """Renders the decisions of one player; created per match, because labels may be random."""

    def __init__(
        self,
        framing: Framing,
        library: Library,
        style: str,
        persona: str | None = None,
        draw_labels: np.random.Generator | None = None,
        draw_rows: Callable[[int], np.random.Generator] | None = None,
        *,
        system: str | None = None,
        persona_in: str = "user",
    ) -> None:
        self.framing, self.library, self.style = framing, library, style
        self._game: Game | None = None
        has_story = library.has(story_file(framing, None))  # the story of a game by a rule is checked with the game
        self.story = library.story(story_file(framing if has_story else Framing(), None))
        self.words = self.story.words
        self.history_renderer = HistoryRenderer(framing, library, self.words)
        self._most_words = {} if framing.words is None else {"most_words": framing.words}
        self._setup_file = "setup.txt" if framing.layout is None else f"layouts/{framing.layout}.txt"
        self.persona, self.system, self.persona_in = persona, system, persona_in
        self.labelling = Labelling(framing, style, draw_labels)
        self.labels = self.labelling.labels
        self.blocks = Blocks(
            framing, library, persona, self.history_renderer, self.labels, draw_rows, persona_in == "user"
        )
        self._manner = (framing, style, persona, system, persona_in)
        self._fixed: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._instructions: dict[tuple[Any, ...], str] = {}
        self._around: dict[tuple[Any, ...], list[str]] = {}
        self._pages: dict[str, tuple[Decision, tuple[Any, ...], CachedPrompt]] = {}
        """The last page of every kind of decision, with what it depends on."""
        self._last_questions: dict[str, tuple[Decision, str | None, Mapping[str, Any], CachedPrompt]] = {}
        """The last page of every kind of decision that needed no titles, round offset or random order, with its
        note and extra facts."""
        self._answer_files: dict[type[Form], str] = {}
        self._lasts: dict[tuple[Any, ...], bool] = {}

    def prompt(
        self, decision: Decision, shown: MemoryView, rng: np.random.Generator | None, extra: Mapping[str, Any]
    ) -> Prompt:
        """Return the prompt of a decision; ``rng`` draws the order of the options if it is shuffled."""
        last = self._last_questions.get(decision.kind)
        if last is not None and rng is None and self._puts_alike(last, decision, shown, extra):
            page = last[3]
        elif decision.view.facts.get("alone"):
            return self._question_alone(decision, extra)
        else:
            decision, page = self._page_for(decision, shown, rng, extra)
        view, past = decision.view, None
        if view.facts.get("repeated"):
            past = self.history_renderer.past(decision, shown, self.labels(view.game), page.values)
        if page.setup is None:  # its files use the round, the memory or each other
            live = {"round": view.round, "span": shown.span, "gaps": shown.gaps, "note": shown.note}
            values = self.live_values(page, decision, live, past)
            return self.prompt_of(page, decision.form, values, self.library.fill("prompt.txt", values))
        return Prompt(
            self._text(page, view.round, past), page.options, page.instruction, page.facts, page.system, page.stub
        )

    def _puts_alike(
        self,
        last: tuple[Decision, str | None, Mapping[str, Any], CachedPrompt],
        decision: Decision,
        shown: MemoryView,
        extra: Mapping[str, Any],
    ) -> bool:
        """Return whether the last page of this kind can be reused: usually only the past has changed."""
        return (
            not shown.before
            and last[1] == shown.note
            and last[2] is extra
            and decision.view.game is self._game
            and alike(last[0], decision)
        )

    def _page_for(
        self, decision: Decision, shown: MemoryView, rng: np.random.Generator | None, extra: Mapping[str, Any]
    ) -> tuple[Decision, CachedPrompt]:
        """Return the decision with titles and round offset, and its page."""
        original, decision = decision, self.with_titles(with_round_offset(decision, shown.before))
        order = self.labelling.order_of(decision, rng)
        manner = (order, shown.note, extra)
        last = self._pages.get(decision.kind)
        if last is None or last[1] != manner or not alike(last[0], decision):
            page = self._shared_page(decision, order, shown.note, extra)
            last = self._pages[decision.kind] = (decision, manner, page)
        page = last[2]
        if decision is original and rng is None and decision.view.game.has_table:
            self._last_questions[decision.kind] = (decision, shown.note, extra, page)
        return decision, page

    def rules(
        self, decision: Decision, shown: MemoryView, rng: np.random.Generator | None, extra: Mapping[str, Any]
    ) -> str:
        """Return the part before the past and the question: system message and rules."""
        if decision.view.facts.get("alone"):
            return ""
        decision = self.with_titles(with_round_offset(decision, shown.before))
        page = self.page_of(decision, self.labelling.order_of(decision, rng), shown.note, extra)
        live = {"round": decision.view.round, "span": shown.span, "gaps": shown.gaps, "note": shown.note}
        values = self.live_values(page, decision, live, None)
        return "\n\n".join(filter(None, (self._system(values), values["setup"])))

    def _shared_page(
        self, decision: Decision, order: tuple[int, ...], note: str | None, extra: Mapping[str, Any]
    ) -> CachedPrompt:
        """Return the page of a decision, cached for all matches with equal facts."""
        view = decision.view
        # Rows and labels of a game by a rule may be random for one match.
        if self.framing.rows != "shuffled" and view.game.has_table:
            place = (id(view.game), view.seat, view.mechanism, view.names, decision.kind, decision.form)
            try:
                # Not JSON, in which a list equals a tuple; version 0 depends on the values alone.
                facts_bytes = marshal.dumps((dict(view.facts), dict(extra)), 0)
                key = (self._manner, self.labels(view.game), order, note, *place, facts_bytes)
                hash(key)
            except (TypeError, ValueError):
                return self.page_of(decision, order, note, extra)
            if len(facts_bytes) <= _MOST_SHARED:
                return self.library.memoize(
                    key,
                    view.game,
                    # A page outlives the match, so it must not hold its rounds.
                    lambda: self.page_of(replace(decision, view=replace(view, history=EMPTY)), order, note, extra),
                )
        return self.page_of(decision, order, note, extra)

    def page_of(
        self, decision: Decision, order: tuple[int, ...], note: str | None, extra: Mapping[str, Any]
    ) -> CachedPrompt:
        view, form = decision.view, decision.form
        options_seat = int(view.facts.get("target", view.seat))  # a prediction lists another seat's options
        options = options_of(form, self.labelling.named(decision, options_seat, order))
        values = self._values(
            view, order, {**extra, "kind": decision.kind, "target": self.history_renderer.name(view, options_seat)}
        )
        if not view.game.has_table:
            values["labelled"] = [{"label": v, "option": k} for k, v in options.items() if k != v]
        if not self._lasting(view, form):
            return CachedPrompt(decision, order, options, values)
        instruction, setup = self.instruction(form, options, values), self._render_setup(view, order, values)
        page = CachedPrompt(decision, order, options, {**values, "note": note}, instruction, setup)
        page.system = self._system(values)
        page.stub = self.library.fill("answers/stub.txt", {**values, **self._offered(form, options)})
        return page

    def _question_alone(self, decision: Decision, extra: Mapping[str, Any]) -> Prompt:
        """Return a question unrelated to the game: no rules, no past, no system message."""
        view, form = decision.view, decision.form
        values = self._values(view, self.labelling.order_of(decision, None), {**extra, "kind": decision.kind})
        instruction = self._instruct(form, {}, values, self._answer_file(form))
        return Prompt(
            self.library.fill(
                "turn.txt",
                {**values, "past": None, "question": self.question(decision, values), "instruction": instruction},
            ),
            {},
            instruction,
        )

    def _system(self, values: Mapping[str, Any]) -> str:
        """Return the system message."""
        own = {"persona": self.blocks.introduction(values), "system": self._own_system(values)}
        return self.library.fill("system.txt", {**values, **own, "persona_in": self.persona_in})

    def _own_system(self, values: Mapping[str, Any]) -> str | None:
        """Return the agent's own system prompt: a file in systems/, or a text.

        An instruction that a player carries (``facts.instruction``) follows it.
        """
        file = f"systems/{self.system}.txt"
        own = self.library.fill(file, values) if self.library.has(file) else self.system
        carried = values["facts"].get("instruction")
        return own if carried is None else "\n\n".join(filter(None, (own, carried)))

    def _lasting(self, view: View, form: Form) -> bool:
        """Return whether only the past and the question of a prompt change from round to round."""
        # A sham text (``as_long_as``) changes as rarely as the rules whose length it imitates.
        table = view.game.has_table  # otherwise there are no payoffs to present
        key = (*(view.mechanism, type(form), table), *(bool(view.facts.get(name)) for name in ("sham", "as_long_as")))
        if key not in self._lasts:
            library, framing = self.library, self.framing
            files = [
                *(self._setup_file, "answers/stub.txt", self._answer_file(form)),
                *rules_files(view, framing.wording),
                *(f"payoffs/{name}.txt" for name in (framing.payoffs,) if name and table),
                *(f"hints/{name}.txt" for name in (framing.hint,) if name),
                *(f"goals/{name}.txt" for name in (framing.goal,) if name),
                *(f"personas/{self.persona}.txt" for _ in "1" if self.blocks.has_persona()),
                *(f for f in (f"systems/{self.system}.txt",) if library.has(f)),
            ]
            name_sets = [*(library.variables_of(file) for file in files), self.story.asked]
            self._lasts[key] = (
                not any(names & {*LIVE} for names in name_sets)
                and library.variables_of("system.txt") <= {"system", "persona", "persona_in"}
                and library.variables_of("turn.txt") <= {"past", "question", "instruction"}
                and library.variables_of("prompt.txt") <= {"setup", "turn"}
            )
        return self._lasts[key]

    def live_values(
        self, page: CachedPrompt, decision: Decision, live: Mapping[str, Any], past: str | None
    ) -> dict[str, Any]:
        fill, view = self.library.fill, decision.view
        values = {**page.values, **live}
        instruction = self._instruct(decision.form, page.options, values, self._answer_file(decision.form))
        question = self.question(decision, values)
        values |= self.blocks.all(view, page.order, values)
        values |= {"past": past, "question": question, "instruction": instruction}
        return values | {"setup": fill(self._setup_file, values), "turn": fill("turn.txt", values)}

    def prompt_of(self, page: CachedPrompt, form: Form, values: Mapping[str, Any], text: str) -> Prompt:
        stub = self.library.fill("answers/stub.txt", {**values, **self._offered(form, page.options)})
        return Prompt(text, page.options, values["instruction"], page.facts, self._system(values), stub)

    def _text(self, page: CachedPrompt, number: int, past: str | None) -> str:
        """Return the text of a page in a round; the text around round and past is cached."""
        page.uses += 1
        if page.uses == 2:
            page.pieces = self._pieces(page, past)
        if page.pieces is not None and past != "":
            return put_in(page.pieces, {"round": number, "past": past})
        holes = {
            "question": self.question(page.decision, {**page.values, "round": number}),
            "instruction": page.instruction,
        }
        if past is not None:
            holes["past"] = past
        turn = self.library.fill_around(self._around, ("turn", past is None), "turn.txt", holes, lambda: {"past": None})
        return self._joined(page.setup or "", turn)

    def _joined(self, setup: str, turn: str) -> str:
        """Join setup and turn to a prompt."""
        return self.library.fill_around(self._around, ("prompt",), "prompt.txt", {"setup": setup, "turn": turn}, dict)

    def _pieces(self, page: CachedPrompt, past: str | None) -> list[str] | None:
        """Return the text of a page around round and past; None if its files need more."""
        library, form = self.library, page.decision.form
        view = page.decision.view
        if (
            not (isinstance(form, Choice) and library.is_round_independent(self._answer_file(form)))
            or not view.game.has_table
            or "talk" in view.facts
            or self._talk_file(page.decision) is not None
        ):
            return None
        question = library.render_with_marks(self._question_file(page.decision), page.values, ("round",))
        if question is None:
            return None
        holes = {"question": question} if past is None else {"question": question, "past": mark("past")}
        turn = library.render_with_marks("turn.txt", {"instruction": page.instruction, "past": None}, holes)
        if turn is None:
            return None
        setup = page.setup or ""
        return (
            None
            if len(split_marks(setup + page.instruction)) > 1
            else split_marks(self._joined(setup, put_in(split_marks(turn), holes)))
        )

    def instruction(self, form: Form, options: Mapping[str, str], values: Mapping[str, Any]) -> str:
        """Return the instruction for the answer."""
        file = self._answer_file(form)
        if not (isinstance(form, Choice) and self.library.is_round_independent(file)):
            return self._instruct(form, options, values, file)
        key = (file, *options.values(), values.get("kind"), values.get("target"))
        if key not in self._instructions:
            self._instructions[key] = self._instruct(form, options, values, file)
        return self._instructions[key]

    def _answer_file(self, form: Form) -> str:
        if type(form) not in self._answer_files:
            self._answer_files[type(form)] = answer_file(self.library, form, self.style)
        return self._answer_files[type(form)]

    def _offered(self, form: Form, options: Mapping[str, str]) -> dict[str, Any]:
        """Return the values for the instruction about the answer."""
        option_labels = list(options.values())
        caps = form.caps or {} if isinstance(form, Mixture) else {}
        return {
            "options": option_labels,
            "bracketed": [f"[{label}]" for label in option_labels],
            "quoted": [f'"{label}"' for label in option_labels],
            **self._most_words,
            "caps": [{"label": options[key], "most": cap} for key, cap in caps.items()],
            "record": "",
            "text_words": form.words if isinstance(form, Text) else 0,
            "range": number_range(form) if isinstance(form, Number) else None,
        }

    def _instruct(self, form: Form, options: Mapping[str, str], values: Mapping[str, Any], file: str) -> str:
        form_values = {**values, "options": list(options.values())} if options else values
        return self.library.fill(
            file,
            {**values, **self._offered(form, options), "record": self._record(form, form_values, self.framing.wording)},
        )

    def fields(self, decision: Decision) -> str:
        """Return what the fields of a page must hold, for a person's record answer."""
        view = self.with_titles(decision).view
        return self._record(decision.form, self._values(view, naming(self.framing, view.game, view.seat), {}), PAGE)

    def _record(self, form: Form, values: Mapping[str, Any], wording: str | None) -> str:
        """Return what a JSON answer must hold, in words."""
        if not isinstance(form, Record):
            return ""
        return self.library.fill(
            record_file(self.library, form.name, wording), {**values, "schema": form.schema, **self._most_words}
        )

    def correction(self, reason: str, instruction: str) -> str:
        """Return the message after an unreadable reply."""
        return self.library.fill(
            "answers/correction.txt", {"reason": self.library.reason(reason), "instruction": instruction}
        )

    def empty_reply_text(self) -> str:
        """Return the text that stands for an empty reply when it is asked for again."""
        return self.library.fill("answers/nothing.txt", {})

    def _values(self, view: View, order: Sequence[int], extra: Mapping[str, Any]) -> dict[str, Any]:
        key = (id(view.game), view.seat, view.mechanism, view.names, bool(view.facts.get("observer")), *order)
        if key not in self._fixed:
            self._fixed[key] = self._fixed_values(view, order)
        return {**self._fixed[key], "facts": view.facts, "round": view.round, "span": None, "gaps": False, **extra}

    def _fixed_values(self, view: View, order: Sequence[int]) -> dict[str, Any]:
        """Return the values that are constant for a seat throughout a match."""
        labels, table = self.labels(view.game), view.game.has_table
        names = [self.history_renderer.name(view, s) for s in range(view.game.seats)]
        return {
            "words": self.words,
            "units": self.framing.units,
            "you": names[view.seat],
            "others": [name for s, name in enumerate(names) if s != view.seat],
            "options": [labels[view.seat][i] for i in order] if table else [],
            "labels": labels,
            "common": common_names(self.library, view.game, names, labels),
            "amount": self.history_renderer.amount,
            "names": names,
            "observer": bool(view.facts.get("observer")),
            "unnamed": self.framing.names == "other",
            "earlier": False,
            "seat": view.seat,
            "role": view.game.roles[view.seat],
            "game": view.game,
            "carried": view.game.words.for_seat(view.seat),
            "mechanism": view.mechanism,
            "least_continuation": least_continuation(view.game) if self.framing.hint and table else None,
            "equilibria": self.blocks.equilibria(view.game, names, labels),
        }

    def question(self, decision: Decision, values: Mapping[str, Any]) -> str:
        """Return the question, after the mechanism's facts and the messages of others."""
        view, facts = decision.view, decision.view.facts
        asked = (
            rule_question(self.library, decision, self.framing.story, values)
            if not view.game.has_table and decision.kind in ("act", *FIRST)
            else self.library.fill(self._question_file(decision), values)
        )
        if (file := self._talk_file(decision)) is not None:
            asked = "\n\n".join(filter(None, (self.library.fill(file, values), asked)))
        return asked if "talk" not in facts else self.library.fill(talk_files(facts)[1], {**values, "question": asked})

    def _talk_file(self, decision: Decision) -> str | None:
        view = decision.view
        return told_file(self.library, view.mechanism, decision.kind, self.framing.wording, view.facts)

    def _question_file(self, decision: Decision) -> str:
        view, wording = decision.view, self.framing.wording
        if not view.game.has_table and decision.kind == "act":
            return stage_file(self.library, decision, self.framing.story)
        return question_file(self.library, view.mechanism, decision.kind, wording, bool(view.facts.get("sham")))

    def _render_setup(self, view: View, order: Sequence[int], values: Mapping[str, Any]) -> str:
        setup_values = {**values, **self.blocks.all(view, order, values)}
        if (watched := view.facts.get("watched")) is not None:
            # An observer of one seat is told about that one; the file is unchanged, because trees depend on its text.
            setup_values["names"] = [values["names"][watched]]
        return self.library.fill(self._setup_file, setup_values)

    def unsupported(self, game: Game) -> str | None:
        """Return why the framing cannot be used with a game, in words; None if it can."""
        problem = lacks_names(self.framing, game) or (
            lacks_story(self.framing, self.library)
            if game.has_table
            else lacks_meaning(self.framing, self.style, self.library, game)
        )
        if problem is not None or not game.has_table:
            return problem
        if self.framing.meanings and not game.words.actions:
            return "meanings needs a game that says what its actions mean"
        if self.framing.payoffs == "formula" and any(formula_of(game, s) is None for s in range(game.seats)):
            return (
                "payoffs: formula needs payoffs that are linear in how many players choose one of two actions, or that "
                "the lower of two claims decides"
            )
        for seat in range(game.seats):
            view = self.with_titles(
                Decision(seat, "act", View(game, seat, "none"), Choice(game.named_actions(seat)))
            ).view
            values = self._values(view, range(len(game.actions[seat])), {})
            try:
                self.blocks.opening(values), self.blocks.introduction(values), self._own_system(values)
                if self.framing.hint is not None:
                    self.library.fill(f"hints/{self.framing.hint}.txt", values)
            except StudyError as error:
                return f"{error} (the game carries no such words)"
        return None

    def with_titles(self, decision: Decision) -> Decision:
        """Return the decision with the game's titles for seats, if the framing wants them."""
        view, names = decision.view, self.framing.names
        if view.game is not self._game:
            # The cover story of a game has words of its own.
            self._game, self.story = view.game, self.library.story(story_file(self.framing, view.game))
            self.words = self.history_renderer.words = self.story.words
        if names == "numbers" or view.names or (names == "other" and view.facts.get("observer")):
            return decision
        if names == "other":
            own, other = (
                self.history_renderer.name(view, view.seat),
                self.library.fill("names/other.txt", {"words": self.words}),
            )
            return replace(
                decision,
                view=replace(view, names=tuple(own if s == view.seat else other for s in range(view.game.seats))),
            )
        return replace(
            decision,
            view=replace(
                view,
                names=tuple(self.library.fill("names/title.txt", {"title": title}) for title in view.game.words.titles),
            ),
        )

    def line(self, view: View, played: Round) -> str:
        """One round of the past as this seat reads it."""
        return self.history_renderer.line(view, played, self.labels(view.game))
