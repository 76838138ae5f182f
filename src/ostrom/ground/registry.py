"""Parts by name: one file per part in our packages, or entry points of other packages.

A built-in part is a module whose file name is the part's name and which assigns the part to a constant
(``GAME = build``). Nothing is imported before it is asked for by name, and registering has no side effects.
Another distribution adds a part with an entry point, for example in its pyproject.toml::

    [project.entry-points."ostrom.games"]
    my_game = "my_package.my_game:build"

A replication is a package that holds everything one published study needs: ``studies/*.yaml``, ``mappings/*.yaml``,
``measures.yaml`` or ``measures/*.py``, ``panels.yaml`` or ``panels/*.py``, and ``claims.yaml`` or ``claims.py``. Ours
are the folders of ``ostrom.replications``; another distribution names its package in the group of that name::

    [project.entry-points."ostrom.replications"]
    fifth_paper = "my_package.fifth_paper"
"""

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from importlib import import_module, invalidate_caches
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar, cast
from weakref import WeakSet

from ostrom.ground import parameters, python_files
from ostrom.ground.errors import OstromError, StudyError, UnknownName, UsageError, unknown_key
from ostrom.ground.files import read_text_file
from ostrom.ground.values import grouped
from ostrom.ground.words import scalar

T = TypeVar("T")
Part = TypeVar("Part")


OWN_REPLICATIONS = "ostrom.replications"


@lru_cache(maxsize=1)
def _entry_points() -> EntryPoints:
    """Return the entry points for Ostrom of all installed packages, cached: it reads a file of every package."""
    every = entry_points()
    return EntryPoints(
        point
        for group in sorted(group for group in every.groups if group.startswith("ostrom."))
        for point in every.select(group=group)
    )


@lru_cache(maxsize=1)
def _installed() -> tuple[dict[str, str], dict[str, str]]:
    """Return the usable packages of replications, and the errors of the others."""
    usable = {name: f"{OWN_REPLICATIONS}.{name}" for name in _modules(OWN_REPLICATIONS)}
    broken: dict[str, str] = {}
    points = _entry_points().select(group=OWN_REPLICATIONS)
    for name, providers in grouped((point.name, point) for point in points).items():
        owners = sorted({owner(point) for point in providers})
        if name in usable or len({point.value for point in providers}) > 1:
            others = [*owners, "ostrom"] if name in usable else owners
            broken[name] = f"several packages have a replication of that name: {', '.join(others)}"
            continue
        try:
            files(providers[0].value)
        except (Exception, SystemExit) as error:
            broken[name] = f"package {owners[0]} cannot be imported: {_reason(error)}"
        else:
            usable[name] = providers[0].value
    return dict(sorted(usable.items())), broken


def replications() -> dict[str, str]:
    """Return the installed replications: name to package.

    >>> replications()["memory_curse"]
    'ostrom.replications.memory_curse'
    """
    return _installed()[0]


def broken_replications() -> dict[str, str]:
    """Return the unusable replications of other packages, with the reason."""
    return _installed()[1]


def broken_note() -> str:
    """Return a note for errors about unknown names: they may belong to an unusable package."""
    return "".join(f"; replication {name} cannot be used: {why}" for name, why in broken_replications().items())


def owner(point: EntryPoint) -> str:
    """The distribution that declares an entry point."""
    return point.dist.name if point.dist is not None else point.value


NEEDED: dict[str, str] = {}
"""Parts of other packages in runs opened by this process: ``ostrom.games.NAME`` and the package."""
_NAME = re.compile(r"[\w.-]+")


def parts_of_packages(study: Any) -> dict[str, str]:
    """Return the parts of other packages that a study names, each with package and version.

    >>> parts_of_packages({"game": "prisoners_dilemma"})
    {}
    """
    names: set[str] = set()
    waiting = [study]
    while waiting:
        match waiting.pop():
            case Mapping() as value:
                waiting += [*value.keys(), *value.values()]
            case list() | tuple() as value:
                waiting += value
            case str() as value if name := _NAME.match(value):
                names.add(name[0])
    return {
        part: f"{point.dist.name} {point.dist.version}"
        for part, point in _points().items()
        if point.name in names and point.dist.name != "ostrom"
    }


