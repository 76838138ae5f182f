"""A lexicon file: lists of terms to count in reasoning."""

from ostrom.features.words.lexicons import load_lexicons
from ostrom.studies.extensions import FileKind

FILE_KIND = FileKind(
    lambda keys: "lexicons" in keys,
    lambda file: {"file": str(file), "kind": "lexicons", "lists": ", ".join(x.name for x in load_lexicons(file))},
)
