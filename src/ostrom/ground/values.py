"""Helpers for immutable plain data."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, dataclass_transform

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)
Source = TypeVar("Source")
MOST_CACHED = 1000


class Derived(Generic[Source, T]):
    """A function cached by object identity: called again with the same object, it returns the same result.

    >>> text = Derived(lambda params: str(sorted(params)))
    >>> params = {"b": 1, "a": 2}
    >>> text(params) is text(params)
    True
    """

    __slots__ = ("_cache", "_make")

    def __init__(self, make: Callable[[Source], T]) -> None:
        self._make = make
        self._cache: dict[int, tuple[Source, T]] = {}
        """Results by object id; the object is kept alive, so that its id stays unique."""

    def __call__(self, source: Source) -> T:
        cached = self._cache.get(id(source))
        if cached is None:
            if len(self._cache) >= MOST_CACHED:
                self._cache.clear()
            cached = self._cache[id(source)] = (source, self._make(source))
        return cached[1]


def grouped(pairs: Iterable[tuple[Key, T]]) -> dict[Key, list[T]]:
    """Group values by key, in the order of first appearance.

    >>> grouped([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    groups: dict[Key, list[T]] = {}
    for key, one in pairs:
        groups.setdefault(key, []).append(one)
    return groups


def flat(data: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of nested mappings with its path.

    >>> dict(flat({"a": {"b": 1}, "c": [2]}))
    {'a.b': 1, 'c': [2]}
    """
    if isinstance(data, Mapping):
        for key, inner in data.items():
            yield from flat(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, data


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """Make a slotted dataclass for frequently created values: never change one, ``replace`` it.

    The type checker refuses a change, as in any frozen dataclass. At run time nothing does: that guard would
    make each of them four times as slow to build, and scripted play does little else.

    >>> from dataclasses import replace
    >>> @value
    ... class Move:
    ...     seat: int
    ...     action: str = "cooperate"
    >>> replace(Move(0), seat=1) == Move(1), len({Move(0), Move(0)})
    (True, 1)
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
