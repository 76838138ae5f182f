"""Restricted templates: prompt files come from strangers and must not run code.

Jinja's immutable sandbox compiles a file and runs it, behind an allowlist: a part of its syntax, a filter or a test
that is not listed is refused when the file is read, with its line. So a prompt file can read the values that it is
given, loop, branch, define macros, include other files and apply the filters of ``ostrom.framing.access``. Before
it is compiled, its tree is rewritten so that each pass of a loop, each call of a macro and each file is charged the
syntax nodes and characters in it, and every operation on texts and lists what it visits (``ostrom.framing.access``).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from types import CodeType
from typing import Any

import jinja2
from jinja2 import StrictUndefined, nodes, pass_context
from jinja2.environment import TemplateModule
from jinja2.exceptions import SecurityError, TemplateSyntaxError
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from ostrom.framing.access import (
    CURRENT,
    FILTERS,
    METHODS,
    MOST_INTEGER,
    TESTS,
    Number,
    RenderWork,
    attribute,
    call_function,
    call_method,
    current_work,
    defined,
    entry,
    items_of,
    join_texts,
    slice_of,
    text_of,
)
from ostrom.ground.errors import nearest

_MOST_TOKENS = 10_000
_LONGEST_NUMBER = 40
_DIGITS = re.compile("[0-9A-Fa-f_]{1000}")
"""A run of digits for which Jinja's lexer would take hundreds of megabytes."""
_LONGEST_CONSTANT = 10_000
_LONGEST_RANGE = 10_000
_DEEPEST_SYNTAX = 60
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
"""Operators for numbers alone: on texts they would build long ones."""
_ALLOWED = frozenset(
    getattr(nodes, name)
    for name in (
        "Template Output TemplateData If For Assign Macro Include Import FromImport Const Name Getattr Getitem List"
        " Tuple Dict Pair Keyword CondExpr And Or Not Neg Pos Add Sub Mul Div FloorDiv Mod Concat Compare Operand Call"
        " Filter Test"
    ).split()
)
_WRITTEN = {
    nodes.Pow: "**",
    nodes.AssignBlock: "a set block",
    nodes.CallBlock: "a call block",
    nodes.FilterBlock: "a filter block",
    nodes.Slice: "a slice",
}


class Template:
    """A parsed prompt file, or the opening of a cover story."""

    def __init__(self, source: str, load: Callable[[str], Template]) -> None:
        self.tree, self._source, self._load = _parsed(source), source, load

    @cached_property
    def compiled(self) -> jinja2.Template:
        """The file as Jinja runs it."""
        return _PromptTemplate.from_code((sandbox := _Sandbox(self._load)), _compiled(self._source), sandbox.globals)

    def render(self, values: Mapping[str, Any]) -> tuple[str, tuple[int, int]]:
        """Render with these values; return the text, and the steps and characters used."""
        outer = CURRENT.get()
        work = outer or RenderWork()
        token = None if outer else CURRENT.set(work)
        steps, characters = work.steps, work.characters
        try:
            compiled = self.compiled
            return "".join(compiled.root_render_func(compiled.new_context(dict(values)))), (
                steps - work.steps,
                characters - work.characters,
            )
        finally:
            if token is not None:
                CURRENT.reset(token)


class _PromptTemplate(jinja2.Template):
    def _get_default_module(self, ctx: Context | None = None) -> TemplateModule:  # noqa: ARG002
        return self.make_module()  # Jinja caches its own, so that work would be counted once


