"""Every constant and default of the package, by room: a number or a word that changes is a line of a difference."""

import ast
import dataclasses
import enum
import hashlib
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Set
from decimal import Decimal
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pydantic
import pytest
from pydantic_core import PydanticUndefined
from tests.golden.conftest import Golden

import ostrom

ROOT = Path(__file__).parents[2]
SOURCE = Path(ostrom.__file__).parent
WIDE, LONGEST = 200, 1200
"""Characters from which a table has a line an entry; and from which a value is cut, with a digest of all of it."""
LEFT_OUT = ("environments/integrations", "ground/version.py")
"""Modules that need a package that is not installed, and the version, which every output normalises."""
UNTOLD = ("<PosixPath>", "<TypeVar>", "<_tuplegetter>", "<Logger>", "<lock>")
"""Values that differ from machine to machine or say nothing."""


def rooms() -> dict[str, list[Path]]:
    """The modules of each room; features and replications have a list each."""
    found: dict[str, list[Path]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        parts = file.relative_to(SOURCE).parts[:-1]
        depth = 2 if parts[:1] in (("features",), ("replications",)) else 1
        if file.name != "__main__.py" and not any(part in file.as_posix() for part in LEFT_OUT):
            found.setdefault("-".join(parts[:depth]) or "ostrom", []).append(file)
    return found


ROOMS = rooms()


def plain(value: object, depth: int = 6) -> str:
    """A value as it reads on every machine: no addresses, no paths, sets in order."""
    again = partial(plain, depth=depth - 1)
    if value is None or isinstance(value, bool | int | str | bytes):
        return repr(value)
    if isinstance(value, float):  # the last bits of a computed number differ between machines
        return repr(float(f"{value:.12g}"))
    if not depth:
        return "..."
    if isinstance(value, re.Pattern):
        return f"re({value.pattern!r}, {value.flags})"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, np.ndarray):
        return again(value.tolist())
    if isinstance(value, partial):
        return f"partial({again(value.func)}, {again(value.args)}, {again(value.keywords)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{again(key)}: {again(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, Set):
        return "{" + ", ".join(sorted(map(again, value))) + "}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(map(again, value))})"
    if isinstance(value, type) or inspect.isfunction(value):
        return f"{value.__module__}.{value.__qualname__}"
    if dataclasses.is_dataclass(value):
        entries = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.repr}
        return f"{type(value).__name__}({', '.join(f'{name}={again(entry)}' for name, entry in entries.items())})"
    return f"<{type(value).__name__}>"


def entries(where: str, value: object) -> Iterator[str]:
    """A line for a value; a long table has a line for each of its entries."""
    text = plain(value)
    if len(text) > WIDE and isinstance(value, Mapping | list | tuple) and value:
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        yield from (f"{where}[{plain(key)}] = {shortened(plain(entry))}" for key, entry in pairs)
    elif text not in UNTOLD:
        yield f"{where} = {shortened(text)}"


def shortened(text: str) -> str:
    """The text, or its beginning and a digest where it is long."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... {len(text)} characters, {digest}"


def defaults(where: str, target: Any) -> Iterator[str]:
    """The defaults of a function's arguments or of a class's fields."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return
    for parameter in parameters:
        if parameter.default is not parameter.empty:
            yield f"{where}({parameter.name}={shortened(plain(parameter.default))})"


def of_model(where: str, model: type[pydantic.BaseModel]) -> Iterator[str]:
    """The keys of a document with their defaults and bounds."""
    for name, field in model.model_fields.items():
        default = field.default_factory if field.default is PydanticUndefined else field.default
        value = (
            "required" if default is PydanticUndefined or (default is None and field.is_required()) else plain(default)
        )
        bounds = ", ".join(plain(one if dataclasses.is_dataclass(one) else vars(one)) for one in field.metadata)
        yield f"{where}.{name} = {shortened(value)}{f' [{bounds}]' if bounds else ''}"


def names_of(body: list[ast.stmt]) -> Iterator[str]:
    """The names that statements assign."""
    for statement in body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(statement, ast.Assign | ast.AnnAssign):
                yield target.id
            elif isinstance(target, ast.Tuple):
                yield from (one.id for one in target.elts if isinstance(one, ast.Name))


def declared(module: ModuleType, body: list[ast.stmt], where: str, holder: Any) -> Iterator[str]:
    """What a module or a class declares, classes inside it included."""
    for name in names_of(body):
        if name in vars(holder) and (name.isupper() or holder is not module) and not name.startswith("__"):
            value = vars(holder)[name]
            if not inspect.ismemberdescriptor(value):
                yield from entries(where + name, value)
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name not in vars(holder):
            continue
        target = getattr(holder, node.name)
        if not isinstance(node, ast.ClassDef):
            yield from defaults(where + node.name, target)
        elif issubclass(target, pydantic.BaseModel):
            yield from of_model(where + node.name, target)
        else:
            if dataclasses.is_dataclass(target) or issubclass(target, tuple):
                yield from defaults(where + node.name, target)
            yield from declared(module, node.body, f"{where}{node.name}.", target)


def lines_of(room: str) -> Iterator[str]:
    """What the modules of a room declare."""
    for file in ROOMS[room]:
        parts = file.relative_to(SOURCE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        module = importlib.import_module(name)
        yield from (f"{name} {line}" for line in declared(module, ast.parse(file.read_text()).body, "", module))


@pytest.fixture(scope="module")
def package() -> dict[str, list[str]]:
    """What every room declares in a process of its own: tests fill the caches and registers of this one."""
    code = "import json, tests.golden.test_declared as t; print(json.dumps({r: [*t.lines_of(r)] for r in t.ROOMS}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rooms: dict[str, list[str]] = json.loads(done.stdout)
    return rooms


@pytest.mark.parametrize("room", ROOMS)
def test_declared(room: str, package: dict[str, list[str]], golden: Golden) -> None:
    golden("\n".join(package[room]) + "\n")


def test_no_output_was_kept_of_a_command_that_broke() -> None:
    """An internal error is never what a user is meant to see; one that is kept hides the next."""
    broken = ("exit code 70", "internal error", "Traceback (most recent call last)")
    outputs = (ROOT / "tests" / "golden" / "outputs").rglob("*.txt")
    assert not [file.name for file in outputs if any(words in file.read_text(encoding="utf-8") for words in broken)]
