"""Published and own figures side by side, for every study that names its reference.

A reference is the file ``claims.yaml`` or ``claims.py`` (constant ``REFERENCE``) of a replication, or an entry point of
the group ``ostrom.references``; a study names it under ``report.reference``.
"""

from ostrom.analysis.claims import read_mapping, references
from ostrom.analysis.comparison import Comparison, Line, compare, compare_run
from ostrom.analysis.references import Cell, Games, Published, Reference, RunFigure

__all__ = [
    "Cell",
    "Comparison",
    "Games",
    "Line",
    "Published",
    "Reference",
    "RunFigure",
    "compare",
    "compare_run",
    "read_mapping",
    "references",
]
