"""The rules of a match as text: those of its mechanism, and those of its game.

The rules of a mechanism come in a wording, as a sham, or as a neutral text of equal length. Games by a rule have files
of their own in games/, in place of lists of actions and tables of payoffs:

``games/NAME.txt`` tells the rules, ``games/NAME_STAGE.txt`` asks at a stage of a round, ``games/NAME_past.txt`` tells a
round of the past. A cover story is ``games/NAME.STORY.txt``; the other files have a variant for it where they need one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ostrom.answers import Form, Number
from ostrom.framing.config import LETTERS, Framing
from ostrom.framing.library import ENGLISH, Library
from ostrom.games.game import Game
from ostrom.games.steps import named_sets, steps_of
from ostrom.mechanisms.protocol import Decision, View

FILLER = "mechanisms/_filler.txt"


def talk_files(facts: Mapping[str, Any]) -> tuple[str, str]:
    """Return the files of the talk rules and messages; channels have their own."""
    channel = "channel_" if "channels" in facts["talk"] else ""
    return f"talk/{channel}rules.txt", f"talk/{channel}messages.txt"


FIRST = ("predict", "best_response")
"""The kinds of preliminary questions of styles, asked with the view of the action that follows."""
PAGE = "page"
"""The wording of records for people, who fill in fields instead of JSON."""
_TOKEN = re.compile(r"\w+|[^\w\s]")


def rules_file(mechanism: str, wording: str | None) -> str:
    """Return the file of the rules in a wording; without a mechanism there is one wording."""
    return (
        f"mechanisms/{mechanism}.txt"
        if wording is None or mechanism == "none"
        else f"mechanisms/{mechanism}.{wording}.txt"
    )


def question_file(library: Library, mechanism: str, kind: str, wording: str | None, sham: bool = False) -> str:
    """Return the file of a question: of the sham or wording, else of the mechanism, else the common one."""
    return _own_file(library, f"turns/{mechanism}_{kind}", wording, sham) or f"turns/{kind}.txt"


def told_file(library: Library, mechanism: str, kind: str, wording: str | None, facts: Mapping[str, Any]) -> str | None:
    """Return the file with a mechanism's facts, shown before a question that is not its own; None if there is none."""
    sham = bool(facts.get("sham"))
    if "stage" in facts:  # the question is that of the stage, whatever the mechanism
        return _own_file(library, f"turns/{mechanism}_moves", wording, sham) if kind in ("act", *FIRST) else None
    if kind not in FIRST and "messages" not in facts:
        return None
    return (
        None
        if question_file(library, mechanism, kind, wording, sham) != f"turns/{kind}.txt"
        else _own_file(library, f"turns/{mechanism}_told", wording, sham)
    )


def _own_file(library: Library, own: str, wording: str | None, sham: bool) -> str | None:
    tried = [f"{own}.{variant}.txt" for variant in ("sham" if sham else None, wording) if variant]
    return next((file for file in (*tried, f"{own}.txt") if library.has(file)), None)


def record_file(library: Library, name: str, wording: str | None) -> str:
    """Return the file about a JSON answer, in a wording if it has one."""
    own = f"records/{name}.{wording}.txt"
    return own if wording is not None and library.has(own) else f"records/{name}.txt"


def rules_files(view: View, wording: str | None) -> Iterator[str]:
    """Yield the files of a view's rules."""
    yield rules_file(view.mechanism, wording)
    if view.facts.get("sham"):
        yield f"mechanisms/{view.mechanism}.sham.txt"
    if "talk" in view.facts:
        yield from talk_files(view.facts)
    if (other := view.facts.get("as_long_as")) is not None:
        yield from (FILLER, rules_file(other["mechanism"], wording))


def rules_text(library: Library, view: View, wording: str | None, values: Mapping[str, Any]) -> str:
    """Return the rules of a view as text."""
    text = _with_talk(library, library.fill(rules_file(view.mechanism, wording), values), values)
    if view.facts.get("sham"):
        text += "\n\n" + library.fill(f"mechanisms/{view.mechanism}.sham.txt", values)
    if (other := view.facts.get("as_long_as")) is not None:
        meant = {**values, "facts": other["facts"], "mechanism": other["mechanism"]}
        missing = tokens(
            _with_talk(library, library.fill(rules_file(other["mechanism"], wording), meant), meant)
        ) - tokens(text)
        if missing > 0:
            text += "\n\n" + of_length(library.fill(FILLER, values), missing)
    return text


def _with_talk(library: Library, rules: str, values: Mapping[str, Any]) -> str:
    """Return the rules with those of the talk, if there is any."""
    if "talk" not in values["facts"]:
        return rules
    return f"{rules}\n\n{library.fill(talk_files(values['facts'])[0], values)}"


