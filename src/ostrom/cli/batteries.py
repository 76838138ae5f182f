"""The table of a battery's costs, for dry runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ostrom.cli.ending import likely_hours, money
from ostrom.ground.results import Output, Remark, TextTable
from ostrom.ground.words import how_many

if TYPE_CHECKING:
    from ostrom.costs.battery import SizedPart


def sizes_output(sizes: "Sequence[SizedPart[Any]]", title: str) -> Output:
    """Return the parts with their seeds, and their likely and highest costs."""
    rows: list[dict[str, Any]] = [
        {
            "part": one.part.name,
            "study": one.part.study,
            "seeds": one.seeds,
            "calls": one.calls,
            "usd": one.usd(),
            "hours": one.hours,
            "at_most": one.at_most,
        }
        for one in sizes
    ]
    assumes = list(dict.fromkeys(line for one in sizes for line in one.assumes))
    usd, calls, hours = (sum(row[of] for row in rows) for of in ("usd", "calls", "hours"))
    most = [one.at_most["usd"] for one in sizes if one.at_most["usd"] is not None]
    bound = f"at most {money(sum(most))} USD" if len(most) == len(sizes) else "no bound"
    speeds = dict.fromkeys(cost.speed for one in sizes for cost in one.costs if cost.calls)
    table = TextTable(
        f"{title}: what it takes (all models together)",
        ["part", "study", "seeds", "calls, likely", "at most", "USD, likely", "at most", "hours, likely"],
        [[row["part"], row["study"], row["seeds"] or "left out", row["calls"], one.at_most["calls"],
          round(one.usd(), 4), "no bound" if one.at_most["usd"] is None else round(one.at_most["usd"], 2),
          f"{one.hours:.2g}"]
         for row, one in zip(rows, sizes, strict=True)],
    )  # fmt: skip
    return Output(
        {"parts": rows, "usd": usd, "calls": calls, "hours": hours, "assumes": assumes},
        [
            {
                "size": f"{how_many(sum(bool(one.seeds) for one in sizes), 'part')}, likely {how_many(calls, 'call')}",
                "hours": likely_hours(hours),
                "money": f"likely {money(usd)} USD, {bound}",
            },
            table,
            *(Remark(f"likely: {line}") for line in assumes),
            *(Remark(f"hours: {speed}") for speed in speeds),
        ],
    )
