"""Prompts in other languages: the same files and placeholders, no English between them, the same labels and readers."""

import re
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, meta, nodes

from ostrom.answers import Answer, Choice, Invalid, read
from ostrom.framing.library import OWN, WORDLESS, Library, read_reasons, translated
from ostrom.ground.errors import OstromError, StudyError
from ostrom.mechanisms import mechanisms
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.prompts import try_prompts
from ostrom.studies.run import play

LANGUAGES = ("ar", "de", "es", "zh")
REASONS = "answers/reasons.txt"
EVOLUTION = {
    "name": "evolution", "genomes": ["Sei nett."], "under": {"name": "repetition", "rounds": 2},
    "generations": 2, "meetings": 1,
}  # fmt: skip


def files_of(language: str) -> set[str]:
    folder = OWN / "languages" / language
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.txt")}


def placeholders(path: Path) -> set[str]:
    """What a template takes from outside: variables, with the attribute that is asked of facts and schemas."""
    text = path.read_text(encoding="utf-8")
    environment = Environment(autoescape=True)
    environment.filters |= dict.fromkeys(("number", "percent", "quoted"), str)
    tree = environment.parse(text.partition("\n---\n")[2] or text)
    outside = meta.find_undeclared_variables(tree) - {"words"}
    asked = {
        f"{node.node.name}.{node.attr}"
        for node in tree.find_all(nodes.Getattr)
        if isinstance(node.node, nodes.Name) and node.node.name in outside - {"units"}
    }
    return outside | asked


def test_there_are_four_languages_besides_english() -> None:
    assert sorted(path.name for path in (OWN / "languages").iterdir()) == list(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_files_and_placeholders_are_those_of_the_english_prompts(language: str) -> None:
    files = files_of(language)
    assert files == files_of("de")
    for file in files - {REASONS}:
        own = OWN / "languages" / language / file
        assert placeholders(own) == placeholders(OWN / file), f"{language}/{file}"
    assert not files & WORDLESS


def test_files_that_all_languages_share_have_no_words() -> None:
    for file in WORDLESS:
        said = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "", (OWN / file).read_text(), flags=re.S)
        assert not said.strip(), file


ENGLISH = re.compile(
    r"\b(?:the|you|your|and|or|round|rounds|player|players|which|answer|points|if|receive|choose)\b", re.IGNORECASE
)
ONE_OF_MANY = re.compile(r"letzten 1\b|las 1 últimas|\b1 (?:Runden|Punkte|rondas|puntos|veces)\b")
"""A plural where one thing is meant."""
QUOTED = re.compile(r'"[^"]*"|</?\w+>|JSON')


@pytest.mark.sample(2)
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_english_is_mixed_in(language: str, tmp_path: Path) -> None:
    sent: list[str] = []
    tried = 0

    def reply(request: Request) -> str:
        nonlocal tried
        sent.extend(m.content for m in request.messages if m.role == "user")
        last, tried = request.messages[-1].content, tried + 1
        if '"message"' in last:
            return '{"message": "!"}'
        if '"rounds"' in last:
            return '{"rounds": [1]}'
        if '"sure"' in last:
            return '{"test": "no", "sure": 5}' if tried % 2 else "!"
        return "[A0] [A1]" if tried % 3 == 0 else "[A0]" if "[A0]" in last else "!"

    register("polyglot", reply)
    agent = {"model": "scripted/polyglot", "framing": {"language": language}}
    variants: dict[str, Any] = {
        "a": {"mechanism": "none", "agent": {**agent, "style": "direct"}},
        "b": {"agent": {**agent, "style": "reasoned", "memory": "window:2", "conversation": "dialogue"}},
        "c": {"agent": {**agent, "style": "social", "memory": {"name": "summary", "keep": 1, "every": 1}}},
        "d": {"mechanism": {"name": "cheap_talk", "rounds": 2}, "agent": {**agent, "memory": "tally"}},
        "e": {"agent": {**agent, "memory": "curated:1", "framing": {"language": language, "history": "sentences"}}},
        "f": {"agent": {**agent, "memory": "asked:1", "framing": {"language": language, "payoffs": "rows"}}},
        "g": {"agent": {**agent, "memory": "window:1"}},
        "h": {
            "mechanism": {"name": "repetition", "rounds": 2, "recognise": True},
            "agent": {**agent, "style": "direct"},
        },
    }
    study = {
        "name": language,
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 3},
        "vary": {"how": variants},
    }
    try:
        assert play(load_study(study), runs=tmp_path).tally.done == len(variants)
    finally:
        unregister("polyglot")
    assert len(sent) > 50
    assert any('"sure"' in text for text in sent)
    for text in sent:
        said = QUOTED.sub("", text)
        assert not ENGLISH.search(said), said
        assert not ONE_OF_MANY.search(said), said
        if language in ("ar", "zh"):
            assert set(re.findall(r"[A-Za-z]+", said)) <= {"A", "R", "P"}, said