def tokens(text: str) -> int:
    """Return the number of words and punctuation marks, an estimate of tokens.

    >>> tokens("It ends, or not.")
    6
    """
    return len(_TOKEN.findall(text))


def of_length(text: str, count: int) -> str:
    """Cut or repeat a text to exactly this many tokens, ending with a full stop.

    >>> of_length("One two three. Four five.", 5), of_length("One.", 5)
    ('One two three. .', 'One. One. .')
    """
    ends = [match.end() for match in _TOKEN.finditer(text)]
    repeats, rest = divmod(count - 1, len(ends))
    cut = text[: ends[rest - 1]] if rest else ""
    return " ".join([*[text.strip()] * repeats, cut, "."]).replace("  ", " ").strip() if count > 1 else "."


NEUTRAL = "neutral"
OBSERVER, OBSERVER_PREDICTS = "games/_observer.txt", "games/_observer_predict.txt"
"""The files with a game's rules and with a question about it, for observers."""


def story_file(framing: Framing, game: Game | None) -> str:
    """Return the file of a cover story: one for all games with a table, its own for a game by a rule."""
    return (
        f"games/{game.name}.{framing.story}.txt"
        if game is not None and not game.has_table and framing.story != NEUTRAL
        else f"stories/{framing.story}.txt"
    )


def stories_of(library: Library, game: Game) -> list[str]:
    """Return the cover stories of a game by a rule."""
    begin = f"{game.name}."
    return [NEUTRAL, *(name.removeprefix(begin) for name in library.names("games") if name.startswith(begin))]


def game_file(game: Game) -> str:
    """Return the file of a game's rules."""
    return f"games/{game.name}.txt"


def past_file(library: Library, game: Game, story: str) -> str:
    """Return the file of a past round."""
    return variant(library, f"games/{game.name}_past", story)


def stage_file(library: Library, decision: Decision, story: str) -> str:
    """Return the file of the question at a stage of a round."""
    view = decision.view
    return variant(library, f"games/{view.game.name}_{view.facts['stage']}", story)


def first_file(library: Library, decision: Decision, story: str) -> str:
    """Return the file of a style's preliminary question: of the predicted stage, or the common one."""
    view = decision.view
    if view.facts.get("observer"):
        return OBSERVER_PREDICTS
    stage = view.facts["stage"]
    other = view.facts.get("target_stage", stage)
    own = variant(library, f"games/{view.game.name}_{other}_{decision.kind}", story)
    # The common file says that the other is asked the same.
    return own if library.has(own) or other != stage else f"games/_{decision.kind}.txt"


def variant(library: Library, file: str, story: str) -> str:
    """Return the file's variant for a story, if there is one."""
    own = f"{file}.{story}.txt"
    return own if story != NEUTRAL and library.has(own) else f"{file}.txt"


def rule_question(library: Library, decision: Decision, story: str, values: Mapping[str, Any]) -> str:
    """Return the question of a move in a game by a rule, or a style's preliminary question."""
    facts = decision.view.facts
    question = library.fill(stage_file(library, decision, story), values)
    if decision.kind in FIRST:
        question = library.fill(first_file(library, decision, story), {**values, "question": question})
    elif "belief" in facts or "computed" in facts:
        question = library.fill("games/_expected.txt", {**values, "question": question})
    if values.get("labelled"):
        question = library.fill("games/_labels.txt", {**values, "question": question})
    return question


def answer_file(library: Library, form: Form, style: str) -> str:
    """Return the file of the answer instruction of a form, in a style's words if it has any."""
    name = type(form).__name__.lower()
    own = f"answers/{name}_{style}.txt"
    return own if library.has(own) else f"answers/{name}_direct.txt"


def common_names(library: Library, game: Game, names: Sequence[str], labels: Sequence[Sequence[str]]) -> list[str]:
    """Return one name for the k-th action of all seats, for every k; rules about all seats use them."""
    if not game.has_table:
        return []
    players = [
        [{"label": label, "name": names[s]} for s, label in enumerate(same)] for same in zip(*labels, strict=False)
    ]
    return [
        same[0]["label"]
        if len({player["label"] for player in same}) == 1
        else library.fill("common.txt", {"players": same})
        for same in players
    ]


def number_range(form: Number) -> dict[str, Any]:
    """Return the bounds of an amount, for its instruction."""
    return {"low": form.low, "high": form.high, "step": form.step, "decimals": form.amounts.decimals}


