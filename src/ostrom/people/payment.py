"""Payments in exact decimal numbers, and the ledger of payments.

The ledger ``payments.csv`` beside the journal says which codes are in which payment file, and with what amount. It
names nobody, so it may be copied with the tables, and it survives a register that is restored from an older copy.
"""

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from ostrom.ground.errors import RunError
from ostrom.ground.files import read_plain, require_regular_file
from ostrom.people.schema import Pay

PENNY = Decimal("0.01")
PAID_IN_FULL = ("done", "no_partner")
"""Ends of visits at which the base is paid."""
NOTHING = ("declined", "full", "finished_before")
"""Ends before anything was earned."""
BY_PLATFORM = ("prolific", "mturk")
"""Sources that pay the base themselves; payment files then hold the bonus alone."""


def due(pay: Pay, end: str, points: float) -> tuple[Decimal, Decimal]:
    """Return base and bonus for an end and a number of points.

    >>> due(Pay(base="3.00", per_point="0.01", at_most="2.00"), "done", 157)
    (Decimal('3.00'), Decimal('1.57'))
    """
    base = pay.base if end in PAID_IN_FULL else Decimal(0)
    earned = Decimal(0) if end in NOTHING else max(Decimal(0), Decimal(str(round(points, 6))) * pay.per_point)
    bonus = earned if pay.at_most is None else min(earned, pay.at_most)
    return base.quantize(PENNY, ROUND_HALF_UP), bonus.quantize(PENNY, ROUND_HALF_UP)


def owed(source: str, base: Decimal, bonus: Decimal) -> Decimal:
    """Return the part of an amount for a payment file: platforms pay the base themselves.

    >>> owed("prolific", Decimal("3.00"), Decimal("1.57")), owed("lab", Decimal("3.00"), Decimal("1.57"))
    (Decimal('1.57'), Decimal('4.57'))
    """
    return bonus if source in BY_PLATFORM else base + bonus


def pays_for(source: str) -> str:
    """Return what the amounts of a payment file cover.

    >>> pays_for("prolific"), pays_for("lab")
    ('bonus', 'base and bonus')
    """
    return "bonus" if source in BY_PLATFORM else "base and bonus"


def completion_link(source: str, code: str) -> str | None:
    """Return the platform's completion URL with the code; None without one."""
    return f"https://app.prolific.com/submissions/complete?cc={code}" if source == "prolific" and code else None


FILE = "payments.csv"


@dataclass(frozen=True, slots=True)
class Payment:
    """One person in one payment file."""

    code: str
    amount: str
    currency: str
    file: str


def read_payments(folder: Path) -> dict[str, Payment]:
    """All payments of a run, by code."""
    path = folder / FILE
    try:
        text = read_plain(path).decode("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: the ledger of payments cannot be read: {error}") from None
    payments: dict[str, Payment] = {}
    for number, row in enumerate(csv.reader(io.StringIO(text)), 1):
        if len(row) != 4:
            raise RunError(f"{path}: line {number} is no payment (allowed: code,amount,currency,file)")
        payments.setdefault(row[0], Payment(*row))
    return payments


def add_payments(folder: Path, payments: Iterable[Payment]) -> None:
    """Append payments; they are on the disk when this returns."""
    path = require_regular_file(folder / FILE)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(astuple(payment) for payment in payments)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        with os.fdopen(handle, "ab") as file:
            old_size = file.tell()
            try:
                file.write(text.getvalue().encode())
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(handle, old_size)  # half a line would make the ledger unreadable
                raise
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror})") from None
