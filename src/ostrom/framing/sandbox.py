"""What a prompt file may say, and how it is filled in: prompt files come from strangers and must not run code.

Jinja's parser reads a file. Each part of its syntax that is allowed becomes a function here (``_statement`` and
``_expression`` are the list); everything else is refused when the file is read, with its line. So a prompt file
can read the values that it is given, loop, branch, define macros, include other files and apply the filters of
``ostrom.framing.filters``, within the bounds of ``ostrom.framing.access``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import Environment, StrictUndefined, nodes
from jinja2.exceptions import SecurityError, TemplateSyntaxError

from ostrom.framing.access import (
    CURRENT,
    METHODS,
    MOST_WHOLE,
    Loop,
    Module,
    Number,
    RenderWork,
    attribute,
    checked_function,
    defined,
    entry,
    items_of,
    join_parts,
    method,
    text_of,
)
from ostrom.framing.filters import FILTERS, TESTS
from ostrom.ground.errors import nearest

Scope = dict[str, Any]
"""The values that can be read at one place of a file, by name, and the work of the rendering."""
Expression = Callable[[Scope], Any]
Statement = Callable[[Scope, list[str]], None]

_WORK = ""
"""Where a scope holds its work: no variable has this name."""
_MOST_TOKENS = 20_000
_LONGEST_NUMBER = 40
_LONGEST_CONSTANT = 10_000
_LONGEST_RANGE = 10_000
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "lteq": operator.le,
    "gt": operator.gt,
    "gteq": operator.ge,
    "in": lambda value, values: value in values,
    "notin": lambda value, values: value not in values,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
"""Of numbers alone: on texts these would build long ones."""
_WRITTEN = {
    nodes.Pow: "**",
    nodes.AssignBlock: "a set block",
    nodes.CallBlock: "a call block",
    nodes.FilterBlock: "a filter block",
    nodes.Slice: "a slice",
}
_PARSER = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False)


class Template:
    """A prompt file, or the opening of a cover story, that was read and can be filled in."""

    def __init__(self, source: str, load: Callable[[str], Template]) -> None:
        self.tree, self.weight = _parsed(source)
        self._body = _TemplateReader(load).block(self.tree.body)

    def render(self, values: Mapping[str, Any]) -> tuple[str, int]:
        """The text with these values filled in, and the steps that it took."""
        outer = CURRENT.get()
        work = outer or RenderWork()
        token = None if outer else CURRENT.set(work)
        before, out = work.left, list[str]()
        try:
            self.run({**values, _WORK: work}, out)
            return join_parts(out, work), before - work.left
        finally:
            if token is not None:
                CURRENT.reset(token)

    def run(self, scope: Scope, out: list[str]) -> None:
        """Execute the file in a scope, which it changes, and write to a list of texts."""
        work = scope[_WORK]
        work.enter(self.weight)
        for statement in self._body:
            statement(scope, out)
        work.depth -= 1


class Macro:
    """A macro of a prompt file, bound to the scope in which it was defined."""

    __slots__ = ("_body", "_defaults", "_names", "_scope", "_weight", "name")

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        defaults: Mapping[str, Expression],
        body: Sequence[Statement],
        weight: int,
        scope: Scope,
    ) -> None:
        self.name, self._names, self._defaults = name, names, defaults
        self._body, self._weight, self._scope = body, weight, scope

    def call(self, args: Sequence[Any], named: Mapping[str, Any]) -> str:
        """The text that the macro writes."""
        values = {**dict(zip(self._names, args, strict=False)), **named}
        if len(values) < len(args) + len(named) or not values.keys() <= set(self._names):
            raise TypeError(f"macro {self.name!r} takes {', '.join(self._names) or 'no arguments'}")
        scope = {**self._scope, **values}
        for name in self._names:
            if name not in values:
                default = self._defaults.get(name)
                scope[name] = default(scope) if default else StrictUndefined(name=name)
        work, out = scope[_WORK], list[str]()
        work.enter(self._weight + 1)  # a call takes about as long as two passes
        for statement in self._body:
            statement(scope, out)
        work.depth -= 1
        return join_parts(out, work)


class _TemplateReader:
    """Turns the syntax tree of a file into functions, and refuses what is not allowed."""

    def __init__(self, load: Callable[[str], Template]) -> None:
        self._load = load
        self._modules: set[str] = set()

    def block(self, body: Iterable[nodes.Node]) -> list[Statement]:
        """The statements of a body."""
        return [statement for node in body for statement in self._statement(node)]

    def _statement(self, node: nodes.Node) -> list[Statement]:
        match node:
            case nodes.Output():
                return [self._output(part) for part in node.nodes]
            case nodes.If():
                return [self._if(node)]
            case nodes.For(recursive=False):
                return [self._for(node)]
            case nodes.Assign(target=nodes.Name() as target):
                name, value = _public(target.name, target), self._expression(node.node)
                return [lambda scope, _: scope.__setitem__(name, value(scope))]
            case nodes.Macro():
                return [self._macro(node)]
            case nodes.Include(ignore_missing=False):
                return [self._include(node)]
            case nodes.Import() | nodes.FromImport():
                return [self._import(node)]
        raise _refusal(node)

    def _expression(self, node: nodes.Node) -> Expression:
        match node:
            case nodes.Const():
                return self._constant(node)
            case nodes.Name():
                return _variable(_public(node.name, node))
            case nodes.Getattr():
                whole, name = self._expression(node.node), _public(node.attr, node)
                return lambda scope: attribute(whole(scope), name)
            case nodes.Getitem():
                return self._entry(node)
            case nodes.List() | nodes.Tuple() | nodes.Dict():
                return self._literal(node)
            case nodes.CondExpr():
                test, first = self._expression(node.test), self._expression(node.expr1)
                second = self._expression(node.expr2) if node.expr2 else lambda _: ""
                return lambda scope: first(scope) if test(scope) else second(scope)
            case nodes.And():
                left, right = self._expression(node.left), self._expression(node.right)
                return lambda scope: left(scope) and right(scope)
            case nodes.Or():
                left, right = self._expression(node.left), self._expression(node.right)
                return lambda scope: left(scope) or right(scope)
            case nodes.Not():
                inner = self._expression(node.node)
                return lambda scope: not inner(scope)
            case nodes.Neg() | nodes.Pos():
                inner = self._expression(node.node)
                zero, sign = (lambda _: 0), "-" if isinstance(node, nodes.Neg) else "+"
                return _arithmetic(sign, zero, inner)
            case nodes.Add() | nodes.Sub() | nodes.Mul() | nodes.Div() | nodes.FloorDiv() | nodes.Mod():
                for side in (node.left, node.right):
                    if isinstance(side, nodes.Concat | nodes.List | nodes.Tuple) or _is_text(side):
                        raise _refusal(node, f"{node.operator} on texts or lists (join texts with ~)")
                return _arithmetic(node.operator, self._expression(node.left), self._expression(node.right))
            case nodes.Concat():
                parts = [self._expression(part) for part in node.nodes]
                return lambda scope: join_parts(
                    [text_of(p(scope), scope[_WORK]) for p in parts], scope[_WORK]
                )
            case nodes.Compare():
                return self._compare(node)
            case nodes.Call():
                return self._call(node)
            case nodes.Filter(node=nodes.Node()):
                return self._filter(node)
            case nodes.Test():
                return self._test(node)
        raise _refusal(node)

    def _output(self, node: nodes.Node) -> Statement:
        if isinstance(node, nodes.TemplateData):
            text = node.data
            return lambda _, out: out.append(text)
        value = self._expression(node)

        def write(scope: Scope, out: list[str]) -> None:
            written = value(scope)
            out.append(written if type(written) is str else text_of(written, scope[_WORK]))

        return write

    def _if(self, node: nodes.If) -> Statement:
        cases = [(self._expression(case.test), self.block(case.body)) for case in (node, *node.elif_)]
        otherwise = self.block(node.else_)

        def branch(scope: Scope, out: list[str]) -> None:
            body = next((body for test, body in cases if test(scope)), otherwise)
            for statement in body:
                statement(scope, out)

        return branch

    def _for(self, node: nodes.For) -> Statement:
        values, body, otherwise = self._expression(node.iter), self.block(node.body), self.block(node.else_)
        bind, test = self._target(node.target), self._expression(node.test) if node.test else None
        weight = _weight(node.body)
        changes = next(node.find_all((nodes.Assign, nodes.Macro, nodes.Import, nodes.FromImport)), None)

        def repeat(scope: Scope, out: list[str]) -> None:
            work = scope[_WORK]
            items = items_of(values(scope), work)
            inner = dict(scope)
            if test is not None:
                work.spend(len(items))
                chosen = []
                for item in items:
                    bind(inner, item)
                    if test(inner):
                        chosen.append(item)
                items = chosen
            work.spend(len(items) * weight)
            loop = inner["loop"] = Loop(items)
            for place, item in enumerate(items):
                if changes:  # what a pass sets is gone in the next one
                    inner = {**scope, "loop": loop}
                loop.place = place
                bind(inner, item)
                for statement in body:
                    statement(inner, out)
            if not items:
                for statement in otherwise:
                    statement(scope, out)

        return repeat

    def _target(self, node: nodes.Node) -> Callable[[Scope, Any], None]:
        """How an item of a loop is bound to the name, or the names, before ``in``."""
        if isinstance(node, nodes.Name):
            name = _public(node.name, node)
            return lambda scope, item: scope.__setitem__(name, item)
        if not isinstance(node, nodes.Tuple) or not all(isinstance(n, nodes.Name) for n in node.items):
            raise _refusal(node)
        names = [_public(n.name, n) for n in node.items if isinstance(n, nodes.Name)]

        def bind(scope: Scope, item: Any) -> None:
            parts = items_of(item, scope[_WORK])
            if len(parts) != len(names):
                raise ValueError(f"a loop over {', '.join(names)} came to an item of {len(parts)} parts")
            scope.update(zip(names, parts, strict=True))

        return bind

    def _macro(self, node: nodes.Macro) -> Statement:
        names = [_public(arg.name, arg) for arg in node.args]
        values = [self._expression(default) for default in node.defaults]
        defaults = dict(zip(names[len(names) - len(values) :], values, strict=True))
        body, weight, name = self.block(node.body), _weight(node.body), _public(node.name, node)

        return lambda scope, _: scope.__setitem__(name, Macro(name, names, defaults, body, weight, scope))

    def _include(self, node: nodes.Include) -> Statement:
        name, load, with_context = _file(node), self._load, node.with_context
        return lambda scope, out: load(name).run(_context(scope, with_context), out)

    def _import(self, node: nodes.Import | nodes.FromImport) -> Statement:
        file, load, with_context = _file(node), self._load, node.with_context
        if isinstance(node, nodes.Import):
            self._modules.add(alias := _public(node.target, node))
            wanted = []
        else:
            alias = ""
            wanted = [(n, n) if isinstance(n, str) else n for n in node.names]
            for names in wanted:
                _public(names[0], node), _public(names[1], node)

        def take(scope: Scope, _: list[str]) -> None:
            inner = _context(scope, with_context)
            load(file).run(inner, [])
            if alias:
                scope[alias] = Module(inner)
            for name, own in wanted:
                missing = StrictUndefined(f"{file} does not define {name!r}", name=name)
                scope[own] = inner.get(name, missing)

        return take

    def _constant(self, node: nodes.Const) -> Expression:
        value = node.value
        if isinstance(value, str) and len(value) > _LONGEST_CONSTANT:
            raise _refusal(node, f"a text of more than {_LONGEST_CONSTANT:,} characters in quotes")
        if isinstance(value, int) and value > MOST_WHOLE:
            raise _refusal(node, f"a number above {MOST_WHOLE:,}")
        return lambda _: value

    def _entry(self, node: nodes.Getitem) -> Expression:
        whole, key = self._expression(node.node), node.arg
        if not isinstance(key, nodes.Slice):
            if _is_text(key):
                _public(str(getattr(key, "value", "")), node)
            index = self._expression(key)
            return lambda scope: entry(whole(scope), scope[_WORK].weigh(index(scope)))
        if key.step is not None:
            raise _refusal(node, "a slice with a step")
        start = self._expression(key.start) if key.start else lambda _: None
        stop = self._expression(key.stop) if key.stop else lambda _: None

        def part(scope: Scope) -> Any:
            value = whole(scope)
            if isinstance(value, str):
                scope[_WORK].text(len(value))
            else:
                value = items_of(value, scope[_WORK])
                scope[_WORK].spend(len(value))
            return value[start(scope) : stop(scope)]

        return part

    def _literal(self, node: nodes.List | nodes.Tuple | nodes.Dict) -> Expression:
        if isinstance(node, nodes.Dict):
            pairs = [(self._expression(p.key), self._expression(p.value)) for p in node.items]
            return lambda scope: scope[_WORK].weigh({key(scope): value(scope) for key, value in pairs})
        parts, kind = (
            [self._expression(n) for n in node.items],
            list if isinstance(node, nodes.List) else tuple,
        )
        if all(isinstance(n, nodes.Const) for n in node.items):
            values = [part({}) for part in parts]
            return lambda _: kind(values)
        return lambda scope: scope[_WORK].weigh(kind([part(scope) for part in parts]))

    def _compare(self, node: nodes.Compare) -> Expression:
        first = self._expression(node.expr)
        rest = [(op.op, _COMPARISONS[op.op], self._expression(op.expr)) for op in node.ops]

        def compare(scope: Scope) -> Any:
            work, left, result = scope[_WORK], first(scope), True
            for sign, holds, expression in rest:
                right = expression(scope)
                work.weigh(left)
                work.weigh(right)
                if isinstance(right, str) and sign in ("in", "notin"):
                    work.spend(len(right) // 10)  # a search takes longer than a comparison
                result = holds(left, right)
                if not result:
                    return result
                left = right
            return result

        return compare

    def _call(self, node: nodes.Call) -> Expression:
        if node.dyn_args or node.dyn_kwargs:
            raise _refusal(node, "* or ** before an argument")
        args = [self._expression(arg) for arg in node.args]
        keywords = [(_public(pair.key, node), self._expression(pair.value)) for pair in node.kwargs]
        callee = node.node
        if isinstance(callee, nodes.Getattr) and not self._is_macro(callee):
            name, whole = _public(callee.attr, callee), self._expression(callee.node)
            if name not in METHODS:
                raise _refusal(callee, f"the method {name}", METHODS)
            return lambda scope: _call_given(method(whole(scope), name), scope, args, keywords)
        if not isinstance(callee, nodes.Name | nodes.Getattr):
            raise _refusal(node, "a call of something that has no name")
        function = self._expression(callee)
        is_range = isinstance(callee, nodes.Name) and callee.name == "range"

        def call(scope: Scope) -> Any:
            if is_range and "range" not in scope:
                return _range([arg(scope) for arg in args])
            target = function(scope)
            if isinstance(target, Macro):
                return target.call([a(scope) for a in args], {n: value(scope) for n, value in keywords})
            return _call_given(checked_function(target), scope, args, keywords)

        return call

    def _is_macro(self, callee: nodes.Getattr) -> bool:
        """Whether this may be a macro of a file that was imported."""
        return isinstance(callee.node, nodes.Name) and callee.node.name in self._modules

    def _filter(self, node: nodes.Filter) -> Expression:
        if node.name not in FILTERS:
            raise _refusal(node, f"the filter {node.name}", FILTERS)
        if node.dyn_args or node.dyn_kwargs:
            raise _refusal(node, "* or ** before an argument")
        function, value = FILTERS[node.name], self._expression(node.node)  # type: ignore[arg-type]
        args = [self._expression(arg) for arg in node.args]
        named = [(pair.key, self._expression(pair.value)) for pair in node.kwargs]

        def apply(scope: Scope) -> Any:
            work = scope[_WORK]
            work.spend(1)
            more: dict[str, Any] = {str(name): argument(scope) for name, argument in named}
            return function(work, value(scope), *[arg(scope) for arg in args], **more)

        return apply

    def _test(self, node: nodes.Test) -> Expression:
        if node.name not in TESTS or node.args or node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise _refusal(node, f"the test {node.name}", TESTS)
        test, value = TESTS[node.name], self._expression(node.node)
        return lambda scope: test(value(scope))


def _variable(name: str) -> Expression:
    def read(scope: Scope) -> Any:
        try:
            return scope[name]
        except KeyError:
            return StrictUndefined(name=name)

    return read


def _arithmetic(sign: str, first: Expression, second: Expression) -> Expression:
    compute = _ARITHMETIC[sign]

    def computed(scope: Scope) -> Any:
        left, right = defined(first(scope)), defined(second(scope))
        if not (isinstance(left, Number) and isinstance(right, Number)):
            kinds = f"{type(left).__name__} {sign} {type(right).__name__}"
            raise TypeError(f"cannot compute {kinds} in a prompt file (join texts with ~)")
        value = compute(left, right)
        if isinstance(value, int) and abs(value) > MOST_WHOLE:
            raise SecurityError(f"it computes a number above {MOST_WHOLE:,}")
        return value

    return computed


def _call_given(
    function: Callable[..., Any],
    scope: Scope,
    args: Sequence[Expression],
    named: Sequence[tuple[str, Expression]],
) -> Any:
    """Call a method of a value that was given."""
    work = scope[_WORK]
    work.spend(1)
    values = [work.weigh(arg(scope)) for arg in args]
    value = function(*values, **{name: work.weigh(arg(scope)) for name, arg in named})
    if isinstance(value, list | tuple):
        work.spend(len(value))
    return value


def _range(bounds: Sequence[Any]) -> range:
    if not 1 <= len(bounds) <= 3 or not all(isinstance(n, int) and abs(n) <= MOST_WHOLE for n in bounds):
        raise TypeError("range takes one to three whole numbers")
    numbers = range(*bounds)
    if len(numbers) > _LONGEST_RANGE:
        raise SecurityError(f"range gives at most {_LONGEST_RANGE:,} numbers")
    return numbers


def _context(scope: Scope, whole: bool) -> Scope:
    """What a file that is taken in can read."""
    return dict(scope) if whole else {_WORK: scope[_WORK]}


def _file(node: nodes.Include | nodes.Import | nodes.FromImport) -> str:
    if not _is_text(node.template):
        raise _refusal(node, "a file name that is computed")
    return str(getattr(node.template, "value", ""))


def _is_text(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Const) and isinstance(node.value, str)


def _public(name: str, node: nodes.Node) -> str:
    if name.startswith("_"):
        raise TemplateSyntaxError(
            f"{name!r:.60} begins with an underscore and cannot be read in a prompt file", node.lineno
        )
    return name


def _refusal(node: nodes.Node, what: str = "", known: Iterable[str] = ()) -> TemplateSyntaxError:
    """The complaint about a part of the syntax that is not allowed."""
    name = what or _WRITTEN.get(type(node), type(node).__name__.lower())
    near = nearest(name.split()[-1], known)
    allowed = f" (allowed: {', '.join(sorted(known))})" if known else ""
    meant = f", did you mean {near}?" if near else ""
    return TemplateSyntaxError(f"{name} is not allowed in a prompt file{meant}{allowed}", node.lineno)


def _weight(body: Iterable[nodes.Node]) -> int:
    """The steps of one pass through a body: one, and more for a long one."""
    return 1 + sum(1 for part in body for _ in part.find_all(nodes.Node)) // 32


@lru_cache(
    maxsize=512
)  # every study that is opened in this process reads the same files; trees are never changed
def _parsed(source: str) -> tuple[nodes.Template, int]:
    _check_size(source)
    tree = _PARSER.parse(source)
    return tree, _weight(tree.body)


def _check_size(source: str) -> None:
    """Refuse a file that would take long to parse."""
    for count, (line, kind, text) in enumerate(_PARSER.lexer.tokeniter(source, None)):
        if count > _MOST_TOKENS:
            raise TemplateSyntaxError(f"more than {_MOST_TOKENS:,} words and signs in braces", line)
        if kind in ("integer", "float") and len(text) > _LONGEST_NUMBER:
            raise TemplateSyntaxError(f"a number of more than {_LONGEST_NUMBER} digits", line)
