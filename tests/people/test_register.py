"""The register of people: damaged, older than the journal, erased, and kept no longer than the study says."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.people.served import Served, served, small_study

from ostrom.ground.errors import RunError
from ostrom.people.payment import Payment, add_payments, read_payments
from ostrom.people.records import Records
from ostrom.people.register import Participant, Register, overdue

DAY = 86400.0


def register(folder: Path, *joined: float) -> Register:
    made = Register(folder, "study", create=True)
    for visit, at in enumerate(joined):
        made.join(Participant(f"code{visit}", visit, "link", f"Zebedee{visit}", "", False, "en", at))
        made.contact(f"code{visit}", 3, [("remarks", f"Habakkuk{visit}")])
        made.note(f"code{visit}", "departed", f"Obadiah{visit}")
        made.ended(f"code{visit}", "done")
    made.commit()
    return made


def on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_erasing_leaves_nothing_in_any_file_while_the_register_is_open_elsewhere(tmp_path: Path) -> None:
    with closing(register(tmp_path, *[time.time()] * 3)) as server, closing(Register(tmp_path, "study")) as other:
        assert b"Habakkuk1" in on_disk(tmp_path)
        assert other.erase("code1") == 1 and other.erase("code1") == 0 and other.erase("nobody") == 0
        for word in (b"Zebedee1", b"Habakkuk1", b"Obadiah1"):
            assert word not in on_disk(tmp_path)
        assert b"Habakkuk2" in on_disk(tmp_path)
        server.contact("code1", 4, [("remarks", "Habakkuk1 again")])  # sent while the person was erased
        server.note("code1", "departed", "Obadiah1")
        server.commit()
        assert server.tombstones() == {"code1"}
        assert b"Habakkuk1" not in on_disk(tmp_path) and b"Obadiah1" not in on_disk(tmp_path)
        assert [who.code for who in server.participants()] == ["code0", "code2"]


def test_a_log_that_somebody_reads_is_named_and_not_left_as_if_it_were_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostrom.people.register.CUTS", 2)
    with closing(register(tmp_path, time.time())) as made, closing(sqlite3.connect(tmp_path / "people.db")) as reader:
        made._db.execute("PRAGMA busy_timeout=10")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM participants").fetchone()
        with pytest.raises(RunError, match="its log still holds what was erased: try again"):
            made.erase("code0")
        reader.rollback()
        made.erase("code0")
        assert b"Habakkuk0" not in on_disk(tmp_path)


def test_data_is_kept_as_long_as_the_study_says_and_until_people_are_paid(tmp_path: Path) -> None:
    now = time.time()
    with closing(register(tmp_path, now - 91 * DAY, now - 91 * DAY, now - 89 * DAY)) as made:
        made.join(Participant("open", 9, "link", "x", "", False, "en", now - 99 * DAY))
        made.commit()
        found = overdue(made, 90 * DAY, now, lambda code: code == "code1")
    assert (found.erasable, found.unpaid) == (("code0",), ("code1",)), "a visit under way is not over"


def test_a_payment_outlives_an_older_copy_of_the_register(tmp_path: Path) -> None:
    with closing(register(tmp_path, time.time())) as made:
        made.pay([Payment("code0", "1.57", "GBP", "one.csv")])
        with pytest.raises(RunError, match="UNIQUE"):
            made.pay([Payment("code0", "1.57", "GBP", "two.csv")])
    for file in tmp_path.glob("people.db*"):
        file.unlink()
    with closing(register(tmp_path, time.time())) as made:
        assert made.payments() == {"code0": Payment("code0", "1.57", "GBP", "one.csv")}
    assert (tmp_path / "payments.csv").read_text() == "code0,1.57,GBP,one.csv\n"
    (tmp_path / "payments.csv").write_text("code0,1.57,GBP,one.csv\ncode0,9.99,GBP,two.csv\n")
    assert read_payments(tmp_path)["code0"].file == "one.csv", "what was paid first stands"
    (tmp_path / "payments.csv").write_text("code0,1.57\n")
    with pytest.raises(RunError, match="line 1 is no payment"):
        read_payments(tmp_path)
    (tmp_path / "payments.csv").unlink()
    (tmp_path / "payments.csv").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="symbolic link"):
        add_payments(tmp_path, [])


def test_a_payment_that_cannot_be_written_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Payment("code0", "1.57", "GBP", "one.csv")
    add_payments(tmp_path, [first])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ostrom.people.payment.os.fsync", full)
    with pytest.raises(RunError, match="cannot be written"):
        add_payments(tmp_path, [Payment("code1", "2.00", "GBP", "two.csv")])
    assert read_payments(tmp_path) == {"code0": first}


def test_the_register_and_its_log_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    with closing(register(tmp_path, time.time())):
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.glob("people.db*")}
    assert {"people.db", "people.db-wal"} <= modes.keys() and set(modes.values()) == {0o600}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda raw: b"nothing of the kind" * 100, "cannot be used: file is not a database"),
        (lambda raw: raw[:4096] + b"\xff" * (len(raw) - 4096), "is damaged|cannot be used"),
        (lambda raw: raw[: len(raw) // 2], "is damaged|cannot be used"),
        (lambda raw: raw.replace(b"study", b"other"), "belongs to another study"),
    ],
)
def test_a_damaged_register_is_refused_in_one_line(tmp_path: Path, damage: object, said: str) -> None:
    register(tmp_path, *[time.time()] * 50).close()
    file = tmp_path / "people.db"
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    with pytest.raises(RunError, match=said) as caught:
        Register(tmp_path, "study").close()
    assert "\n" not in str(caught.value) and str(file) in str(caught.value)


def test_what_cannot_be_written_is_told_to_all_who_wait_and_written_later(tmp_path: Path) -> None:
    with closing(register(tmp_path, time.time())) as made:
        made._db.execute("PRAGMA query_only=ON")
        made.note("code0", "later")
        for _ in range(2):
            with pytest.raises(RunError, match="cannot be written"):
                made.commit()
        made._db.execute("PRAGMA query_only=OFF")
        made.commit()
        assert [kind for _, _, kind, _ in made.events("code0")] == ["departed", "later"]


def code_of(visitor: object) -> str:
    return str(visitor.cookie).partition("=")[2].partition(".")[0]  # type: ignore[attr-defined]


def played(server: Served) -> str:
    person = server.visitor(join=True)
    person.answer("agree")
    for move in "JFJ":
        person.answer(move)
    person.answer("continue")
    assert "C1" in person.page
    return code_of(person)


@pytest.mark.slow
def test_a_crash_while_people_are_paid_pays_nobody_twice_and_forgets_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    def pay(server: Served, name: str) -> list[str]:
        done = server.ostrom("people", "small", "bonuses", "-o", name)
        assert done.returncode == 0, done.stderr
        head, *rows = (server.folder / name).read_text().splitlines()
        assert head == "id,amount,currency,pays"
        return rows

    with served(tmp_path, small_study()) as server:
        played(server)
        played(server)
        server.stop()
        # Before the ledger is written: no file is there that somebody could pay from.
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt), Records(server.run) as records:
            patch.setattr(Register, "pay", crash)
            records.pay(server.folder / "one.csv")
        assert not (server.folder / "one.csv").exists()
        with Records(server.run) as records:
            assert not records.register.payments()
        # After the ledger, before the file has its name: the same command gives it, another one pays nobody.
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt), Records(server.run) as records:
            patch.setattr(Path, "rename", crash)
            records.pay(server.folder / "one.csv")
        assert not (server.folder / "one.csv").exists()
        with Records(server.run) as records:
            assert len(records.register.payments()) == 2
        assert pay(server, "two.csv") == []
        lines = pay(server, "one.csv")
        assert len(lines) == 2 and not list(server.folder.glob(".*.draft"))
        with Records(server.run) as records:
            assert sorted(line.split(",")[1] for line in lines) == sorted(
                f"{visited.owed:.2f}" for visited in records.visits()
            )
            assert all(one.file == "one.csv" for one in records.register.payments().values())
        assert pay(server, "three.csv") == []


@pytest.mark.slow  # the same of the register alone, in `make test`: above
def test_a_server_forgets_in_time_pays_once_and_says_when_its_register_is_older(tmp_path: Path) -> None:
    """Restarts with an older copy of people.db and with data that is older than `keep`."""
    with served(tmp_path, small_study(keep={"people": "30d"})) as server:
        first = played(server)
        server.stop()
        older = (server.run / "people.db").read_bytes()
        server.start()
        second = played(server)
        assert server.ostrom("people", "small", "bonuses", "-o", "one.csv").returncode == 0
        assert len((server.folder / "one.csv").read_text().splitlines()) == 3
        server.stop()
        (server.run / "people.db").write_bytes(older)
        refused = server.ostrom("people", "small", "audit")
        assert refused.returncode == 1 and second in refused.stdout
        assert server.ostrom("people", "small", "bonuses", "-o", "two.csv").returncode == 0
        assert (server.folder / "two.csv").read_text().count("\n") == 1, "the ledger outlives the older register"
        with closing(sqlite3.connect(server.run / "people.db")) as db, db:
            db.execute("UPDATE participants SET joined = joined - 31 * 86400")
        late = server.ostrom("people", "small", "audit")
        assert "joined more than 30 days ago" in late.stdout
        server.start()
        told = list(server.said)
        server.stop()
        assert any("older than the journal: it does not know 1 person" in line for line in told)
        with closing(sqlite3.connect(server.run / "people.db")) as db:
            assert db.execute("SELECT count(*) FROM participants").fetchone() == (0,)
            assert db.execute("SELECT code FROM tombstones").fetchall() == [(first,)]
        assert "30 days" not in server.ostrom("people", "small", "audit").stdout
        asked = server.ostrom("people", "small", "erase", "--older-than", "soon")
        assert asked.returncode == 2 and "length of time" in asked.stderr and "Traceback" not in asked.stderr
        asked = server.ostrom("people", "small", "erase", "--older-than", "30")
        assert asked.returncode == 2 and "--older-than 30: needs a unit: 30d" in asked.stderr
        (server.run / "people.db").unlink()
        gone = server.ostrom("serve", "study.yaml", "--port", "0")
        assert gone.returncode == 1 and "is missing, and 2 people have come" in gone.stderr