UNTRANSLATED: list[tuple[dict[str, Any], str]] = [
    *(
        ({"mechanism": name}, f"mechanism {name} is not translated into de (translated: cheap_talk, none, repet")
        for name in sorted(mechanisms.names())
        if name not in ("none", "repetition", "cheap_talk", "evolution")
    ),
    ({"mechanism": EVOLUTION}, "question paraphrase is not translated into de"),
    ({"mechanism": {"name": "repetition", "rounds": 2, "talk": {}}}, "talk is not translated into de"),
    ({"mechanism": {"name": "none", "talk": {}}}, "talk is not translated into de"),
    ({"mechanism": {"name": "cheap_talk", "talk": "before"}}, "talk is not translated into de"),
    ({"mechanism": {"name": "repetition", "rounds": 2, "state": ["during"]}}, "memory_one is not translated into de"),
    ({"game": "ultimatum"}, "no file languages/de/games/ultimatum.txt (agent.framing.language: allowed en)"),
    ({"game": "common_pool", "mechanism": {"name": "repetition", "rounds": 2}}, "common_pool: it is not told in de"),
    ({"agent": {"persona": "neutral"}}, "unknown persona (or write it out in words) 'neutral'"),
    ({"agent": {"system": "role_is_context"}}, "unknown system (or write it out in words) 'role_is_context'"),
    *(({"framing": {"story": name}}, f"prompt file {name} is not translated into de (translated: neutral)")
      for name in ("cooking", "long", "pair", "project", "scenario", "textbook")),
    *(({"framing": {"payoffs": name}}, f"{name} is not translated into de (translated: rows, sentences)")
      for name in ("best_responses", "formula", "matrices", "own_sentences", "profiles", "prose", "words")),
    *(({"framing": {"goal": name}}, f"prompt file {name} is not translated into de (translated: total)")
      for name in ("ahead", "best_response", "joint", "nash", "role")),
    *(({"framing": {"hint": name}}, f"prompt file {name} is not translated into de (translated: none)")
      for name in ("cooperation_holds", "equilibrium", "may_err", "will_defect_once")),
    ({"framing": {"history": "words"}, "mechanism": {"name": "repetition", "rounds": 2}},
     "words is not translated into de (translated: actions, compact, missed, sentences)"),
    ({"framing": {"wording": "plain"}, "mechanism": {"name": "repetition", "rounds": 2}},
     "mechanism repetition.plain is not translated into de"),
    ({"framing": {"names": "titles"}}, "the words that games carry are not translated into de"),
    ({"framing": {"meanings": True}}, "the words that games carry are not translated into de"),
    ({"framing": {"language": "fr"}}, "there are no prompts in fr, only in en, ar, de, es, zh"),
    ({"framing": {"language": "../x"}}, "agent.framing.language"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(UNTRANSLATED)))
def test_what_is_not_translated_is_refused_in_one_line(number: int) -> None:
    change, why = UNTRANSLATED[number]
    framing = {"language": "de", **change.get("framing", {})}
    study = {
        "name": "x",
        "game": change.get("game", "prisoners_dilemma"),
        "mechanism": change.get("mechanism", "none"),
        "agent": {"model": "scripted/none", "framing": framing, **change.get("agent", {})},
    }
    with pytest.raises(OstromError) as error:
        try_prompts(StudyPlan(load_study(study)))
    assert why in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["stories", "payoffs", "goals", "hints", "history", "personas", "mechanisms"])
def test_every_untranslated_file_is_among_the_refusals(kind: str) -> None:
    names = {path.stem for path in (OWN / kind).glob("[!_]*.txt") if "." not in path.stem}
    translated = {path.stem for path in (OWN / "languages/de" / kind).glob("*.txt")}
    shared = {Path(file).stem for file in WORDLESS if file.startswith(f"{kind}/")}
    told = str(UNTRANSLATED)
    alone = {"authoring", "judging", "scoring"}  # rules of tasks that are no part of a match
    assert all(f"'{name}'" in told for name in names - translated - shared - alone)