class _Sandbox(ImmutableSandboxedEnvironment):
    """Runs the rewritten tree of a file; reads values and calls methods by the rules of ``access``."""

    intercepted_binops = frozenset(_ARITHMETIC)
    intercepted_unops = frozenset("+-")
    template_class = _PromptTemplate

    def __init__(self, load: Callable[[str], Template] | None = None) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, finalize=_write, optimized=False
        )
        self.globals, self.filters, self.tests = {"range": _range}, {**FILTERS, **_OWN}, {**TESTS}
        self._load = load

    def get_template(self, name: Any, *_: Any, **__: Any) -> jinja2.Template:
        """Return an included file."""
        assert self._load is not None
        template = self._load(name).compiled
        template.name = name
        return template

    def getattr(self, obj: Any, name: str) -> Any:
        return attribute(obj, name)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return entry(obj, argument)

    def call_binop(self, context: Context, sign: str, left: Any, right: Any) -> Any:  # noqa: ARG002
        if not (isinstance(defined(left), Number) and isinstance(defined(right), Number)):
            kinds = f"{type(left).__name__} {sign} {type(right).__name__}"
            raise TypeError(f"cannot compute {kinds} in a prompt file (join texts with ~)")
        value = _ARITHMETIC[sign](left, right)
        if isinstance(value, int) and abs(value) > MOST_INTEGER:
            raise SecurityError(f"it computes a number above {MOST_INTEGER:,}")
        return value

    def call_unop(self, context: Context, sign: str, arg: Any) -> Any:
        return self.call_binop(context, sign, 0, arg)


def _call(function: Any, /, *args: Any, **named: Any) -> Any:
    if function is _range:
        return _range(*args, **named)
    if not isinstance(function, Macro):
        return call_function(function, *args, **named)
    work = current_work()
    work.enter()
    text = function(*args, **named)
    work.depth -= 1
    return text


def _call_method(value: Any, name: str, /, *args: Any, **named: Any) -> Any:
    return (
        _call(attribute(value, name), *args, **named)
        if isinstance(value, TemplateModule)
        else call_method(value, name, *args, **named)
    )


def _range(*bounds: Any) -> range:
    if not 1 <= len(bounds) <= 3 or not all(isinstance(n, int) and abs(n) <= MOST_INTEGER for n in bounds):
        raise TypeError("range takes one to three whole numbers")
    numbers = range(*bounds)
    if len(numbers) > _LONGEST_RANGE:
        raise SecurityError(f"range gives at most {_LONGEST_RANGE:,} numbers")
    return numbers


def _passes(values: Any, steps: int, characters: int) -> Any:
    """Return the items of a loop, after charging all its passes."""
    items = items_of(values)
    current_work().spend(steps * len(items), characters * len(items))
    return items


@pass_context
def _begin(context: Context, steps: int, characters: int) -> None:
    """Charge the work of a file, and of the copy of all names that it can read."""
    current_work().spend(steps + len(context.parent), characters)
    current_work().enter()


@pass_context
def _end(context: Context, steps: int) -> None:  # noqa: ARG001
    current_work().depth -= 1


@pass_context  # so that Jinja never computes it at compile time
def _write(context: Context, value: Any) -> str:  # noqa: ARG001
    return text_of(value)


_OWN: dict[str, Callable[..., Any]] = {
    "begin a file": _begin,
    "end a file": _end,
    "spend": lambda steps, characters: current_work().spend(steps, characters),
    "passes": _passes,
    "weigh": lambda value: current_work().weigh(value),
    "~": join_texts,
    "[:]": slice_of,
    "call": _call,
    "call a method": _call_method,
}
"""Functions of the rewritten tree, as filters that a file cannot name."""


