"""Two runs side by side: the difference of a measure with its interval, and what else differs between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.estimate import Estimate, contrast
from ostrom.analysis.measure import measures
from ostrom.data.manifests import changes
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UsageError


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
