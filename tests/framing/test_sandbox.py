"""Prompt files come from strangers: they read the values they are given and can do nothing else."""

import os
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from jinja2.exceptions import SecurityError
from tests.golden.test_refused import template_values

from ostrom.framing.config import Framing
from ostrom.framing.history_renderer import HistoryRenderer
from ostrom.framing.library import MOST_BYTES, Library, read_prompt
from ostrom.framing.sandbox import Template
from ostrom.games import build_game
from ostrom.ground.errors import StudyError


def _filled(folder: Path, text: str, **values: Any) -> str:
    (folder / "goals").mkdir(exist_ok=True)
    (folder / "goals" / "x.txt").write_text(text, encoding="utf-8")
    return Library(folder).fill("goals/x.txt", values)


REFUSED = {
    "{{ '" + "x" * 20_000 + "' }}": "a text of more than 10,000 characters",
    "{{ " + "9" * 6000 + " }}": "a number of more than 40 digits",
    "{{ 0x" + "f" * 900_000 + " }}": "a number of more than 40 digits",
    "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}": "nested too deeply",
    "{{ " + "not " * 3000 + "1 }}": "nested too deeply",
    "{% if 1 %}" * 60_000: "more than 10,000 words and signs",
    "{{ a }}" * 140_000: "more than 10,000 words and signs",
    "{{ 1" + "~1" * 400_000 + " }}": "more than 10,000 words and signs",
    "{{ a" + ".a" * 400_000 + " }}": "more than 10,000 words and signs",
}
"""What is refused when the file is read, by a part of the complaint."""

