"""Execute notebooks in place: ``python tools/notebooks.py A.ipynb B.ipynb``. No times are written into them."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from ostrom.ground.version import __version__


def execute(path: Path) -> None:
    """Execute one notebook in its folder; write what its cells print, and the version of Ostrom that printed it."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, record_timing=False, resources={"metadata": {"path": str(path.parent)}}).execute()
    notebook.metadata["ostrom"] = __version__
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        execute(Path(name))
