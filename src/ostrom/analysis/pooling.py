"""Which varied factors a figure averages over without saying so: no figure of a paper pools a factor in silence."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ostrom.analysis.population import averaged_over
from ostrom.ground.errors import StudyError
from ostrom.ground.words import listed

Cells = Sequence[Mapping[str, Any]]
"""The cells of a design: the level of every factor, and what else the cell is known to have (its game, its traits)."""


def pooled_factors(
    cells: Cells, factors: Sequence[str], where: Mapping[str, Any] | str, visible: Iterable[str]
) -> list[str]:
    """The factors that vary between cells which meet a condition and are alike in the columns ``visible``.

    A condition in SQL fixes nothing that can be known before a run.

    >>> cells = [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "y"}]
    >>> pooled_factors(cells, ["a", "b"], {"b": "y"}, []), pooled_factors(cells, ["a", "b"], {}, ["b"])
    (['a'], ['a'])
    >>> pooled_factors(cells, ["a", "b"], {"a": 2}, [])
    []
    """
    fixed, columns = {} if isinstance(where, str) else where, tuple(visible)
    matching = [cell for cell in cells if all(_meets(cell, name, wanted) for name, wanted in fixed.items())]
    return [
        *averaged_over([{n: str(cell.get(n)) for n in (*factors, *columns)} for cell in matching], factors, columns)
    ]


def _meets(cell: Mapping[str, Any], name: str, wanted: Any) -> bool:
    """A column that the design does not know fixes nothing."""
    if name not in cell:
        return True
    return str(cell[name]) in map(str, wanted if isinstance(wanted, list | tuple) else [wanted])


def refuse_pooling(
    designs: Mapping[str, tuple[Sequence[str], Cells]],
    where: Mapping[str, Any] | str,
    visible: Collection[str],
    pools: Sequence[str],
    *,
    file: str,
    key: str,
) -> None:
    """Refuse a figure that neither fixes, shows nor names a factor that one of its studies varies."""
    for name in pools:
        varied = dict.fromkeys(factor for factors, _ in designs.values() for factor in factors)
        if name not in varied:
            what = f"is no factor of {listed(designs)}"
            raise StudyError(what, file=file, key=f"{key}.pools", actual=name, allowed=varied)
    for study, (factors, cells) in designs.items():
        silent = pooled_factors(cells, factors, where, [*visible, *pools])
        if silent:
            names = ", ".join(silent)
            raise StudyError(
                f"averages over {names}, which the study {study} varies: fix it (where), show it (by) or name it "
                f"(pools: [{names}])",
                file=file, key=key,
            )  # fmt: skip