def missing_packages(parts: Mapping[str, str]) -> list[str]:
    """Return the packages of these parts that are not installed."""
    installed = {f"{group}.{point.name}" for group in _PARTS for point in _entry_points().select(group=group)}
    return sorted({package for part, package in parts.items() if part not in installed})


def code_of_packages(parts: Iterable[str]) -> dict[str, str]:
    """Return a hash of the Python files of each installed part's package, without importing it."""
    wanted = set(parts)
    return {part: _code(point.module) for part, point in _points().items() if part in wanted}


def changed_packages(parts: Mapping[str, str], code: Mapping[str, str]) -> list[str]:
    """Return the parts whose installed package differs from those a run was played with, in words.

    ``parts`` and ``code`` are what the manifest of the run keeps: versions and hashes of its packages.
    """
    changed, points = [], _points()
    for part, digest in code_of_packages(parts).items():
        here, played = f"{points[part].dist.name} {points[part].dist.version}", parts[part]
        if here not in played.split(", ") or digest not in code.get(part, digest).split(", "):
            same = " with other code" if here == played else ""
            changed.append(f"{part.removeprefix('ostrom.')} was played with {played} and is now of {here}{same}")
    return changed


def _points() -> dict[str, Any]:
    """Return the entry points of added parts, by group and name."""
    every = (point for group in _PARTS for point in _entry_points().select(group=group))
    return {f"{point.group}.{point.name}": point for point in every if point.dist is not None}


@cache
def _code(module: str) -> str:
    digest = blake2b(digest_size=12)
    spec = find_spec(module.partition(".")[0])
    folders = [] if spec is None else [Path(folder) for folder in spec.submodule_search_locations or ()]
    alone = [(Path(module), Path(spec.origin))] if spec is not None and spec.origin is not None else []
    inside = [(file.relative_to(folder), file) for folder in folders for file in folder.rglob("*.py")]
    for name, file in sorted(inside if folders else alone):
        digest.update(f"{name.as_posix()} {file.stat().st_size}\n".encode() + file.read_bytes())
    return digest.hexdigest()


_PARTS = [
    f"ostrom.{kind}"
    for kind in "games strategies mechanisms networks memories styles tools models measures charts panels".split()
]


