"""The full published memory grid as a journal: 7 models x 4 games x 9 lengths x 3 seeds x 500 rounds."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

from ostrom.answers import Answer
from ostrom.engine.entries import ANSWER, QUESTION, UNIT, dump, keep_rows, load
from ostrom.engine.folder import Folder, new_manifest
from ostrom.engine.integrity import with_checksum
from ostrom.engine.match import question_json, replay
from ostrom.engine.rows import rows_of
from ostrom.framing import Library
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.schema import StudyFile

MODELS = 7


def study(model: str) -> StudyFile:
    """The paper's sweep with reasoning, over seven names of one server."""
    base = model.partition("#")[0]
    return load_study(
        "memory", models=[f"{base}#m{i}" for i in range(MODELS)], changes=["agent.style=reasoned", "vary.style=null"]
    )


def plan_of(model: str) -> StudyPlan:
    """756 matches, 850,500 decisions."""
    return StudyPlan(study(model), Library())


def write(folder: Path, plan: StudyPlan, *, missing_rounds: int) -> int:
    """Journal every match up to its last rounds; with none missing, the matches are done. Returns decisions."""
    home = Folder(folder)
    folder.mkdir(parents=True)
    home.write_manifest(new_manifest(plan.kind, plan.resolved(), plan.prompts, prompts_folder=None))
    home.open_journal(create=True).close()
    connection = sqlite3.connect(home.journal)
    rng, decisions = random.Random(0), 0
    questions: dict[str, int] = {}

    def number_of(text: str) -> int:
        return questions.setdefault(text, len(questions) + 1)

    for index in range(len(plan)):
        unit = plan.unit(index)
        options = [[dump(name) for name in names] for names in unit.game.actions]
        rounds = unit.mechanism.most_decisions(unit.game) // unit.game.seats - missing_rounds
        asks = [number_of(question_json(d)) for d in next(unit.mechanism.play(unit.game, unit.streams))]
        rows = [
            with_checksum((index, step, seat, "", rng.choice(options[seat]), "exact", None, None, None, 0, asks[seat]))
            for step in range(rounds)
            for seat in range(unit.game.seats)
        ]
        connection.executemany(ANSWER, rows)
        decisions += len(rows)
        if not missing_rounds:
            given = {(row[1], row[2], ""): (Answer(load(row[4]), "exact"), 0, None) for row in rows}
            steps, outcome = replay(unit, unit.mechanism.play(unit.game, unit.streams), given)
            assert outcome is not None
            connection.execute(UNIT, with_checksum((index, "done", None, rounds, dump(outcome.scores), None)))
            keep_rows(connection, [(index, rows_of(unit, steps, outcome, given).to_bytes(), None)])
    connection.executemany(QUESTION, [with_checksum((number, text)) for text, number in questions.items()])
    entries = decisions + len(questions) + (0 if missing_rounds else len(plan))
    connection.execute("UPDATE meta SET value=? WHERE key='entries'", (entries,))
    connection.commit()
    connection.close()
    return decisions
