"""Old names of modules (0.1) and methods (1.0) that other packages use, and their present names.

The list holds what documentation and CONTRIBUTING printed, and what the files import that CONTRIBUTING gave as
examples. An import of an old name gives the module of the new name itself, so a class has one identity whichever name
it was imported by.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import ClassVar

MOVED = {
    "ostrom.agents.strategies._amounts": "ostrom.agents.strategies._by_amount",
    "ostrom.agents.style": "ostrom.agents.language",
    "ostrom.analysis.designs": "ostrom.replications.coopeval.incentives",
    "ostrom.analysis.dynamics": "ostrom.features.evolution",
    "ostrom.analysis.dynamics.coalescence": "ostrom.features.evolution.coalescence",
    "ostrom.analysis.inference": "ostrom.features.inference",
    "ostrom.analysis.lexicons": "ostrom.features.words.lexicons",
    "ostrom.analysis.rundata": "ostrom.data.rundata",
    "ostrom.errors": "ostrom.ground.errors",
    "ostrom.games.bimatrix": "ostrom.games.tensor",
    "ostrom.lab": "ostrom.api",
    "ostrom.memory.parameters": "ostrom.mechanisms.parameters",
    "ostrom.plain_yaml": "ostrom.ground.yaml",
    "ostrom.registry": "ostrom.ground.registry",
    "ostrom.testing.check_model": "ostrom.models.check",
    "ostrom.testing.random_answers": "ostrom.answers.random_answers",
    "ostrom.streams": "ostrom.ground.streams",
    "ostrom.studies.compare": "ostrom.features.comparing",
    "ostrom.studies.compare.figures": "ostrom.analysis.references",
    "ostrom.studies.compare.published": "ostrom.analysis.references",
    "ostrom.terminal": "ostrom.ground.terminal",
    "ostrom.values": "ostrom.ground.values",
}


class _MovedModules:
    """An import hook that finds a module by its old name."""

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """Return a spec that loads the module of the new name; None for a name that never moved."""
        is_moved = name.startswith("ostrom.") and new_name(name)
        return ModuleSpec(name, self) if is_moved else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of the new name."""
        module = import_module(str(new_name(spec.name)))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, because the module was loaded under its new name; restore its own spec."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


def new_name(name: str) -> str | None:
    """The name that a module has now, or None where it never moved.

    >>> new_name("ostrom.analysis.inference.runs"), new_name("ostrom.lab.one.two"), new_name("ostrom.games")
    ('ostrom.features.inference.runs', 'ostrom.api.one.two', None)
    """
    head, rest = name, ""
    while head:
        if head in MOVED:
            return MOVED[head] + rest
        head, dot, last = head.rpartition(".")
        rest = f"{dot}{last}{rest}"
    return None


class FormerNames:
    """A base class some of whose methods packages override and call by the names that these had in 1.0.

    >>> class Base(FormerNames, former={"sized": "for_players"}):
    ...     def for_players(self): return "as before"
    >>> class Ours(Base):
    ...     def sized(self): return "ours"
    >>> Base().for_players(), Ours().for_players(), Base().sized()
    ('as before', 'ours', 'as before')
    """

    _former: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, former: Mapping[str, str] | None = None) -> None:
        super().__init_subclass__()
        cls._former = cls._former if former is None else former
        for old, new in cls._former.items():
            for name, other in ((new, old), (old, new)):
                if other in vars(cls) and name not in vars(cls):
                    setattr(cls, name, vars(cls)[other])


def find_moved_modules() -> None:
    """Install the import hook, once per process.

    >>> from ostrom.streams import Streams
    >>> Streams.__module__
    'ostrom.ground.streams'
    """
    if not any(isinstance(finder, _MovedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, _MovedModules())  # before a package's own path, which would load a module twice
