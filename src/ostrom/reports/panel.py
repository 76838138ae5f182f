"""What a panel is: a title and a way to draw one aspect of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import yaml
from markupsafe import Markup

from ostrom.data.rundata import RunData
from ostrom.ground.errors import StudyError
from ostrom.ground.registry import Registry, own_holders, package_folder, replications


@dataclass(frozen=True)
class Figure:
    """A chart: on the page as SVG, beside it as SVG and PNG."""

    name: str
    chart: Any
    """An Altair chart that holds its own data."""
    caption: str
    alt: str
    """What the chart shows, for people who cannot see it."""


@dataclass(frozen=True)
class Table:
    """A table: on the page, and beside it as CSV and Markdown."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    shown: int = 400
    """At most so many rows on the page; the files hold all."""


@dataclass(frozen=True)
class Drawn:
    """What a panel has to say. Nothing but notes is an honest answer."""

    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    html: Sequence[Markup] = field(default=())
    """Fragments that are safe to put into the page: build them with ``Markup`` so that values are escaped."""


class Panel(ABC):
    """One aspect of a run, drawn from its tables. Parameters come from the study through ``__init__``."""

    title: str

    @abstractmethod
    def draw(self, data: RunData) -> Drawn:
        """Draw the panel; where there is nothing to draw, say why in a note."""


FILE = "panels.yaml"
"""The file of a package that declares panels (``ostrom.reports.declared``)."""


class PanelRegistry(Registry[Panel]):
    """Panels in Python, one file each, and those that a package declares in its ``panels.yaml``."""

    @cached_property
    def _files(self) -> dict[str, str]:
        known = super()._files
        for package in ("ostrom.reports", *own_holders(), *replications().values()):
            for name in declared_panels(package):
                place = f"{package}/{FILE}"
                if name != "use" and known.setdefault(name, place) != place:
                    self._clashes.setdefault(name, [known[name]]).append(place)
        return known

    def get(self, name: str) -> Callable[..., Panel]:
        """The factory of a panel; an unknown name may be that of a file that cannot be read."""
        if name not in self:
            for package in replications().values():
                declared_panels(package, strict=True)
        return super().get(name)

    def _loaded(self, name: str) -> Callable[..., Panel]:
        package, slash, _ = self._files.get(name, "").partition("/")
        if not slash:
            return super()._loaded(name)
        from ostrom.reports.declared import panel_factory

        return panel_factory(name, package, declared_panels(package))


@cache
def declared_panels(package: str, *, strict: bool = False) -> dict[str, Any]:
    """The entries of a package's ``panels.yaml``; none where it has no such file, or one that cannot be read.

    ``strict`` says what is wrong with it instead.
    """
    file = package_folder(package).joinpath(FILE)
    if not file.is_file():
        return {}
    try:
        entries = yaml.safe_load(file.read_text(encoding="utf-8"))
        if not isinstance(entries, dict) or not all(isinstance(of, dict) for of in entries.values()):
            raise ValueError("must map the name of each panel to what it shows")
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        if strict:
            raise StudyError(" ".join(str(error).split()), file=f"{package}/{FILE}") from error
        return {}
    return entries


panels: Registry[Panel] = PanelRegistry("panel", None, "PANEL", "ostrom.panels", folder="panels")
