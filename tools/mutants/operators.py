"""The changes that are tried: one small edit of the syntax tree each."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}
SKIPPED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)
"""What only words an error or a text, and what cannot be changed without breaking everything."""
LEFT_OUT_FIELDS = ("annotation", "returns", "type_comment", "format_spec", "decorator_list")
LEFT_OUT_KEYWORDS = ("strict", "slots", "maxsize", "daemon", "name")
"""Keywords that guard against defects, save memory or help debugging: dropping one changes no result."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed place."""

    file: Path
    module: str
    scope: str
    """Qualified name of the function or class around it, empty at module level."""
    lines: tuple[int, int]
    """First and last line of the changed statement."""
    at_import: bool
    """Whether the change takes effect when the module is imported, not when a function is called."""
    before: str
    after: str
    ordinal: int
    """Number of earlier mutants of the same scope that read the same."""
    tree: ast.Module

    @property
    def name(self) -> str:
        """The same for the same change, wherever the line has moved to."""
        again = f" (#{self.ordinal + 1})" if self.ordinal else ""
        scope = f" {self.scope}" if self.scope else ""
        return f"{self.module}{scope}: {self.before} => {self.after}{again}"


def mutants_of(file: Path, module: str) -> list[Mutant]:
    """All mutants of a file, in the order of the source."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    seen: dict[tuple[str, str, str], int] = {}
    found: list[Mutant] = []
    for place in _places(tree):
        for before, after, edit in _edits(place.node):
            key = (place.scope, before, after)
            number = seen[key] = seen.get(key, -1) + 1
            lines = (place.statement.lineno, place.statement.end_lineno or place.statement.lineno)
            changed = _with(tree, place.path, edit)
            found.append(Mutant(file, module, place.scope, lines, place.at_import, before, after, number, changed))
    return found


@dataclass(frozen=True, slots=True)
class _Place:
    node: ast.AST
    path: tuple[tuple[str, int | None], ...]
    scope: str
    statement: ast.stmt
    at_import: bool


def _places(tree: ast.Module) -> Iterator[_Place]:
    """Every node that may be changed: no docstrings, annotations, imports or texts of errors."""

    def visit(
        node: ast.AST, path: tuple[tuple[str, int | None], ...], scope: str, statement: ast.stmt, early: bool
    ) -> Iterator[_Place]:
        yield _Place(node, path, scope, statement, early)
        if isinstance(node, SKIPPED) or _is_main_or_typing(node):
            return
        inside = scope
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = f"{scope}.{node.name}" if scope else node.name
        for field, value in ast.iter_fields(node):
            if field in LEFT_OUT_FIELDS:
                continue
            body = field == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if not isinstance(child, ast.AST) or _is_text(child) or _is_slots(child):
                    continue
                nearest = child if isinstance(child, ast.stmt) and not hasattr(child, "body") else statement
                if isinstance(child, ast.stmt) and hasattr(child, "body"):
                    nearest = _head(child)
                yield from visit(child, (*path, (field, index)), inside, nearest, early and not body)

    for index, statement in enumerate(tree.body):
        if _is_text(statement) or isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            continue
        nearest = _head(statement) if hasattr(statement, "body") else statement
        yield from visit(statement, (("body", index),), "", nearest, True)


def _head(node: ast.stmt) -> ast.stmt:
    """A compound statement reaches from its first line to the line before its body."""
    head = ast.Pass()
    body = getattr(node, "body", [])
    first = body[0] if body else node
    head.lineno = node.lineno
    head.end_lineno = max(node.lineno, getattr(first, "lineno", node.lineno) - 1)
    return head


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_slots(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__slots__"


def _is_main_or_typing(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and any(word in ast.unparse(node.test) for word in ("TYPE_CHECKING", "__name__"))


def _edits(node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    """What a node can become: its text, the text after, the new node."""
    for new in _changed(node):
        yield _text(node), _text(new), new


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}"
    text = " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())
    return text if len(text) <= 110 else f"{text[:70]} ... {text[-35:]}"


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for place, operator in enumerate(ops):
                if (other := COMPARE.get(type(operator))) is not None:
                    yield ast.Compare(left, [*ops[:place], other(), *ops[place + 1 :]], others)
        case ast.BinOp(left=left, op=operator, right=right) if not _is_type_union(node):
            if (new := ARITHMETIC.get(type(operator))) is not None:
                yield ast.BinOp(left, new(), right)
        case ast.AugAssign(target=target, op=operator, value=value):
            if (new := ARITHMETIC.get(type(operator))) is not None:
                yield ast.AugAssign(target, new(), value)
            yield ast.Pass()
        case ast.BoolOp(op=operator, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
            for place in range(len(values)):
                rest = values[:place] + values[place + 1 :]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(operator, rest)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1 if abs(value) <= 10 else value * 10)
        case ast.Constant(value=float(value)):
            yield ast.Constant(value * 2 if value else 1.0)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.If(test=test, body=body, orelse=orelse):
            yield ast.If(ast.Constant(False), body, orelse)
            yield ast.If(ast.Constant(True), body, orelse)
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Raise() | ast.Break():
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case ast.Call(func=function, args=args, keywords=keywords):
            for place, keyword in enumerate(keywords):
                if keyword.arg is not None and keyword.arg not in LEFT_OUT_KEYWORDS:
                    yield ast.Call(function, args, keywords[:place] + keywords[place + 1 :])
            if isinstance(function, ast.Name) and function.id in SWAPPED:
                yield ast.Call(ast.Name(SWAPPED[function.id], ast.Load()), args, keywords)
        case ast.Tuple(elts=parts, ctx=ast.Load()) | ast.List(elts=parts, ctx=ast.Load()):
            if 2 <= len(parts) <= 12:
                for place in range(len(parts)):
                    yield type(node)(parts[:place] + parts[place + 1 :], ast.Load())
        case ast.Set(elts=parts) if len(parts) >= 2:
            for place in range(len(parts)):
                yield ast.Set(parts[:place] + parts[place + 1 :])
        case ast.Dict(keys=keys, values=values) if keys:
            for place in range(len(keys)):
                yield ast.Dict(keys[:place] + keys[place + 1 :], values[:place] + values[place + 1 :])


def _is_type_union(node: ast.BinOp) -> bool:
    """``int | None`` in an alias or an isinstance check."""
    return isinstance(node.op, ast.BitOr) and any(
        (isinstance(part, ast.Constant) and part.value is None) or isinstance(part, ast.Name | ast.Subscript)
        for part in (node.left, node.right)
    )


def _with(tree: ast.Module, path: tuple[tuple[str, int | None], ...], new: ast.AST) -> ast.Module:
    """The tree with one node replaced; everything beside the path is shared."""
    nodes: list[ast.AST] = [tree]
    for field, index in path[:-1]:
        value = getattr(nodes[-1], field)
        nodes.append(value if index is None else value[index])
    old_value = getattr(nodes[-1], path[-1][0])
    old = old_value if path[-1][1] is None else old_value[path[-1][1]]
    for part in ast.walk(new):
        for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"):
            if name in part._attributes and getattr(part, name, None) is None:
                setattr(part, name, getattr(old, name, 0))
    child = new
    for node, (field, index) in zip(reversed(nodes), reversed(path), strict=True):
        value = getattr(node, field)
        parent = copy.copy(node)
        setattr(parent, field, child if index is None else [*value[:index], child, *value[index + 1 :]])
        child = parent
    assert isinstance(child, ast.Module)
    return child