def _reason(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


class NamedFiles(dict[str, Traversable]):
    """Files by name. A name used by several packages is refused when it is requested."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.owners: dict[str, list[str]] = {}

    def put(self, name: str, path: Traversable, package: str) -> None:
        """Add a file of a package."""
        self.owners.setdefault(name, []).append(package)
        self.setdefault(name, path)

    def named(self, name: str) -> Traversable | None:
        """The file of that name, or None."""
        owners = self.owners.get(name, [])
        if len(owners) > 1:
            raise StudyError(f"several packages have a {self.kind} of that name: {', '.join(owners)}", key=name)
        return self.get(name)

    def text(self, source: str) -> str:
        """Return the text of a named file, or of a user's file by path."""
        if (named_file := self.named(source)) is not None:
            return named_file.read_text(encoding="utf-8")
        path = Path(source)
        if not path.exists():
            if path.suffix in (".yaml", ".yml") or "/" in source:
                raise StudyError("there is no such file", file=source)
            raise UnknownName(self.kind, source, sorted(self), broken_note())
        return read_text_file(path)


def replication_files(folder: str, suffix: str, kind: str) -> NamedFiles:
    """Return the files of one folder in every replication, by name without suffix."""
    named_files = NamedFiles(kind)
    for package in replications().values():
        directory = files(package).joinpath(folder)
        for path in sorted(directory.iterdir(), key=lambda p: p.name) if directory.is_dir() else ():
            if path.name.endswith(suffix):
                named_files.put(path.name.removesuffix(suffix), path, package)
    return named_files


def package_folder(package: str) -> Traversable:
    """Return the folder of a package; ours are found without importing them."""
    first, *rest = package.split(".")
    return files("ostrom").joinpath(*rest) if first == "ostrom" else files(package)


def _is_package(path: Traversable) -> bool:
    return path.is_dir() and path.joinpath("__init__.py").is_file()


def _modules(package: str) -> list[str]:
    """Return the public modules of a package; empty if it does not exist."""
    if package.partition(".")[0] == "ostrom":
        directory = package_folder(package)
        paths = directory.iterdir() if directory.is_dir() else ()
        names = {p.name.removesuffix(".py") for p in paths if p.name.endswith(".py") or _is_package(p)}
        return sorted(name for name in names if not name.startswith("_"))
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec is not None else None
    return [m.name for m in pkgutil.iter_modules(places or []) if not m.name.startswith("_")]


@lru_cache(maxsize=1)
def own_holders() -> tuple[str, ...]:
    """Return our packages with parts of several kinds: every feature, and the packages beside them."""
    names = sorted(
        folder.name
        for folder in files("ostrom").joinpath("features").iterdir()
        if folder.is_dir() and not folder.name.startswith("_")
    )
    return ("ostrom.people", "ostrom.probe", *(f"ostrom.features.{name}" for name in names))


_registries: WeakSet[Any] = WeakSet()


def refresh() -> None:
    """Search installed packages again, for processes that run for days."""
    invalidate_caches()
    _entry_points.cache_clear()
    _installed.cache_clear()
    for registry in list(_registries):
        registry.forget()


class Registry(Generic[T]):
    """All parts of one kind, built by name from a string or a mapping.

    ``folder`` names the folder of a feature or a replication that holds such parts; ``module`` the module of a
    replication that holds the only one, which then has the name of the replication. ``declared`` names the module of
    parts that are data and need no file of their own: its constant ``DECLARED`` maps their names to them. ``table``
    states where parts are that do not lie together: ``module:attribute`` by name. ``code`` names the module that
    makes parts from Python code of the reader's own (``from_code``, ``absent``); without one the code is the factory.
    """

    def __init__(
        self,
        kind: str,
        package: str | None,
        constant: str,
        group: str,
        *,
        folder: str | None = None,
        module: str | None = None,
        declared: str | None = None,
        table: Mapping[str, str] | None = None,
        code: str | None = None,
    ) -> None:
        self.kind, self.package, self.constant, self.group = kind, package, constant, group
        self.folder, self.module, self.declared, self.table = folder, module, declared, table or {}
        self.code = code
        _registries.add(self)
        self._added: dict[str, Callable[..., T]] = {}
        self._clashes: dict[str, list[str]] = {}
        """Names used by several packages: refused when requested."""

    def forget(self) -> None:
        """Clear the cache of found parts."""
        for attribute in ("_files", "_foreign"):
            self.__dict__.pop(attribute, None)
        self._clashes.clear()

    @cached_property
    def _files(self) -> dict[str, str]:
        """Return the module of every part, by file name or table entry."""
        packages = [self.package] if self.package else []
        packages += [f"{holder}.{self.folder}" for holder in own_holders()] if self.folder else []
        places = dict(self.table)
        for package in packages:
            for name in self._parts_in(package):
                places.setdefault(name, f"{package}.{name}")
        if self.declared is not None:
            places |= dict.fromkeys(import_module(self.declared).DECLARED, self.declared)
        for replication, package in replications().items() if self.folder or self.module else ():
            if self.module and self.module in _modules(package):
                places[replication] = f"{package}.{self.module}"
            for name in self._parts_in(f"{package}.{self.folder}") if self.folder else ():
                place = f"{package}.{self.folder}.{name}"
                if places.setdefault(name, place) != place:
                    self._clashes.setdefault(name, [places[name]]).append(place)
        return places

    def _parts_in(self, package: str) -> list[str]:
        """Return the names of a package's parts: its modules; declared kinds add theirs."""
        return _modules(package)

    @cached_property
    def _foreign(self) -> dict[str, EntryPoint]:
        by_name: dict[str, EntryPoint] = {}
        for point in _entry_points().select(group=self.group):
            first = by_name.setdefault(point.name, point)
            if point.value.partition(":")[0] != self._files.get(point.name, first.value).partition(":")[0]:
                self._clashes.setdefault(point.name, [self._files.get(point.name) or owner(first)]).append(owner(point))
        return by_name

    def names(self) -> list[str]:
        """Every known name, sorted."""
        return sorted({*self._files, *self._foreign, *self._added})

    def __contains__(self, name: object) -> bool:
        return name in self._added or name in self._files or name in self._foreign

    def is_foreign(self, name: str) -> bool:
        """Whether another package adds the part of that name."""
        return name in self._foreign

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def add(self, name: str, factory: Callable[..., T]) -> None:
        """Register a part in this process only (a notebook, a test); a name in use is refused."""
        if name in self:
            raise StudyError(f"there is already a {self.kind} of that name", key=name)
        self._added[name] = factory

    def remove(self, name: str) -> None:
        """Forget a part that ``add`` registered."""
        self._added.pop(name, None)

    def get(self, name: str) -> Callable[..., T]:
        """Return the factory of a part: a class or function of its parameters."""
        if name in self._added:
            return self._added[name]
        modules, points = self._files, self._foreign  # both are checked: they may clash
        if name in self._clashes:
            several = ", ".join(dict.fromkeys(self._clashes[name]))
            raise StudyError(f"several packages have a {self.kind} of that name: {several}", key=name)
        part: Callable[..., T] | None
        if name in modules or name in points:
            part = self._loaded(name)
        else:
            part = self._from_code(name) or self._absent(name)
        if part is None:
            raise UnknownName(self.kind, name, self.names(), broken_note() if self.folder else "")
        return part

    def _absent(self, name: str) -> Any:
        """Return the placeholder of a missing part of a run; otherwise refuse with the package's name."""
        package = NEEDED.get(f"{self.group}.{name}")
        placeholder = import_module(self.code).absent(name) if package and self.code else None
        if package is not None and placeholder is None:
            raise UsageError(
                f"{self.kind} {name!r} is part of the package {package}, which is not installed "
                f"(pip install '{package.rpartition(', ')[2].replace(' ', '==')}')"
            )
        return placeholder

    def _from_code(self, name: str) -> Any:
        """Return a part in a user's Python file, or its placeholder if the code is missing."""
        if not python_files.is_code(name):
            return None
        part, module = python_files.part_of(name), import_module(self.code) if self.code else None
        if module is not None:
            return module.absent(name) if part is None else module.from_code(name, part)
        if part is not None and not callable(part):
            raise StudyError(f"{self.kind} {python_files.readable(name)}: must be a function that makes one")
        return part

    def _loaded(self, name: str) -> Callable[..., T]:
        """Load the part of a unique name; errors of its package are one line."""
        place = self._files.get(name)
        module, _, attribute = (place or "").partition(":")
        try:
            if place is None:
                return cast("Callable[..., T]", self._foreign[name].load())
            package = import_module(module)
            if module == self.declared:
                return cast("Callable[..., T]", package.DECLARED[name])
        except (Exception, SystemExit) as error:
            # An error of ours, or Ctrl-C in the middle of an import, stays what it is.
            if isinstance(error, OstromError) or module.startswith("ostrom."):
                raise
            raise StudyError(
                f"{self.kind} {name}: {module or f'package {owner(self._foreign[name])}'} cannot be loaded: "
                f"{_reason(error)}"
            ) from error
        constant = attribute or self.constant
        if not hasattr(package, constant):
            raise StudyError(f"{self.kind} {name}: {module} does not assign the constant {constant}")
        return cast("Callable[..., T]", getattr(package, constant))

    def get_instance(self, name: str, kind: type[Part]) -> Part:
        """Return a part that is an object, not a factory; one of another type is refused."""
        entry: Any = self.get(name)
        if not isinstance(entry, kind):
            raise StudyError(f"{self.kind} {name}: is a {type(entry).__name__}, not a {kind.__name__}")
        return entry

    def parameters(self, name: str) -> Mapping[str, inspect.Parameter]:
        """The parameters a part takes, by name."""
        return inspect.signature(self.get(name)).parameters

    def build(self, spec: str | Mapping[str, Any], *, key: str | None = None, file: str | None = None) -> T:
        """Build a part from ``name``, ``name:value,key=value`` or ``{name: ..., key: value}``.

        What is written is held against the annotations of the part (``ostrom.ground.parameters``).
        """
        name, args, kwargs = parse_spec(spec, key=key or self.kind, file=file)
        try:
            factory = self.get(name)
        except UnknownName as error:
            raise error.with_place(file, key) from None
        try:
            bound = _signature(factory).bind(*args, **kwargs)
        except TypeError:
            raise self._parameter_error(name, args, kwargs, key, file) from None
        try:
            if not parameters.is_checked(factory):
                parameters.check(factory, bound.arguments)
            return factory(*bound.args, **bound.kwargs)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            # A parameter that a part hands on to its base: the error of Python would name the code.
            raise StudyError(
                re.sub(r"\w+\.__init__\(\) got .+ argument ('\w+')$", r"takes no \1", f"{self.kind} {name}: {error}"),
                key=key,
                file=file,
            ) from error

    def normalized_spec(self, spec: str | Mapping[str, Any]) -> Any:
        """Return a part's specification with all its parameters; unchanged if they do not fit.

        >>> from ostrom.memory import memories
        >>> memories.normalized_spec("window:3") == memories.normalized_spec({"name": "window", "k": 3})
        True
        """
        try:
            name, args, kwargs = parse_spec(spec)
            bound = _signature(self.get(name)).bind(*args, **kwargs)
        except (StudyError, TypeError):
            return spec
        bound.apply_defaults()
        return {"name": name, **bound.arguments}

    def _parameter_error(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], key: str | None, file: str | None
    ) -> StudyError:
        """Return the error for parameters that do not fit a part."""
        parameters = {
            p.name: p
            for p in self.parameters(name).values()
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL, p.POSITIONAL_ONLY)
        }
        part, by_place = (f"{self.kind} {name}", [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY])
        unknown = [k for k in kwargs if k not in parameters]
        twice = [k for k in by_place[: len(args)] if k in kwargs]
        missing = [
            p.name
            for p in parameters.values()
            if p.default is p.empty and p.name not in kwargs and p.name not in by_place[: len(args)]
        ]
        if unknown:
            text = unknown_key(str(unknown[0]), parameters, part)
        elif len(args) > len(by_place):
            text = f"{part} takes at most {len(by_place)} values without a name, found {len(args)}"
        elif twice:
            text = f"{part}: {twice[0]!r} is given twice, by its place and by its name"
        else:
            text = f"{part} needs {', '.join(map(repr, missing))}"
        return StudyError(text, key=key, file=file, allowed=parameters or ("no parameters",))


