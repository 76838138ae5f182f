"""What a battery of studies takes, as a table: for the dry run of every command that plays one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ostrom.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from ostrom.costs.battery import SizedPart


def show_sizes(sizes: "Sequence[SizedPart[Any]]", title: str, json: bool) -> None:
    """Print the parts with their seeds, and what they take likely and at most."""
    rows = [
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
    if json:
        likely = {"usd": sum(one.usd() for one in sizes), "calls": sum(one.calls for one in sizes)}
        likely["hours"] = sum(one.hours for one in sizes)
        print_json({"parts": rows, **likely, "assumes": assumes})
        return
    print_table(
        f"{title}: what it takes (all models together)",
        ["part", "study", "seeds", "calls, likely", "at most", "USD, likely", "at most", "hours, likely"],
        [[row["part"], row["study"], row["seeds"] or "left out", row["calls"], one.at_most["calls"],
          round(one.usd(), 4), "no bound" if one.at_most["usd"] is None else round(one.at_most["usd"], 2),
          f"{one.hours:.2g}"]
         for row, one in zip(rows, sizes, strict=True)],
    )  # fmt: skip
    for line in assumes:
        say(f"likely: {line}")
    usd, hours = sum(one.usd() for one in sizes), sum(one.hours for one in sizes)
    say(f"likely {sum(one.calls for one in sizes)} calls, {usd:.2f} USD, {hours:.2g} hours")
    for speed in dict.fromkeys(cost.speed for one in sizes for cost in one.costs if cost.calls):
        say(f"hours: {speed}")
