"""The integrity check of a run as a process of its own: `python -m ostrom.view.check FOLDER`.

It reads every row, which takes long for a large journal, and would hold up the pages if it ran beside them. It writes
one JSON object: the number of entries, or the line that a command would print about this run.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from ostrom.engine.folder import Folder
from ostrom.engine.integrity import check, reading
from ostrom.ground.errors import OstromError, UnknownName
from ostrom.ground.terminal import one_line, write_json
from ostrom.studies.run import open_run


def checked(path: Path) -> dict[str, int | str]:
    """The number of entries of a run that is whole, or what is wrong with it."""
    folder = Folder(path)
    try:
        with suppress(UnknownName), open_run(path, checked=False):  # a part that is not installed is no damage
            pass
        return {"entries": sum(_entries(part.journal) for part in folder.parts)}
    except OstromError as error:
        return {"line": one_line(str(error))}


def _entries(journal: Path) -> int:
    """The number of entries of a journal that is whole."""
    with reading(journal) as connection:
        # The seal of a row covers its text as it is: a byte that was replaced must not pass.
        connection.text_factory = str
        return check(connection, journal, journal.with_name(journal.name + ".tally"))[0]


if __name__ == "__main__":
    os.nice(10)
    write_json(checked(Path(sys.argv[1])))
