"""A motives file: the motives that a judge may assign to a player's reasoning."""

from ostrom.features.judging import load_motives
from ostrom.studies.extensions import FileKind

FILE_KIND = FileKind(
    lambda keys: "motives" in keys,
    lambda file: {
        "file": str(file),
        "kind": "motives",
        "motives": ", ".join(motive.name for motive in load_motives(file)),
        "taken by": f"ostrom more judge RUN --motives {file}",
    },
)
