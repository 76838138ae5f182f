"""The block ``people`` of a study file, with its text files."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from ostrom.people.schema import People
from ostrom.people.text_files import read_texts
from ostrom.studies.extensions import Section


class PeopleSection(People, Section):
    """What a study with people states; its texts are read with the study and kept in the run."""

    def with_files(self, folder: Path, file: str) -> Self:
        """The same with every text file of the visit in every language."""
        return self.model_copy(update={"texts": read_texts(self, folder, file)})


SECTION = PeopleSection
