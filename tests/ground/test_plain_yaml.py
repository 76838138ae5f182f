"""Files that people write hold plain data: whatever else YAML can say is one line with its place."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from tests.house.source import SOURCE, nodes, trees

from ostrom.features.importing.mapping import load_mapping
from ostrom.features.judging.judgements import load_motives
from ostrom.features.words.lexicons import load_lexicons
from ostrom.framing import Library
from ostrom.games.scenarios import load_scenario
from ostrom.games.yaml_file import load_yaml
from ostrom.ground.errors import StudyError
from ostrom.ground.yaml import MOST_REPEATED, check_plain, read_yaml
from ostrom.models.prices import load_prices
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan


def story(path: Path) -> object:
    folder = path.parent / "prompts"
    (folder / "stories").mkdir(parents=True, exist_ok=True)
    (folder / "stories" / "s.txt").write_bytes(b"---\n" + path.read_bytes() + b"\n---\nText.\n")
    return Library(folder).story("stories/s.txt")


READERS: dict[str, Callable[[Path], object]] = {
    "study": load_study,
    "mapping": load_mapping,
    "game": load_yaml,
    "scenario": load_scenario,
    "lexicon": load_lexicons,
    "motives": load_motives,
    "prices": load_prices,
    "story": story,
}
UNFOLDING = "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)), "name: *a59"])
BROKEN: dict[str, str | bytes] = {
    "tag that does not fit": "name: !!bool perhaps",
    "date that is none": "name: 2001-99-99",
    "number that is none": "{a: {!!int output: 2}}",
    "control character": "name: \x01",
    "deep": "a: " + "[" * 3000,
    "very deep": "[" * 100_000,
    "contains itself": "name: &x [*x]",
    "unfolds without end": UNFOLDING,
    "a key that unfolds without end": UNFOLDING.replace("name: *a59", "name: [*a59 : x]"),
    "a number that unfolds without end": UNFOLDING.replace("name: *a59", "name: !!int [*a59]"),
    "half a surrogate pair": 'name: "\\ud800"',
    "not UTF-8": b"name: \xff\xfe",
    "several lines wrong": "name: [\n  a: b\n  c",
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("broken", BROKEN)
def test_no_text_gets_more_than_one_line_of_complaint(reader: str, broken: str, tmp_path: Path) -> None:
    path, content = tmp_path / "file.yaml", BROKEN[broken]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(StudyError) as caught:
        READERS[reader](path)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: " + "[" * 3000, "f: line 2: is not valid YAML: nested too deeply"),
        ("a: 2001-01-01", "f: a: must be text, a number, .* put text in quotes"),
        ("a: {b: [99999999999999999999]}", r"f: a\.b\[0\]: must be a number of at most 64 bits"),
        ("a: .nan", "f: a: must be a finite number"),
        ("a: 1\nb: {c: 1, c: 2}", "line 2, column 11: .*the key 'c' is given twice"),
        (UNFOLDING, "aliases, or one object"),
        (
            UNFOLDING.replace("name: *a59", "name: {? *a59 : 1}"),
            "line 60, column 6: .*a key must be plain text, found a sequence",
        ),
        ("{a: 1, null: 2}", "a key must be plain text, found 'null'"),
    ],
)
def test_what_is_not_plain_is_named(text: str, said: str) -> None:
    with pytest.raises(StudyError, match=said):
        read_yaml(text, "f")


@pytest.mark.parametrize(("levels", "fits"), [(19, True), (20, False)])
def test_an_alias_counts_as_deep_as_it_is_wherever_it_stands(levels: int, fits: bool) -> None:
    text = f"a: &a [{'[' * 39}{']' * 39}, 1]\nb: {'[' * levels}*a{']' * levels}"
    if fits:
        assert read_yaml(text, "f")["a"][1] == 1
        return
    with pytest.raises(StudyError, match="is nested too deeply, or contains itself"):
        read_yaml(text, "f")


def doubled(levels: int, first: str, pair: str) -> str:
    """A list whose last entry stands for two to the power of ``levels`` values."""
    return ", ".join([f"&b0 {first}", *(f"&b{n} {pair.format(*[f'*b{n - 1}'] * 2)}" for n in range(1, levels))])


@pytest.mark.parametrize(
    "text",
    [
        f"a: !!int [{doubled(5, '[x]', '[{}, {}]')}]",
        f"a: !!float [{doubled(5, '[x]', '[{}, {}]')}]",
        f"a: !!int {{=: 1, x: [{doubled(5, '[x]', '[{}, {}]')}]}}",
        f"a: !!set {{<<: [{doubled(5, '{x: 1}', '{{<<: [{}, {}]}}')}]}}",
        f"a: !!set {{? [{doubled(5, '[x]', '[{}, {}]')}]}}",
    ],
)
def test_aliases_are_not_unfolded_before_they_are_counted(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML shares what an alias stands for; its text of a node and its merge keys write all of it out."""

    def unfolded(*_: object) -> str:
        pytest.fail("aliases are unfolded")

    monkeypatch.setattr(yaml.Node, "__repr__", unfolded)
    monkeypatch.setattr(yaml.constructor.SafeConstructor, "flatten_mapping", unfolded)
    with pytest.raises(StudyError):
        read_yaml(text, "f")


@pytest.mark.parametrize(
    ("once", "added"),
    [
        ("[" + "x, " * 999 + "x]", 1000),
        ("x" * 99_900, 999),
        ("{k: [1, 2, 3]}", 4),
        ("{? " + "k" * 99_900 + " : x}", 1000),
    ],
)
def test_what_aliases_add_is_bounded(once: str, added: int) -> None:
    uses = MOST_REPEATED // added
    assert len(read_yaml(f"[&a {once}{', *a' * (uses - 1)}]", "f")) == uses
    with pytest.raises(
        StudyError, match=r"^f: unfolds to too many values \(aliases, .*; allowed: 2,000,000, and 200,000"
    ):
        read_yaml(f"[&a {once}{', *a' * (uses + 2)}]", "f")


