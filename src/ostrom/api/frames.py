"""Values and estimates of a run as the package's Python functions take and return them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ostrom.analysis.estimate import Estimate, require_any, split_by
from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.population import agents_in_question, averaged_words
from ostrom.analysis.registered import RegistrationStatus
from ostrom.analysis.units import Observations, observations
from ostrom.data.rundata import RunData

if TYPE_CHECKING:
    import polars as pl


def values_of(
    data: RunData,
    measure: str | Mapping[str, Any] | Measure,
    by: Sequence[str],
    where: Any,
    agents: str | Sequence[str] | None,
    mean: bool,
    compared: str = "",
) -> tuple[Observations, tuple[str, ...]]:
    """Return the values of the requested agents, and the columns that split them."""

    values = observations(data, measures.named(measure), where, agents_in_question(agents, by, [compared]))
    return values, split_by(values, by, [compared], agents, mean=mean)


def frame_of(
    estimates: Sequence[Estimate],
    measure: Any,
    data: RunData,
    registered: RegistrationStatus,
    *,
    compared: bool = False,
) -> pl.DataFrame:
    """Return estimates as a table: key columns, then value, low, high, n, unit, method and note.

    The notes of an unfinished run say how far it is; rows of a registered one have a ``label``.
    """
    import polars as pl

    listed = require_any(estimates, measures.named(measure), [data], compared=compared)
    label = {"label": registered.label} if registered.bound else {}
    rows = [one.as_dict() | {"averaged_over": averaged_words(one.averaged_over)} | label for one in listed]
    for row in rows if data.so_far else ():
        row["note"] = "; ".join(filter(None, (row["note"], data.so_far)))
    return pl.DataFrame(rows, infer_schema_length=None)
