"""Prompt files that want to take time or memory, filled in under bounds of the system on both."""

import json
from pathlib import Path

import pytest
from tests.limited import limited

DOUBLED = "{{% set {0} = {1} %}}" + "{{% set {0} = {2} %}}" * 40
LISTS = DOUBLED.format("a", "[1]", "[a, a]") + DOUBLED.format("b", "[1]", "[b, b]")
PAIRS = DOUBLED.format("a", "(1,)", "(a, a)") + DOUBLED.format("b", "(1,)", "(b, b)")
MAPPINGS = DOUBLED.format("a", "{1: 2}", "{1: a, 2: a}") + DOUBLED.format("b", "{1: 2}", "{1: b, 2: b}")
SOME = "{% set a = (1,) %}" + "{% set a = (a, a) %}" * 13
LONG = "{% set a = 'aaaaaaaaaa' %}" + "{% set a = a ~ a %}" * 17
NAMES = "".join(f"{{% set a{n} = 1 %}}" for n in range(1200))
DEEP = "{% set a = [1] %}" + "{% set a = [a] %}" * 1200
DEEP_PAIRS = "{% set a = (1,) %}" + "{% set a = (a,) %}" * 1200

BEGINNINGS = {
    "": "",
    "DEEP": DEEP,
    "DEEP_PAIRS": DEEP_PAIRS,
    "LISTS": LISTS,
    "LONG": LONG,
    "MAPPINGS": MAPPINGS,
    "PAIRS": PAIRS,
}
LINES = Path(__file__).with_name("attacks.txt").read_text(encoding="utf-8").splitlines()
ATTACKS = [
    *(BEGINNINGS[name] + text for name, _, text in (line.partition(" ") for line in LINES)),
    SOME + "{% for x in range(9999) %}{{ words[a] | default(1) }}{% endfor %}" * 3,
    SOME + "{% for x in range(9999) %}{{ words.get(a) }}{% endfor %}" * 3,
    SOME + "{% for x in range(9999) %}{{ options[a] }}{{ game[a] }}{{ units[a] }}{% endfor %}" * 3,
    SOME + "{% for x in range(9999) %}{% if a %}{{ [a] | first | length }}{% endif %}{% endfor %}" * 3,
    NAMES + "{% for x in range(9999) %}{% set b = 1 %}{% endfor %}" * 20,
    NAMES + "{% macro m() %}{% endmacro %}" + "{% for x in range(9999) %}{{ m() }}{% endfor %}" * 9,
    NAMES + "{% for x in range(9999) %}{% for y in [1] %}{% endfor %}{% endfor %}" * 9,
    NAMES + "{% for x in range(9999) %}{% include 'goals/y.txt' %}{% endfor %}" * 9,
    NAMES + "{% for x in range(9999) %}{% import 'goals/y.txt' as y %}{% endfor %}" * 9,
    "{% for x in range(9999) %}{{ x | round(15) }}{{ x | number }}{{ x | percent }}{% endfor %}" * 30,
    LONG + "{% for x in range(9999) %}{{ a | length }}{{ a | default(a) }}{{ a is string }}{% endfor %}" * 5,
    "{#" * 300_000,
    "{{" * 300_000,
    "{% raw %}" * 90_000,
    "{{ '" + "\\'" * 400_000,
    "{{ " + "1_" * 400_000 + "1 }}",
    "{{ " + "1" * 900_000 + " }}",
    "{{ 1e" + "1" * 900_000 + " }}",
    " " * 900_000 + "{%- if 1 %}{% endif %}",
    "\n" * 900_000 + "{%- if 1 -%}" + "\n" * 90_000 + "{% endif %}",
    "{{ x" + "|x" * 300_000 + " }}",
    "{{ " + "[" * 9000,
    "{{ " + "{" * 9000,
    "{% if " + "not " * 9000,
    "{{ " + "-" * 9000 + "1 }}",
    "{{ a" + "[a" * 5000 + "]" * 5000 + " }}",
    "{{ " + "a if a else " * 4000 + "1 }}",
    "{{ " + "1 < " * 9000 + "1 }}",
    "{{ " + "1 + " * 9000 + "1 }}",
    "{{ " + "'a' ~ " * 9000 + "'a' }}",
    "{% for a in b %}" * 4000,
    "{% macro m(" + "a," * 9000 + "b) %}{% endmacro %}",
    "{{ m(" + "a=1," * 4000 + "b=1) }}",
    "{% include '" + "a/" * 400_000 + "' %}",
    "{{- -}}" * 5000,
    "{% macro m("
    + ",".join(f"a{i}=range(9)|join" for i in range(900))
    + ") %}{% endmacro %}{% for x in range(9999) %}{{ m() }}{% endfor %}",
    "{% macro m(a=" + "~".join(["'x'"] * 2000) + ") %}{% endmacro %}{% for x in range(9999) %}{{ m() }}{% endfor %}",
    "{% macro m(a=" + "+".join(["1"] * 50) + ") %}{% endmacro %}{% for x in range(9999) %}{{ m() }}{% endfor %}",
    "".join(f"{{% macro m{i}(a=m{i + 1}() ~ m{i + 1}()) %}}{{{{ a }}}}{{% endmacro %}}" for i in range(30))
    + "{% macro m30() %}x{% endmacro %}{{ m0() }}",
    "".join(f"{{% macro m{i}() %}}{{{{ m{i + 1}() }}}}{{{{ m{i + 1}() }}}}{{% endmacro %}}" for i in range(30))
    + "{% macro m30() %}x{% endmacro %}{{ m0() }}",
    "{% macro m(n) %}{% macro k(n) %}{{ n }}{% endmacro %}{{ k(n) }}{% endmacro %}"
    "{% for x in range(9999) %}{{ m(x) }}{% endfor %}" * 5,
    "{% for a in range(9999) if " + " and ".join(["a >= 0"] * 50) + " %}{% endfor %}" * 20,
    "{% macro t(a) %}" + "{{ a }}" * 500 + "{% endmacro %}{% for a in range(9999) if t(a) %}{% endfor %}",
    "{% for a in range(9999) %}" + "x" * 900_000 + "{% endfor %}",
    "{% macro m() %}" + "x" * 900_000 + "{% endmacro %}{% for a in range(9999) %}{% set b = m() %}{% endfor %}",
    "{% macro m() %}{% for a in range(99) %}" + "x" * 90_000 + "{% endfor %}{% endmacro %}{% set b = m() %}",
    "{% for a in range(9999) %}{% include 'goals/y.txt' %}{% endfor %}" * 5,
    "{% for a in range(9999) %}{% import 'goals/y.txt' as y %}{{ y.m() }}{% endfor %}" * 5,
    "{% for a in range(9999) %}{% from 'goals/y.txt' import m %}{{ m() }}{% endfor %}" * 5,
    "{% for a in range(9999) %}{{ game.payoffs[0][0][0] }}{% endfor %}" * 20,
    "{% for a in range(9999) %}{{ game.payoff((0, 1)) }}{% endfor %}" * 20,
    "{% for a in range(9999) %}{{ own.rows() | length }}{% endfor %}" * 20,
    "{% for a in range(9999) %}{{ own.responses() | length }}{{ own.formula() }}{% endfor %}" * 20,
    "{% for a in range(9999) %}{{ amount(a) }}{% endfor %}" * 20,
    "{% for a in range(9999) %}{{ words.items() | list }}{{ words.get('a') }}{% endfor %}" * 20,
    "{% for a in range(9999) %}{{ a | number }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ a | percent }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ 'abcdefghij' | quoted }}{{ a | quoted }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ a ~ 'x' }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{% set b = {a: a, 'x': [a]} %}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ [a, a] | sort | join(',') | upper }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ a == a }}{{ a in [a] }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ loop.index }}{{ loop.previtem | default(1) }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ options[0] }}{{ words.a }}{{ words['a'] }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ missing is defined }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ words.missing | default(1) }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ game.missing | default(1) }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ a | round(2) }}{{ -a }}{{ a * 3.5 // 2 }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ [a] | map(attribute='x') | first | default(1) }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ [words] | selectattr('a', 'equalto', 'b') | length }}{% endfor %}" * 40,
    "{% for a in range(9999) %}{{ units | replace('p', 'q') | title | trim | singular | capitalize }}{% endfor %}" * 40,
    "{% for a in [1, 2] %}" * 20 + "x" + "{% endfor %}" * 20,
    "{% for a in [1, 2] %}" * 19 + "{{ a }}" + "{% endfor %}" * 19,
    "{% if 1 %}" * 59 + "x" + "{% endif %}" * 59,
    "{{ 1 " + "+ 1" * 55 + " }}",
    "{{ " + "(" * 55 + "1" + ")" * 55 + " }}",
    "{{ a" + " | default(1)" * 55 + " }}",
    ("{{ a }}" * 6000),
    ("{% if a %}{{ b | join }}{% endif %}" * 1600),
    ("{% set a = 1 %}" * 3300),
    ("{% macro m(a) %}{{ a }}{% endmacro %}" * 1200),
    ("{% for a in b %}{{ a }}{% endfor %}" * 1200),
    ("{{ a.b.c.d | default('') | upper }}" * 1100),
    ("{{ a if b else c }}" * 2000),
    "{{ [" + "1," * 9000 + "] }}",
    "{{ {" + "1:1," * 4500 + "} }}",
    "{% set c = {" + "a:1," * 4500 + "} %}",
    "{{ f(" + "1," * 9000 + ") }}",
    "{{ " + "'a' ~ " * 9000 + "'a' }}",
    "{% set a = '\u200e\u200e\u200e\u200e\u200e\u200e\u200e\u200e' %}"
    + "{% set a = a ~ a %}" * 15
    + "{{ a | quoted }}",
    "{% set a = '😀😀😀😀😀😀😀😀' %}"
    + "{% set a = a ~ a %}" * 17
    + "{% set b = a ~ 'x' %}{% set c = a ~ 'y' %}{{ a }}",
    "{% set a = '😀😀😀😀😀😀😀😀' %}"
    + "{% set a = a ~ a %}" * 15
    + "{% for x in range(9999) %}{% set b = a %}{{ b }}{% endfor %}",
    "{% set a = [1] %}{% for x in range(9999) %}{% set a = [a, a, a] %}{% endfor %}" * 20,
    "{% set l = range(9999) | list %}" + "".join(f"{{% set l{i} = l[1:] %}}" for i in range(60)),
    "{% set l = range(9999) | list %}" + "".join(f"{{% set l{i} = l | list %}}" for i in range(60)),
    "{% set l = range(9999) | list %}" + "".join(f"{{% set l{i} = l ~ '' %}}" for i in range(60)),
]
"""A line of the file names how its text begins, and goes on with the rest of it."""

