"""A quantised model file in float32: what a training computes with, played by the same runtime.

llama.cpp multiplies 4-bit weights with activations that it rounds to 8 bits. That moves log-probabilities by about 0.1
at a place (SmolLM2, four likeliest tokens), against the same weights in PyTorch. In float32 nothing is rounded, and
both agree to two digits. The file is made once, in the user's cache.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ostrom.ground.errors import ModelError
from ostrom.ground.files import draft_of
from ostrom.models.embedded.adapters import model_hash
from ostrom.models.embedded.weights import cache_dir, only_one

FOLDER = "float32"
_FILE_TYPE, _ARCHITECTURE = "general.file_type", "general.architecture"


def dequantised(path: Path) -> Path:
    """The same model in float32, made at the first use."""
    try:
        import gguf
    except ImportError as error:
        raise ModelError(
            f"precision float32 needs one more package: pip install 'ostrom[train]' ({error})"
        ) from None
    folder = cache_dir() / FOLDER
    made = folder / f"{path.stem}-{model_hash(path)[:16]}.float32.gguf"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with only_one(made.with_name(f"{made.name}.lock")):
            if not made.is_file():
                _write(gguf, path, made)
    except OSError as error:
        raise ModelError(
            f"{path}: cannot keep its float32 form in {folder}: {error.strerror or error}"
        ) from None
    return made


def _write(gguf: Any, path: Path, made: Path) -> None:
    import numpy as np

    source = gguf.GGUFReader(path)
    need, free = 4 * sum(int(t.n_elements) for t in source.tensors), shutil.disk_usage(made.parent).free
    if free < need + (1 << 24):
        raise ModelError(
            f"{made.parent}: has {free / 1e6:.0f} MB free, {path.name} in float32 needs {need / 1e6:.0f} MB "
            "(OSTROM_CACHE names another place)"
        )
    draft = draft_of(made)
    writer = gguf.GGUFWriter(str(draft), source.fields[_ARCHITECTURE].contents())
    for key, field in source.fields.items():
        if not key.startswith("GGUF.") and key not in (_ARCHITECTURE, _FILE_TYPE):
            inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(key, field.contents(), field.types[0], inner)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    for tensor in source.tensors:
        shape = tuple(int(n) for n in reversed(tensor.shape))
        writer.add_tensor_info(tensor.name, shape, np.dtype(np.float32), 4 * int(tensor.n_elements))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    # One tensor at a time: the whole model in float32 need not fit into memory.
    for tensor in source.tensors:
        writer.write_tensor_data(gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32))
    writer.close()
    draft.replace(made)
