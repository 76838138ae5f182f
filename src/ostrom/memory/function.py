"""Memories as Python functions: from the played rounds to those shown, or to a text.

def recent(rounds, k=2):
    return rounds[-k:]
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.python_files import readable
from ostrom.mechanisms.protocol import View
from ostrom.memory.base import Draw, Memory, MemoryView, Note


class FunctionMemory(Memory):
    """A function's selection of the past: some of the given rounds, or a text in their place.

    Its first parameter gets the list of rounds (``round.actions``, ``round.payoffs``), or the whole view where it is
    called ``view``; one called ``rng`` gets a generator that belongs to the match and the round. All others are
    parameters of the memory, as a study gives them.
    """

    name: ClassVar[str] = "function"

    def __init__(self, function: Callable[..., Any], name: str, params: dict[str, Any]) -> None:
        self.name = name  # type: ignore[misc]
        self.function, self.params = function, params
        first, *rest = inspect.signature(function).parameters
        self._takes_view, self._draws = first == "view", "rng" in rest

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return the function's result, checked: played rounds in order, or a text."""
        rounds = list(view.history)
        more = {"rng": draw(view.round, "function")} if self._draws else {}
        try:
            result = self.function(view if self._takes_view else rounds, **self.params, **more)
        except Exception as error:
            raise UsageError(f"memory {self.name}: {type(error).__name__}: {error}") from error
        if isinstance(result, MemoryView):
            return result
        if isinstance(result, str):
            return MemoryView(note=result)
        places = {id(one): place for place, one in enumerate(rounds)}
        listed = list(result) if isinstance(result, list | tuple) else None
        order = None if listed is None else [places.get(id(one), -1) for one in listed]
        if listed is None or order is None or order != sorted(set(order)) or -1 in order:
            raise UsageError(
                f"memory {self.name}: a function that is a memory must return some of the rounds that it is given, in "
                f"their order, or a text (returned {type(result).__name__})"
            )
        return MemoryView(listed, gaps=True)


class AbsentMemory(Memory):
    """A placeholder for a memory whose code is missing: its run can be read but not played."""

    absent = True

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Refuse to show anything."""
        raise StudyError(f"memory {readable(self.name)}: its Python code is not here, which playing on needs")


def from_code(name: str, part: Any) -> Callable[..., Memory]:
    """Return the factory of a memory in Python code: a Memory class itself, else a function."""
    if isinstance(part, type) and issubclass(part, Memory):
        return part
    if isinstance(part, Memory):
        return lambda: part
    if not callable(part) or not (parameters := list(inspect.signature(part).parameters.values())):
        raise StudyError(f"memory {readable(name)}: must be a function of the rounds, or a Memory")

    def build(**params: Any) -> Memory:
        return FunctionMemory(part, readable(name), params)

    own = [one.replace(kind=one.KEYWORD_ONLY, annotation=one.empty) for one in parameters[1:] if one.name != "rng"]
    build.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    build.__doc__ = inspect.getdoc(part) or "A Python function."
    return build


def absent(name: str) -> Callable[..., Memory]:
    """Return the factory of the placeholder for a memory whose code is missing."""

    def build(**params: Any) -> Memory:  # noqa: ARG001
        return AbsentMemory(name)

    return build