CODE = """
import json, resource, sys
from pathlib import Path
from ostrom.framing.config import Framing
from ostrom.framing.history_renderer import HistoryRenderer
from ostrom.framing.library import Library
from ostrom.framing.payoffs import OwnPayoffs
from ostrom.games import build_game
from ostrom.ground.errors import StudyError

folder = Path(sys.argv[1])
(folder / "goals" / "y.txt").write_text("{% macro m() %}{% endmacro %}")
game = build_game("prisoners_dilemma")
values = {
    "game": game, "own": OwnPayoffs(game, 0, (0, 1), game.actions, ("You", "P2")), "options": ["a"],
    "amount": HistoryRenderer(Framing(), Library(), {}).amount, "words": {"a": "b"}, "units": "points",
}
spent = 0.0
for number, text in enumerate(json.loads(Path(sys.argv[2]).read_text())):
    (folder / "goals" / "x.txt").write_text(text)
    try:
        made = Library(folder).fill("goals/x.txt", values)
        assert len(made) <= 4_000_000
    except StudyError as error:
        made = str(error)
        assert "\\n" not in made, (number, made[:200])
    used = resource.getrusage(resource.RUSAGE_SELF)
    now = used.ru_utime + used.ru_stime
    print(number, round(now - spent, 2), used.ru_maxrss >> 10, repr(text[-60:]), repr(made[-100:]), flush=True)
    spent = now
print("all ended")
"""


@pytest.mark.slow
def test_no_prompt_file_takes_more_than_its_bounds(tmp_path: Path) -> None:
    (tmp_path / "prompts" / "goals").mkdir(parents=True)
    (tmp_path / "attacks.json").write_text(json.dumps(ATTACKS))
    ended = limited(CODE, tmp_path / "prompts", tmp_path / "attacks.json", memory=400 << 20, seconds=len(ATTACKS))
    assert ended.stdout.endswith("all ended\n"), (ended.stdout[-600:], ended.stderr[-2000:])