@lru_cache(maxsize=1024)
def _signature(factory: Callable[..., Any]) -> inspect.Signature:
    """Return a cached signature: inspecting is slow, and agents are made for every match."""
    return inspect.signature(factory)


def parse_spec(
    spec: str | Mapping[str, Any], *, key: str | None = None, file: str | None = None
) -> tuple[str, list[Any], dict[str, Any]]:
    """Split a part's specification into name, positional and named parameters.

    >>> parse_spec("sanitized:ideal,real=20")
    ('sanitized', ['ideal'], {'real': 20})
    >>> parse_spec({"name": "window", "k": 3})
    ('window', [], {'k': 3})
    """
    if isinstance(spec, Mapping):
        rest = dict(spec)
        name = rest.pop("name", None)
        if not isinstance(name, str):
            raise StudyError("needs a 'name'", key=key, file=file, actual=dict(spec))
        return name, [], rest
    if not isinstance(spec, str) or not spec:
        raise StudyError("must be a name or a mapping with a 'name'", key=key, file=file, actual=spec)
    name, _, tail = spec.partition(":")
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for piece in filter(None, tail.split(",")):
        left, equals, right = piece.partition("=")
        if equals:
            kwargs[left.strip()] = scalar(right.strip())
        elif kwargs:
            raise StudyError("unnamed values come before named ones", key=key, file=file, actual=spec)
        else:
            args.append(scalar(left.strip()))
    return name.strip(), args, kwargs


def write_spec(spec: str | Mapping[str, Any]) -> str:
    """Return a part's specification in one word.

    >>> write_spec({"name": "window", "k": 3}), write_spec({"name": "full"}), write_spec("window:3")
    ('window:k=3', 'full', 'window:3')
    """
    if isinstance(spec, str):
        return spec
    rest = ",".join(f"{key}={value}" for key, value in spec.items() if key != "name")
    name = python_files.readable(str(spec.get("name")))
    return f"{name}:{rest}" if rest else name
