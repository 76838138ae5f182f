"""A progress bar for a terminal; silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ostrom.ground.terminal import console, visible
from ostrom.models.embedded.weights import Progress


@contextmanager
def bar(label: str) -> Iterator[Progress | None]:
    """Something to report bytes to: a bar on stderr if that is a terminal, else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=console(stderr=True), transient=True) as shown:
        task = shown.add_task(visible(label), total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
