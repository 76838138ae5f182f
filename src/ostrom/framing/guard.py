"""Puts the meter of a filling into the syntax trees of templates, before code is generated from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, cast

from jinja2 import nodes
from jinja2.compiler import CodeGenerator
from jinja2.exceptions import SecurityError
from jinja2.visitor import NodeTransformer

from ostrom.framing.meter import MOST_BITS

Scope = TypeVar("Scope", nodes.Template, nodes.Macro, nodes.CallBlock, nodes.Block)


class Guard(NodeTransformer):
    """Puts the meter into a syntax tree, wherever work or text could grow."""

    def visit_Template(self, node: nodes.Template) -> nodes.Template:
        return self._entered(node)

    def visit_Macro(self, node: nodes.Macro) -> nodes.Macro:
        used = {n.name for n in node.find_all(nodes.Name)} & {"varargs", "kwargs"}
        if used:
            raise SecurityError(f"{used.pop()} cannot be used in a prompt file")
        return self._entered(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.CallBlock:
        return self._entered(node)

    def visit_Block(self, node: nodes.Block) -> nodes.Block:
        return self._entered(node)

    def _entered(self, node: Scope) -> Scope:
        weight = _weight(node.body)
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(_wrapped(nodes.Const(weight), "_enter")))
        return node

    def visit_For(self, node: nodes.For) -> nodes.For:
        weight = _weight(node.body)
        self.generic_visit(node)
        node.iter = _wrapped(node.iter, "_each", nodes.Const(weight))
        return node

    def visit_List(self, node: nodes.List) -> nodes.Expr:
        return self._made(node, node.items)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Expr:
        return self._made(node, node.items) if node.ctx == "load" else node

    def visit_Dict(self, node: nodes.Dict) -> nodes.Expr:
        return self._made(node, [part for pair in node.items for part in (pair.key, pair.value)])

    def _made(self, node: nodes.Expr, parts: Iterable[nodes.Expr]) -> nodes.Expr:
        plain = all(isinstance(part, nodes.Const) for part in parts)
        self.generic_visit(node)
        return node if plain else _wrapped(node, "_weigh")

    def visit_Filter(self, node: nodes.Filter) -> nodes.Expr:
        if node.name.startswith("_"):
            raise SecurityError(f"there is no filter {node.name!r}")
        self.generic_visit(node)
        return node

    def visit_Const(self, node: nodes.Const) -> nodes.Expr:
        if isinstance(node.value, int) and node.value.bit_length() > MOST_BITS:
            raise SecurityError(f"a number has more than {MOST_BITS:,} bits")
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:
        self.generic_visit(node)
        return _wrapped(node.nodes[0], "_concat", *node.nodes[1:])

    def visit_Compare(self, node: nodes.Compare) -> nodes.Expr:
        self.generic_visit(node)
        sides: list[Any] = [node, *node.ops]
        whole = any(operand.op in ("in", "notin") for operand in node.ops)
        if whole or not any(_is_short(side.expr) for side in sides):
            for side in sides:
                if not _is_short(side.expr):
                    side.expr = _wrapped(side.expr, "_look")
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Expr:
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = _wrapped(node.node, "_look")
        return node


def _is_short(node: nodes.Expr) -> bool:
    """Whether comparing with this takes the same time whatever the other side is."""
    return isinstance(node, nodes.Const) and len(str(node.value)) <= 100


def _wrapped(node: nodes.Node, name: str, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(cast(nodes.Expr, node), name, list(args), [], None, None)


def _weight(body: Iterable[nodes.Node]) -> int:
    """What a body costs when it is executed once, about a microsecond a step; loops inside count their own passes."""
    dear = (nodes.Include, nodes.Import, nodes.FromImport)
    found = [node for part in body for node in (part, *part.find_all(nodes.Node))]
    included = sum(isinstance(node, dear) for node in found)
    called = sum(isinstance(node, nodes.Call) for node in found)
    return 1 + len(found) // 4 + 4 * called + 20 * included


class Guarding(CodeGenerator):
    """Generates code from guarded trees alone."""

    def visit_Template(self, node: nodes.Template, frame: Any = None) -> None:
        """Guard the tree, then generate its code."""
        Guard().visit(node)
        node.set_environment(self.environment)
        super().visit_Template(node, frame)
