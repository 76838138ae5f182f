"""GGUF files of embedded models: their metadata, adapters beside their base, and models in float32.

Metadata is read without any package, because a training machine may have none for it, and only from the header: sizes
in it are checked against the file before anything is allocated. An adapter is refused on any other model than its base.
"""

import hashlib
import shutil
import struct
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from ostrom.ground.errors import ModelError, StudyError, UsageError
from ostrom.ground.files import draft_of
from ostrom.models.embedded.weights import cache_dir, only_one

_NUMBERS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_TEXT, _LIST = 8, 9
MOST_KEYS = 100_000


def gguf_metadata(path: Path, keys: Collection[str] | None = None) -> dict[str, Any]:
    """The values of these keys (or of all); keys that the file does not have are left out."""
    try:
        with path.open("rb") as file:
            return _read(file, path, keys)
    except (struct.error, UnicodeDecodeError, OverflowError, KeyError, EOFError) as error:
        raise UsageError(f"{path}: is no GGUF file that can be read ({type(error).__name__})") from None


def _read(file: BinaryIO, path: Path, keys: Collection[str] | None) -> dict[str, Any]:
    size = path.stat().st_size
    if file.read(4) != b"GGUF":
        raise UsageError(f"{path}: is no GGUF file")
    version, _, count = struct.unpack("<IQQ", file.read(20))
    if version not in (2, 3) or count > MOST_KEYS:
        raise UsageError(
            f"{path}: GGUF version {version} with {count} keys cannot be read (allowed: version 2, 3)"
        )

    def number(form: str) -> Any:
        return struct.unpack(form, _exactly(file, struct.calcsize(form)))[0]

    def text() -> str:
        length = number("<Q")
        if length > size:
            raise EOFError
        return _exactly(file, length).decode("utf-8")

    def value(kind: int) -> Any:
        if kind == _TEXT:
            return text()
        if kind == _LIST:
            inner, length = number("<I"), number("<Q")
            if length > size or inner == _LIST:
                raise EOFError
            return [value(inner) for _ in range(length)]
        return number(_NUMBERS[kind])

    found = {}
    for _ in range(count):
        key = text()
        got = value(number("<I"))
        if keys is None or key in keys:
            found[key] = got
        if keys is not None and len(found) == len(keys):
            break
    return found


def _exactly(file: BinaryIO, length: int) -> bytes:
    data = file.read(length)
    if len(data) != length:
        raise EOFError
    return data


GGUF = "adapter.gguf"
BASE_KEY = "ostrom.base.sha256"
"""Where an adapter says which model file it was trained on."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """One adapter file and its hash."""

    path: Path
    sha256: str


def find_adapter(name: str, model: Path) -> Adapter:
    """The adapter in a folder (or a GGUF file itself), made for this model file."""
    place = Path(name).expanduser()
    path = place / GGUF if place.is_dir() else place
    if not path.is_file():
        made = place.is_dir() and (place / "adapter_model.safetensors").is_file()
        hint = "; run `ostrom more train` again to convert it" if made else ""
        raise StudyError(f"there is no adapter ({GGUF}) here{hint}", key="settings.adapter", found=name)
    told = gguf_metadata(path, ("general.type", BASE_KEY))
    if told.get("general.type") != "adapter":
        raise StudyError("is a GGUF file, but no adapter", key="settings.adapter", found=name)
    wanted = told.get(BASE_KEY)
    if wanted is not None and wanted != (own := model_hash(model)):
        raise StudyError(
            f"was trained on another model (sha256 {str(wanted)[:12]}…) than {model.name} ({own[:12]}…)",
            key="settings.adapter",
            found=name,
        )
    return Adapter(path, model_hash(path))


def model_hash(path: Path) -> str:
    """The sha256 of a model file or an adapter; computed once for as long as the file does not change."""
    return _hash(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _hash(path: Path, changed: int) -> str:  # noqa: ARG001 - a changed file is hashed anew
    return file_hash(path)


def file_hash(path: Path) -> str:
    """The sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


FOLDER = "float32"
_FILE_TYPE, _ARCHITECTURE = "general.file_type", "general.architecture"


def dequantised(path: Path) -> Path:
    """The same model in float32, what a training computes with; made at the first use, in the user's cache.

    llama.cpp multiplies 4-bit weights with activations that it rounds to 8 bits. That moves log-probabilities by about
    0.1 at a place (SmolLM2, four likeliest tokens), against the same weights in PyTorch. In float32 nothing is rounded,
    and both agree to two digits.
    """
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
