"""Prompts in other languages: the same files and placeholders, no English between them, the same labels and readers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, meta, nodes

from ostrom.answers import Answer, Choice, Invalid, read
from ostrom.errors import StudyError
from ostrom.framing.library import OWN, WORDLESS, Library
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.prompts import try_prompts
from ostrom.studies.run import play

LANGUAGES = ("ar", "de", "es", "zh")
REASONS = "answers/reasons.txt"


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
    r"\b(?:the|you|your|and|or|round|rounds|player|players|which|answer|points|if|receive|choose)\b",
    re.IGNORECASE,
)
QUOTED = re.compile(r'"[^"]*"|</?\w+>|JSON')


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
        return "[A0] [A1]" if tried % 3 == 0 else "[A0]" if "[A0]" in last else "!"

    register("polyglot", reply)
    agent = {"model": "scripted/polyglot", "framing": {"language": language}}
    variants: dict[str, Any] = {
        "a": {"mechanism": "none", "agent": {**agent, "style": "direct"}},
        "b": {"agent": {**agent, "style": "reasoned", "memory": "window:2", "conversation": "dialogue"}},
        "c": {"agent": {**agent, "style": "social", "memory": {"name": "summary", "keep": 1, "every": 1}}},
        "d": {"mechanism": {"name": "cheap_talk", "rounds": 2}, "agent": {**agent, "memory": "tally"}},
        "e": {
            "agent": {
                **agent,
                "memory": "curated:1",
                "framing": {"language": language, "history": "sentences"},
            }
        },
        "f": {"agent": {**agent, "memory": "asked:1", "framing": {"language": language, "payoffs": "rows"}}},
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
    for text in sent:
        said = QUOTED.sub("", text)
        assert not ENGLISH.search(said), said
        if language in ("ar", "zh"):
            assert set(re.findall(r"[A-Za-z]+", said)) <= {"A", "R", "P"}, said


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"mechanism": "contracting"},
            "mechanism contracting is not translated into de (translated: cheap_talk, none",
        ),
        (
            {"framing": {"hint": "may_err"}},
            "prompt file may_err is not translated into de (translated: none)",
        ),
        (
            {"framing": {"story": "cooking"}},
            "prompt file cooking is not translated into de (translated: neutral)",
        ),
        ({"framing": {"payoffs": "formula"}}, "is not translated into de (translated: rows, sentences)"),
        ({"framing": {"language": "fr"}}, "there are no prompts in fr, only in en, ar, de, es, zh"),
        ({"framing": {"language": "../x"}}, "agent.framing.language"),
    ],
)
def test_what_is_not_translated_is_refused_in_one_line(change: dict[str, Any], why: str) -> None:
    agent = {"model": "scripted/none", "framing": {"language": "de", **change.get("framing", {})}}
    study = {
        "name": "x",
        "game": "prisoners_dilemma",
        "mechanism": change.get("mechanism", "none"),
        "agent": agent,
    }
    with pytest.raises(StudyError) as error:
        try_prompts(StudyPlan(load_study(study)))
    assert why in str(error.value) and "\n" not in str(error.value)


def test_a_folder_of_prompts_in_english_does_not_reach_another_language(tmp_path: Path) -> None:
    (tmp_path / "turns").mkdir()
    (tmp_path / "turns/act.txt").write_text("Say it.")
    own = tmp_path / "languages/de/turns"
    own.mkdir(parents=True)
    (own / "predict.txt").write_text("Sag es.")
    library = Library(tmp_path).spoken("de")
    assert library.fill("turns/predict.txt", {}) == "Sag es."
    assert "Say it." not in library.template("turns/act.txt").render(
        facts={}, words={"option": "", "choose": ""}
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
