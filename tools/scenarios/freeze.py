"""Write the payoff table of every scenario from its model.

A scenario is written by hand down to its ``model``: the story, the claim and, for each role, a base value,
effects of actions and couplings between them. This script works out the table and puts it at the end of the
file, so that the numbers in use are frozen text that anyone can read. Nothing above ``payoffs:`` is touched.

    python tools/scenarios/freeze.py FILE...           write the tables
    python tools/scenarios/freeze.py --check FILE...   write nothing, fail when a table is not up to date
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml

from ostrom.games.scenarios import load_cast, load_scenario
from ostrom.games.scenarios.reader import evaluate
from ostrom.games.scenarios.scenario import Action, Profile, Role
from ostrom.ground.errors import OstromError, StudyError


def main() -> int:
    """Freeze the files named on the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description="Write the payoff table of every scenario from its model.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a table is out of date")
    options = parser.parse_args()
    stale = 0
    for file in options.files:
        if file.name == "cast.yaml":
            continue
        try:
            text = frozen(file)
            if text != file.read_text("utf-8"):
                stale += 1
                print(f"{file}: {'table is out of date' if options.check else 'table written'}")
                if not options.check:
                    file.write_text(text, "utf-8")
            if not options.check:
                load_scenario(file)
        except OstromError as error:
            print(error, file=sys.stderr)
            return error.exit_code
    return 1 if options.check and stale else 0


def frozen(file: Path) -> str:
    """The text of a scenario file with the table that its model gives."""
    head = file.read_text("utf-8").split("\npayoffs:")[0].rstrip() + "\n"
    model = yaml.safe_load(head).get("model")
    if model is None:
        raise StudyError("is missing, there is nothing to work the table out from", file=str(file), key="model")
    roles = cast_roles(file)
    return head + "payoffs:\n" + "\n".join(table_lines(evaluate(model, roles, str(file)), roles)) + "\n"


def cast_roles(file: Path) -> tuple[Role, ...]:
    """The roles of the cast beside a scenario file."""
    return tuple(
        Role(role.key, role.title, role.persona or "", tuple(Action(a.key, a.label, a.green) for a in role.actions))
        for role in load_cast(file.with_name("cast.yaml")).roles
    )


def table_lines(table: dict[Profile, tuple[float, ...]], roles: tuple[Role, ...]) -> list[str]:
    """One aligned line per profile, under a comment that says whose the columns are."""
    left = max(len(" ".join(profile)) for profile in table) + 1
    cells = {profile: [f"{value:g}" for value in payoffs] for profile, payoffs in table.items()}
    wide = max(len(cell) for row in cells.values() for cell in row)
    lines = [f"  # columns: {', '.join(role.key for role in roles)}"]
    for profile, row in cells.items():
        key = (" ".join(profile) + ":").ljust(left)
        lines.append(f"  {key} [{', '.join(cell.rjust(wide) for cell in row)}]")
    return lines


if __name__ == "__main__":
    sys.exit(main())
