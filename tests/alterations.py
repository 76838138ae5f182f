"""Alterations of a run by a stranger: one thing is changed, all seals are renewed, nothing else is mended."""

import json
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ostrom.engine.entries import packed
from ostrom.engine.folder import Folder
from ostrom.engine.integrity import COLUMNS, SEALS, seal
from ostrom.engine.unit_rows import UnitRows
from ostrom.studies.run import open_run

Alter = Callable[[sqlite3.Connection, int], None]
"""Alters something about one match."""


def alter(folder: Path, how: str, units: Sequence[int] = (0,)) -> None:
    """Alter matches of a run in one way and renew the seals of its journal."""
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        for unit in units:
            ALTERATIONS[how](db, unit)
        renew_seals(db)
    if how == "answer with its scores and rows":
        _mend(folder, units)


def renew_seals(db: sqlite3.Connection) -> None:
    """Seal every row as it is now."""
    for table in ("answers", "questions", "calls", "prompts", "plays", "units", "unit_rows"):
        if table == "unit_rows":
            db.execute(f"UPDATE unit_rows SET of = {SEALS.format(unit='unit_rows.unit')}")
        key = "rowid" if table != "answers" else "unit, step, player, part"
        where = " AND ".join(f"{name}=?" for name in key.split(", "))
        count = key.count(",") + 1
        for row in db.execute(f"SELECT {key}, {COLUMNS[table]}, seal FROM {table}").fetchall():
            if seal(row[count:-1]) != row[-1]:
                db.execute(f"UPDATE {table} SET seal=? WHERE {where}", (seal(row[count:-1]), *row[:count]))


def _rows(column: int, change: Callable[[Any], Any]) -> Alter:
    def altered(db: sqlite3.Connection, unit: int) -> None:
        (made,) = db.execute("SELECT made FROM unit_rows WHERE unit=?", (unit,)).fetchone()
        rows = UnitRows.read(made, "")
        rows.came[:] = [
            (*one[:column], change(one[column]), *one[column + 1 :]) if one[0] is not None else one for one in rows.came
        ]
        db.execute("UPDATE unit_rows SET made=? WHERE unit=?", (rows.to_bytes(), unit))

    return altered


def _other(value: str) -> str:
    return "defect" if value == "cooperate" else "cooperate"


def _answer(db: sqlite3.Connection, unit: int) -> None:
    """The last answer of the model."""
    step, player, value = db.execute(
        "SELECT step, player, value FROM answers WHERE unit=? AND player IN (SELECT player FROM calls WHERE unit=?) "
        "ORDER BY step DESC", (unit, unit),
    ).fetchone()  # fmt: skip
    db.execute(
        "UPDATE answers SET value=? WHERE unit=? AND step=? AND player=?",
        (json.dumps(_other(json.loads(value))), unit, step, player),
    )


def _reply(db: sqlite3.Connection, unit: int) -> None:
    """Every reply names the other action."""
    for number, reply in db.execute("SELECT id, reply FROM calls WHERE unit=?", (unit,)).fetchall():
        swapped = reply.replace("A0", "A?").replace("A1", "A0").replace("A?", "A1")
        assert swapped != reply
        db.execute("UPDATE calls SET reply=? WHERE id=?", (swapped, number))


def _prompt(db: sqlite3.Connection, unit: int) -> None:
    package, nth = db.execute("SELECT prompt, nth FROM calls WHERE unit=?", (unit,)).fetchone()
    (texts,) = db.execute("SELECT texts FROM prompts WHERE id=?", (package,)).fetchone()
    prompts = json.loads(zlib.decompress(texts))
    prompts[nth][-1][1] = f"Be kind. {prompts[nth][-1][1]}"
    written = packed([json.dumps(prompt).encode() for prompt in prompts])
    db.execute("UPDATE prompts SET texts=? WHERE id=?", (written, package))


def _call(column: str, value: str) -> Alter:
    def altered(db: sqlite3.Connection, unit: int) -> None:
        db.execute(f"UPDATE calls SET {column}=? WHERE unit=?", (value, unit))

    return altered


ALTERATIONS: dict[str, Alter] = {
    "payoffs in rows": _rows(2, lambda value: value + 1),
    "actions in rows": _rows(0, _other),
    "answer": _answer,
    "answer with its scores and rows": _answer,
    "reply": _reply,
    "prompt": _prompt,
    "model": _call("model", "scripted/other"),
    "version": _call("version", "another-1"),
}
OF_ROWS = ("payoffs in rows", "actions in rows")


def _mend(folder: Path, units: Sequence[int]) -> None:
    """Scores and rows that fit the altered answers."""
    from ostrom.engine.match import replay

    with open_run(folder, checked=False) as run:
        tables = []
        for unit in map(run.plan.unit, units):
            answers = run.rows.answers(unit)
            steps, outcome = replay(unit, unit.mechanism.play(unit.game, unit.streams), answers)
            from ostrom.engine.rows import rows_of

            assert outcome is not None
            scores = json.dumps(list(outcome.scores), separators=(",", ":"))
            tables.append((scores, rows_of(unit, steps, outcome, answers).to_bytes(), unit.index))
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        for scores, made, index in tables:
            db.execute("UPDATE units SET scores=? WHERE unit=?", (scores, index))
            db.execute("UPDATE unit_rows SET made=? WHERE unit=?", (made, index))
        renew_seals(db)


def alter_manifest(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest of a run and renew its checksum."""
    manifest = Folder(folder).manifest()
    change(manifest)
    Folder(folder).write_manifest(manifest)
