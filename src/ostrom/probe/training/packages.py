"""The packages of the extra ``train``, imported when they are needed, with one line that says what to install."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ostrom.ground.errors import UsageError


def needed(name: str) -> Any:
    """A package of the extra ``train``."""
    os.environ.setdefault("TQDM_DISABLE", "1")  # loading weights would draw bars of its own
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(f"training needs one more package: pip install 'ostrom[train]' ({error})") from None


def versions(*names: str) -> dict[str, str | None]:
    """The installed versions; None where a package is not installed."""
    found: dict[str, str | None] = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found