_PAIRS = "{% set a = (1,) %}" + "{% set a = (a, a) %}" * 13
"""Makes a pair of pairs of 8,192 numbers, which are all visited where it is a key."""
_LONG = "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a ~ a %}" * 14
"""Makes a text of 163,840 characters."""
STOPPED = {
    "{{ amount.real }}": "no attribute",
    "{{ options.sort }}": "cannot be used",
    "{{ own.game.payoffs.tolist }}": "cannot be used",
    "{{ game.profiles }}": "cannot be used",
    "{{ 'x'.get('y') }}": "cannot be called",
    "{{ options.index('a') }}": "cannot be called",
    "{{ lipsum() }}": "undefined",
    "{{ namespace() }}": "undefined",
    "{{ [game] | map(attribute='__class__') }}": "underscore",
    "{{ [game] | selectattr('_table') }}": "underscore",
    "{{ ['a', 'b'] | selectattr('x', 'in', 'a') }}": "equalto alone",
    "{% macro m() %}{% endmacro %}{{ m(1) }}": "takes not more than 0 argument",
    "{% macro m() %}{% endmacro %}{{ m.name }}": "cannot be used",
    "{% include '../../../../etc/passwd' %}": "no such prompt file",
    "{% import '/etc/passwd' as p %}": "no such prompt file",
    "{{ options + options }}": r"cannot compute list \+ list",
    "{{ words.a - 1 }}": "cannot compute str - int",
    "{{ words.a * 9000 }}": r"cannot compute str \* int",
    "{{ options * 9000 }}": r"cannot compute list \* int",
    "{{ 1 / 0 }}": "division by zero",
    "{{ " + " * ".join(["999999999"] * 9) + " }}": "a number above",
    "{{ -words.a }}": "cannot compute int - str",
    "{{ words.a | percent }}": "a number is needed, not a str",
    "{{ words.a | number }}": "a number is needed, not a str",
    "{{ words.a | sum }}": "a list is needed, not a str",
    "{{ game.payoffs[[0, 0, 0]] }}": "whole numbers in square brackets",
    "{{ 5 | round(-1000000000) }}": "from -15 to 15",
    "{{ 5 | remainder(0) }}": "modulo",
    "{{ words.a | replace('', 'xxxxxxxx') }}": "a text to look for",
    "{% for a in words.a %}{% endfor %}": "a list is needed, not a str",
    "{% for a, b in [1] %}{% endfor %}": "cannot unpack",
    "{% for a in range(1000000000) %}{% endfor %}": "at most 10,000 numbers",
    "{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}": "steps|characters",
    "{% for a in [1, 2] %}" * 40 + "x" + "{% endfor %}" * 40: "too many statically nested blocks",
    "{% for a in [1, 2] %}" * 19 + "x" + "{% endfor %}" * 19: "steps",
    "{% for a in range(9000) %}" + "{{ a }}" * 1000 + "{% endfor %}": "steps|characters",
    "{% for a in range(9000) if range(9000) | sort %}{% endfor %}": "steps|characters",
    "{% for a in range(9000) %}{% set b = range(9000) | join('xxxxxxxxxxx') %}{% endfor %}": "steps|characters",
    "{% for a in range(9000) %}{% set b = range(9000) | list | unique %}{% endfor %}": "steps|characters",
    "{% set l = range(9000) | list %}{% for a in range(9000) %}{% set b = l[1:] %}{% endfor %}": "steps|characters",
    "{% set l = range(9000) | list %}{% for a in range(9000) %}{% if a in l %}{% endif %}{% endfor %}": "steps",
    _PAIRS + "{% for x in range(9000) %}{% if words[a] is defined %}{% endif %}{% endfor %}": "steps|characters",
    _LONG + "{% set b = a ~ '' %}{% for x in range(9000) %}{% if a == b %}{% endif %}{% endfor %}": "steps|characters",
    _LONG + "{% for x in range(9000) %}{% if 'aaaaaaaaaaaaab' in a %}{% endif %}{% endfor %}": "steps|characters",
    _LONG + "{% for x in range(9000) %}{% set b = a | upper %}{% endfor %}": "steps|characters",
    _LONG + "{% for x in range(9000) %}{% set b = a | quoted %}{% endfor %}": "steps|characters",
    _LONG + "{% for x in range(9000) %}{% set b = a | replace('b', 'c') %}{% endfor %}": "steps|characters",
    _LONG + "{% for x in range(9000) %}{% set b = a[1:] %}{% endfor %}": "steps|characters",
    _LONG + "{% for x in range(9000) %}{{ a }}{% endfor %}": "more than 4,000,000 characters",
    _LONG + "{% macro m() %}{{ a }}{% endmacro %}{% for x in range(900) %}{{ m() }}{% endfor %}": "steps|characters",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a ~ a %}" * 40: "characters",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a | replace('a', 'aaaaaaaaaa') %}" * 40: "characters|steps",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = [a, a] | join %}" * 40: "characters|steps",
    "{% set a = ['a'] %}" + "{% set a = [a, a] %}" * 40 + "{{ a }}": "steps|characters",
    "{% set a = ['a'] %}" + "{% set a = {'x': a, 'y': a} %}" * 40 + "{{ a }}": "steps|characters",
    "{% set a = ('a',) %}" + "{% set a = (a, a) %}" * 40 + "{{ {a: 1} }}": "steps|characters",
    "{% set a = 1 %}" + "{% set a = a + a %}" * 70: "a number above",
    "{% macro m(n) %}{{ m(n - 1) }}{{ m(n - 1) }}{% endmacro %}{{ m(200) }}": "nested more than 40 deep",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(30) }}": "steps|characters",
    "{% for a in range(9000) %}{{ amount(a) }}{% for b in options %}{{ amount(b) }}{% endfor %}{% endfor %}"
    * 9: "steps|number",
    "{% include 'goals/x.txt' %}": "nested more than 40 deep",
    "{% import 'goals/x.txt' as x %}": "nested more than 40 deep",
}
"""What is stopped while the file is filled in, by a part of the complaint."""


PASSES = 90


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("{% for a in range(90) %}{{ a }}{{ a }}{% endfor %}", 3),
        ("{% for a in range(90) if a < 0 or a < 0 or a < 0 %}{% endfor %}", 10),
        ("{% macro m(a=1 + 1 + 1 + 1 + 1) %}{% endmacro %}{% for a in range(90) %}{{ m() }}{% endfor %}", 9),
        ("{% macro m() %}{{ 1 + 1 + 1 }}{% endmacro %}{% for a in range(90) if m() %}{% endfor %}", 7),
        ("{% for a in range(90) %}{% for b in [] %}{{ a + a + a }}{% endfor %}{% endfor %}", 7),
    ],
)
def test_a_pass_and_a_call_cost_the_syntax_that_they_can_run(text: str, nodes: int) -> None:
    (_, (once, _)), (_, (often, _)) = (
        Template(text.replace("90", str(passes)), Library().template).render({}) for passes in (1, 1 + PASSES)
    )
    assert often - once >= nodes * PASSES


