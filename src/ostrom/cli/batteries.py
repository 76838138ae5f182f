"""What a battery of studies takes, as a table: for the dry run of every command that plays one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ostrom.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from ostrom.studies.battery import SizedPart


def show_sizes(sizes: "Sequence[SizedPart[Any]]", title: str, json: bool) -> None:
    """Print the parts with their seeds, calls and likely prices."""
    rows = [
        {
            "part": one.part.name,
            "study": one.part.study,
            "seeds": one.seeds,
            "calls": one.calls,
            "usd": one.usd(),
        }
        for one in sizes
    ]
    if json:
        print_json(
            {"parts": rows, "usd": sum(one.usd() for one in sizes), "calls": sum(one.calls for one in sizes)}
        )
        return
    print_table(
        f"{title}: what it takes (likely, before retries, all models together)",
        ["part", "study", "seeds", "calls", "USD"],
        [[row["part"], row["study"], row["seeds"] or "left out", row["calls"], round(one.usd(), 4)]
         for row, one in zip(rows, sizes, strict=True)],
    )  # fmt: skip
    say(f"{sum(one.calls for one in sizes)} calls, {sum(one.usd() for one in sizes):.2f} USD")
