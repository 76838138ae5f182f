"""Hashes of prompt files: two runs, or two machines, that agree on them put the same words to the same views."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from ostrom.framing.library import Library


def hashes(library: Library, files: Iterable[str]) -> dict[str, str]:
    """A hash of every one of these files, in the folder from which the library takes it; absent ones have none.

    A file of a prompt set is named by both (see ``in_set``).
    """
    found = {}
    for file in sorted(files):
        name, _, path = file.rpartition(":")
        chosen = library.of(name or None)
        for folder in chosen.folders:
            if (folder / path).is_file():
                found[file] = hashlib.blake2b(chosen.read(folder / path), digest_size=12).hexdigest()
                break
    return found


def in_set(name: str | None, file: str) -> str:
    """What a prompt file is called that an agent with a prompt set reads.

    >>> in_set(None, "setup.txt"), in_set("printed", "setup.txt")
    ('setup.txt', 'printed:setup.txt')
    """
    return file if name is None else f"{name}:{file}"


def difference(old: Mapping[str, str], new: Mapping[str, str]) -> str | None:
    """What differs between two sets of hashed files, in words; None where nothing does.

    >>> difference({"a.txt": "1", "b.txt": "2"}, {"a.txt": "1", "b.txt": "3", "c.txt": "4"})
    'b.txt was changed, c.txt was added'
    """
    how = [f"{file} was changed" for file in old if file in new and old[file] != new[file]]
    how += [f"{file} is gone" for file in old if file not in new]
    how += [f"{file} was added" for file in new if file not in old]
    if not how:
        return None
    return ", ".join(how[:3]) + (f" and {len(how) - 3} more" if len(how) > 3 else "")
