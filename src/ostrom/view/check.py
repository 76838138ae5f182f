"""The integrity check of a run as a process of its own: `python -m ostrom.view.check FOLDER`.

It reads every row, which takes long for a large journal, and would hold up the pages if it ran beside them. It writes
one JSON object: the number of entries, or the line that a command would print about this run.
"""

import os
import sys
from contextlib import closing, suppress
from pathlib import Path

from ostrom.engine.folder import Folder
from ostrom.engine.integrity import DAMAGE, check, explain
from ostrom.engine.journal import connect_read_only
from ostrom.ground.errors import OstromError, UnknownName
from ostrom.ground.terminal import one_line, write_json
from ostrom.studies.run import open_run


def checked(path: Path) -> dict[str, int | str]:
    """The number of entries of a run that is whole, or what is wrong with it."""
    folder = Folder(path)
    try:
        with (
            suppress(UnknownName),
            open_run(path, checked=False),
        ):  # a part that is not installed is no damage
            pass
        with closing(connect_read_only(folder.journal)) as connection:
            # The seal of a row covers its text as it is: a byte that was replaced must not pass.
            connection.text_factory = str
            tally = folder.journal.with_name(folder.journal.name + ".tally")
            return {"entries": check(connection, folder.journal, tally)[0]}
    except OstromError as error:
        return {"line": one_line(str(error))}
    except DAMAGE as error:
        return {"line": one_line(explain(folder.journal, error))}


if __name__ == "__main__":
    os.nice(10)
    write_json(checked(Path(sys.argv[1])))