MEANINGLESS = {
    "payoffs": "there is no table of payoffs to present",
    "rows": "there is no table of payoffs to present",
    "meanings": "options bear names that say what they are",
    "history": "rounds of the past are told by games/{name}_past.txt",
    "chances": "its decisions need not fall at the same time",
}
"""Framing fields about payoff tables and action lists, and why they do not apply to games by a rule."""
OF_TABLES = frozenset("equilibria least_continuation labels common options".split())
"""Values that a hint may use only in games with a table."""


def lacks_names(framing: Framing, game: Game) -> str | None:
    """Return why the seats of a game cannot be named as the framing says; None if they can."""
    if framing.names == "titles" and not game.words.titles:
        return "names: titles needs a game that carries titles"
    return (
        f"names: other needs a game of two seats, this one has {game.seats}"
        if framing.names == "other" and game.seats != 2
        else None
    )


def lacks_meaning(framing: Framing, style: str, library: Library, game: Game) -> str | None:
    """Return why a framing or style cannot be used with a game by a rule; None if it can."""
    plain = Framing()
    for part, why in MEANINGLESS.items():
        if getattr(framing, part) != getattr(plain, part):
            return f"{part} has no meaning here: {why.format(name=game.name)}"
    return (
        _lacks_files(framing, library, game)
        or _lacks_options(framing, style, game)
        or _lacks_peers(style, library, game, framing.story)
        or _lacks_table(framing, library)
    )


def _lacks_files(framing: Framing, library: Library, game: Game) -> str | None:
    """Return which file of the game or of its story is missing, in words; None if none is."""
    base = f"games/{game.name}"
    for file in (f"{base}.txt", f"{base}_past.txt", *(f"{base}_{s}.txt" for s in game.stages)):
        if not library.has(file):
            if library.language == ENGLISH:
                return f"the prompts have no file {file}, which tells the game to a model"
            return (
                f"it is not told in {library.language}: there is no file {library.path_of(file)} "
                f"(agent.framing.language: allowed {', '.join(library.languages_of(file))})"
            )
    stories = stories_of(library, game)
    if framing.story not in stories:
        file = f"games/{game.name}.{framing.story}.txt"
        return f"there is no story {framing.story!r} of it, file {file} (allowed: {', '.join(stories)})"
    return None


def _lacks_options(framing: Framing, style: str, game: Game) -> str | None:
    """Return why a framing or style does not fit the named options of a game; None if it does."""
    sets = named_sets(game)
    has_labels = framing.labels not in (None, "actions")
    for part, wanted in (
        ("labels", has_labels),
        ("counterbalance", framing.counterbalance),
        ("order", framing.order != "given"),
        ("style logprob", style == "logprob"),
    ):
        if wanted and not sets:
            return f"{part} is about named options, and all its stages ask for amounts"
    if framing.counterbalance and not has_labels and style != "logprob":
        return "counterbalance needs labels: under its own name an option cannot stand for another one"
    for options, stage in sets.items():
        if style == "logprob" and framing.labels is None and len(options) > (most := len(LETTERS)):
            return f"style logprob compares at most {most} options, the stage {stage} has {len(options)}"
        try:
            if has_labels:
                framing.labels_for(options)
        except ValueError as error:
            return f"labels: {error} at the stage {stage}"
    return None


def _lacks_peers(style: str, library: Library, game: Game, story: str) -> str | None:
    """Return why the style has nobody to predict or no text for it; None if it has both."""
    if style != "social":
        return None
    together = [step for step in steps_of(game) if len(step) > 1]
    if not together:
        return "style social predicts who decides at the same time, and in this game nobody does"
    for step in together:
        for stage in dict.fromkeys(turn.stage for turn in step):
            file = variant(library, f"games/{game.name}_{stage}_predict", story)
            if len({turn.stage for turn in step}) > 1 and not library.has(file):
                return f"style social needs the file {file}: other stages are asked at the same time"
    return None


def _lacks_table(framing: Framing, library: Library) -> str | None:
    """Return why the hint needs a payoff table, in words; None if it needs none."""
    if framing.hint is None:
        return None
    mentions = sorted(OF_TABLES & library.variables_of(f"hints/{framing.hint}.txt"))
    return f"hint {framing.hint} speaks of {mentions[0]}, which only a game with a table has" if mentions else None


def lacks_story(framing: Framing, library: Library) -> str | None:
    """Return why a game with a table cannot be told in the framing's story; None if it can."""
    if library.has(f"stories/{framing.story}.txt"):
        return None
    return f"there is no story {framing.story!r} of it; told in it: {', '.join(games_in_story(framing.story, library))}"


def games_in_story(story: str, library: Library) -> list[str]:
    """Return the games by a rule that can be told in a story."""
    ending = f".{story}"
    return [name.removesuffix(ending) for name in library.names("games") if name.endswith(ending)]
