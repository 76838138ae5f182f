"""Two runs side by side: the difference of a measure with its interval, and what else differs between them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.estimate import Estimate, contrast
from ostrom.analysis.measure import measures
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UsageError

MOST_SHOWN = 60
"""Characters of a value that is shown."""


@dataclass(frozen=True)
class TwoRuns:
    """The differences new minus old, and the keys in which the runs differ with both values."""

    new: str
    old: str
    measure: str
    differences: tuple[Estimate, ...]
    changed: tuple[tuple[str, str, str], ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "new": self.new,
            "old": self.old,
            "measure": self.measure,
            "differences": [one.as_dict() for one in self.differences],
            "changed": [{"key": key, "new": new, "old": old} for key, new, old in self.changed],
        }


def compare_runs(
    new: RunData, old: RunData, measure: str, by: Sequence[str] = (), level: float = 0.95
) -> TwoRuns:
    """The difference of a measure between two runs, for every combination of the columns ``by``."""
    names = new.folder.name, old.folder.name
    if names[0] == names[1]:
        raise UsageError(
            f"both runs are called {names[0]}: rename one of the folders, so that tables tell them apart"
        )
    part = measures.named(measure)
    found = contrast([new, old], part, "run", names, by, level=level)
    return TwoRuns(*names, part.name, tuple(found), tuple(changes(new.manifest, old.manifest)))


def changes(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Keys of study, models, prompts and versions in which two manifests differ, with both values."""
    for part in ("study", "models", "prompts", "versions"):
        first, second = (dict(_flat(manifest.get(part) or {}, part)) for manifest in (new, old))
        for key in sorted(first.keys() | second.keys()):
            if first.get(key) != second.get(key):
                yield key.removeprefix("study."), _shown(first, key), _shown(second, key)


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every leaf of nested mappings with its path; study files are as deep as their readers allow."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}")
    else:
        yield path, value


def _shown(values: Mapping[str, Any], key: str) -> str:
    text = str(values[key]) if key in values else "-"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
