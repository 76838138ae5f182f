"""The files of the package and their syntax trees, read once for all tests of the house."""

import ast
import gc
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "ostrom"


@cache
def trees() -> dict[Path, ast.Module]:
    """The syntax tree of every file of the package.

    A million objects that live as long as the process: the garbage collector must not go through them.
    """
    gc.disable()
    try:
        made = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
        gc.freeze()
    finally:
        gc.enable()
    return made


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of the tree of a file."""
    return tuple(ast.walk(trees()[path]))