@pytest.mark.parametrize(
    "text",
    [
        "{% set b = a ~ a %}",
        "{% set b = [a, a] | join %}",
        "{% set b = a | replace('x', 'yy') %}",
        "{% macro m() %}{{ a }}{{ a }}{% endmacro %}{% set b = m() %}",
        "{% macro m() %}" + "x" * 200 + "{% endmacro %}{% set b = m() %}",
        "{% if a == a ~ 'x' %}{% endif %}",
        "{% if 'y' in a or 'y' in a %}{% endif %}",
        "{{ a }}{{ a }}",
        "{{ a | upper | lower }}",
        "{% for x in [1, 2] %}" + "x" * 100 + "{% endfor %}",
    ],
)
def test_texts_count_against_one_bound(text: str) -> None:
    _, (_, characters) = Template(text, Library().template).render({"a": "x" * 100})
    assert 200 <= characters <= 1000


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_allowed_is_refused_when_the_file_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "goals").mkdir()
    (tmp_path / "goals" / "x.txt").write_text(f"One line.\n{text}", encoding="utf-8")
    with pytest.raises(StudyError, match=REFUSED[text]) as caught:
        Library(tmp_path).template("goals/x.txt")
    line = "" if "nested too deeply" in str(caught.value) else "line 2: "
    assert str(caught.value).startswith(f"{tmp_path}/goals/x.txt: {line}is not a valid")
    assert "\n" not in str(caught.value)


@pytest.mark.sample(28)
@pytest.mark.parametrize("text", STOPPED)
def test_what_goes_too_far_is_stopped_soon(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    values = template_values()
    with pytest.raises(StudyError, match=STOPPED[text]) as caught:
        _filled(tmp_path, text, **values)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "stolen").exists()


@pytest.mark.slow
def test_attacks_take_little_memory() -> None:
    texts = [
        text.replace("range(9000)", "range(90)")
        for text in STOPPED
        if text.startswith("{% set a = ") and "quoted" not in text
    ]
    templates = [Template(text, Library().template) for text in texts]
    assert len(templates) > 10
    tracemalloc.start()
    try:
        for template in templates:
            with suppress(SecurityError):
                template.render({})
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_files_that_include_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "goals").mkdir()
    for n in range(30):
        twice = f"{{% include 'goals/{n + 1}.txt' %}}" * 2
        (tmp_path / "goals" / f"{n}.txt").write_text(twice, encoding="utf-8")
    (tmp_path / "goals" / "30.txt").write_text("leaf", encoding="utf-8")
    with pytest.raises(StudyError, match="steps"):
        Library(tmp_path).fill("goals/0.txt", {})


def test_a_refused_file_that_is_included_is_named(tmp_path: Path) -> None:
    (tmp_path / "goals").mkdir()
    (tmp_path / "goals" / "x.txt").write_text("{% include 'goals/y.txt' %}", encoding="utf-8")
    (tmp_path / "goals" / "y.txt").write_text("One.\n\n{{ 2 ** 2 }}", encoding="utf-8")
    with pytest.raises(StudyError, match=r"goals/y\.txt: line 3: is not a valid template: \*\* is not allowed"):
        Library(tmp_path).fill("goals/x.txt", {})