@pytest.mark.slow
def test_what_is_written_out_may_be_longer_than_what_aliases_add() -> None:
    rows = MOST_REPEATED // 4
    assert len(read_yaml("- [1, 2, 3, x]\n" * rows, "f")) == rows


def test_long_texts_without_an_alias_are_written_out_too() -> None:
    texts = [chr(ord("a") + n) * 1_000_000 for n in range(25)]
    check_plain(texts)
    check_plain(dict.fromkeys(texts, 1))


def test_the_path_of_an_entry_is_short_however_long_its_keys_are() -> None:
    inner: object = [2**70]
    for _ in range(50):
        inner = {"k" * 100_000: inner}
    with pytest.raises(StudyError, match="64 bits") as refused:
        check_plain(inner)
    assert refused.value.key is not None and len(refused.value.key) < 6_000


def test_yaml_is_read_in_one_place() -> None:
    """PyYAML itself is for writing: what it reads is bounded by ``read_yaml`` alone."""
    readers = re.compile(r"(load|parse|compose|scan)|.*_load(_all)?|.*Loader")
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in trees()
        if path != SOURCE / "ground/yaml.py"
        for node in nodes(path)
        if (isinstance(node, ast.ImportFrom) and node.module == "yaml")
        or (isinstance(node, ast.Attribute) and ast.unparse(node.value) == "yaml" and readers.fullmatch(node.attr))
    ]
    assert not found


def test_whole_numbers_have_64_bits() -> None:
    check_plain([2**63 - 1, -(2**63)])
    for number in (2**63, -(2**63) - 1):
        with pytest.raises(StudyError, match=r"\[0\]: must be a number of at most 64 bits"):
            check_plain([number])


def test_an_alias_may_be_used_often() -> None:
    found = read_yaml("a: &a {x: 1}\nb: [*a, *a, *a]", "f")
    assert found == {"a": {"x": 1}, "b": [{"x": 1}] * 3}


@pytest.mark.parametrize("change", [{"presets": {"p": 3}}, {"vary": 3}, {"presets": {"p": {"vary": [1]}}}])
def test_a_preset_over_a_broken_study_is_one_line(change: dict[str, object]) -> None:
    study = {"name": "x", "game": "chicken", "types": {"c": "cooperator"}, "presets": {"p": {"seeds": 2}}}
    with pytest.raises(StudyError, match="must map names to changes"):
        load_study({**study, **change}, preset="p")


@pytest.mark.parametrize(
    ("nonsense", "problem"),
    [("{{ 1 / 0 }}", "division by zero"), ("{{ -'a' }}", "could not be filled in: cannot compute")],
)
def test_a_prompt_that_computes_nonsense_is_one_line(tmp_path: Path, nonsense: str, problem: str) -> None:
    (tmp_path / "stories").mkdir()
    (tmp_path / "stories" / "s.txt").write_text(nonsense)
    with pytest.raises(StudyError, match=problem):
        Library(tmp_path).open_story("stories/s.txt", {})


def test_a_study_given_as_data_is_left_as_it_was() -> None:
    study = {"name": "x", "game": "chicken", "mechanism": {"name": "repetition", "rounds": 3}, "types": {"c": "grim"}}
    assert load_study(study, changes=["mechanism.rounds=9"]).mechanism == {"name": "repetition", "rounds": 9}
    assert study["mechanism"] == {"name": "repetition", "rounds": 3}


@pytest.mark.parametrize(
    ("vary", "said"),
    [
        ({"types": ["cooperator"]}, "types: "),
        ({"who": {"a": {1: "x"}}}, "vary.who.a: must name a field"),
        ({"seats": [{"x": {}}]}, "seats"),
        ({"which": {"set": "agent.facts", "to": [{1: 2}, {3: 4}]}}, None),
    ],
)
def test_a_level_cannot_say_what_no_study_could(vary: dict[str, object], said: str | None) -> None:
    study = {"name": "x", "game": "chicken", "types": {"c": "cooperator"}, "vary": vary}
    if said is None:
        StudyPlan(load_study(study))
        return
    with pytest.raises(StudyError, match=said):
        StudyPlan(load_study(study))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rounds: 1:30", "line 1, column 9: is not valid YAML: 1:30 is 90 in YAML (base 60)"),
        ("at: [2, 10:20.5]", "10:20.5 is 620.5 in YAML (base 60)"),
        ("rounds: 010", "010 is 8 in YAML (base 8)"),
    ],
)
def test_a_number_is_the_one_that_people_read(text: str, problem: str) -> None:
    with pytest.raises(StudyError) as refused:
        read_yaml(text, "f.yaml")
    assert problem in str(refused.value)


def test_other_ways_to_write_numbers_stay() -> None:
    data = read_yaml("{a: 1_000, b: -0.5, c: 0, d: '1:30', e: 1e3, f: 0x10, g: .5, h: 08}", "f.yaml")
    assert data == {"a": 1000, "b": -0.5, "c": 0, "d": "1:30", "e": "1e3", "f": 16, "g": 0.5, "h": "08"}


def test_a_question_within_braces_needs_no_quotes() -> None:
    assert read_yaml("- {name: Does it cooperate?, above: 0.5}", "f.yaml") == [
        {"name": "Does it cooperate?", "above": 0.5}
    ]
