"""How long personal data is kept: ``people.keep`` counts from the day somebody joined.

Whoever is owed money stays until a payment file has them: erased people cannot be paid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ostrom.people.register import Register


@dataclass(frozen=True, slots=True)
class Overdue:
    """Codes of people whose data has been kept for long enough."""

    erasable: tuple[str, ...]
    unpaid: tuple[str, ...]
    """Those who are owed money."""

    def __len__(self) -> int:
        return len(self.erasable) + len(self.unpaid)


def overdue(register: Register, keep: float, now: float, owes: Callable[[str], bool]) -> Overdue:
    """Whose data is older than ``keep`` seconds; ``owes`` says whether somebody is still to be paid."""
    old = register.older_than(now - keep)
    unpaid = {code for code in old if owes(code)}
    return Overdue(tuple(code for code in old if code not in unpaid), tuple(sorted(unpaid)))
