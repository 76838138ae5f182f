"""Print the rates of gates as a table: `python -m tests.recomputed [RUNS]`; its figures stand in docs/gates.md."""

from __future__ import annotations

import sys

from tests.recomputed.gate_cells import SIZES, border, statements


def shown(share: float) -> str:
    """Three digits without the leading zero."""
    return f"{share:.3f}".removeprefix("0") if share < 1 else "1"


def main() -> None:
    """Wrong passes on the border, then every statement with its shares of pass / undecided / fail."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    sizes = [f"{n} {side}" for n in (10, 20, 30) for side in ("at least", "at most")]
    print("| values | " + " | ".join([*sizes, "10 - 10", "3 - 30", "20 pairs"]) + " |")
    print("|---" * 10 + "|")
    for name, wrong in border(times):
        print(f"| {name} | " + " | ".join(map(shown, wrong)) + " |", flush=True)
    print()
    print("| statement | truth | " + " | ".join(map(str, SIZES)) + " |")
    print("|---" * (len(SIZES) + 2) + "|")
    for statement, truth, shares in statements(times):
        cells = " | ".join(" / ".join(map(shown, share)) for share in shares)
        print(f"| {statement} | {truth} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
