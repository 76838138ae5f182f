"""Hashes of prompt files: runs with equal hashes have the same prompts for the same views."""

import hashlib
from collections.abc import Iterable, Mapping

from ostrom.framing.library import Library

_SAME_TEXT = {
    "84cabbbb16a5d554374ec7ca": "9c2fff56600b8c0a01a308fc",  # amount.txt
    "a79ac06722741191b36eecee": "e167c045ded91268e6058462",  # games/beauty_contest.txt
    "9ba8bf8c662c94c520d5e3d5": "205a8bab88f440a1ec2d41ce",  # games/centipede.txt
    "b25b4cab6895f547ce4f08b8": "50247f910f05ca89bd643d5e",  # games/gift_exchange.txt
    "c0ce2a1b2477cdc08a9bf8ca": "fdc9b2cf2564cd714d5b4e1b",  # languages/ar/amount.txt
    "cd217269bcea1a488f8cd851": "e38480ac7a0febd67df99892",  # languages/ar/count.txt
    "cc3e44b41e9d43239ab62caf": "010a4924e7e9e61f533e18eb",  # records/explained.txt
    "6f5f688fdef9964b1f02803e": "482c2c397709f1755238c055",  # languages/de/records/explained.txt
    "47a16220263fcf727cbbb79d": "b9a15a7dc0abf9a75b2f7851",  # languages/es/records/explained.txt
    "c04d135a9a1a0b9b0a37a8da": "3a50c742817c1e699063645b",  # languages/zh/records/explained.txt
    "cef31d3017bc3e38bdcdea78": "8e385faa9bb907df44e275fa",  # languages/ar/records/explained.txt
    "f3b2c07f6685dbb3c061a5de": "2be40ec38b8b0542bc13eeef",  # turns/society_told.txt
    "6a9f35a5a992832aaaf1e1a7": "94e468ef351f1a4ede2e016f",  # turns/_negotiation.txt
}
"""Hashes of files that were rewritten with the same words, mapped to the hashes that earlier runs recorded.

The file of negotiations differs in two cases: it says why an offer was not possible, and which part of a payment could
not be paid. Earlier runs are finished with these words.
"""


def hashes(library: Library, files: Iterable[str]) -> dict[str, str]:
    """Return a hash of each of these files; missing ones have none.

    A file of a prompt set is named SET:FILE (``in_set``).
    """
    digests = {}
    for file in sorted(files):
        name, _, path = file.rpartition(":")
        chosen = library.with_set(name or None)
        place = next((folder / path for folder in chosen.folders if (folder / path).is_file()), None)
        if place is not None:
            digests[file] = _hash(chosen.read(place))
    return digests


def _hash(content: bytes) -> str:
    digest = hashlib.blake2b(content, digest_size=12).hexdigest()
    return _SAME_TEXT.get(digest, digest)


def in_set(name: str | None, file: str) -> str:
    """Return the name of a prompt file within a prompt set.

    >>> in_set(None, "setup.txt"), in_set("printed", "setup.txt")
    ('setup.txt', 'printed:setup.txt')
    """
    return file if name is None else f"{name}:{file}"


def difference(old: Mapping[str, str], new: Mapping[str, str]) -> str | None:
    """Describe the difference between two sets of hashes; None if equal.

    >>> difference({"a.txt": "1", "b.txt": "2", "d.txt": "5"}, {"a.txt": "1", "b.txt": "3", "c.txt": "4"})
    'b.txt was changed, d.txt is gone, c.txt was added'
    """
    how = [f"{file} was changed" for file in old if file in new and old[file] != new[file]]
    how += [f"{file} is gone" for file in old if file not in new]
    how += [f"{file} was added" for file in new if file not in old]
    return None if not how else ", ".join(how[:3]) + (f" and {len(how) - 3} more" if len(how) > 3 else "")
