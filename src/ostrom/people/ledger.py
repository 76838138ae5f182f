"""The ledger ``payments.csv`` beside the journal: which codes are in which payment file, and with what amount.

It names nobody, so it may be copied with the tables, and it survives a register that is restored from an older copy.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

from ostrom.ground.errors import RunError
from ostrom.ground.files import refuse_link

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
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: the ledger of payments cannot be read: {error}") from None
    found: dict[str, Payment] = {}
    for number, row in enumerate(csv.reader(io.StringIO(text)), 1):
        if len(row) != 4:
            raise RunError(f"{path}: line {number} is no payment (allowed: code,amount,currency,file)")
        found.setdefault(row[0], Payment(*row))
    return found


def add_payments(folder: Path, payments: Iterable[Payment]) -> None:
    """Append payments; they are on the disk when this returns."""
    path = refuse_link(folder / FILE)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(astuple(payment) for payment in payments)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "ab") as file:
            whole = file.tell()
            try:
                file.write(text.getvalue().encode())
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(handle, whole)  # half a line would make the ledger unreadable
                raise
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror})") from None
