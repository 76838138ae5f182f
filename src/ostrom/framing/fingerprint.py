"""A hash of prompts: two runs, or two machines, that agree on it put the same words to the same views."""

from __future__ import annotations

import hashlib

from ostrom.framing.library import Library


def fingerprint(library: Library) -> str:
    """A hash of every prompt file that a run can use."""
    digest = hashlib.blake2b(digest_size=12)
    seen: set[str] = set()
    for folder in library.folders:
        for path in sorted(folder.rglob("*.txt")):
            relative = path.relative_to(folder).as_posix()
            if relative in seen:
                continue
            seen.add(relative)
            digest.update(relative.encode() + b"\0" + library.read(path) + b"\0")
    return digest.hexdigest()