def test_what_prompts_need_works(tmp_path: Path) -> None:
    text = (
        "{% macro line(a, b='-') %}{{ a | upper }}{{ b }}{% endmacro %}"
        "{% for a in names if a != 'z' %}{{ line(a, b=', ' if not loop.last else '.') }}{% endfor %}"
        "{{ ' ' ~ (12 - 1) ~ ' ' ~ names | join('+') ~ ' ' ~ 0.5 | percent }}"
        "{% for k, v in words.items() %} {{ k }}={{ v }}{% endfor %}"
        " {{ [1, 2.5] | sum }} {{ words.get('q', 'none') }} {{ 7 | remainder(4) }} {{ -1 + 2 - 3 }} {{ +2 }}"
        " {{ names[1:] }} {{ 'x' in names }} {{ game.payoff((0, 1))[1] | number }} {{ game.payoffs[0][1][0] }}"
        " {{ game.seats }} {{ game.actions[0] | first }} {{ words.a }} {{ nothing is none }}"
        " {% for n in range(1, 4) %}{{ n }}{{ loop.revindex }}{% else %}no{% endfor %}"
        "{% for n in [] %}{% else %} empty{% endfor %} {{ names | last }} {{ q | default('d') }}"
        " {{ 3 is odd }} {{ 3 is even }} {{ words.q is defined }} {{ q is undefined }} {{ 1 <= 2 < 3 }}"
        " {{ (names | length, 'b' not in names) }} {{ 'points' | singular }} {{ [3, 1] | sort }} {{ [3, 1] | max }}"
    )
    made = _filled(
        tmp_path, text, names=["x", "y"], words={"a": "b"}, game=build_game("prisoners_dilemma"), nothing=None,
    )  # fmt: skip
    assert made == (
        "X, Y. 11 x+y 50 % a=b 3.5 none 3 -2 2 ['y'] True 5 0.0 2 cooperate b True 132231 empty y d"
        " True False False True True (2, True) point [1, 3] 3"
    )


def test_what_is_set_stays_where_it_is_set(tmp_path: Path) -> None:
    text = (
        "{% set a = 1 %}{% for n in [1, 2] %}{{ a }}{% set a = a + n %}{{ a }} {% endfor %}{{ a }}"
        "{% if true %}{% set a = 7 %}{% endif %}{{ a }}"
        "{% macro m(n) %}{% set a = n %}{{ a }}{% endmacro %}{{ m(5) }}{{ a }}"
        "{% for n in [1] %}{{ m(n) }}{% include 'goals/y.txt' %}{{ a }}{% endfor %}"
    )
    (tmp_path / "goals").mkdir()
    (tmp_path / "goals" / "y.txt").write_text("{{ n }}{{ a }}{% set a = 9 %}{{ a }}", encoding="utf-8")
    assert _filled(tmp_path, text) == "12 13 175711797"


def test_macros_of_other_files_are_called(tmp_path: Path) -> None:
    (tmp_path / "goals").mkdir()
    (tmp_path / "goals" / "y.txt").write_text(
        "{% set sign = '!' %}{% macro hail(name) %}{{ word }} {{ name }}{{ sign }}{% endmacro %}", encoding="utf-8"
    )
    text = (
        "{% import 'goals/y.txt' as y with context %}{{ y.hail('A') }}{{ y.sign }}"
        "{% from 'goals/y.txt' import hail as h with context %}{{ h('B') }}"
    )
    assert _filled(tmp_path, text, word="Ho") == "Ho A!!Ho B!"
    with pytest.raises(StudyError, match="'word' is undefined"):
        _filled(tmp_path, "{% from 'goals/y.txt' import hail %}{{ hail('B') }}", word="Ho")
    with pytest.raises(StudyError, match=r"goals/y\.txt' .* does not export the requested name 'hale'"):
        _filled(tmp_path, "{% from 'goals/y.txt' import hale %}{{ hale('B') }}")


def test_what_cannot_be_called_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"a str \('20 points'\) cannot be called in a prompt file"):
        _filled(tmp_path, "{{ paid(3) }}", paid="20 points")


def test_a_macro_without_brackets_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="a Macro cannot be written into a prompt"):
        _filled(tmp_path, "{% macro told() %}x{% endmacro %}{{ told }}")


def test_each_rendering_has_bounds_of_its_own(tmp_path: Path) -> None:
    text = "{% for a in range(9000) %}{% for b in [1, 2, 3] %}{% endfor %}{% endfor %}{{ n }}"
    (tmp_path / "goals").mkdir()
    (tmp_path / "goals" / "x.txt").write_text(text, encoding="utf-8")
    library = Library(tmp_path)
    assert [library.fill("goals/x.txt", {"n": n}) for n in range(9)] == [str(n) for n in range(9)]


