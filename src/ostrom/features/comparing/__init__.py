"""Published and own figures side by side, for every study that names its reference.

A reference is the file ``claims.py`` of a replication (constant ``REFERENCE``) or an entry point of the group
``ostrom.references``; a study names it under ``report.reference``.
"""

from ostrom.analysis.references import Cell, Games, Own, Published, Reference, references
from ostrom.features.comparing.lines import Comparison, Line, compare, compare_run, read_mapping

__all__ = [
    "Cell",
    "Comparison",
    "Games",
    "Line",
    "Own",
    "Published",
    "Reference",
    "compare",
    "compare_run",
    "read_mapping",
    "references",
]
