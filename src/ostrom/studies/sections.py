"""Blocks of a study file that a higher room owns, found by name like every other part.

A room that reads a block of its own (``people``) keeps its schema in the folder ``sections`` under the name of the
block, constant ``SECTION``. So stating a study imports no room above, and what is not installed cannot be stated.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from ostrom.ground.registry import Registry


class Section(BaseModel):
    """A block of a study file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


sections: Registry[Section] = Registry(
    "section of a study", None, "SECTION", "ostrom.sections", folder="sections"
)
