"""The layout of a chart: which factor forms blocks, which forms rows, and what is coloured."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.estimate import Estimate
from ostrom.data.rundata import RunData
from ostrom.reports.canvas import Drawing
from ostrom.reports.cells import agents, drawn_values, factors_identify_agents, varied
from ostrom.reports.marks import dots, series_colours
from ostrom.reports.theme import MAIN, MOST_COLOURS, PALETTE
from ostrom.reports.words import is_bare, labels, pretty, written

JOINT = " · "


@dataclass(frozen=True)
class Layout:
    """How the cells of a run are laid out."""

    block: str | None
    """The factor of the blocks."""
    rows: tuple[str, ...]
    """The columns that make up a row's label."""
    coloured: bool
    """Whether agents have colours; otherwise they are in the labels."""
    agents: tuple[str, ...]
    names: Mapping[str, str]
    """Short labels of the agents."""
    column: str = "agent"
    """The coloured column."""


def lay_out(data: RunData, block: str | None = None, own: Mapping[str, str] | None = None) -> Layout:
    """Return a layout for the varied factors; ``block`` is a factor that must form blocks if it varies."""
    factors, who = varied(data), agents(data)
    chosen = block if block in factors else factors[0] if len(factors) > 1 else None
    rest = [name for name in factors if name != chosen]
    coloured = 1 < len(who) <= MOST_COLOURS and bool(rest)
    return Layout(
        chosen,
        tuple(rest if rest and (coloured or len(who) == 1 or factors_identify_agents(data)) else [*rest, "agent"]),
        coloured,
        tuple(who),
        labels(who, own=own),
    )


def cell_label(key: Mapping[str, Any], names: Sequence[str], own: Mapping[str, str] | None = None) -> str:
    """Return a row's label: its values, with the factor's name where a value alone is unclear.

    ``own`` are labels of levels and factors.

    >>> cell_label({"style": "direct", "history_length": 4}, ["style", "history_length"])
    'direct · history length 4'
    >>> cell_label({"style": "a_b", "k": 4}, ["style", "k"], {"a_b": "A", "k": "memory"})
    'A · memory 4'
    """
    chosen = own or {}
    self_naming = {
        name: str(key[name]) in chosen or (isinstance(key[name], str) and not is_bare(key[name])) for name in names
    }
    return JOINT.join(
        labels([key[name]], own=own)[key[name]] if alone else f"{chosen.get(name) or pretty(name)} {written(key[name])}"
        for name, alone in self_naming.items()
    )


def tones(data: RunData, column: str | None, names: Mapping[Any, str]) -> dict[str, str]:
    """Return a colour for each label: agents have the same in all charts, models distinct ones, other levels one
    hue."""
    if column == "agent" or (column is None and {*names} <= {*agents(data)} and len(names) > 1):
        order = agents(data)
        if len(order) <= MOST_COLOURS:
            return {label: PALETTE[order.index(name)] for name, label in names.items()}
    return series_colours(list(names.values()), ordered=not (column == "model" and len(names) <= MOST_COLOURS))


def dot_chart(
    data: RunData, estimates: Sequence[Estimate], layout: Layout, *, axis: str, domain: Sequence[float] | None,
    own: Mapping[str, str] | None = None,
) -> Drawing:  # fmt: skip
    """Dots with whiskers for the estimates of cells and agents."""
    groups: dict[str, list[dict[str, Any]]] = {}
    rows = {tuple(one.key[name] for name in layout.rows): cell_label(one.key, layout.rows, own) for one in estimates}
    times = Counter(rows.values())
    for one in estimates:
        title = "" if layout.block is None else cell_label(one.key, [layout.block], own)
        identity = tuple(one.key[name] for name in layout.rows)
        in_full = (f"{pretty(name)} {value}" for name, value in zip(layout.rows, identity, strict=True))
        label = JOINT.join(in_full) if times[rows[identity]] > 1 else rows[identity]  # no two rows have one label
        groups.setdefault(title, []).append(
            {
                "label": label,
                "series": layout.names[one.key[layout.column]] if layout.coloured else "",
                **drawn_values(one),
            }
        )
    return dots(
        groups,
        axis=axis,
        series=tones(data, layout.column, layout.names) if layout.coloured else {"": MAIN},
        domain=domain,
    )


def named(*parts: Any) -> str:
    """Join several names to one label.

    >>> named("public_goods", None, "ideal")
    'public_goods · ideal'
    """
    return JOINT.join(written(part) for part in parts if part not in (None, ""))