class _Rewriter(NodeTransformer):
    """Refuses forbidden syntax in a file's tree, and inserts calls that charge its work."""

    def __init__(self) -> None:
        self._steps = self._characters = self._depth = 0
        self._modules: set[str] = set()

    def visit(self, node: nodes.Node, *args: Any, **named: Any) -> Any:
        """Return the replacement of a node."""
        self._steps += 1
        self._depth += 1
        if self._depth > _DEEPEST_SYNTAX:
            raise TemplateSyntaxError(f"it is nested more than {_DEEPEST_SYNTAX} deep", node.lineno)
        _check(node)
        rewritten = super().visit(node, *args, **named)
        self._depth -= 1
        return rewritten

    def _charged(self, node: nodes.Node) -> list[nodes.Expr]:
        """Return the steps and characters of a node, with its children rewritten."""
        steps, characters = self._steps, self._characters
        self.generic_visit(node)
        return [nodes.Const(self._steps - steps + 1), nodes.Const(self._characters - characters)]

    def visit_Template(self, node: nodes.Template) -> nodes.Template:
        node.body[:0] = [nodes.ExprStmt(_applied("begin a file", *self._charged(node)), lineno=1)]
        node.body.append(nodes.ExprStmt(_applied("end a file", nodes.Const(0)), lineno=1))
        return node

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.TemplateData:
        self._characters += len(node.data)
        return node

    def visit_For(self, node: nodes.For) -> nodes.For:
        charge = self._charged(node)
        node.iter = _applied("passes", node.iter, *charge)
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Macro:
        node.body[:0] = [nodes.ExprStmt(_applied("spend", *self._charged(node)), lineno=node.lineno)]
        return node

    def visit_Import(self, node: nodes.Import) -> nodes.Import:
        self._modules.add(node.target)
        return node

    def visit_CondExpr(self, node: nodes.CondExpr) -> nodes.Node:
        node.expr2 = node.expr2 or nodes.Const("")
        return self.generic_visit(node)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        return self.generic_visit(_applied("~", nodes.List(node.nodes)))

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        key = node.arg
        if not isinstance(key, nodes.Slice):
            return self.generic_visit(node)
        if key.step is not None:
            raise _refusal(node, "a slice with a step")
        return self.generic_visit(
            _applied("[:]", node.node, *[end or nodes.Const(None) for end in (key.start, key.stop)])
        )

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        ends = [node.expr, *(operand.expr for operand in node.ops)]
        if any(operand.op in ("in", "notin") for operand in node.ops) or not any(map(_is_constant, ends)):
            node.expr = _applied("weigh", node.expr)
            for operand in node.ops:
                operand.expr = _applied("weigh", operand.expr)
        return node

    def visit_Pair(self, node: nodes.Pair) -> nodes.Node:
        self.generic_visit(node)
        node.key = node.key if _is_constant(node.key) else _applied("weigh", node.key)
        return node

    def visit_Call(self, node: nodes.Call) -> nodes.Node:
        callee = node.node
        call = _applied("call", callee, *node.args)
        if isinstance(callee, nodes.Getattr):
            holder, name = callee.node, _public(callee.attr, callee)
            if name not in METHODS and not (isinstance(holder, nodes.Name) and holder.name in self._modules):
                raise _refusal(callee, f"the method {name}", METHODS)
            call = _applied("call a method", holder, nodes.Const(name), *node.args)
        call.kwargs = node.kwargs  # type: ignore[assignment]
        return self.generic_visit(call)


def _applied(name: str, value: nodes.Node, *args: nodes.Node) -> nodes.Filter:
    return nodes.Filter(value, name, list(args), [], None, None, lineno=value.lineno)


