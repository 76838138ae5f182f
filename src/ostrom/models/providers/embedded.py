"""Models that run in this process: known ones by name, any GGUF file by path (``embedded//path/x.gguf``)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from ostrom.ground.errors import StudyError, UnknownName, UsageError
from ostrom.models import client_name
from ostrom.models.embedded.adapters import find_adapter
from ostrom.models.embedded.dequantise import dequantised
from ostrom.models.embedded.model import PARAMS, EmbeddedModel, Mode
from ostrom.models.embedded.weights import WEIGHTS, bar, fetch

__all__ = ["PARAMS", "PROVIDER", "VARIANTS", "check"]

Precision = Literal["file", "float32"]

VARIANTS = ("adapter", "scale")
"""Settings by which clients of one model may differ within a study: they share its weights."""


def check(model: str) -> None:
    """Refuse a name that has no weights, and a file that is not there."""
    if model.endswith(".gguf"):
        if not Path(model).expanduser().is_file():
            raise UsageError(f"embedded/{model}: there is no such file")
    elif model not in WEIGHTS:
        raise UnknownName("embedded model", model, WEIGHTS)


def _open(
    model: str,
    *,
    mode: Mode = "fast",
    slots: int | None = None,
    threads: int | None = None,
    context: int = 8192,
    timeout: float = 600.0,
    adapter: str | None = None,
    scale: float | None = None,
    precision: Precision = "file",
) -> EmbeddedModel:
    if mode not in get_args(Mode):
        raise StudyError("unknown mode", key="mode", found=mode, allowed=get_args(Mode))
    if precision not in get_args(Precision):
        raise StudyError("unknown precision", key="precision", found=precision, allowed=get_args(Precision))
    if mode == "reproducible" and slots not in (None, 1):
        raise StudyError("mode reproducible has one slot; mode fast has more", key="slots", found=slots)
    if scale is not None and adapter is None:
        raise StudyError("is the scale of an adapter: set adapter too", key="settings.scale", found=scale)
    check(model)
    if model.endswith(".gguf"):
        path, sha256 = Path(model).expanduser(), None
    else:
        with bar(f"fetching embedded/{model}") as progress:
            path = fetch(model, progress)
        sha256 = WEIGHTS[model].sha256
    found = None if adapter is None else find_adapter(adapter, path)
    return EmbeddedModel(
        client_name(f"embedded/{model}", {"adapter": adapter, "scale": scale}),
        dequantised(path) if precision == "float32" else path,
        mode=mode,
        slots=slots,
        threads=threads,
        context=context,
        timeout=timeout,
        sha256=sha256,
        adapter=found,
        scale=1.0 if scale is None else float(scale),
    )


PROVIDER = _open
