"""Names say what a thing holds: participles as nouns are counted, and their number only falls."""

import ast
from collections import Counter
from collections.abc import Iterator

from tests.house.source import trees

PARTICIPLES = {
    "found", "asked", "told", "known", "shown", "given", "kept", "made", "said", "whole", "held", "taken",
}  # fmt: skip
VAGUE = {"result", "data", "value", "item", "info", "obj"}
MOST_PARTICIPLES, MOST_VAGUE = 978, 5_521


def names_in(tree: ast.AST) -> Iterator[str]:
    """Every name of a variable, attribute, parameter, keyword, function, class or import, as often as it occurs."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.keyword(arg=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.alias(name=name, asname=alias):
                yield alias or name


def test_a_name_is_counted_with_its_prefixes_and_suffixes() -> None:
    tree = ast.parse("from a import told as b\nfound_rows = self._kept(whole=1)\ndef said(value): ...\nfounder = 2")
    assert sorted(names_in(tree)) == ["_kept", "b", "found_rows", "founder", "said", "self", "value", "whole"]


def test_participles_as_nouns_and_vague_nouns_do_not_grow() -> None:
    words: Counter[str] = Counter()
    for tree in trees().values():
        for name in names_in(tree):
            parts = set(name.lower().split("_"))
            words["participle"] += bool(parts & PARTICIPLES)
            words["vague"] += bool(parts & VAGUE)
    assert words["participle"] <= MOST_PARTICIPLES, f"{words['participle']} names hold a participle: say what they hold"
    assert words["vague"] <= MOST_VAGUE, f"{words['vague']} names hold a vague noun"
