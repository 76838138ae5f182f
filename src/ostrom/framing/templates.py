"""What a template asks for, read off its syntax tree."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from jinja2 import Environment, FileSystemLoader, Template, nodes


class Loader(FileSystemLoader):
    """Loads templates from folders and keeps their syntax trees: parsing takes longer than all the rest."""

    def __init__(self, folders: list[str]) -> None:
        super().__init__(folders)
        self.trees: dict[str, nodes.Template] = {}

    def load(
        self, environment: Environment, name: str, globals: MutableMapping[str, Any] | None = None
    ) -> Template:
        """Parse and compile the first file of that name."""
        source, file, fresh = self.get_source(environment, name)
        self.trees[name] = tree = environment.parse(source, name, file)
        code = environment.compile(tree, name, file)
        return environment.template_class.from_code(environment, code, globals or {}, fresh)


def includes(tree: nodes.Template) -> bool:
    """Whether a template takes in others."""
    kinds = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
    return next(tree.find_all(kinds), None) is not None


def asks_for(tree: nodes.Template) -> tuple[str, ...]:
    """The names that a template reads, its own ones included."""
    return tuple(sorted({n.name for n in tree.find_all(nodes.Name) if n.ctx == "load"}))


def only_writes_down(tree: nodes.Template, names: frozenset[str]) -> bool:
    """Whether a template does no more with these values than print them, or ask whether they are there."""
    used = sum(n.name in names and n.ctx == "load" for n in tree.find_all(nodes.Name))
    printed = sum(
        _is_one_of(names, child) for output in tree.find_all(nodes.Output) for child in output.nodes
    )
    asked = sum(_is_one_of(names, t.node) and t.name == "none" for t in tree.find_all(nodes.Test))
    asked += sum(_is_one_of(names, case.test) for case in tree.find_all(nodes.If))
    return used == printed + asked and not includes(tree)


def _is_one_of(names: frozenset[str], node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name in names
