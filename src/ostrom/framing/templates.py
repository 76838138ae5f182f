"""Prompt files: how they are read, and what a template asks for, read off its syntax tree."""

from __future__ import annotations

from pathlib import Path
from stat import S_ISREG

from jinja2 import nodes

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


def taken_in(tree: nodes.Template) -> list[str]:
    """The files that a template takes in; their names are never computed."""
    kinds = (nodes.Include, nodes.Import, nodes.FromImport)
    named = [getattr(node, "template", None) for node in tree.find_all(kinds)]
    return [str(name.value) for name in named if isinstance(name, nodes.Const)]


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
