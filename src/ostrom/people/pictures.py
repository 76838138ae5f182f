"""Pictures in texts that people read: files beside the texts, with checked content and bounded size."""

import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from ostrom.ground.errors import RunError, StudyError
from ostrom.ground.files import read_plain
from ostrom.people.markdown import PICTURE

LARGEST = 1_000_000
"""The largest picture, in bytes."""
MOST = 40
"""The most pictures of a study."""
TYPES = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}


def content_type(data: bytes) -> str | None:
    """Return the media type by a file's content; None unless it is a picture format without scripts.

    >>> content_type(b"GIF89a..."), content_type(b"<svg><script/></svg>")
    ('image/gif', None)
    """
    beginnings = {
        "png": (b"\x89PNG\r\n\x1a\n",), "jpeg": (b"\xff\xd8\xff",), "gif": (b"GIF87a", b"GIF89a"), "webp": (b"RIFF",),
    }  # fmt: skip
    kind = next((kind for kind, beginning in beginnings.items() if data.startswith(beginning)), None)
    return None if kind is None or (kind == "webp" and data[8:12] != b"WEBP") else f"image/{kind}"


def path_of(text: str, name: str) -> str:
    """Return a picture's path below the study's folder; texts name it relative to their own folder.

    >>> path_of("texts/instructions.md", "images/board.png")
    'texts/images/board.png'
    """
    return str(PurePosixPath(text).parent / name)


def address_of(name: str, mark: str) -> str:
    """Return a picture's URL from its content hash, so that its name reveals nothing."""
    return f"/picture/{mark[:32]}.{name.rpartition('.')[2].lower()}"


def find_pictures(texts: Mapping[str, str], folder: Path, file: str) -> dict[str, str]:
    """Every picture of the texts by its path, with a hash of its content."""
    marks: dict[str, str] = {}
    for text, words in texts.items():
        for claim in PICTURE.finditer(words) if text.endswith(".md") else ():
            problem = f"picture {claim[2] or claim[0]!r}"
            if not claim[1].strip():
                raise StudyError(
                    f"{problem} needs a description for people who cannot see it: ![what it shows](file)",
                    file=file, key=text,
                )  # fmt: skip
            if (path := path_of(text, claim[2])) not in marks:
                marks[path] = hashlib.sha256(_read(folder, path, file, text)).hexdigest()
            if len(marks) > MOST:
                raise StudyError(f"has more than {MOST} pictures", file=file, key=text)
    return marks


def read_pictures(marks: Mapping[str, str], folder: Path, file: str) -> dict[str, tuple[bytes, str]]:
    """Return the pictures by URL with their types; a picture that changed since the study was read is refused."""
    served = {}
    for path, mark in marks.items():
        data = _read(folder, path, file, "people.visit")
        if hashlib.sha256(data).hexdigest() != mark:
            raise StudyError("is another picture than when the study was read", file=file, key=path)
        served[address_of(path, mark)] = (data, content_type(data) or "")
    return served


def _read(folder: Path, path: str, file: str, key: str) -> bytes:
    kind = TYPES.get(path.rpartition(".")[2].lower())
    if kind is None:
        raise StudyError("a picture is a file beside the texts", file=file, key=key, actual=path, allowed=[*TYPES])
    parts = PurePosixPath(path)
    if ".." in parts.parts or parts.is_absolute() or ":" in path or "\\" in path:
        raise StudyError("a picture lies in or below the folder of its text", file=file, key=key, actual=path)
    full_path = folder / path
    try:
        if not full_path.resolve().is_relative_to(folder.resolve()):
            raise StudyError("a link leads out of the folder of the study", file=file, key=key, actual=path)
        data = read_plain(full_path, LARGEST)
    except FileNotFoundError:
        raise StudyError(f"there is no such picture ({full_path})", file=file, key=key, actual=path) from None
    except RunError:
        raise StudyError(f"is no plain file of at most {LARGEST:,} bytes", file=file, key=key, actual=path) from None
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror}", file=file, key=key, actual=path) from None
    if content_type(data) != kind:
        raise StudyError(f"is no {kind} by its content", file=file, key=key, actual=path)
    return data
