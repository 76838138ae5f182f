"""Parts in the user's Python files: ``memory: my_memory.py:recent``, in a file beside the study.

A study that is to be played names a file and a name in it (by default that of the file). A study may come from a
stranger, so the file is run only where the person has allowed it (``--allow-code``). The name gets a hash of its text
(``my_memory.py:recent@1a2b3c4d5e6f``), which the manifest keeps: a run never goes on with other code. Opening a run to
read it runs no code; a part that refuses to be played then stands in its place.
"""

import hashlib
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from ostrom.ground.errors import StudyError
from ostrom.ground.files import read_text_file
from ostrom.ground.words import scalar

WRITTEN = re.compile(r"(?P<file>[^:@\s]+\.py)(?::(?P<name>[A-Za-z_]\w*))?(?::(?P<more>.*))?", re.DOTALL)
BOUND = re.compile(r"(?P<file>[^:@\s]+\.py):(?P<name>\w+)@(?P<digest>[0-9a-f]{12})")
OF_A_SCRIPT = re.compile(r"\w+_[0-9a-f]{6}")
"""Names of functions that a script passes to a study in place of names."""
TEXTS = ("facts", "attributes", "persona", "system", "framing", "label", "model", "prompts", "command")
"""Keys below which texts are never file names."""
_MODULES: dict[tuple[str, str], ModuleType] = {}
_ALLOWED: set[Path] = set()


def allow_code(*files: str | Path) -> None:
    """Allow studies to run the Python code of these files; otherwise a study that names one is refused."""
    _ALLOWED.update(Path(file).resolve() for file in files)


def allow_typed(*parts: str) -> None:
    """Allow Python files that are named on the command line."""
    allow_code(*(written["file"] for part in parts if (written := WRITTEN.fullmatch(part)) is not None))


def is_code(name: str) -> bool:
    """Return whether a name is of a Python file or a script's function, which no registry stores.

    >>> is_code("my_memory.py:recent@1a2b3c4d5e6f"), is_code("forgiving_7eb485"), is_code("tit_for_tat")
    (True, True, False)
    """
    return BOUND.fullmatch(name) is not None or OF_A_SCRIPT.fullmatch(name) is not None


def part_of(name: str) -> Any:
    """Return the object of a name; None if its file was not run in this process."""
    bound = BOUND.fullmatch(name)
    module = _MODULES.get((bound["file"], bound["digest"])) if bound else None
    return None if bound is None or module is None else getattr(module, bound["name"])


def module_of(file: str, digest: str) -> ModuleType:
    """Return an executed file as a module."""
    return _MODULES[file, digest]


def readable(name: str) -> str:
    """Return a name without its hash, for tables and charts.

    >>> readable("my_memory.py:recent@1a2b3c4d5e6f"), readable("window:3")
    ('my_memory.py:recent', 'window:3')
    """
    return name.partition("@")[0] if BOUND.fullmatch(name) else name


def bind_code_parts(value: Any, folder: Path, file: str, key: str = "") -> Any:
    """Run every Python file in a study's fields, and add hashes to the names of its parts."""
    match value:
        case _ if key.rpartition(".")[2] in TEXTS:
            return value
        case list():
            return [bind_code_parts(one, folder, file, key) for one in value]
        case Mapping():
            fields = {k: bind_code_parts(v, folder, file, f"{key}.{k}" if key else str(k)) for k, v in value.items()}
            return fields | (fields["name"] if isinstance(fields.get("name"), dict) else {})
    written = WRITTEN.fullmatch(value) if isinstance(value, str) and not BOUND.fullmatch(value) else None
    if written is None:
        return value
    name = written["name"] or Path(written["file"]).stem
    digest = run_file(written["file"], folder, file, key)
    module = _MODULES[written["file"], digest]
    if not hasattr(module, name):
        allowed = [one for one in vars(module) if not one.startswith("_")] or ("nothing",)
        raise StudyError(f"{written['file']} has no {name!r}", file=file, key=key, actual=value, allowed=allowed)
    part = {"name": f"{written['file']}:{name}@{digest}", **_parameters(written["more"], file, key)}
    return {"strategy": part} if re.search(r"(^|\.)types\.[^.]+$", key) else part