@pytest.mark.parametrize("again", [False, True])
def test_a_method_that_renders_is_counted_with_its_caller(tmp_path: Path, again: bool) -> None:
    loops = "{% for a in range(9000) %}{% endfor %}"
    (tmp_path / "amount.txt").write_text(loops + "{{ value | number }} {{ units }}", encoding="utf-8")
    (tmp_path / "goals").mkdir()
    calls = "{% for a in range(20) %}{{ amount(1) }}{% endfor %}"
    (tmp_path / "goals" / "x.txt").write_text(calls, encoding="utf-8")
    library = Library(tmp_path)
    amount = HistoryRenderer(Framing(), library, {}).amount
    if again:  # the text is in the cache, and counts as when it was made
        assert amount(1) == "1 points"
    with pytest.raises(StudyError, match="steps"):
        library.fill("goals/x.txt", {"amount": amount})


def _linked(folder: Path) -> Path:
    outside = folder / "outside.txt"
    outside.write_text("secret", encoding="utf-8")
    mine = folder / "mine"
    (mine / "goals").mkdir(parents=True)
    (mine / "goals" / "x.txt").symlink_to(outside)
    return mine


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    from ostrom.engine.executors.local import prompt_files
    from ostrom.framing.fingerprint import hashes

    library = Library(_linked(tmp_path))
    for read in (
        lambda: library.fill("goals/x.txt", {}),
        lambda: hashes(library, ["goals/x.txt"]),
        lambda: prompt_files(library),
    ):
        with pytest.raises(StudyError, match="leads out of the folder of prompts"):
            read()


def test_a_linked_story_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine" / "stories").mkdir(parents=True)
    (tmp_path / "mine" / "stories" / "s.txt").symlink_to("/etc/hostname")
    with pytest.raises(StudyError, match="leads out of the folder of prompts"):
        Library(tmp_path / "mine").story("stories/s.txt")


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "goals").mkdir()
    (tmp_path / "goals" / "a.txt").write_text("here", encoding="utf-8")
    (tmp_path / "goals" / "b.txt").symlink_to("a.txt")
    assert Library(tmp_path).fill("goals/b.txt", {}) == "here"


def test_a_pipe_and_a_huge_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "goals").mkdir()
    os.mkfifo(tmp_path / "goals" / "pipe.txt")
    (tmp_path / "goals" / "huge.txt").write_bytes(b"x" * 1_000_001)
    library = Library(tmp_path)
    with pytest.raises(StudyError, match="is not a plain file"):
        library.fill("goals/pipe.txt", {})
    with pytest.raises(StudyError, match="is larger than"):
        library.fill("goals/huge.txt", {})


def test_a_prompt_file_has_a_million_bytes_at_most(tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_bytes(b"x" * MOST_BYTES)
    assert len(read_prompt(file, tmp_path)) == MOST_BYTES == 1_000_000
    file.write_bytes(b"x" * (MOST_BYTES + 1))
    with pytest.raises(StudyError, match=r"is larger than 1,000,000 bytes \(found 1000001\)"):
        read_prompt(file, tmp_path)


def test_a_number_that_no_float_holds_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "stories").mkdir()
    (tmp_path / "stories" / "s.txt").write_text("{{ word - 1e999 }}", encoding="utf-8")
    with pytest.raises(StudyError, match="could not be filled in: name 'inf'"):
        Library(tmp_path).open_story("stories/s.txt", {"word": 1})


def test_a_story_is_rendered_under_the_same_rules(tmp_path: Path) -> None:
    (tmp_path / "stories").mkdir()
    (tmp_path / "stories" / "s.txt").write_text("{{ ''.__class__ }}", encoding="utf-8")
    with pytest.raises(StudyError, match="underscore"):
        Library(tmp_path).open_story("stories/s.txt", {})


def test_a_long_persona_is_a_text_and_no_file_name() -> None:
    assert not Library().has(f"personas/{'You are kind. ' * 400}.txt")


def test_a_number_that_does_not_exist_is_named(tmp_path: Path) -> None:
    for text, missing in (("{{ facts.prize | number }}", "prize"), ("{{ demnd | number }}", "demnd")):
        with pytest.raises(StudyError, match=f"could not be filled in: .*'?{missing}'?"):
            _filled(tmp_path, text, facts={"price": 3})


@pytest.mark.parametrize(
    ("source", "text"), [("{{ 3 * 4 }}", "12"), ("{{ 7 / 2 }}", "3.5"), ("{{ 7 // 2 }}{{ 7 % 2 }}", "31")]
)
def test_numbers_are_computed(tmp_path: Path, source: str, text: str) -> None:
    assert _filled(tmp_path, source) == text
