"""Split: whole families go to training or to validation, so that no beginning is in both."""

from __future__ import annotations

from collections.abc import Sequence

from ostrom.ground.streams import key_of
from ostrom.probe.trace import Trace


def split(traces: Sequence[Trace], share: float) -> tuple[list[Trace], list[Trace]]:
    """Training and validation; families are drawn for validation as long as they fit into its share.

    Without families 54 % of the validation replies would begin like a training one (Liu et al. 2026, Appendix I.1).
    """
    sizes: dict[str, int] = {}
    for trace in traces:
        sizes[trace.family] = sizes.get(trace.family, 0) + 1
    room = int(len(traces) * share + 0.5)
    held_out = set()
    for family in sorted(sizes, key=lambda f: (key_of(f"split:{f}"), f)):
        if sizes[family] <= room:
            room -= sizes[family]
            held_out.add(family)
    train = [t for t in traces if t.family not in held_out]
    return train, [t for t in traces if t.family in held_out]
