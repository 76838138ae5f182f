"""Prompt files come from strangers: they read the values they are given and can do nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ostrom.framing.library import Library
from ostrom.framing.own_payoffs import OwnPayoffs
from ostrom.games import build_game
from ostrom.ground.errors import StudyError


def _filled(folder: Path, text: str, **values: Any) -> str:
    (folder / "goals").mkdir(exist_ok=True)
    (folder / "goals" / "x.txt").write_text(text, encoding="utf-8")
    return Library(folder).fill("goals/x.txt", values)


CODE = [
    "{{ ''.__class__ }}",
    "{{ ''.__class__.__base__.__subclasses__() }}",
    "{{ ''['__class__'] }}",
    "{{ '' | attr('__class__') }}",
    "{{ [''] | map(attribute='__class__') | list }}",
    "{{ [game] | selectattr('_table') | list }}",
    "{{ [game] | sum(attribute='__class__') }}",
    "{{ [game] | join(attribute='__init__') }}",
    "{{ [game] | groupby('__class__') }}",
    "{{ [game] | sort(attribute='__dict__') }}",
    "{{ '{0.__class__}'.format(game) }}",
    "{{ '{x.__class__}'.format_map({'x': game}) }}",
    "{{ '%s' % game }}",
    "{{ '%s' | format(game) }}",
    "{{ amount.__self__ }}",
    "{{ amount.__func__.__globals__ }}",
    "{{ game.payoffs.tofile('stolen') }}",
    "{{ game.payoffs.dump('stolen') }}",
    "{{ game.payoffs.astype('O') }}",
    "{{ game._table }}",
    "{{ game.profiles() }}",
    "{{ own.arranged([]) }}",
    "{{ own.game.payoffs.tolist() }}",
    "{{ options.append('x') }}",
    "{{ words.update({'a': 1}) }}",
    "{{ words.pop('a') }}",
    "{{ self.__init__ }}",
    "{{ self._TemplateReference__context }}",
    "{% for a in [1] %}{{ loop.__init__.__globals__ }}{% endfor %}",
    "{% for a in [1] %}{{ loop._iterable }}{% endfor %}",
    "{% macro m() %}{% endmacro %}{{ m._func }}",
    "{% macro m() %}{% endmacro %}{{ m.__init__ }}",
    "{% macro m() %}{{ varargs }}{% endmacro %}{{ m(1) }}",
    "{{ lipsum() }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ namespace() }}",
    "{{ dict(a=1) }}",
    "{{ range(3) | list }}",
    "{{ '' | xmlattr }}",
    "{{ options | random }}",
    "{{ missing.__class__ }}",
    "{{ -10**12 | _enter }}",
    "{{ [-10**12] | map('_enter') | list }}",
    "{{ 'aaaa' | _each(-10**9) }}",
    "{% filter _concat %}x{% endfilter %}",
    "{% include '../../../../etc/passwd' %}",
    "{% import '/etc/passwd' as p %}",
]

TOO_MUCH = [
    "{{ 'a' * 10**9 }}",
    "{{ 10**9 * 'a' }}",
    "{{ [1] * 10**9 }}",
    "{{ 2 ** 99999999 }}",
    "{{ (10 ** 300) ** (10 ** 300) }}",
    "{{ 9 ** 9 ** 9 ** 9 }}",
    "{% if 2 ** 99999999 %}x{% endif %}",
    "{{ 'a' | center(10**9) }}",
    "{{ 'a' | indent(10**9, true) }}",
    "{{ {'a': 1} | tojson(indent=10**9) }}",
    "{{ 5 | round(-10**9) }}",
    "{{ 5.5 | round(10**9, 'floor') }}",
    "{{ ('a' * 2000000) | replace('a', 'bbbb') }}",
    "{{ ('a' * 2000000).replace('a', 'bbbb') }}",
    "{{ (['a'] * 90000) | join('b' * 1000) }}",
    "{{ ('b' * 1000).join(['a'] * 90000) }}",
    "{% for a in 'x' * 3000000 %}{% endfor %}",
    "{% set l = 'x' * 1500 %}{% for a in l %}{% for b in l %}{{ b }}{% endfor %}{% endfor %}",
    "{% for a in ('x' * 2000) recursive %}{{ loop('x' * 2000) if loop.depth < 3 }}{% endfor %}",
    "{% for a in ('x' * 1000000) | map('upper') %}{% endfor %}",
    "{% set l = 'x' * 30000 %}{% for a in l %}{{ l | list | max }}{% endfor %}",
    "{% set l = 'x' * 900000 %}{% for a in 'y' * 100000 %}{% if 'y' in l %}{% endif %}{% endfor %}",
    "{% set l = 'x' * 900000 %}{% for a in 'y' * 100000 %}{{ l[1:] | length }}{% endfor %}",
    "{% set l = 'x' * 900000 %}{% for a in 'y' * 100000 %}{% if l | upper == 'y' %}{% endif %}{% endfor %}",
    "{% set l = 'x' * 900000 %}{% for a in 'y' * 100000 %}{{ l.count('y') }}{% endfor %}",
    "{% macro m(n) %}{{ m(n - 1) }}{{ m(n - 1) }}{% endmacro %}{{ m(200) }}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a ~ a %}" * 40 + "{{ a }}",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a + a %}" * 40 + "{{ a }}",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 40 + "{{ a }}",
    "{% set a = 'aaaaaaaaaa' %}" + "{% set a = [a, a] | join %}" * 40 + "{{ a }}",
    "{% set a = ['aaaaaaaaaa'] %}" + "{% set a = [a, a] %}" * 40 + "{{ a }}",
    "{% set a = ['aaaaaaaaaa'] %}" + "{% set a = a + a %}" * 40 + "{{ a }}",
    "{% set a = ['aaaaaaaaaa'] %}" + "{% set a = {'x': a, 'y': a} %}" * 40 + "{{ a }}",
    "{% set a = ('aaaaaaaaaa',) %}" + "{% set a = (a, a) %}" * 40 + "{{ {a: 1} }}",
    "{% set a = ['a' * 3000000] * 90000 %}{{ a }}",
    "{% set a = 'a' * 3000000 %}" + "{{ a }}" * 9,
    "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    "{% for a in [1] %}" * 30 + "{% endfor %}" * 30,
    "{{ " + "9" * 6000 + " }}",
    "{{ 0x" + "f" * 6000 + " > 1 }}",
    "{{ ('f' * 100000) | int(base=16) > 1 }}",
    "{% extends 'goals/x.txt' %}",
    "{% set l = 'x' * 900000 %}{% set m = l ~ 'y' %}{% for a in 'y' * 100000 %}{{ l == m[:-1] }}{% endfor %}",
]


@pytest.mark.parametrize("text", CODE)
def test_a_template_cannot_run_code(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    game = build_game("prisoners_dilemma")
    from ostrom.framing.config import Framing
    from ostrom.framing.history_renderer import HistoryRenderer

    history_renderer = HistoryRenderer(Framing(), Library(), {})
    own = OwnPayoffs(game, 0, (0, 1), game.actions, ("You", "P2"))
    with pytest.raises(StudyError, match=r"x\.txt|no such prompt file") as caught:
        text = _filled(
            tmp_path,
            text,
            game=game,
            own=own,
            amount=history_renderer.amount,
            options=["a"],
            words={"a": "b"},
        )
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "stolen").exists()


@pytest.mark.parametrize("text", TOO_MUCH)
def test_a_template_cannot_grow_without_end(tmp_path: Path, text: str) -> None:
    with pytest.raises(StudyError, match=r"x\.txt"):
        _filled(tmp_path, text)


def test_files_that_include_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "goals").mkdir()
    for n in range(40):
        twice = f"{{% include 'goals/{n + 1}.txt' %}}" * 2
        (tmp_path / "goals" / f"{n}.txt").write_text(twice, encoding="utf-8")
    (tmp_path / "goals" / "40.txt").write_text("leaf", encoding="utf-8")
    with pytest.raises(StudyError, match="steps"):
        Library(tmp_path).fill("goals/0.txt", {})
    (tmp_path / "goals" / "0.txt").write_text("{% include 'goals/0.txt' %}", encoding="utf-8")
    with pytest.raises(StudyError, match="recursion"):
        Library(tmp_path).fill("goals/0.txt", {})


def test_what_prompts_need_works(tmp_path: Path) -> None:
    text = (
        "{% macro line(a, b='-') %}{{ a | upper }}{{ b }}{% endmacro %}"
        "{% for a in names if a != 'z' %}{{ line(a, ', ' if not loop.last else '.') }}{% endfor %}"
        "{{ ' ' ~ (3 * 4 - 1) ~ ' ' ~ names | join('+') ~ ' ' ~ 0.5 | percent }}"
        "{{ ' ' + 'a-b'.replace('-', '+') + ' ' + ', '.join(names) + 'x'.title() }}"
        "{% for k, v in words.items() %} {{ k }}={{ v }}{% endfor %}"
        "{% for n in names recursive %}{{ loop(['q']) if n == 'x' else n }}{% endfor %}"
        " {{ [1, 2.5] | sum }} {{ [{'n': 1}, {'n': 2}] | sum(attribute='n') }} {{ 7 // 2 }} {{ 2 ** 10 }} {{ 7 % 4 }}"
        " {{ names[1:] }} {{ 'x' in names }} {{ game.payoff((0, 1))[1] | number }} {{ game.payoffs[0][1][0] }}"
        " {{ game.seats }} {{ game.actions[0] | first }} {{ words.a }} {{ nothing is none }}"
    )
    made = _filled(
        tmp_path, text, names=["x", "y"], words={"a": "b"}, game=build_game("prisoners_dilemma"), nothing=None
    )
    assert made == ("X, Y. 11 x+y 50 % a+b x, yX a=bqy 3.5 3 3 1024 3 ['y'] True 5 0.0 2 cooperate b True")


def test_what_cannot_be_called_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"a str \('20 points'\) cannot be called in a prompt file"):
        _filled(tmp_path, "{{ paid(3) }}", paid="20 points")


def test_a_macro_without_brackets_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="a Macro cannot be written into a prompt"):
        _filled(tmp_path, "{% macro told() %}x{% endmacro %}{{ told }}")


def test_each_filling_has_bounds_of_its_own(tmp_path: Path) -> None:
    text = "{% for a in 'x' * 100000 %}{% endfor %}{{ n }}"
    (tmp_path / "goals").mkdir()
    (tmp_path / "goals" / "x.txt").write_text(text, encoding="utf-8")
    library = Library(tmp_path)
    assert [library.fill("goals/x.txt", {"n": n}) for n in range(30)] == [str(n) for n in range(30)]


def test_nothing_is_computed_when_a_file_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "goals").mkdir()
    (tmp_path / "goals" / "x.txt").write_text("{{ 'a' * 10**9 }}{{ 2 ** 9999999999 }}", encoding="utf-8")
    Library(tmp_path).template("goals/x.txt")


def _linked(folder: Path) -> Path:
    outside = folder / "outside.txt"
    outside.write_text("secret", encoding="utf-8")
    mine = folder / "mine"
    (mine / "goals").mkdir(parents=True)
    (mine / "goals" / "x.txt").symlink_to(outside)
    return mine


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    from ostrom.engine.executors.wire import prompt_files
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


def test_a_story_is_rendered_under_the_same_rules(tmp_path: Path) -> None:
    (tmp_path / "stories").mkdir()
    (tmp_path / "stories" / "s.txt").write_text("{{ ''.__class__ }}", encoding="utf-8")
    with pytest.raises(StudyError, match="underscore"):
        Library(tmp_path).open_story("stories/s.txt", {})


def test_a_long_persona_is_a_text_and_no_file_name() -> None:
    assert not Library().has(f"personas/{'You are kind. ' * 400}.txt")


@pytest.mark.parametrize("amount", [-1, float("nan"), float("inf")])
def test_the_meter_cannot_be_refilled(amount: Any) -> None:
    from jinja2.exceptions import SecurityError

    from ostrom.framing.meter import Meter

    for count in (Meter().spend, Meter().write):
        with pytest.raises(SecurityError):
            count(amount)


def test_a_number_that_does_not_exist_is_named(tmp_path: Path) -> None:
    for text, missing in (("{{ facts.prize | number }}", "prize"), ("{{ demnd | number }}", "demnd")):
        with pytest.raises(StudyError, match=f"could not be filled in: .*'?{missing}'?"):
            _filled(tmp_path, text, facts={"price": 3})
