"""The integrity check of a run in a separate process: `python -m ostrom.view.check FOLDER`.

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
    """Return the number of entries of an intact run, or what is wrong with it."""
    folder = Folder(path)
    try:
        with suppress(UnknownName), open_run(path, checked=False):  # a missing part is no damage
            pass
        return {"entries": sum(_entries(part.journal) for part in folder.parts)}
    except OstromError as error:
        return {"line": one_line(str(error))}


def _entries(journal: Path) -> int:
    """Return the number of entries of an intact journal."""
    with reading(journal) as connection:
        # The checksum covers the raw text: a replaced byte must not pass.
        connection.text_factory = str
        return check(connection, journal, journal.with_name(journal.name + ".tally"))[0]


if __name__ == "__main__":
    os.nice(10)
    write_json(checked(Path(sys.argv[1])))
