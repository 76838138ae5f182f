"""The scenarios of a family, shipped or own, as games."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from ostrom.games.scenarios import Scenario, ScenarioClass, load_scenario, shipped_scenario
from ostrom.games.scenarios import scenarios as names_of
from ostrom.games.scenarios.reader import CAST
from ostrom.ground.errors import StudyError, UnknownName
from ostrom.studies.sources import Entry

CLASSES: tuple[str, ...] = get_args(ScenarioClass)


def build(
    family: str | Sequence[str] | None = None,
    classes: str | Sequence[str] | None = None,
    names: str | Sequence[str] | None = None,
    folder: str | None = None,
    beside: str | None = None,
) -> list[Entry]:
    """All scenarios of a shipped ``family`` (or of several) or of a ``folder`` of own files, or some of them.

    >>> [entry.value for entry in build("commons", names=["debt_crisis"])]
    ['scenario:commons/debt_crisis']
    """
    if (family is None) == (folder is None):
        raise StudyError("source scenarios: name either a family or a folder of own scenarios")
    class_names = _listed(classes)
    for name in class_names or ():
        if name not in CLASSES:
            raise UnknownName("class of scenarios", name, CLASSES)
    shipped = [
        (shipped_scenario(family_name, name), f"scenario:{family_name}/{name}")
        for family_name in _listed(family) or ()
        for name in names_of(family_name)
    ]
    scenarios = shipped if family is not None else _own(str(folder), beside)
    listed = _listed(names)
    if listed is not None:
        by_name = {scenario.name: (scenario, value) for scenario, value in scenarios}
        for name in listed:
            if name not in by_name:
                raise UnknownName("scenario", name, by_name)
        scenarios = [by_name[name] for name in listed]
    entries = [
        Entry(
            scenario.name,
            value,
            {
                "family": scenario.family,
                "scenario_class": scenario.scenario_class,
                "scenario_group": scenario.group or None,
                "subtype": scenario.subtype,
            },
        )
        for scenario, value in scenarios
        if class_names is None or scenario.scenario_class in class_names
    ]
    if not entries:
        raise StudyError("source scenarios: there is no scenario of these classes and names", actual=class_names)
    return entries


def _own(folder: str, beside: str | None) -> list[tuple[Scenario, str]]:
    near = Path(beside or "") / folder  # an absolute folder is itself
    here = near if near.is_dir() else Path(folder)
    if not here.is_dir():
        raise StudyError("source scenarios: there is no such folder", actual=folder)
    paths = sorted(path for path in here.glob("*.yaml") if path.name != CAST)
    # Absolute, so that the run can be opened from anywhere on this machine.
    return [(load_scenario(path), str(path.resolve())) for path in paths]


def _listed(names: str | Iterable[str] | None) -> list[str] | None:
    return None if names is None else [names] if isinstance(names, str) else list(names)


SOURCE = build
