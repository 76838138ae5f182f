"""What a battery of studies takes, as a table: for the dry run of every command that plays one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ostrom.ground.results import Output, Remark, TextTable

if TYPE_CHECKING:
    from ostrom.costs.battery import SizedPart


def sizes_output(sizes: "Sequence[SizedPart[Any]]", title: str) -> Output:
    """The parts with their seeds, and what they take likely and at most."""
    rows = [
        {
            "part": one.part.name,
            "study": one.part.study,
            "seeds": one.seeds,
            "calls": one.calls,
            "usd": one.usd(),
            "at_most": one.at_most,
        }
        for one in sizes
    ]
    assumes = list(dict.fromkeys(line for one in sizes for line in one.assumes))
    usd, calls = sum(one.usd() for one in sizes), sum(one.calls for one in sizes)
    table = TextTable(
        f"{title}: what it takes (all models together)",
        ["part", "study", "seeds", "calls, likely", "at most", "USD, likely", "at most"],
        [[row["part"], row["study"], row["seeds"] or "left out", row["calls"], one.at_most["calls"],
          round(one.usd(), 4), "no bound" if one.at_most["usd"] is None else round(one.at_most["usd"], 2)]
         for row, one in zip(rows, sizes, strict=True)],
    )  # fmt: skip
    return Output(
        {"parts": rows, "usd": usd, "calls": calls, "assumes": assumes},
        [
            table,
            *(Remark(f"likely: {line}") for line in assumes),
            Remark(f"likely {calls} calls, {usd:.2f} USD"),
        ],
    )