def _parameters(text: str | None, file: str, key: str) -> dict[str, Any]:
    named = [piece.partition("=") for piece in (text or "").split(",") if piece]
    if any(not equals for _, equals, _ in named):
        raise StudyError("name the parameters of a Python function: FILE.py:NAME:k=3", file=file, key=key, actual=text)
    return {left.strip(): scalar(right.strip()) for left, _, right in named}


def references(value: Any) -> Iterator[re.Match[str]]:
    """Yield the Python files in a study, as a manifest stores them."""
    match value:
        case Mapping():
            yield from references(list(value.values()))
        case list():
            yield from chain.from_iterable(map(references, value))
        case str() if bound := BOUND.fullmatch(value):
            yield bound


def run_again(study: Any, folders: list[Path], run: Path, file: str) -> None:
    """Run the files of a run again, so that it can continue; missing or changed files are refused."""
    for bound in references(study):
        places = [folder / bound["file"] for folder in folders]
        place = next((one for one in places if one.is_file()), None)
        if place is None:
            looked = ", ".join(dict.fromkeys(str(one.parent) for one in places))
            raise StudyError(
                f"{bound['file']}: was a Python file beside the study and is gone (looked in {looked}); "
                "the run can be read without it, and goes on with it",
                file=file,
            )
        if run.resolve() in place.resolve().parents:
            raise StudyError(f"{place}: code that lies in a run folder is never run", file=file)
        if _digest(read_text_file(place)) != bound["digest"]:
            raise StudyError(
                f"{place}: is not the file that the run was begun with (put that back, or choose another --name)",
                file=file,
            )
        run_file(bound["file"], place.parents[len(Path(bound["file"]).parts) - 1], file, "")


def run_file(name: str, folder: Path, file: str, key: str) -> str:
    """Run a file once and return its hash."""
    place = next((one for one in (folder / name, Path(name)) if one.is_file()), None)
    if place is None:
        raise StudyError("there is no such Python file", file=file, key=key or None, actual=str(folder / name))
    if place.resolve() not in _ALLOWED:
        raise StudyError(
            f"{place} is Python code, which a study cannot run by itself: read it, then add --allow-code {place}",
            file=file,
            key=key or None,
        )
    text = read_text_file(place)
    digest = _digest(text)
    if (name, digest) not in _MODULES:
        module = ModuleType(f"ostrom_file_{Path(name).stem}_{digest}")
        module.__file__ = str(place)
        sys.modules[module.__name__] = module
        try:
            exec(compile(text, str(place), "exec"), vars(module))
        except (Exception, SystemExit) as error:
            line = getattr(error, "lineno", None) or _line(error, str(place))
            reason = f"{type(error).__name__}: {getattr(error, 'msg', None) or error}"
            where = f"line {line}: " if line else ""
            raise StudyError(f"{place}: {where}{reason}", file=file, key=key or None) from None
        _MODULES[name, digest] = module
    return digest


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _line(error: BaseException, place: str) -> int | None:
    """Return the last line of the file in a traceback."""
    trace = traceback.walk_tb(error.__traceback__)
    return next((line for frame, line in [*trace][::-1] if frame.f_code.co_filename == place), None)


class AbsentPart:
    """A placeholder for a part whose package or code is missing: its run can be read but not played."""

    absent = True

    def __init__(self, title: str) -> None:
        self.title = title

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise StudyError(f"{self.title}: its package or code is not here, which playing on needs")


def from_code(name: str, part: Any) -> Callable[..., Any]:
    """Return a part's factory in Python code: a function or class."""
    if not callable(part):
        raise StudyError(f"{readable(name)}: must be a function that makes one")
    factory: Callable[..., Any] = part
    return factory


def absent(name: str) -> Callable[..., Any]:
    """Return the factory of the placeholder for a missing part."""
    return lambda *_, **__: AbsentPart(readable(name))
