"""Prompt files: how they are read, and what a template asks for, read off its syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import Any

from jinja2 import BaseLoader, Environment, Template, TemplateNotFound, nodes
from jinja2.loaders import split_template_path

from ostrom.ground.errors import StudyError

MOST_BYTES = 1_000_000


def read_prompt(path: Path, within: Path | None = None) -> bytes:
    """The content of a prompt file; refuses what is no file, is too large or lies outside a stranger's folder."""
    try:
        real = path.resolve(strict=True)
        if within is not None and not real.is_relative_to(within.resolve()):
            raise StudyError("leads out of the folder of prompts", file=str(path), found=str(real))
        facts = real.stat()
        if not S_ISREG(facts.st_mode):
            raise StudyError("is not a plain file", file=str(path))
        if facts.st_size > MOST_BYTES:
            raise StudyError(f"is larger than {MOST_BYTES:,} bytes", file=str(path), found=facts.st_size)
        return real.read_bytes()
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except RuntimeError:  # what Python up to 3.12 raises for links in a circle
        raise StudyError("cannot be read: its symbolic links form a circle", file=str(path)) from None


def text_of(path: Path, within: Path | None = None) -> str:
    """The same as text."""
    try:
        return read_prompt(path, within).decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise StudyError("is not a text file in UTF-8", file=str(path)) from None


class TemplateLoader(BaseLoader):
    """Loads templates from folders and keeps their syntax trees: parsing takes longer than all the rest.

    Files of installed packages are trusted to lie where they are; those of a ``foreign`` folder must lie in it.
    """

    def __init__(
        self, folders: Sequence[Path], foreign: Sequence[Path], otherwise: Mapping[str, Path] | None = None
    ) -> None:
        self._folders, self._foreign = folders, foreign
        self._otherwise = otherwise or {}
        """Files to take by name where no folder has them."""
        self.trees: dict[str, nodes.Template] = {}

    def get_source(
        self,
        environment: Environment,  # noqa: ARG002
        template: str,
    ) -> tuple[str, str, Callable[[], bool]]:
        """The text of the first file of that name."""
        parts = split_template_path(template)  # refuses a path that climbs
        for folder in self._folders:
            path = folder.joinpath(*parts)
            if path.exists() and not path.is_dir():
                return text_of(path, folder if folder in self._foreign else None), str(path), lambda: True
        if template in self._otherwise:
            return text_of(self._otherwise[template]), str(self._otherwise[template]), lambda: True
        raise TemplateNotFound(template)

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


def taken_in(tree: nodes.Template) -> list[str] | None:
    """The files that a template takes in; None where it computes their names."""
    kinds = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
    named = [getattr(node, "template", None) for node in tree.find_all(kinds)]
    if not all(isinstance(name, nodes.Const) and isinstance(name.value, str) for name in named):
        return None
    return [name.value for name in named if isinstance(name, nodes.Const)]


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
    return used == printed + asked


def _is_one_of(names: frozenset[str], node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name in names
