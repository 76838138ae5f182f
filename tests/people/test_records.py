"""What is on record about people: whoever takes everything back keeps the money, and payments are checked."""

from decimal import Decimal
from pathlib import Path

from tests.people.test_tables import piloted

from ostrom.people.payment import Payment
from ostrom.people.records import Records
from ostrom.studies.run import open_run
from ostrom.studies.verify import check_run

MORE = "nobody was paid more than is due, or twice"


def problems(records: Records) -> dict[str, str]:
    """What the audit found wrong, by what should hold."""
    return {what: wrong for what, _, wrong in records.audit() if wrong}


def test_whoever_takes_everything_back_keeps_what_they_earned(tmp_path: Path) -> None:
    folder = piloted(tmp_path, seed=2)
    with Records(folder) as records:
        before = list(records.visits())
        gone, other, tester, *_ = [v for v in before if v.end == "done" and v.owed]
        assert gone.base and gone.bonus and records.withdraw(gone.code)
    assert check_run(folder, rows=True).made == 0
    with open_run(folder) as run:
        assert gone.code not in {row["person"] for row in run.rows.visits()}
        assert gone.visit not in {row["visit"] for row in run.rows.matches()}
        assert all(end.rows is None for end in run.journal.unit_records()), "what was taken back is in no other table"
    with Records(folder) as records:
        after = records.find(gone.code)
        assert (after.end, after.points, after.base, after.bonus, after.owed) == (
            "withdrawn", gone.points, gone.base, gone.bonus, gone.owed,
        )  # fmt: skip
        assert after.who is not None and after.who.ended == "withdrawn" and not problems(records)
        records.register.pay([Payment(other.code, f"{other.owed:.2f}", "GBP", "early.csv")])
        assert not problems(records)
        records.plan.book.visits[tester.visit].test = True
        assert records.find(tester.code).owed == 0
        out = tmp_path / "pay.csv"
        assert records.pay(out) == (
            sum(v.owed > 0 for v in before) - 2,
            sum((v.owed for v in before), Decimal(0)) - other.owed - tester.owed,
        )
        assert out.stat().st_mode & 0o777 == 0o600
        records.plan.book.visits[tester.visit].test = False
        records.register.pay([Payment(tester.code, f"{tester.owed + Decimal('0.01'):.2f}", "GBP", "more.csv")])
        assert problems(records) == {MORE: tester.code}