def _check(node: nodes.Node) -> None:
    """Refuse a forbidden node; its children are checked when visited."""
    if type(node) not in _ALLOWED:
        raise _refusal(node)
    match node:
        case nodes.Name(name="self" | "super" | "caller" | "varargs" | "kwargs"):  # Jinja would fill them in
            raise _refusal(node, f"the name {node.name}")
        case nodes.Name(name=name) | nodes.Getattr(attr=name) | nodes.Macro(name=name) | nodes.Keyword(key=name):
            _public(name, node)
        case nodes.Getitem(arg=nodes.Const(value=str(name))) | nodes.Import(target=name):
            _public(name, node)
        case nodes.FromImport(names=names):
            for one in names:
                _public(one if isinstance(one, str) else one[1], node)
        case nodes.Const(value=str(text)) if len(text) > _LONGEST_CONSTANT:
            raise _refusal(node, f"a text of more than {_LONGEST_CONSTANT:,} characters in quotes")
        case nodes.Const(value=int(number)) if number > MOST_INTEGER:
            raise _refusal(node, f"a number above {MOST_INTEGER:,}")
        case nodes.BinExpr(operator=sign) if sign in _ARITHMETIC and any(map(_is_no_number, (node.left, node.right))):
            raise _refusal(node, f"{sign} on texts or lists (join texts with ~)")
        case nodes.Call(node=callee) if not isinstance(callee, nodes.Name | nodes.Getattr):
            raise _refusal(node, "a call of something that has no name")
        case nodes.Filter(name=name) if name not in FILTERS:
            raise _refusal(node, f"the filter {name}", FILTERS)
        case nodes.Test(name=name) if name not in TESTS or node.args or node.kwargs:
            raise _refusal(node, f"the test {name}", TESTS)
        case nodes.For(recursive=True) | nodes.Include(ignore_missing=True):
            raise _refusal(node)
        case nodes.Assign(target=target) if not isinstance(target, nodes.Name):
            raise _refusal(node)
    if isinstance(node, nodes.Call | nodes.Filter | nodes.Test) and (node.dyn_args or node.dyn_kwargs):
        raise _refusal(node, "* or ** before an argument")
    if isinstance(node, nodes.Include | nodes.Import | nodes.FromImport):
        match node.template:
            case nodes.Const(value=str()):
                return
        raise _refusal(node, "a file name that is computed")


def _is_constant(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Const)


def _is_no_number(node: nodes.Node) -> bool:
    return (isinstance(node, nodes.Const) and isinstance(node.value, str)) or isinstance(
        node, nodes.Concat | nodes.List | nodes.Tuple
    )


def _public(name: str, node: nodes.Node) -> str:
    if name.startswith("_"):
        raise TemplateSyntaxError(
            f"{name!r:.60} begins with an underscore and cannot be read in a prompt file", node.lineno
        )
    return name


def _refusal(node: nodes.Node, what: str = "", known: Iterable[str] = ()) -> TemplateSyntaxError:
    """Return the error for forbidden syntax."""
    name = what or _WRITTEN.get(type(node), type(node).__name__.lower())
    near = nearest(name.split()[-1], known)
    allowed = f" (allowed: {', '.join(sorted(known))})" if known else ""
    meant = f", did you mean {near}?" if near else ""
    return TemplateSyntaxError(f"{name} is not allowed in a prompt file{meant}{allowed}", node.lineno)


_COMPILER = _Sandbox()


@lru_cache(maxsize=512)  # all studies of this process read the same files
def _parsed(source: str) -> nodes.Template:
    _check_size(source)
    tree: nodes.Template = _Rewriter().visit(_COMPILER.parse(source))
    tree.set_environment(_COMPILER)
    return tree


@lru_cache(maxsize=512)
def _compiled(source: str) -> CodeType:
    try:
        return _COMPILER.compile(_parsed(source))
    except SyntaxError as error:  # more than 20 nested loops, two parameters of one name
        raise SecurityError(f"it cannot be compiled: {error.msg}") from None


def _check_size(source: str) -> None:
    """Refuse a file that would take long to parse."""
    if digits := _DIGITS.search(source):
        line = source.count("\n", 0, digits.start()) + 1
        raise TemplateSyntaxError("a number of more than 40 digits", line)
    for count, (line, kind, text) in enumerate(_COMPILER.lexer.tokeniter(source, None)):
        if count > _MOST_TOKENS:
            raise TemplateSyntaxError(f"more than {_MOST_TOKENS:,} words and signs in braces", line)
        if kind in ("integer", "float") and len(text) > _LONGEST_NUMBER:
            raise TemplateSyntaxError(f"a number of more than {_LONGEST_NUMBER} digits", line)
