"""Columns of numbers or labels as a design matrix with readable term names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ostrom.analysis.statistics.errors import BadSample, Undefined
from ostrom.analysis.statistics.samples import Floats, label_codes, same_length, sample

Columns: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class DesignMatrix:
    """A full-rank matrix with an intercept first, and the name of each column."""

    matrix: Floats
    terms: tuple[str, ...]


def design_matrix(
    predictors: Columns,
    size: int,
    *,
    interactions: Sequence[tuple[str, ...]] = (),
    reference: Mapping[str, Any] | None = None,
) -> DesignMatrix:
    """Numbers stay as they are; labels become one column per level other than the reference level.

    The reference is the first level in sorted order unless `reference` names another.

    >>> design_matrix({"model": ["b", "a", "c", "a"]}, 4, reference={"model": "b"}).terms
    ('intercept', 'model[a]', 'model[c]')
    """
    if not predictors:
        raise BadSample("a regression needs at least one predictor")
    chosen = dict(reference or {})
    unknown = [name for name in chosen if name not in predictors]
    if unknown:
        raise BadSample(f"reference: no predictor {unknown[0]!r} (found: {', '.join(predictors)})")
    blocks = {
        name: _columns(name, values, size, chosen.get(name), name in chosen)
        for name, values in predictors.items()
    }
    terms, columns = ["intercept"], [np.ones(size)]
    for block in blocks.values():
        terms += [term for term, _ in block]
        columns += [column for _, column in block]
    for names in interactions:
        missing = [name for name in names if name not in blocks]
        if missing or len(names) < 2:
            raise BadSample(f"interaction {names!r} must join at least 2 of: {', '.join(blocks)}")
        product = [("", np.ones(size))]
        for name in names:
            product = [
                (f"{left}:{right}" if left else right, a * b)
                for left, a in product
                for right, b in blocks[name]
            ]
        terms += [term for term, _ in product]
        columns += [column for _, column in product]
    matrix = np.column_stack(columns)
    _full_rank(matrix, terms)
    return DesignMatrix(matrix, tuple(terms))


def _columns(
    name: str, values: Any, size: int, reference: Any, has_reference: bool
) -> list[tuple[str, Floats]]:
    if isinstance(values, str | bytes):
        raise BadSample(f"predictor {name}: must be one value per row (found the single text {values!r})")
    listed = values if isinstance(values, np.ndarray) else list(values)
    is_label = has_reference or any(isinstance(item, str | tuple) for item in listed)
    if not is_label:
        numbers = sample(np.asarray(listed), f"predictor {name}")
        same_length(f"predictor {name}", numbers.size, "outcome", size)
        return [(name, numbers)]
    codes, levels = label_codes(listed, size, f"predictor {name}")
    if has_reference and reference not in levels:
        raise BadSample(
            f"reference: {name} has no level {reference!r} (found: {', '.join(map(str, levels))})"
        )
    base = levels.index(reference) if has_reference else 0
    return [(f"{name}[{lv}]", (codes == k).astype(np.float64)) for k, lv in enumerate(levels) if k != base]


def _full_rank(matrix: Floats, terms: Sequence[str]) -> None:
    if matrix.shape[0] <= matrix.shape[1]:
        raise BadSample(f"{matrix.shape[0]} rows cannot carry {matrix.shape[1]} coefficients")
    scale = np.linalg.norm(matrix, axis=0)
    if np.any(scale == 0):
        raise Undefined(f"singular design: {terms[int(np.argmin(scale))]} is zero in every row")
    # Columns in order: the first one that its predecessors already span is the one to name.
    triangle = np.abs(np.diag(np.linalg.qr(matrix / scale, mode="r")))
    thin = np.flatnonzero(triangle < 1e-9)
    if thin.size:
        raise Undefined(f"singular design: {terms[int(thin[0])]} is determined by the other terms")
