"""From a peft adapter to a GGUF file that llama.cpp plays with: names mapped, rows of q and k permuted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ostrom.ground.errors import UsageError
from ostrom.ground.files import draft_of
from ostrom.models.embedded.adapters import BASE_KEY, GGUF, gguf_metadata
from ostrom.probe.training.lora import read
from ostrom.probe.training.packages import needed

_NAME = re.compile(r"base_model\.model\.(?P<module>.+)\.(?P<part>lora_[AB])\.weight")
_PERMUTED = re.compile(r"\.(?:q_proj|k_proj)$")


def to_gguf(folder: Path, base: Path, base_sha256: str, alpha: float) -> Path:
    """Write ``adapter.gguf`` beside the peft adapter, for the GGUF file that is its base.

    Llama-like files hold the rows of q and k in another order (for their rotary embedding), so B, whose rows are the
    same outputs, is permuted like them.
    """
    gguf = needed("gguf")
    header = gguf_metadata(base)
    architecture = str(header["general.architecture"])
    known = {name: kind for kind, name in gguf.MODEL_ARCH_NAMES.items()}
    if architecture not in known:
        raise UsageError(f"{base}: adapters for the architecture {architecture} cannot be converted")
    names = gguf.get_tensor_name_map(known[architecture], int(header[f"{architecture}.block_count"]))
    heads = int(header[f"{architecture}.attention.head_count"])
    kv_heads = int(header.get(f"{architecture}.attention.head_count_kv", heads))
    path = folder / GGUF
    draft = draft_of(path)
    writer = gguf.GGUFWriter(str(draft), architecture)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, float(alpha))
    writer.add_string(BASE_KEY, base_sha256)
    for name, tensor in sorted(read(folder).items()):
        found = _NAME.fullmatch(name)
        target = names.get_name(f"{found['module']}.weight", try_suffixes=(".weight",)) if found else None
        if found is None or target is None:
            raise UsageError(
                f"{folder}: {name} has no place in a GGUF file of the architecture {architecture}"
            )
        values = tensor.float().numpy()
        if architecture == "llama" and found["part"] == "lora_B" and _PERMUTED.search(found["module"]):
            values = permuted(values, heads if found["module"].endswith("q_proj") else kv_heads)
        writer.add_tensor(f"{target}.{found['part'].lower()}", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    draft.replace(path)
    return path


def permuted(rows: Any, heads: int) -> Any:
    """Rows from the order of transformers (two halves per head) to that of llama.cpp (pairs).

    >>> import numpy as np
    >>> permuted(np.arange(8)[:, None], 2).ravel().tolist()
    [0, 2, 1, 3, 4, 6, 5, 7]
    """
    return (
        rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:])
        .swapaxes(1, 2)
        .reshape(rows.shape)
    )