def test_no_invisible_marks_of_direction_are_put_into_prompts() -> None:
    """A model reads characters in logical order, and labels must come back as they were sent."""
    marks = re.compile("[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]")
    for path in (OWN / "languages").rglob("*.txt"):
        assert not marks.search(path.read_text(encoding="utf-8")), path


def test_a_folder_of_prompts_in_english_does_not_reach_another_language(tmp_path: Path) -> None:
    (tmp_path / "turns").mkdir()
    (tmp_path / "turns/act.txt").write_text("Say it.")
    own = tmp_path / "languages/de/turns"
    own.mkdir(parents=True)
    (own / "predict.txt").write_text("Sag es.")
    library = Library(tmp_path).in_language("de")
    assert library.fill("turns/predict.txt", {}) == "Sag es."
    assert (
        "Say it."
        not in library.template("turns/act.txt").render({"facts": {}, "words": {"option": "", "choose": ""}})[0]
    )


@pytest.mark.parametrize(
    ("reply", "key"),
    [
        ("Ich wähle [A0].", "C"), ("Ich wähle nicht [A0].", None), ("Wenn ich A0 wähle, gewinne ich.", None),
        ("Mi acción es [A1].", "D"), ("Nunca elegiría A1.", None), ("我选择 [A0]。", "C"), ("我不选择 A0。", None),
        ("أختار الخيار [A1].", "D"), ("لن أختار A1.", None), ("هل أختار A1؟", None),
    ],
)  # fmt: skip
def test_a_reply_is_read_alike_in_every_language_and_never_guessed(reply: str, key: str | None) -> None:
    found = read(Choice(("C", "D")), reply, {"C": "A0", "D": "A1"})
    assert isinstance(found, Invalid) if key is None else isinstance(found, Answer) and found.value == key


def test_names_stand_in_their_grammatical_case(tmp_path: Path) -> None:
    """Options that differ by seat are told of "the other player": a case in German, an article in Arabic."""
    said: dict[str, str] = {}
    for language in ("de", "ar"):

        def reply(request: Request, to: str = language) -> str:
            said.setdefault(to, request.messages[-1].content)
            return "!"

        register("listener", reply)
        agent = {"model": "scripted/listener", "framing": {"language": language, "names": "other", "labels": "actions"}}
        study = {"name": language, "game": "trust", "agent": agent, "invalid": {"policy": "uniform", "retries": 0}}
        try:
            play(load_study(study), runs=tmp_path)
        finally:
            unregister("listener")
    assert "Diese Aktionen hat der andere Spieler: " in said["de"]
    assert "المتاحة أمام اللاعب الآخر" in said["ar"] and "لـال" not in said["ar"]


@pytest.mark.parametrize(
    ("language", "one", "two"), [("de", "tun wird", "tun werden"), ("es", "hará Ana", "harán Ana y Bo")]
)
def test_an_observer_of_one_seat_reads_the_singular(language: str, one: str, two: str) -> None:
    library = Library().in_language(language)
    values = {"observer": True, "unnamed": False, "same_options": True, "options": [], "meanings": None}
    for names, verb in ((["Ana"], one), (["Ana", "Bo"], two)):
        assert verb in library.fill("_seats.txt", {**values, "names": names, "words": {}})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a\n{} = b", "is no line ENGLISH = TRANSLATION"),
        ("a {} = b {} {}\n{} = c", "is no line ENGLISH = TRANSLATION"),
        ("a = b", "must end with a line {} = TRANSLATION for all other reasons"),
        ("", "must end with a line {} = TRANSLATION for all other reasons"),
        ("{} = c\na = b", "must end with a line {} = TRANSLATION"),
    ],
)
def test_reasons_that_cannot_be_read_are_refused(text: str, says: str) -> None:
    with pytest.raises(StudyError) as caught:
        read_reasons(text, "reasons.txt")
    assert says in str(caught.value) and str(caught.value).startswith("reasons.txt: ")


def test_reasons_keep_what_stands_in_their_holes() -> None:
    read = read_reasons("{} of {} = aus {}: {}!\n\n  sum {} = Summe\n{} = sonst", "reasons.txt")
    said = [translated(text, read) for text in ("2 of\n3", "sum 4", "else", "")]
    assert said == ["aus 2: 3!", "Summe", "sonst", "sonst"]
